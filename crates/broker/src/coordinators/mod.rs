//! Coordinators on this node's threads: the groups of every partition of `__consumer_offsets` that this broker leads.
//!
//! The state machine is `coordinator::GroupShard`; here is what it may not know: locks, threads, the partition's log.

mod clock;
mod groups;
mod host;
mod loading;
mod offsets_log;
mod upkeep;

pub(crate) use groups::{Groups, Unavailable};
pub(crate) use host::Waiter;

#[cfg(test)]
mod tests;

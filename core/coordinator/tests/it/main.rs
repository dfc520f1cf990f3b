//! The coordinator as its host sees it: scripts of requests and what comes out.

#![expect(clippy::unwrap_used, reason = "a script that does not parse is a failed test")]

mod commits;
mod expiry;
mod golden;
mod invariants;
mod join;
mod leave;
mod limits;
mod listing;
mod loading;
mod stage;
mod static_members;
mod sync;
mod timers;
mod transactions;

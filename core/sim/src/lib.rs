//! One node on a simulated disk and clock, with its clients, by seed: the same log, replica, quorum, controller and
//! coordinator code as in the broker, in one thread.
//!
//! A seed chooses everything: what clients do, when syncs begin and end, when the power is cut, which calls of the disk
//! fail. What clients were told is written down, and compared with what the node says later (`history`). Two runs of
//! a seed are equal; [`Report::trace`] shows it.

mod clients;
mod history;
mod node;
mod world;

pub use history::Violation;
pub use node::{Plant, Planted};
pub use world::{Options, Report, run};

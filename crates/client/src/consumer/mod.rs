//! The consumer.

mod assignor;

pub use assignor::{Assignment, Assignor, Member};

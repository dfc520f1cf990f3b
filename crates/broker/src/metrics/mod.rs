//! Counters of what happened in this process.

use std::sync::atomic::AtomicU64;

/// Counts since the process started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests with bytes behind their body: read, answered, counted (bad input 13).
    pub trailing_bytes: AtomicU64,
}

/// The counters of this process.
pub static COUNTERS: Counters = Counters {
    trailing_bytes: AtomicU64::new(0),
};

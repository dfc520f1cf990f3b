//! The time as the group state machine wants it: the wall clock and a steady one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use coordinator::Now;

use crate::dispatch::now_ms;

/// Reads both clocks. The steady one counts the time this process ran: while it was stopped nobody could be heard of,
/// so that nobody is expired for that.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    start: Instant,
    paused_ms: Arc<AtomicI64>,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock {
            start: Instant::now(),
            paused_ms: Arc::default(),
        }
    }

    pub(super) fn now(&self) -> Now {
        let elapsed_ms = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        Now {
            wall_ms: now_ms(),
            steady_ms: elapsed_ms - self.paused_ms.load(Ordering::Relaxed),
        }
    }

    /// The process did not run for so long.
    pub(super) fn was_paused(&self, pause_ms: i64) {
        self.paused_ms.fetch_add(pause_ms, Ordering::Relaxed);
    }
}

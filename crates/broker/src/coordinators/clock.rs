//! The time as the group state machine wants it: the wall clock and a steady one.

use std::time::Instant;

use coordinator::Now;

use crate::dispatch::now_ms;

/// Reads both clocks. The steady one counts from the start of the coordinators.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock {
            start: Instant::now(),
        }
    }

    pub(super) fn now(self) -> Now {
        let steady_ms = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        Now {
            wall_ms: now_ms(),
            steady_ms,
        }
    }
}

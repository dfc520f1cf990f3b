//! Log lines that a stranger can cause: at most one each interval, with how many were left out.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The gap between two lines of one kind.
const INTERVAL: Duration = Duration::from_secs(10);

/// One kind of line.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    /// No line was written yet.
    pub(crate) const fn new() -> LogLimit {
        let state = State {
            last: None,
            left_out: 0,
        };
        LogLimit {
            state: Mutex::new(state),
        }
    }

    /// Whether a line may be written now: with the number of lines left out since the last.
    pub(crate) fn permit(&self) -> Option<u64> {
        self.permit_at(Instant::now())
    }

    fn permit_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        if state.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_an_interval_tells_how_many_were_left_out() {
        let limit = LogLimit::default();
        let start = Instant::now();
        assert_eq!(limit.permit_at(start), Some(0));
        assert_eq!(limit.permit_at(start), None);
        assert_eq!(limit.permit_at(start + INTERVAL / 2), None);
        assert_eq!(limit.permit_at(start + INTERVAL), Some(2));
        assert_eq!(limit.permit_at(start + 2 * INTERVAL), Some(0));
    }
}

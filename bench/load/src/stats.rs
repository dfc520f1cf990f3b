//! Times: the clock that two processes share, the processor time of this one, percentiles.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// Nanoseconds on the clock that all processes of the machine share and nobody sets.
pub(crate) fn now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Processor time of this process so far, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    nanoseconds(ClockId::ProcessCPUTime) as f64 / 1e9
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as u64
}

/// Latencies in nanoseconds.
#[derive(Default)]
pub(crate) struct Latencies(Vec<u64>);

impl Latencies {
    pub(crate) fn note(&mut self, nanoseconds: u64) {
        self.0.push(nanoseconds);
    }

    /// Percentiles in milliseconds; null when nothing was noted.
    pub(crate) fn percentiles(mut self) -> Value {
        self.0.sort_unstable();
        let at = |share: f64| {
            // The smallest value that at least this share of all does not exceed.
            let rank = (share * self.0.len() as f64).ceil() as usize;
            self.0
                .get(rank.saturating_sub(1))
                .map(|value| *value as f64 / 1e6)
        };
        json!({"count": self.0.len(), "p50": at(0.5), "p99": at(0.99), "p99.9": at(0.999), "max": at(1.0)})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_smallest_value_that_covers_its_share() {
        let mut latencies = Latencies::default();
        for milliseconds in (1..=1000).rev() {
            latencies.note(milliseconds * 1_000_000);
        }
        let percentiles = latencies.percentiles();
        assert_eq!(
            percentiles,
            json!({"count": 1000, "p50": 500.0, "p99": 990.0, "p99.9": 999.0, "max": 1000.0})
        );
    }

    #[test]
    fn no_value_has_no_percentile() {
        assert_eq!(Latencies::default().percentiles()["p99"], Value::Null);
    }
}

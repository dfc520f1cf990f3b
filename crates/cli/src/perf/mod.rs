//! Measuring what a cluster and our client do: the work behind `gracchus perf` and the scripts of Kafka that do the same.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) mod latencies;
pub(crate) mod latency;
pub(crate) mod pace;
pub(crate) mod payload;
pub(crate) mod producing;

/// The CPU time this process has used.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
    whole + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}

/// Milliseconds with their fraction.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

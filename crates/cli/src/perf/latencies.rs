//! Many durations, of which quantiles are wanted: counted in buckets of less than 1 % of their value, from 1 us up.

use std::time::Duration;

/// Buckets for each doubling of the value.
const PER_DOUBLING: u64 = 64;
/// Enough for every count of microseconds that fits 64 bits.
const BUCKETS: usize = 64 * PER_DOUBLING as usize;

/// Durations by count.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    total: Duration,
    max: Duration,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            buckets: vec![0; BUCKETS],
            count: 0,
            total: Duration::ZERO,
            max: Duration::ZERO,
        }
    }
}

impl Latencies {
    pub(crate) fn record(&mut self, latency: Duration) {
        let microseconds = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get_mut(bucket_of(microseconds)) {
            *bucket += 1;
        }
        self.count += 1;
        self.total += latency;
        self.max = self.max.max(latency);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn max(&self) -> Duration {
        self.max
    }

    /// The average; zero of none.
    pub(crate) fn mean(&self) -> Duration {
        let count = self.count.max(1) as f64;
        self.total.div_f64(count)
    }

    /// What `part` of them do not exceed; zero of none.
    pub(crate) fn quantile(&self, part: f64) -> Duration {
        let wanted = (self.count as f64 * part) as u64;
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += count;
            if below > wanted {
                return Duration::from_micros(middle_of(bucket)).min(self.max);
            }
        }
        self.max
    }
}

fn bucket_of(value: u64) -> usize {
    let shift = shift_of(value);
    (u64::from(shift) * PER_DOUBLING + (value >> shift)) as usize
}

/// How many low bits of a value do not count.
fn shift_of(value: u64) -> u32 {
    let highest_bit = 63 - (value | 1).leading_zeros();
    highest_bit.saturating_sub(PER_DOUBLING.ilog2())
}

fn middle_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / PER_DOUBLING).saturating_sub(1);
    ((bucket - shift * PER_DOUBLING) << shift) + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_true_to_one_in_a_hundred() {
        let mut latencies = Latencies::default();
        for microseconds in 1..=100_000 {
            latencies.record(Duration::from_micros(microseconds));
        }
        for part in [0.001, 0.5, 0.9, 0.99, 0.999] {
            let found = latencies.quantile(part).as_secs_f64() * 1e6;
            let exact = part * 100_000.0;
            assert!((found - exact).abs() <= exact * 0.01 + 1.0, "{part}: {found}");
        }
        assert_eq!(latencies.quantile(1.0), Duration::from_millis(100));
        assert_eq!(latencies.max(), Duration::from_millis(100));
        assert_eq!(latencies.mean().as_micros(), 50_000);
    }

    #[test]
    fn the_extremes_have_a_bucket_and_none_is_no_quantile() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), Duration::ZERO);
        latencies.record(Duration::MAX / 2);
        latencies.record(Duration::ZERO);
        assert_eq!(latencies.quantile(0.0), Duration::ZERO);
        assert!(bucket_of(u64::MAX) < BUCKETS);
    }
}

//! What a consumer counts.

use std::time::Duration;

/// What a consumer did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerMetrics {
    /// Records that were given out.
    pub records: u64,
    /// Bytes of batches that were fetched.
    pub bytes: u64,
    /// Fetch requests that were answered or given up.
    pub fetches: u64,
    /// How long they took together, waiting for records included.
    pub fetch_time: Duration,
    /// How long the longest of them took.
    pub fetch_time_max: Duration,
    /// How often it got partitions of its group after it had none.
    pub rebalances: u64,
    /// How long it had none while it wanted some.
    pub rebalance_time: Duration,
}

impl ConsumerMetrics {
    pub(super) fn fetched(&mut self, took: Duration) {
        self.fetches += 1;
        self.fetch_time += took;
        self.fetch_time_max = self.fetch_time_max.max(took);
    }

    pub(super) fn joined(&mut self, took: Duration) {
        self.rebalances += 1;
        self.rebalance_time += took;
    }
}

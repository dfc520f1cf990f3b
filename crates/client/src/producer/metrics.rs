//! What a producer counts.

use std::time::Duration;

use crate::producer::batch::Batch;

/// What a producer did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerMetrics {
    /// Records that were delivered.
    pub records_sent: u64,
    /// Records that failed.
    pub records_failed: u64,
    /// Records that were sent again.
    pub records_retried: u64,
    /// Batches that were delivered.
    pub batches_sent: u64,
    /// Their bytes before compression.
    pub batch_bytes: u64,
    /// The bytes of the largest of them.
    pub batch_bytes_max: u64,
    /// Batches that were too large for the broker and were halved.
    pub batches_split: u64,
    /// Produce requests that were sent.
    pub requests: u64,
    /// How long those that were answered or given up took together.
    pub request_time: Duration,
    /// How long the longest of them took.
    pub request_time_max: Duration,
    /// The memory for records that are not delivered yet.
    pub buffer_total_bytes: u64,
    /// How much of it is free.
    pub buffer_available_bytes: u64,
}

impl ProducerMetrics {
    pub(super) fn delivered(&mut self, batch: &Batch) {
        let bytes = batch.bytes() as u64;
        self.records_sent += batch.len() as u64;
        self.batches_sent += 1;
        self.batch_bytes += bytes;
        self.batch_bytes_max = self.batch_bytes_max.max(bytes);
    }

    pub(super) fn requested(&mut self, took: Duration) {
        self.requests += 1;
        self.request_time += took;
        self.request_time_max = self.request_time_max.max(took);
    }
}

//! What a consumer gives out.

use bytes::Bytes;
use model::TopicPartition;
use wire::records::{RecordHeader, TimestampType};

/// A record read from a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerRecord {
    /// The partition.
    pub partition: TopicPartition,
    /// The place in it.
    pub offset: i64,
    /// Milliseconds since 1970; -1 in the oldest format, which has none.
    pub timestamp: i64,
    /// Who set the timestamp; `None` where there is none.
    pub timestamp_type: Option<TimestampType>,
    /// The epoch of the leader that took it; -1 in old formats.
    pub leader_epoch: i32,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<RecordHeader>,
}

//! What a producer takes and what it gives back.

use bytes::Bytes;
use model::TopicPartition;
use wire::records::RecordHeader;

/// A record to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerRecord {
    /// The topic.
    pub topic: String,
    /// The partition; chosen by key, or else for even load, when absent.
    pub partition: Option<i32>,
    /// Milliseconds since 1970; the present when absent.
    pub timestamp: Option<i64>,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` deletes the key in a compacted topic.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<RecordHeader>,
}

impl ProducerRecord {
    /// A record with a value alone.
    pub fn new(topic: impl Into<String>, value: impl Into<Bytes>) -> ProducerRecord {
        ProducerRecord {
            topic: topic.into(),
            value: Some(value.into()),
            ..ProducerRecord::default()
        }
    }

    /// The most bytes it takes in a batch.
    pub(crate) fn size(&self) -> usize {
        /// Lengths, attributes and deltas, each at its longest.
        const OVERHEAD: usize = 36;
        let headers = self.headers.iter();
        let headers =
            headers.map(|header| 10 + header.key.len() + header.value.as_ref().map_or(0, Bytes::len));
        let payload = self.key.as_ref().map_or(0, Bytes::len) + self.value.as_ref().map_or(0, Bytes::len);
        OVERHEAD + payload + headers.sum::<usize>()
    }
}

/// Where a record went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset; `None` when the broker was not asked to answer, or knows only that it has the record.
    pub offset: Option<i64>,
    /// The record's timestamp: the producer's, or the broker's where the topic says so.
    pub timestamp: i64,
}

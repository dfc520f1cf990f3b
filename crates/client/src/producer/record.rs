//! What a producer takes and what it gives back.

use bytes::Bytes;
use model::TopicPartition;
use wire::records::{HeaderRef, RecordHeader};

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
}

/// A record to send, borrowed: nothing of it is needed any more once it has its place in a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordView<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The partition; chosen by key, or else for even load, when absent.
    pub partition: Option<i32>,
    /// Milliseconds since 1970; the present when absent.
    pub timestamp: Option<i64>,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` deletes the key in a compacted topic.
    pub value: Option<&'a [u8]>,
    /// The headers, in order.
    pub headers: &'a [HeaderRef<'a>],
}

impl RecordView<'_> {
    /// About the bytes it takes in a batch: timestamp and offset as in a batch of usual length.
    pub(crate) fn size(&self) -> usize {
        let sized = |bytes: Option<&[u8]>| bytes.map_or(1, |bytes| length_size(bytes.len()) + bytes.len());
        let headers = self.headers.iter();
        let headers = headers.map(|header| sized(Some(header.key)) + sized(header.value));
        let body = 5
            + sized(self.key)
            + sized(self.value)
            + length_size(self.headers.len())
            + headers.sum::<usize>();
        length_size(body) + body
    }
}

/// The bytes of a length as a varint.
fn length_size(length: usize) -> usize {
    let bits = usize::BITS - length.leading_zeros() + 1;
    bits.div_ceil(7) as usize
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
    /// When the broker's answer came.
    pub acknowledged: std::time::Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_record_is_what_it_takes_in_a_batch() {
        let value = [0; 200];
        let header = HeaderRef {
            key: b"k",
            value: None,
        };
        for (value, headers) in [
            (Some(&value[..]), &[][..]),
            (None, &[header]),
            (Some(b"v"), &[header]),
        ] {
            let record = RecordView {
                value,
                headers,
                ..RecordView::default()
            };
            let mut builder = wire::records::BatchBuilder::new();
            let before = builder.size();
            builder.append(5, None, value, headers).unwrap();
            let taken = builder.size() - before;
            // Two bytes are left for a timestamp and an offset that are not the first of the batch.
            assert_eq!(record.size(), taken + 2, "{record:?}");
        }
    }
}

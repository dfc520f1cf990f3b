//! Writes as record batches, and record batches replayed.

use bytes::Bytes;
use wire::records::{Batch, BatchBuilder, BuildError, ControlRecordType, DecompressionLimit, RecordError};

use crate::record::{DecodeRecordError, Record};
use crate::shard::{GroupShard, Marker};

/// Why records do not become a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeBatchError {
    /// A field that is too long for the format.
    #[error(transparent)]
    Record(#[from] wire::EncodeError),
    /// The batch would be too large for the format.
    #[error(transparent)]
    Batch(#[from] BuildError),
}

/// What a batch held that is not understood: the offset, and why.
pub type Passed = (i64, DecodeRecordError);

/// Records as one batch, to be appended as it is.
pub fn encode_batch(records: &[Record], wall_ms: i64) -> Result<Bytes, EncodeBatchError> {
    let mut batch = BatchBuilder::new();
    for record in records {
        let (key, value) = record.encode()?;
        batch.append(wall_ms, Some(&key), value.as_deref(), &[])?;
    }
    Ok(batch.build()?)
}

impl<T> GroupShard<T> {
    /// Replays a batch of the partition's log. Records of kinds that only a later Kafka knows, and records that do not
    /// follow their format, are passed over and given back, for whoever loads to tell.
    pub fn load_batch(&mut self, batch: &Batch) -> Result<Vec<Passed>, RecordError> {
        let header = batch.header();
        let producer = header
            .attributes
            .is_transactional()
            .then_some(header.producer_id.0);
        let mut passed = Vec::new();
        for record in batch.records(DecompressionLimit::default())? {
            let record = record?;
            if header.attributes.is_control() {
                let marker = match ControlRecordType::of(&record) {
                    Some(ControlRecordType::Commit) => Marker::Commit,
                    Some(ControlRecordType::Abort) => Marker::Abort,
                    _ => continue,
                };
                self.end_transaction(header.producer_id.0, marker);
                continue;
            }
            match Record::decode(record.key.as_ref(), record.value.as_ref()) {
                Ok(decoded) => self.load(record.offset.0, producer, decoded),
                Err(error) => passed.push((record.offset.0, error)),
            }
        }
        Ok(passed)
    }
}

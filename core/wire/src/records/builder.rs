//! Builds a batch, record by record.

use bytes::Bytes;
use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use super::codec::{Codec, CodecError, Compression, compress};
use super::control::{ControlRecordType, EndTransactionMarker};
use super::cursor::{put_varint, put_varlong, varint_size, varlong_size};
use super::header::{Attributes, BATCH_HEADER_SIZE, BatchHeader, LOG_OVERHEAD, TimestampType};
use super::record::HeaderRef;

/// Why a batch cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The records could not be compressed.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A batch has at least one record.
    #[error("a batch needs at least one record")]
    Empty,
    /// Offsets rise, by less than 2^31 within a batch.
    #[error("offset {offset} does not follow in a batch that begins at {base}")]
    Offset {
        /// The offset that does not fit.
        offset: Offset,
        /// The first of the batch.
        base: Offset,
    },
    /// A length that its field cannot hold.
    #[error("a batch cannot hold {0} bytes")]
    TooLarge(usize),
    /// Timestamps of one batch that lie too far apart.
    #[error("timestamp {timestamp} is out of reach of the batch's first, {base}")]
    Timestamp {
        /// The timestamp that does not fit.
        timestamp: i64,
        /// The first of the batch.
        base: i64,
    },
}

/// The producer of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The id.
    pub id: ProducerId,
    /// The epoch.
    pub epoch: ProducerEpoch,
    /// The sequence number of the first record; -1 for markers.
    pub base_sequence: i32,
}

impl Producer {
    /// No producer.
    pub const NONE: Producer = Producer {
        id: ProducerId::NONE,
        epoch: ProducerEpoch::NONE,
        base_sequence: -1,
    };
}

/// A batch under construction. The default is what a plain producer sends: base offset 0, create time, no producer.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    attributes: Attributes,
    compression: Compression,
    producer: Producer,
    append_time: Option<i64>,
    base_timestamp: i64,
    max_timestamp: i64,
    last_offset_delta: i32,
    count: i32,
    /// Room for the header, then the records.
    bytes: Vec<u8>,
}

impl Default for BatchBuilder {
    fn default() -> BatchBuilder {
        BatchBuilder::new()
    }
}

impl BatchBuilder {
    /// An empty batch.
    pub fn new() -> BatchBuilder {
        BatchBuilder::with_capacity(BATCH_HEADER_SIZE)
    }

    /// An empty batch that will not move until it has more than `size` bytes, header included.
    pub fn with_capacity(size: usize) -> BatchBuilder {
        let mut bytes = Vec::with_capacity(size.max(BATCH_HEADER_SIZE));
        bytes.resize(BATCH_HEADER_SIZE, 0);
        BatchBuilder {
            base_offset: Offset::ZERO,
            leader_epoch: LeaderEpoch::NONE,
            attributes: Attributes::default(),
            compression: Compression::NONE,
            producer: Producer::NONE,
            append_time: None,
            base_timestamp: -1,
            max_timestamp: -1,
            last_offset_delta: -1,
            count: 0,
            bytes,
        }
    }

    /// The marker that ends a transaction, as one batch.
    pub fn end_transaction(
        marker: EndTransactionMarker,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        timestamp: i64,
    ) -> Result<BatchBuilder, BuildError> {
        let producer = Producer {
            id: producer_id,
            epoch: producer_epoch,
            base_sequence: -1,
        };
        let mut builder = BatchBuilder::new().with_producer(producer).transactional();
        builder.append_control(marker.kind, &marker.value(), timestamp)?;
        Ok(builder)
    }

    /// Begins at another offset.
    #[must_use]
    pub fn with_base_offset(mut self, base_offset: Offset) -> BatchBuilder {
        self.base_offset = base_offset;
        self
    }

    /// Appended by the leader of this epoch.
    #[must_use]
    pub fn with_leader_epoch(mut self, leader_epoch: LeaderEpoch) -> BatchBuilder {
        self.leader_epoch = leader_epoch;
        self
    }

    /// Compressed.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> BatchBuilder {
        self.attributes = self.attributes.with_codec(compression.codec);
        self.compression = compression;
        self
    }

    /// Of an idempotent producer.
    #[must_use]
    pub fn with_producer(mut self, producer: Producer) -> BatchBuilder {
        self.producer = producer;
        self
    }

    /// Stamped with the time of the append.
    #[must_use]
    pub fn with_log_append_time(mut self, now_ms: i64) -> BatchBuilder {
        self.append_time = Some(now_ms);
        self.attributes = self.attributes.with_timestamp_type(TimestampType::LogAppendTime);
        self
    }

    /// Of a transaction.
    #[must_use]
    pub fn transactional(mut self) -> BatchBuilder {
        self.attributes = self.attributes.transactional();
        self
    }

    /// The number of records so far.
    pub fn record_count(&self) -> i32 {
        self.count
    }

    /// The size so far, uncompressed.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a record at the next offset.
    pub fn append(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[HeaderRef<'_>],
    ) -> Result<(), BuildError> {
        let next = self
            .base_offset
            .0
            .saturating_add(i64::from(self.last_offset_delta))
            .saturating_add(1);
        self.append_at(Offset(next), timestamp, key, value, headers)
    }

    /// Appends a record at an offset above the last one.
    pub fn append_at(
        &mut self,
        offset: Offset,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[HeaderRef<'_>],
    ) -> Result<(), BuildError> {
        let offset_delta = offset
            .0
            .checked_sub(self.base_offset.0)
            .and_then(|delta| i32::try_from(delta).ok());
        let offset_delta = offset_delta
            .filter(|delta| *delta > self.last_offset_delta)
            .ok_or(BuildError::Offset {
                offset,
                base: self.base_offset,
            })?;
        let base_timestamp = if self.count == 0 {
            timestamp
        } else {
            self.base_timestamp
        };
        let timestamp_delta = timestamp
            .checked_sub(base_timestamp)
            .ok_or(BuildError::Timestamp {
                timestamp,
                base: base_timestamp,
            })?;
        let length = body_size(timestamp_delta, offset_delta, [key, value], headers);
        let total = self
            .size()
            .saturating_add(length)
            .saturating_add(varint_size(i32::MAX));
        let fits = |size: usize| i32::try_from(size).map_err(|_| BuildError::TooLarge(size));
        fits(total)?;

        put_varint(&mut self.bytes, fits(length)?);
        self.bytes.push(0);
        put_varlong(&mut self.bytes, timestamp_delta);
        put_varint(&mut self.bytes, offset_delta);
        put_nullable(&mut self.bytes, key);
        put_nullable(&mut self.bytes, value);
        put_varint(&mut self.bytes, fits(headers.len())?);
        for header in headers {
            put_nullable(&mut self.bytes, Some(header.key));
            put_nullable(&mut self.bytes, header.value);
        }
        self.max_timestamp = if self.count == 0 {
            timestamp
        } else {
            self.max_timestamp.max(timestamp)
        };
        self.base_timestamp = base_timestamp;
        self.last_offset_delta = offset_delta;
        self.count += 1;
        Ok(())
    }

    /// Appends a control record, which makes the batch a control batch. `value` is the kind's message with its version.
    pub fn append_control(
        &mut self,
        kind: ControlRecordType,
        value: &[u8],
        timestamp: i64,
    ) -> Result<(), BuildError> {
        self.attributes = self.attributes.control();
        self.append(timestamp, Some(&kind.key()), Some(value), &[])
    }

    /// The batch, with its checksum.
    pub fn build(self) -> Result<Bytes, BuildError> {
        if self.count == 0 {
            return Err(BuildError::Empty);
        }
        let mut bytes = self.bytes;
        if self.compression.codec != Codec::None {
            let records = compress(
                self.compression,
                bytes.get(BATCH_HEADER_SIZE..).unwrap_or_default(),
            )?;
            bytes.truncate(BATCH_HEADER_SIZE);
            bytes.extend_from_slice(&records);
        }
        let size = bytes.len();
        let header = BatchHeader {
            base_offset: self.base_offset,
            batch_length: i32::try_from(size - LOG_OVERHEAD).map_err(|_| BuildError::TooLarge(size))?,
            leader_epoch: self.leader_epoch,
            crc: 0,
            attributes: self.attributes,
            last_offset_delta: self.last_offset_delta,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.append_time.unwrap_or(self.max_timestamp),
            producer_id: self.producer.id,
            producer_epoch: self.producer.epoch,
            base_sequence: self.producer.base_sequence,
            record_count: self.count,
        };
        if let Some((head, records)) = bytes.split_first_chunk_mut() {
            *head = header.sealed(records).to_bytes();
        }
        Ok(bytes.into())
    }
}

/// The size of a record after its length.
fn body_size(
    timestamp_delta: i64,
    offset_delta: i32,
    key_value: [Option<&[u8]>; 2],
    headers: &[HeaderRef<'_>],
) -> usize {
    let sized = |bytes: Option<&[u8]>| {
        let length = bytes.map_or(0, <[u8]>::len);
        length.saturating_add(varlong_size(i64::try_from(length).unwrap_or(i64::MAX).max(-1)))
    };
    let headers_size: usize = headers
        .iter()
        .map(|header| sized(Some(header.key)) + sized(header.value))
        .sum();
    1 + varlong_size(timestamp_delta)
        + varint_size(offset_delta)
        + key_value.into_iter().map(sized).sum::<usize>()
        + varlong_size(i64::try_from(headers.len()).unwrap_or(i64::MAX))
        + headers_size
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        None => put_varint(out, -1),
        Some(bytes) => {
            put_varint(out, i32::try_from(bytes.len()).unwrap_or(i32::MAX));
            out.extend_from_slice(bytes);
        }
    }
}

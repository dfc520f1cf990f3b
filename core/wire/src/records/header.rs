//! The 61-byte header of a batch, and the 17 bytes that entries of every magic begin with.

use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use super::codec::{Codec, CodecError};
use super::cursor::{Cursor, CursorError};

/// The size of a batch without its records.
pub const BATCH_HEADER_SIZE: usize = 61;
/// What an entry of any magic begins with: offset (8), length (4), four bytes that differ, magic (1).
pub const ENTRY_PREFIX_SIZE: usize = 17;
/// Offset and length, which the length does not count.
pub(super) const LOG_OVERHEAD: usize = 12;
/// Where the checksum's cover begins: at the attributes.
pub(super) const CRC_START: usize = 21;

const CODEC_MASK: i16 = 0x07;
const TIMESTAMP_TYPE_BIT: i16 = 0x08;
const TRANSACTIONAL_BIT: i16 = 0x10;
const CONTROL_BIT: i16 = 0x20;
const DELETE_HORIZON_BIT: i16 = 0x40;

/// What is wrong with a batch as a whole, seen from its header, its length and its checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Fewer bytes than the entry says it has; at the end of a fetch response or of a torn log this is usual.
    #[error("the batch is cut off: {needed} bytes are needed, {available} are there")]
    Truncated {
        /// The bytes it should have.
        needed: usize,
        /// The bytes there are.
        available: usize,
    },
    /// The length field is below what the smallest entry of its magic takes.
    #[error("batch length {0} is below the smallest possible")]
    LengthTooSmall(i32),
    /// A magic that does not exist, or one that is not allowed here.
    #[error("magic {0} is not a record format that is served here")]
    Magic(i8),
    /// The checksum does not match the bytes.
    #[error("checksum {computed:#010x} of the batch differs from {stored:#010x} in its header")]
    Checksum {
        /// The one in the header.
        stored: u32,
        /// The one of the bytes.
        computed: u32,
    },
    /// The count of records and the span of offsets do not agree, or the count is negative (rule 6).
    #[error("batch of {count} records spans an offset delta of {last_offset_delta}")]
    Count {
        /// The number of records by the header.
        count: i32,
        /// The last offset minus the first by the header.
        last_offset_delta: i32,
    },
}

/// Who set a batch's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer.
    #[default]
    CreateTime,
    /// The broker, at the append.
    LogAppendTime,
}

/// The attribute bits of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(pub i16);

impl Attributes {
    /// How the records are compressed; an error for the ids that no codec has (5 to 7).
    pub fn codec(self) -> Result<Codec, CodecError> {
        Codec::from_id(i8::try_from(self.0 & CODEC_MASK).unwrap_or_default())
    }

    /// Who set the timestamps.
    pub fn timestamp_type(self) -> TimestampType {
        if self.0 & TIMESTAMP_TYPE_BIT == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(self) -> bool {
        self.0 & TRANSACTIONAL_BIT != 0
    }

    /// Whether the records are control records, which clients never see.
    pub fn is_control(self) -> bool {
        self.0 & CONTROL_BIT != 0
    }

    /// Whether the base timestamp is a delete horizon (rule 116).
    pub fn has_delete_horizon(self) -> bool {
        self.0 & DELETE_HORIZON_BIT != 0
    }

    /// The bits that have no meaning yet (rule 15).
    pub fn unknown_bits(self) -> i16 {
        self.0 & !(CODEC_MASK | TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT)
    }

    /// The same with another codec.
    #[must_use]
    pub fn with_codec(self, codec: Codec) -> Attributes {
        Attributes((self.0 & !CODEC_MASK) | i16::from(codec.id()))
    }

    /// The same with another timestamp type.
    #[must_use]
    pub fn with_timestamp_type(self, timestamp_type: TimestampType) -> Attributes {
        match timestamp_type {
            TimestampType::CreateTime => Attributes(self.0 & !TIMESTAMP_TYPE_BIT),
            TimestampType::LogAppendTime => Attributes(self.0 | TIMESTAMP_TYPE_BIT),
        }
    }

    /// The same, of a transaction.
    #[must_use]
    pub fn transactional(self) -> Attributes {
        Attributes(self.0 | TRANSACTIONAL_BIT)
    }

    /// The same, of control records.
    #[must_use]
    pub fn control(self) -> Attributes {
        Attributes(self.0 | CONTROL_BIT)
    }

    /// The same, with a delete horizon as base timestamp.
    #[must_use]
    pub fn delete_horizon(self) -> Attributes {
        Attributes(self.0 | DELETE_HORIZON_BIT)
    }
}

/// What an entry of a log begins with, whatever its magic: enough to step over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPrefix {
    /// The first offset of a batch; of a message, its own offset, or the last one inside when it is a wrapper.
    pub offset: Offset,
    /// The whole size in bytes, from the offset field on.
    pub size: usize,
    /// The format: 0, 1 or 2.
    pub magic: i8,
}

impl EntryPrefix {
    /// Reads the first [`ENTRY_PREFIX_SIZE`] bytes. The size is checked against the smallest of the magic, not against
    /// the bytes there are.
    pub fn parse(bytes: &[u8]) -> Result<EntryPrefix, BatchError> {
        let truncated = |_| BatchError::Truncated {
            needed: ENTRY_PREFIX_SIZE,
            available: bytes.len(),
        };
        let mut cursor = Cursor::new(bytes);
        let offset = cursor.i64().map_err(truncated)?;
        let length = cursor.i32().map_err(truncated)?;
        cursor.take(4).map_err(truncated)?;
        let magic = cursor.i8().map_err(truncated)?;
        let smallest = match magic {
            0 => 14,
            1 => 22,
            2 => BATCH_HEADER_SIZE - LOG_OVERHEAD,
            other => return Err(BatchError::Magic(other)),
        };
        match usize::try_from(length) {
            Ok(length) if length >= smallest => Ok(EntryPrefix {
                offset: Offset(offset),
                size: length.saturating_add(LOG_OVERHEAD),
                magic,
            }),
            _ => Err(BatchError::LengthTooSmall(length)),
        }
    }
}

/// The header of a batch, magic 2, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record; 0 in what a client produces.
    pub base_offset: Offset,
    /// The size in bytes after this field, as it stands in the header.
    pub batch_length: i32,
    /// The epoch of the leader that appended the batch.
    pub leader_epoch: LeaderEpoch,
    /// The checksum (CRC-32C) of everything from the attributes on.
    pub crc: u32,
    /// Codec, timestamp type, transaction, control, delete horizon.
    pub attributes: Attributes,
    /// The last offset minus the first; stays when compaction removes the last record.
    pub last_offset_delta: i32,
    /// What the timestamps of the records are relative to; a delete horizon when the attributes say so.
    pub base_timestamp: i64,
    /// The largest timestamp of the records, or the time of the append.
    pub max_timestamp: i64,
    /// The producer; -1 when not idempotent.
    pub producer_id: ProducerId,
    /// The producer's epoch; -1 when not idempotent.
    pub producer_epoch: ProducerEpoch,
    /// The sequence number of the first record; -1 when not idempotent.
    pub base_sequence: i32,
    /// The number of records; 0 only in what compaction emptied.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the first 61 bytes of a batch. Checks magic and length; not the checksum, nor that all bytes are there.
    pub fn parse(bytes: &[u8]) -> Result<BatchHeader, BatchError> {
        let prefix = EntryPrefix::parse(bytes)?;
        if prefix.magic != 2 {
            return Err(BatchError::Magic(prefix.magic));
        }
        Self::read(bytes).map_err(|_| BatchError::Truncated {
            needed: BATCH_HEADER_SIZE,
            available: bytes.len(),
        })
    }

    fn read(bytes: &[u8]) -> Result<BatchHeader, CursorError> {
        let mut cursor = Cursor::new(bytes);
        let base_offset = Offset(cursor.i64()?);
        let batch_length = cursor.i32()?;
        let leader_epoch = LeaderEpoch(cursor.i32()?);
        let _magic = cursor.i8()?;
        Ok(BatchHeader {
            base_offset,
            batch_length,
            leader_epoch,
            crc: cursor.u32()?,
            attributes: Attributes(cursor.i16()?),
            last_offset_delta: cursor.i32()?,
            base_timestamp: cursor.i64()?,
            max_timestamp: cursor.i64()?,
            producer_id: ProducerId(cursor.i64()?),
            producer_epoch: ProducerEpoch(cursor.i16()?),
            base_sequence: cursor.i32()?,
            record_count: cursor.i32()?,
        })
    }

    /// This with the checksum of itself and the records behind it, as they are stored.
    #[must_use]
    pub fn sealed(mut self, stored_records: &[u8]) -> BatchHeader {
        let covered = crc32c::crc32c(self.to_bytes().get(CRC_START..).unwrap_or_default());
        self.crc = crc32c::crc32c_append(covered, stored_records);
        self
    }

    /// The header as it lies on disk.
    pub fn to_bytes(&self) -> [u8; BATCH_HEADER_SIZE] {
        let mut bytes = [0; BATCH_HEADER_SIZE];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + field.len()) {
                place.copy_from_slice(field);
            }
            at += field.len();
        };
        put(&self.base_offset.0.to_be_bytes());
        put(&self.batch_length.to_be_bytes());
        put(&self.leader_epoch.0.to_be_bytes());
        put(&2i8.to_be_bytes());
        put(&self.crc.to_be_bytes());
        put(&self.attributes.0.to_be_bytes());
        put(&self.last_offset_delta.to_be_bytes());
        put(&self.base_timestamp.to_be_bytes());
        put(&self.max_timestamp.to_be_bytes());
        put(&self.producer_id.0.to_be_bytes());
        put(&self.producer_epoch.0.to_be_bytes());
        put(&self.base_sequence.to_be_bytes());
        put(&self.record_count.to_be_bytes());
        bytes
    }

    /// The whole size in bytes, header included.
    pub fn size(&self) -> usize {
        usize::try_from(self.batch_length)
            .unwrap_or_default()
            .saturating_add(LOG_OVERHEAD)
    }

    /// The offset of the last record, also when compaction removed it.
    pub fn last_offset(&self) -> Offset {
        Offset(
            self.base_offset
                .0
                .saturating_add(i64::from(self.last_offset_delta)),
        )
    }

    /// The offset after the batch.
    pub fn next_offset(&self) -> Offset {
        Offset(self.last_offset().0.saturating_add(1))
    }

    /// Whether a producer with a sequence wrote the batch.
    pub fn has_producer(&self) -> bool {
        self.producer_id != ProducerId::NONE
    }

    /// The sequence number of the last record; -1 when there is none. Wraps from `i32::MAX` to 0 (rule 22).
    pub fn last_sequence(&self) -> i32 {
        sequence_after(self.base_sequence, self.last_offset_delta)
    }

    /// The delete horizon in milliseconds, when there is one (rule 116).
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        self.attributes
            .has_delete_horizon()
            .then_some(self.base_timestamp)
    }

    /// Rule 6: at least one record, and as many as the offsets span.
    pub fn check_count(&self) -> Result<(), BatchError> {
        let spanned = self.last_offset_delta.checked_add(1);
        if self.record_count > 0 && spanned == Some(self.record_count) {
            return Ok(());
        }
        Err(BatchError::Count {
            count: self.record_count,
            last_offset_delta: self.last_offset_delta,
        })
    }
}

/// The sequence number `delta` further on, wrapping from `i32::MAX` to 0; -1 where there is no sequence.
pub(super) fn sequence_after(base: i32, delta: i32) -> i32 {
    if base < 0 {
        return -1;
    }
    let sum = i64::from(base) + i64::from(delta);
    i32::try_from(sum & i64::from(i32::MAX)).unwrap_or(-1)
}

//! Messages of magic 0 and 1, as brokers before 0.11 stored them. Read only: nothing writes them any more.
//!
//! A message that names a codec is a wrapper: its value is a compressed message set, and its offset is that of the
//! last message inside. Inner offsets are absolute in magic 0 and relative in magic 1.

use bytes::Bytes;
use model::Offset;

use super::codec::{Codec, CodecError, DecompressionLimit, decompress_legacy};
use super::cursor::{Cursor, CursorError};
use super::header::{BatchError, EntryPrefix, LOG_OVERHEAD, TimestampType};
use super::record::{Record, RecordError};

/// Where the checksum's cover begins: at the magic.
const CRC_START: usize = 16;
const CODEC_MASK: i8 = 0x07;
const TIMESTAMP_TYPE_BIT: i8 = 0x08;

/// A message, viewed in place.
#[derive(Clone, Debug)]
pub struct Message {
    offset: Offset,
    crc: u32,
    magic: i8,
    attributes: i8,
    timestamp: i64,
    key: Option<Bytes>,
    value: Option<Bytes>,
    bytes: Bytes,
}

impl Message {
    /// The message at the start of `bytes`, which may go on behind it.
    pub fn parse(bytes: &Bytes) -> Result<Message, BatchError> {
        let prefix = EntryPrefix::parse(bytes)?;
        if !matches!(prefix.magic, 0 | 1) {
            return Err(BatchError::Magic(prefix.magic));
        }
        if bytes.len() < prefix.size {
            return Err(BatchError::Truncated {
                needed: prefix.size,
                available: bytes.len(),
            });
        }
        let bytes = bytes.slice(..prefix.size);
        let length = i32::try_from(prefix.size - LOG_OVERHEAD).unwrap_or(i32::MAX);
        Self::read(&bytes, prefix).map_err(|_| BatchError::LengthTooSmall(length))
    }

    fn read(bytes: &Bytes, prefix: EntryPrefix) -> Result<Message, CursorError> {
        let mut cursor = Cursor::new(bytes);
        cursor.take(LOG_OVERHEAD)?;
        let crc = cursor.u32()?;
        let magic = cursor.i8()?;
        let attributes = cursor.i8()?;
        let timestamp = if magic == 0 { -1 } else { cursor.i64()? };
        let key = nullable(&mut cursor)?.map(|key| bytes.slice_ref(key));
        let value = nullable(&mut cursor)?.map(|value| bytes.slice_ref(value));
        if cursor.remaining() > 0 {
            return Err(CursorError::End);
        }
        Ok(Message {
            offset: prefix.offset,
            crc,
            magic,
            attributes,
            timestamp,
            key,
            value,
            bytes: bytes.clone(),
        })
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The format: 0 or 1.
    pub fn magic(&self) -> i8 {
        self.magic
    }

    /// Its offset; of a wrapper, that of the last message inside.
    pub fn last_offset(&self) -> Offset {
        self.offset
    }

    /// Milliseconds since 1970; of a wrapper, the largest inside. -1 in magic 0.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// Who set the timestamp; `None` in magic 0.
    pub fn timestamp_type(&self) -> Option<TimestampType> {
        match (self.magic, self.attributes & TIMESTAMP_TYPE_BIT) {
            (0, _) => None,
            (_, 0) => Some(TimestampType::CreateTime),
            _ => Some(TimestampType::LogAppendTime),
        }
    }

    /// The codec of a wrapper; [`Codec::None`] for a plain message. zstd came after these formats.
    pub fn codec(&self) -> Result<Codec, CodecError> {
        match Codec::from_id(self.attributes & CODEC_MASK)? {
            Codec::Zstd => Err(CodecError::UnknownCodec(Codec::Zstd.id())),
            codec => Ok(codec),
        }
    }

    /// The checksum (CRC-32) of everything from the magic on.
    pub fn verify_crc(&self) -> Result<(), BatchError> {
        let mut computed = flate2::Crc::new();
        computed.update(self.bytes.get(CRC_START..).unwrap_or_default());
        if computed.sum() == self.crc {
            return Ok(());
        }
        Err(BatchError::Checksum {
            stored: self.crc,
            computed: computed.sum(),
        })
    }

    /// The messages as records: itself, or what it wraps.
    pub fn records(&self, limit: DecompressionLimit) -> Result<Vec<Record>, RecordError> {
        match self.codec()? {
            Codec::None => Ok(vec![self.as_record()]),
            codec => self.unwrap_set(codec, limit),
        }
    }

    fn unwrap_set(&self, codec: Codec, limit: DecompressionLimit) -> Result<Vec<Record>, RecordError> {
        let value = self
            .value
            .as_ref()
            .ok_or(RecordError::Legacy("a wrapper without a value"))?;
        let mut rest = decompress_legacy(codec, self.magic, value, limit)?;
        let mut records = Vec::new();
        while !rest.is_empty() {
            let message =
                Message::parse(&rest).map_err(|_| RecordError::Legacy("a broken message in a wrapper"))?;
            rest = rest.slice(message.bytes.len()..);
            if message.magic != self.magic {
                return Err(RecordError::Legacy("a message of another magic than its wrapper"));
            }
            if message.codec()? != Codec::None {
                return Err(RecordError::Legacy("a wrapper inside a wrapper"));
            }
            records.push(message.as_record());
        }
        let last = records
            .last()
            .ok_or(RecordError::Legacy("a wrapper without messages"))?
            .offset;
        if self.magic == 1 {
            let shift = self
                .offset
                .0
                .checked_sub(last.0)
                .ok_or(RecordError::Offset { index: 0 })?;
            for (index, record) in (0..).zip(&mut records) {
                record.offset = record
                    .offset
                    .checked_add(shift)
                    .ok_or(RecordError::Offset { index })?;
            }
        }
        if self.timestamp_type() == Some(TimestampType::LogAppendTime) {
            records
                .iter_mut()
                .for_each(|record| record.timestamp = self.timestamp);
        }
        Ok(records)
    }

    fn as_record(&self) -> Record {
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            sequence: -1,
            key: self.key.clone(),
            value: self.value.clone(),
            headers: Vec::new(),
        }
    }
}

/// Bytes behind a 32-bit length; `None` for -1.
fn nullable<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, CursorError> {
    match cursor.i32()? {
        -1 => Ok(None),
        length => cursor
            .take(usize::try_from(length).map_err(|_| CursorError::End)?)
            .map(Some),
    }
}

//! The records of a batch: borrowed ([`RecordRef`]) for checks, owned slices ([`Record`]) for readers.
//!
//! Bounds are strict: a record may not reach past its batch, nor a field past its record; what is left over after the
//! last record is an error. What only an append must refuse (wrong deltas, unknown attribute bits) is for the log to
//! judge: a reader must still read what an older broker has stored.

use std::iter::FusedIterator;

use bytes::Bytes;
use model::Offset;

use super::batch::Batch;
use super::codec::CodecError;
use super::cursor::{Cursor, CursorError, zigzag};
use super::header::{BatchHeader, TimestampType, sequence_after};

/// What is wrong inside a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The records could not be decompressed.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The records end before the count in the header says so.
    #[error("record {index} of {count} is cut off")]
    Truncated {
        /// The place of the record in its batch, from 0.
        index: i32,
        /// The number of records by the header.
        count: i32,
    },
    /// A record whose length or fields make no sense.
    #[error("record {index} is malformed: {what}")]
    Malformed {
        /// The place of the record in its batch, from 0.
        index: i32,
        /// What does not fit.
        what: &'static str,
    },
    /// A timestamp delta that leads out of the range of timestamps (rule 15).
    #[error("record {index} has a timestamp out of range")]
    Timestamp {
        /// The place of the record in its batch, from 0.
        index: i32,
    },
    /// An offset delta that leads out of the range of offsets.
    #[error("record {index} has an offset out of range")]
    Offset {
        /// The place of the record in its batch, from 0.
        index: i32,
    },
    /// Bytes after the last record (rule 15).
    #[error("{0} bytes follow the last record")]
    TrailingBytes(usize),
    /// An old message that does not fit its frame, or a wrapper with wrong contents.
    #[error("message set is malformed: {0}")]
    Legacy(&'static str),
}

/// The size of a record without key, value and headers: its length, attributes, deltas, lengths, count of headers.
pub const RECORD_MIN_SIZE: usize = 7;

/// A record, borrowed from the decompressed records of its batch.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// The attribute bits; none has a meaning yet.
    pub attributes: i8,
    /// The offset minus the batch's first.
    pub offset_delta: i32,
    /// The timestamp as the record has it: relative to the base timestamp of the batch.
    pub timestamp_delta: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// The headers, in order, duplicates included.
    pub headers: HeaderRefs<'a>,
}

/// A header of a record, borrowed. The key should be UTF-8, which nobody guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderRef<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record: checked when the record was read, parsed when asked for.
#[derive(Clone, Copy, Debug)]
pub struct HeaderRefs<'a> {
    count: i32,
    cursor: Cursor<'a>,
}

impl<'a> HeaderRefs<'a> {
    /// The number of headers left.
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or_default()
    }

    /// Whether no header is left.
    pub fn is_empty(&self) -> bool {
        self.count <= 0
    }

    /// Checks `count` headers at the cursor, which is moved behind them.
    fn read(cursor: &mut Cursor<'a>, index: i32) -> Result<HeaderRefs<'a>, RecordError> {
        let malformed = |what| RecordError::Malformed { index, what };
        let count = cursor.varint().map_err(|_| malformed("header count"))?;
        let headers = HeaderRefs {
            count,
            cursor: *cursor,
        };
        // The smallest header takes two bytes: a larger count cannot be true, and is refused before the loop.
        if usize::try_from(count).map_or(true, |count| count > cursor.remaining() / 2) {
            return Err(malformed("header count"));
        }
        for _ in 0..count {
            read_header(cursor).map_err(|_| malformed("header"))?;
        }
        Ok(headers)
    }
}

fn read_header<'a>(cursor: &mut Cursor<'a>) -> Result<HeaderRef<'a>, CursorError> {
    let key = cursor.nullable_bytes()?.ok_or(CursorError::End)?;
    let value = cursor.nullable_bytes()?;
    Ok(HeaderRef { key, value })
}

impl<'a> Iterator for HeaderRefs<'a> {
    type Item = HeaderRef<'a>;

    fn next(&mut self) -> Option<HeaderRef<'a>> {
        if self.count <= 0 {
            return None;
        }
        self.count -= 1;
        read_header(&mut self.cursor).ok()
    }
}

/// Walks the decompressed records of a batch. Ends after the first error.
#[derive(Clone, Debug)]
pub struct RecordRefs<'a> {
    cursor: Cursor<'a>,
    index: i32,
    count: i32,
    ended: bool,
}

impl<'a> RecordRefs<'a> {
    /// Walks `count` records that lie in `payload` and fill it.
    pub fn new(payload: &'a [u8], count: i32) -> RecordRefs<'a> {
        RecordRefs {
            cursor: Cursor::new(payload),
            index: 0,
            count,
            ended: false,
        }
    }

    /// The same records by [`RecordRefs::read`] alone.
    #[cfg(test)]
    pub(super) fn without_quick_way(mut self) -> impl Iterator<Item = Result<RecordRef<'a>, RecordError>> {
        std::iter::from_fn(move || self.step(Self::read))
    }

    /// The next record where it is like most: lengths and deltas of three bytes at most, no headers. An append walks
    /// over every record, and this costs a fifth of [`RecordRefs::read`], which knows the rest and says what is wrong.
    #[inline]
    fn read_plain(&mut self) -> Option<RecordRef<'a>> {
        let mut after = self.cursor;
        let mut body = Cursor::new(after.short_nullable_bytes()??);
        let attributes = body.i8().ok()?;
        let timestamp_delta = i64::from(zigzag(body.short_varint()?));
        let offset_delta = zigzag(body.short_varint()?);
        let key = body.short_nullable_bytes()?;
        let value = body.short_nullable_bytes()?;
        if body.rest() != [0] {
            return None;
        }
        self.cursor = after;
        Some(RecordRef {
            attributes,
            offset_delta,
            timestamp_delta,
            key,
            value,
            headers: HeaderRefs {
                count: 0,
                cursor: Cursor::new(&[]),
            },
        })
    }

    /// One step of the walk, a record read by `read`.
    #[inline]
    fn step(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<RecordRef<'a>, RecordError>,
    ) -> Option<Result<RecordRef<'a>, RecordError>> {
        if self.ended {
            return None;
        }
        if self.index >= self.count {
            self.ended = true;
            let left = self.cursor.remaining();
            return (left > 0).then_some(Err(RecordError::TrailingBytes(left)));
        }
        let record = read(self);
        self.ended = record.is_err();
        self.index += 1;
        Some(record)
    }

    #[inline(never)]
    fn read(&mut self) -> Result<RecordRef<'a>, RecordError> {
        let index = self.index;
        let truncated = RecordError::Truncated {
            index,
            count: self.count,
        };
        let malformed = |what| move |_| RecordError::Malformed { index, what };
        if self.cursor.remaining() == 0 {
            return Err(truncated);
        }
        let length = self.cursor.varint().map_err(malformed("length"))?;
        let length = usize::try_from(length).map_err(|_| RecordError::Malformed {
            index,
            what: "length",
        })?;
        let mut body = Cursor::new(self.cursor.take(length).map_err(|_| truncated)?);
        let attributes = body.i8().map_err(malformed("attributes"))?;
        let timestamp_delta = body.varlong().map_err(malformed("timestamp delta"))?;
        let offset_delta = body.varint().map_err(malformed("offset delta"))?;
        let key = body.nullable_bytes().map_err(malformed("key"))?;
        let value = body.nullable_bytes().map_err(malformed("value"))?;
        let headers = HeaderRefs::read(&mut body, index)?;
        if body.remaining() > 0 {
            return Err(RecordError::Malformed {
                index,
                what: "bytes after the last header",
            });
        }
        Ok(RecordRef {
            attributes,
            offset_delta,
            timestamp_delta,
            key,
            value,
            headers,
        })
    }
}

impl<'a> Iterator for RecordRefs<'a> {
    type Item = Result<RecordRef<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.step(|walk| match walk.read_plain() {
            Some(record) => Ok(record),
            None => walk.read(),
        })
    }
}

impl FusedIterator for RecordRefs<'_> {}

/// A header of a record: slices of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The key. UTF-8 by convention; nobody guarantees it.
    pub key: Bytes,
    /// The value.
    pub value: Option<Bytes>,
}

impl RecordHeader {
    /// The same, borrowed.
    pub fn borrowed(&self) -> HeaderRef<'_> {
        HeaderRef {
            key: &self.key,
            value: self.value.as_deref(),
        }
    }
}

/// A record with its absolute offset and time: key, value and headers are slices of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The place in the partition.
    pub offset: Offset,
    /// Milliseconds since 1970; -1 in messages of magic 0, which have none.
    pub timestamp: i64,
    /// The producer's sequence number; -1 when there is none.
    pub sequence: i32,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone in a compacted topic.
    pub value: Option<Bytes>,
    /// The headers, in order, duplicates included.
    pub headers: Vec<RecordHeader>,
}

/// The records of a batch, with absolute offsets and times. Ends after the first error.
#[derive(Clone, Debug)]
pub struct RecordIter {
    header: BatchHeader,
    payload: Bytes,
    position: usize,
    index: i32,
    ended: bool,
}

impl RecordIter {
    pub(super) fn new(batch: &Batch, payload: Bytes) -> RecordIter {
        RecordIter {
            header: *batch.header(),
            payload,
            position: 0,
            index: 0,
            ended: false,
        }
    }

    fn read(&mut self) -> Option<Result<Record, RecordError>> {
        let rest = self.payload.get(self.position..)?;
        let mut walk = RecordRefs {
            cursor: Cursor::new(rest),
            index: self.index,
            count: self.header.record_count,
            ended: false,
        };
        let record = match walk.next()? {
            Ok(record) => record,
            Err(error) => return Some(Err(error)),
        };
        let index = self.index;
        self.position = self.payload.len() - walk.cursor.remaining();
        self.index = walk.index;
        Some(self.absolute(&record, index))
    }

    fn absolute(&self, record: &RecordRef<'_>, index: i32) -> Result<Record, RecordError> {
        let header = &self.header;
        let offset = header.base_offset.checked_add(i64::from(record.offset_delta));
        let timestamp = match header.attributes.timestamp_type() {
            TimestampType::LogAppendTime => Some(header.max_timestamp),
            TimestampType::CreateTime => header.base_timestamp.checked_add(record.timestamp_delta),
        };
        let slice = |part: &[u8]| self.payload.slice_ref(part);
        let headers = record.headers.map(|header| RecordHeader {
            key: slice(header.key),
            value: header.value.map(slice),
        });
        Ok(Record {
            offset: offset.ok_or(RecordError::Offset { index })?,
            timestamp: timestamp.ok_or(RecordError::Timestamp { index })?,
            sequence: sequence_after(header.base_sequence, record.offset_delta),
            key: record.key.map(slice),
            value: record.value.map(slice),
            headers: headers.collect(),
        })
    }
}

impl Iterator for RecordIter {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.read();
        self.ended = !matches!(record, Some(Ok(_)));
        record
    }
}

impl FusedIterator for RecordIter {}

//! A batch viewed in place, and the iterators over a record set.

use bytes::Bytes;
use model::Offset;

use super::builder::Producer;
use super::codec::{Codec, DecompressionLimit, decompress, decompress_into};
use super::header::{
    BATCH_HEADER_SIZE, BatchError, BatchHeader, CRC_START, ENTRY_PREFIX_SIZE, EntryPrefix, TimestampType,
};
use super::legacy::Message;
use super::record::{Record, RecordError, RecordIter, RecordRefs};

/// A batch of magic 2: its header in numbers and its bytes, shared with the frame or file they came from.
#[derive(Clone, Debug)]
pub struct Batch {
    header: BatchHeader,
    bytes: Bytes,
}

impl Batch {
    /// The batch at the start of `bytes`, which may go on behind it.
    pub fn parse(bytes: &Bytes) -> Result<Batch, BatchError> {
        let header = BatchHeader::parse(bytes)?;
        let needed = header.size();
        if bytes.len() < needed {
            return Err(BatchError::Truncated {
                needed,
                available: bytes.len(),
            });
        }
        Ok(Batch {
            header,
            bytes: bytes.slice(..needed),
        })
    }

    /// The header.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The bytes, header included.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The records as they lie in the batch, compressed or not.
    pub fn stored_records(&self) -> Bytes {
        self.bytes.slice(BATCH_HEADER_SIZE.min(self.bytes.len())..)
    }

    /// The same records of a producer with another id, epoch or sequence number.
    pub fn renumbered(&self, producer: Producer) -> Bytes {
        let records = self.stored_records();
        let header = BatchHeader {
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            base_sequence: producer.base_sequence,
            ..self.header
        };
        let head = header.sealed(&records).to_bytes();
        [&head[..], &records].concat().into()
    }

    /// Rule 5: the checksum of everything from the attributes on.
    pub fn verify_crc(&self) -> Result<(), BatchError> {
        let computed = crc32c::crc32c(self.bytes.get(CRC_START..).unwrap_or_default());
        if computed == self.header.crc {
            return Ok(());
        }
        Err(BatchError::Checksum {
            stored: self.header.crc,
            computed,
        })
    }

    /// The records, decompressed where they are compressed; no copy where they are not. A batch that compaction has
    /// emptied holds nothing, whatever its codec.
    pub fn payload(&self, limit: DecompressionLimit) -> Result<Bytes, RecordError> {
        if self.stored_records().is_empty() {
            return Ok(Bytes::new());
        }
        Ok(decompress(
            self.header.attributes.codec()?,
            &self.stored_records(),
            limit,
        )?)
    }

    /// The records like [`Batch::payload`], decompressed into a buffer of the caller's; where they lie in the batch when
    /// they are not compressed.
    pub fn payload_in<'a>(
        &'a self,
        limit: DecompressionLimit,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], RecordError> {
        let stored = self.bytes.get(BATCH_HEADER_SIZE..).unwrap_or_default();
        let codec = self.header.attributes.codec()?;
        if stored.is_empty() || codec == Codec::None {
            return Ok(stored);
        }
        decompress_into(codec, stored, limit, buffer)?;
        Ok(buffer)
    }

    /// The records with absolute offsets and times.
    pub fn records(&self, limit: DecompressionLimit) -> Result<RecordIter, RecordError> {
        Ok(RecordIter::new(self, self.payload(limit)?))
    }

    /// The largest timestamp of the records by walking them, for a batch whose header does not know it (-1).
    pub fn largest_timestamp(&self, payload: &[u8]) -> Result<Option<i64>, RecordError> {
        let mut largest = None;
        for (index, record) in (0..).zip(RecordRefs::new(payload, self.header.record_count)) {
            let timestamp = self.header.base_timestamp.checked_add(record?.timestamp_delta);
            largest = largest.max(Some(timestamp.ok_or(RecordError::Timestamp { index })?));
        }
        Ok(largest)
    }
}

/// Steps over a record set of magic 2. Every byte must belong to a whole batch: what does not is an error, after which
/// the iterator ends. A reader of fetched data takes [`BatchError::Truncated`] for the end.
#[derive(Clone, Debug)]
pub struct Batches {
    rest: Bytes,
}

/// The batches of a record set; see [`Batches`].
pub fn batches(bytes: &Bytes) -> Batches {
    Batches { rest: bytes.clone() }
}

impl Batches {
    /// The bytes not stepped over yet.
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let batch = Batch::parse(&self.rest);
        match &batch {
            Ok(batch) => self.rest = self.rest.slice(batch.bytes.len()..),
            Err(_) => self.rest = Bytes::new(),
        }
        Some(batch)
    }
}

/// An entry of a log of any age.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A batch, magic 2.
    Batch(Batch),
    /// A message, magic 0 or 1; a compressed one wraps a message set.
    Message(Message),
}

impl Entry {
    /// The entry at the start of `bytes`, which may go on behind it.
    pub fn parse(bytes: &Bytes) -> Result<Entry, BatchError> {
        let truncated = BatchError::Truncated {
            needed: ENTRY_PREFIX_SIZE,
            available: bytes.len(),
        };
        if bytes.len() < ENTRY_PREFIX_SIZE {
            return Err(truncated);
        }
        match EntryPrefix::parse(bytes)?.magic {
            2 => Batch::parse(bytes).map(Entry::Batch),
            _ => Message::parse(bytes).map(Entry::Message),
        }
    }

    /// The bytes of the entry.
    pub fn bytes(&self) -> &Bytes {
        match self {
            Entry::Batch(batch) => batch.bytes(),
            Entry::Message(message) => message.bytes(),
        }
    }

    /// The format: 0, 1 or 2.
    pub fn magic(&self) -> i8 {
        match self {
            Entry::Batch(_) => 2,
            Entry::Message(message) => message.magic(),
        }
    }

    /// The last offset.
    pub fn last_offset(&self) -> Offset {
        match self {
            Entry::Batch(batch) => batch.header.last_offset(),
            Entry::Message(message) => message.last_offset(),
        }
    }

    /// The largest timestamp by the header; -1 where there is none.
    pub fn max_timestamp(&self) -> i64 {
        match self {
            Entry::Batch(batch) => batch.header.max_timestamp,
            Entry::Message(message) => message.timestamp(),
        }
    }

    /// Who set the timestamps; `None` for magic 0, which has none.
    pub fn timestamp_type(&self) -> Option<TimestampType> {
        match self {
            Entry::Batch(batch) => Some(batch.header.attributes.timestamp_type()),
            Entry::Message(message) => message.timestamp_type(),
        }
    }

    /// Checks the checksum: CRC-32C of a batch, CRC-32 of a message.
    pub fn verify_crc(&self) -> Result<(), BatchError> {
        match self {
            Entry::Batch(batch) => batch.verify_crc(),
            Entry::Message(message) => message.verify_crc(),
        }
    }

    /// All records, with absolute offsets and times.
    pub fn records(&self, limit: DecompressionLimit) -> Result<Vec<Record>, RecordError> {
        match self {
            Entry::Batch(batch) => batch.records(limit)?.collect(),
            Entry::Message(message) => message.records(limit),
        }
    }
}

/// Steps over a record set of any magic; as strict as [`Batches`].
#[derive(Clone, Debug)]
pub struct Entries {
    rest: Bytes,
}

/// The entries of a record set; see [`Entries`].
pub fn entries(bytes: &Bytes) -> Entries {
    Entries { rest: bytes.clone() }
}

impl Iterator for Entries {
    type Item = Result<Entry, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = Entry::parse(&self.rest);
        match &entry {
            Ok(entry) => self.rest = self.rest.slice(entry.bytes().len()..),
            Err(_) => self.rest = Bytes::new(),
        }
        Some(entry)
    }
}

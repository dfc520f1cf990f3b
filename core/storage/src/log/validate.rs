//! Judges a batch before a leader appends it (rules 3 to 15), and says what has to change in it.
//!
//! Bytes pass through: the header and the checksum are looked at, the records walked over in place. Only a topic that
//! asks for another codec makes new bytes.

use std::cell::RefCell;

use bytes::{BufMut, Bytes, BytesMut};
use wire::records::{
    BATCH_HEADER_SIZE, Batch, BatchError, BatchHeader, Codec, Compression, NewTimestamps, RECORD_MIN_SIZE,
    RecordRefs, TimestampType, compress,
};

use super::{AppendError, CompressedCheck, LogConfig, Origin, RecordFault};

/// The most records that one refusal names.
const FAULTS_MAX: usize = 100;

thread_local! {
    /// Where compressed records are looked at: the same room for each batch, or first touching it would cost more than
    /// decompressing into it.
    static UNPACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A batch that may be appended.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// The batch, in the topic's codec.
    pub(super) batch: Batch,
    /// What becomes of its timestamps.
    pub(super) timestamps: NewTimestamps,
    /// The largest of them, as it will stand in the header.
    pub(super) max_timestamp: i64,
}

/// Who asks, when, and under which configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'a> {
    pub(super) config: &'a LogConfig,
    pub(super) origin: Origin,
    pub(super) now_ms: i64,
}

/// What walking the records has found.
struct Walked {
    max_timestamp: i64,
}

impl Rules<'_> {
    /// Judges a batch whose bytes are whole.
    pub(super) fn judge(&self, batch: Batch) -> Result<Judged, AppendError> {
        let client = self.origin == Origin::Client;
        if client && batch.header().base_offset.0 != 0 {
            return Err(AppendError::Batch(format!(
                "base offset {} of a new batch",
                batch.header().base_offset
            )));
        }
        self.check_size(&batch)?;
        batch.verify_crc().map_err(AppendError::Corrupt)?;
        self.check_header(batch.header())?;
        let codec = batch
            .header()
            .attributes
            .codec()
            .map_err(AppendError::CorruptRecords)?;
        let target = self
            .config
            .compression
            .filter(|target| client && target.codec != codec);
        let checked = codec == Codec::None || self.config.compressed_check == CompressedCheck::Records;
        let walk = client && (checked || self.config.cleanup.compact || target.is_some());
        let (walked, recoded) = match walk {
            true => self.walk_batch(&batch, target)?,
            false => {
                self.check_room(&batch)?;
                (None, None)
            }
        };
        let batch = recoded.unwrap_or(batch);
        let (timestamps, max_timestamp) = self.timestamps(batch.header(), walked)?;
        // Another codec may have made it larger (rule 4).
        self.check_size(&batch)?;
        Ok(Judged {
            batch,
            timestamps,
            max_timestamp,
        })
    }

    fn check_size(&self, batch: &Batch) -> Result<(), AppendError> {
        let (size, limit) = (batch.bytes().len(), self.config.max_message_bytes);
        let allowed = self.origin == Origin::Raft || size <= usize::try_from(limit).unwrap_or(usize::MAX);
        if allowed {
            Ok(())
        } else {
            Err(AppendError::TooLarge { size, limit })
        }
    }

    fn check_header(&self, header: &BatchHeader) -> Result<(), AppendError> {
        header
            .check_count()
            .map_err(|error: BatchError| AppendError::Batch(error.to_string()))?;
        let refused = |what: &str| Err(AppendError::Batch(what.to_owned()));
        let attributes = header.attributes;
        if attributes.unknown_bits() != 0 {
            return refused("attribute bits that have no meaning are set");
        }
        if self.origin == Origin::Client {
            if attributes.is_control() {
                return refused("clients may not write control batches");
            }
            if attributes.has_delete_horizon() {
                return refused("clients may not set a delete horizon");
            }
            if header.has_producer() && header.base_sequence < 0 {
                return refused("a producer id without a sequence number");
            }
            if header.producer_id.0 < -1 || (header.has_producer() && header.producer_epoch.0 < 0) {
                return refused("a producer id or epoch below zero");
            }
        }
        if attributes.is_transactional() && !header.has_producer() {
            return refused("a transactional batch without a producer id");
        }
        Ok(())
    }

    /// A client's records that are not counted are no more than could be, however small, in what may be decompressed:
    /// the log's end moves by the count (rule 6).
    fn check_room(&self, batch: &Batch) -> Result<(), AppendError> {
        let stored = batch.bytes().len().saturating_sub(BATCH_HEADER_SIZE);
        let room = self.config.decompression_limit.for_input(stored) / RECORD_MIN_SIZE;
        let count = batch.header().record_count;
        if self.origin != Origin::Client || usize::try_from(count).is_ok_and(|count| count <= room) {
            return Ok(());
        }
        Err(AppendError::Batch(format!(
            "{count} records, where at most {room} fit into what {stored} bytes may be decompressed to"
        )))
    }

    /// Walks the records of a batch, and puts them in another codec where one is asked for.
    fn walk_batch(
        &self,
        batch: &Batch,
        target: Option<Compression>,
    ) -> Result<(Option<Walked>, Option<Batch>), AppendError> {
        UNPACKED.with_borrow_mut(|unpacked| {
            let mut walk = || {
                let payload = batch.payload_in(self.config.decompression_limit, unpacked)?;
                let walked = self.walk(batch.header(), payload)?;
                let recoded = target
                    .map(|target| recompress(batch, target, payload))
                    .transpose()?;
                Ok((Some(walked), recoded))
            };
            let result = walk();
            // A thread keeps a megabyte at most.
            if unpacked.capacity() > 1 << 20 {
                *unpacked = Vec::new();
            }
            result
        })
    }

    /// Walks the records in place: nothing is allocated unless one is refused.
    fn walk(&self, header: &BatchHeader, payload: &[u8]) -> Result<Walked, AppendError> {
        let keys = self.config.cleanup.compact;
        let (oldest, newest) = self.allowed_times();
        let mut max_timestamp = -1;
        let mut refused = Refused::default();
        for (index, record) in (0..).zip(RecordRefs::new(payload, header.record_count)) {
            let record = record?;
            if record.offset_delta != index {
                refused.record(index, || {
                    format!("offset delta {} of record {index}", record.offset_delta)
                });
            } else if record.attributes != 0 {
                refused.record(index, || "attribute bits that have no meaning are set".to_owned());
            } else if keys && record.key.is_none() {
                refused.record(index, || {
                    "a compacted topic takes no record without a key".to_owned()
                });
            }
            let Some(timestamp) = header.base_timestamp.checked_add(record.timestamp_delta) else {
                refused.timestamp(index, || {
                    format!("timestamp delta {} is out of range", record.timestamp_delta)
                });
                continue;
            };
            // -1 is "no timestamp", which is always allowed.
            if (timestamp < oldest || timestamp > newest) && timestamp != -1 {
                refused.timestamp(index, || {
                    format!("timestamp {timestamp} is not within {oldest} and {newest}, as the topic demands")
                });
            }
            max_timestamp = max_timestamp.max(timestamp);
        }
        refused.verdict()?;
        Ok(Walked { max_timestamp })
    }

    /// The times that a record may have (rule 10).
    fn allowed_times(&self) -> (i64, i64) {
        match self.config.timestamp_type {
            TimestampType::LogAppendTime => (i64::MIN, i64::MAX),
            TimestampType::CreateTime => (
                self.now_ms.saturating_sub(self.config.timestamp_before_max_ms),
                self.now_ms.saturating_add(self.config.timestamp_after_max_ms),
            ),
        }
    }

    /// What becomes of the timestamps, and the largest of them (rules 10, 12).
    fn timestamps(
        &self,
        header: &BatchHeader,
        walked: Option<Walked>,
    ) -> Result<(NewTimestamps, i64), AppendError> {
        if self.origin != Origin::Raft && self.config.timestamp_type == TimestampType::LogAppendTime {
            return Ok((NewTimestamps::LogAppend(self.now_ms), self.now_ms));
        }
        let refused = |message: &str| {
            Err(AppendError::Timestamp {
                faults: Vec::new(),
                message: message.to_owned(),
            })
        };
        if self.origin == Origin::Client && header.attributes.timestamp_type() == TimestampType::LogAppendTime
        {
            return refused("only the broker sets LogAppendTime, and this topic has CreateTime");
        }
        let claimed = header.max_timestamp;
        match walked {
            Some(walked) if walked.max_timestamp == claimed => Ok((NewTimestamps::Keep, claimed)),
            Some(walked) => Ok((NewTimestamps::Max(walked.max_timestamp), walked.max_timestamp)),
            None if self.origin == Origin::Client && claimed > self.allowed_times().1 => {
                refused("the largest timestamp is later than the topic allows")
            }
            None => Ok((NewTimestamps::Keep, claimed)),
        }
    }
}

/// The records that are refused; built only when there is one.
#[derive(Default)]
struct Refused {
    faults: Vec<RecordFault>,
    first: Option<(RecordFault, bool)>,
}

impl Refused {
    #[cold]
    fn record(&mut self, index: i32, message: impl FnOnce() -> String) {
        self.add(index, message(), false);
    }

    #[cold]
    fn timestamp(&mut self, index: i32, message: impl FnOnce() -> String) {
        self.add(index, message(), true);
    }

    fn add(&mut self, index: i32, message: String, is_timestamp: bool) {
        let fault = RecordFault { index, message };
        self.first.get_or_insert_with(|| (fault.clone(), is_timestamp));
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    /// The first record decides what the client is told of the batch.
    fn verdict(self) -> Result<(), AppendError> {
        match self.first {
            None => Ok(()),
            Some((first, true)) => Err(AppendError::Timestamp {
                faults: self.faults,
                message: first.message,
            }),
            Some((first, false)) => Err(AppendError::Records {
                faults: self.faults,
                message: first.message,
            }),
        }
    }
}

/// The batch in another codec: the records stay as they are.
fn recompress(batch: &Batch, target: Compression, payload: &[u8]) -> Result<Batch, AppendError> {
    let records = compress(target, payload).map_err(|error| AppendError::Rebuild(error.into()))?;
    let mut header = *batch.header();
    let size = BATCH_HEADER_SIZE + records.len();
    let too_large = || AppendError::TooLarge {
        size,
        limit: u32::MAX,
    };
    // The length counts what follows it: all but the first 12 bytes.
    header.batch_length = i32::try_from(size - 12).map_err(|_| too_large())?;
    header.attributes = header.attributes.with_codec(target.codec);
    let covered = header.to_bytes();
    let crc = crc32c::crc32c(covered.get(21..).unwrap_or_default());
    header.crc = crc32c::crc32c_append(crc, &records);
    let mut bytes = BytesMut::with_capacity(size);
    bytes.put_slice(&header.to_bytes());
    bytes.put_slice(&records);
    let bytes: Bytes = bytes.freeze();
    Batch::parse(&bytes).map_err(AppendError::Corrupt)
}

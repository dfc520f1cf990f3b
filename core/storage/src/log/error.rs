//! What can go wrong with a log: one enum per operation, and the codes a client sees.

use std::io;
use std::path::Path;

use model::{ErrorCode, LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use wire::records::{BatchError, BuildError, CodecError, RecordError};

/// A record that made its batch fail, by its place in the batch from 0, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    /// The place of the record in its batch, from 0: `batch_index` in a Produce response.
    pub index: i32,
    /// What is wrong: `batch_index_error_message`.
    pub message: String,
}

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The disk failed. The log is as before; whether the directory is, the caller decides by the kind (rules 107, 110).
    #[error("the append could not be written: {0}")]
    Disk(#[from] io::Error),
    /// An earlier failure could not be undone, or a sync failed: the log takes no more writes (rule 109).
    #[error("the log is offline since a failure of its disk")]
    Offline,
    /// Not exactly one batch of magic 2 (rule 1), or a batch that breaks a rule as a whole (rules 3, 6, 7, 8, 15).
    #[error("invalid batch: {0}")]
    Batch(String),
    /// The bytes are not a whole batch, or its checksum is wrong (rule 5).
    #[error("corrupt batch: {0}")]
    Corrupt(BatchError),
    /// Compressed data that cannot be decompressed, or a codec that does not exist (bad input, rows 30 to 32).
    #[error("corrupt batch: {0}")]
    CorruptRecords(CodecError),
    /// Records that break a rule (rules 9, 14, 15); the message is for the batch as a whole.
    #[error("invalid records: {message}")]
    Records {
        /// The first of them, at most 100.
        faults: Vec<RecordFault>,
        /// What is wrong.
        message: String,
    },
    /// Timestamps out of the allowed range (rule 10).
    #[error("invalid timestamp: {message}")]
    Timestamp {
        /// The first of the records, at most 100.
        faults: Vec<RecordFault>,
        /// What is wrong.
        message: String,
    },
    /// The records could not be built anew for the topic's codec.
    #[error("the batch could not be built anew: {0}")]
    Rebuild(#[from] BuildError),
    /// Above `max.message.bytes` (rule 4).
    #[error("the batch has {size} bytes, max.message.bytes is {limit}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// What is allowed.
        limit: u32,
    },
    /// Above `segment.bytes` (rule 16).
    #[error("the batches have {size} bytes, segment.bytes is {limit}")]
    LargerThanSegment {
        /// Their size.
        size: usize,
        /// What is allowed.
        limit: u32,
    },
    /// The log has used up the range of offsets.
    #[error("no offsets are left after {0}")]
    OffsetsExhausted(Offset),
    /// A batch from the leader that does not follow the end of the log (rule 18).
    #[error("offset {found} does not follow the log's end {log_end_offset}")]
    OffsetOrder {
        /// The offset of the batch.
        found: Offset,
        /// The end of the log.
        log_end_offset: Offset,
    },
    /// The batch is not the next of its producer (rules 22, 23).
    #[error("sequence {found} of producer {producer_id} is not the expected {expected}")]
    OutOfOrderSequence {
        /// The producer.
        producer_id: ProducerId,
        /// The first sequence number of the batch.
        found: i32,
        /// The one that would follow.
        expected: i32,
    },
    /// An epoch below the newest of its producer (rule 24).
    #[error("epoch {found} of producer {producer_id} is older than {newest}")]
    ProducerFenced {
        /// The producer.
        producer_id: ProducerId,
        /// The epoch of the batch.
        found: ProducerEpoch,
        /// The newest known.
        newest: ProducerEpoch,
    },
    /// A batch outside a transaction while its producer has one open (rule 26).
    #[error("producer {0} has a transaction open, the batch does not belong to one")]
    TransactionOpen(ProducerId),
    /// A marker of an older coordinator (rule 28).
    #[error("coordinator epoch {found} is older than {newest}")]
    CoordinatorFenced {
        /// The epoch of the marker.
        found: i32,
        /// The newest known.
        newest: i32,
    },
    /// Records of an epoch below the log's newest.
    #[error("leader epoch {found} is older than {newest}")]
    LeaderEpoch {
        /// The epoch of the append.
        found: LeaderEpoch,
        /// The newest known.
        newest: LeaderEpoch,
    },
}

impl AppendError {
    /// What the client is told.
    pub fn code(&self) -> ErrorCode {
        match self {
            AppendError::Disk(_) | AppendError::Offline => ErrorCode::KafkaStorageError,
            AppendError::Batch(_) | AppendError::Records { .. } => ErrorCode::InvalidRecord,
            AppendError::Corrupt(error) => match error {
                BatchError::Magic(_) | BatchError::Count { .. } => ErrorCode::InvalidRecord,
                BatchError::Truncated { .. }
                | BatchError::LengthTooSmall(_)
                | BatchError::Checksum { .. } => ErrorCode::CorruptMessage,
            },
            AppendError::CorruptRecords(error) => match error {
                CodecError::UnknownCodec(_) => ErrorCode::UnsupportedCompressionType,
                CodecError::Broken { .. } => ErrorCode::CorruptMessage,
                CodecError::TooLarge { .. } => ErrorCode::InvalidRecord,
            },
            AppendError::Timestamp { .. } => ErrorCode::InvalidTimestamp,
            AppendError::Rebuild(_) | AppendError::OffsetsExhausted(_) | AppendError::OffsetOrder { .. } => {
                ErrorCode::UnknownServerError
            }
            AppendError::TooLarge { .. } => ErrorCode::MessageTooLarge,
            AppendError::LargerThanSegment { .. } => ErrorCode::RecordListTooLarge,
            AppendError::OutOfOrderSequence { .. } => ErrorCode::OutOfOrderSequenceNumber,
            AppendError::ProducerFenced { .. } => ErrorCode::InvalidProducerEpoch,
            AppendError::TransactionOpen(_) => ErrorCode::InvalidTxnState,
            AppendError::CoordinatorFenced { .. } => ErrorCode::TransactionCoordinatorFenced,
            AppendError::LeaderEpoch { .. } => ErrorCode::FencedLeaderEpoch,
        }
    }

    /// The records to name in the response (`record_errors`, Produce v8 and later).
    pub fn record_faults(&self) -> &[RecordFault] {
        match self {
            AppendError::Records { faults, .. } | AppendError::Timestamp { faults, .. } => faults,
            _ => &[],
        }
    }
}

impl From<RecordError> for AppendError {
    fn from(error: RecordError) -> AppendError {
        let message = error.to_string();
        let index = match error {
            RecordError::Codec(error) => return AppendError::CorruptRecords(error),
            RecordError::Truncated { index, .. }
            | RecordError::Malformed { index, .. }
            | RecordError::Timestamp { index }
            | RecordError::Offset { index } => Some(index),
            RecordError::TrailingBytes(_) | RecordError::Legacy(_) => None,
        };
        let faults: Vec<RecordFault> = index
            .map(|index| RecordFault {
                index,
                message: message.clone(),
            })
            .into_iter()
            .collect();
        match error {
            RecordError::Timestamp { .. } => AppendError::Timestamp { faults, message },
            _ => AppendError::Records { faults, message },
        }
    }
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The disk failed.
    #[error("the log could not be read: {0}")]
    Disk(#[from] io::Error),
    /// Before the log's start or after its end.
    #[error("offset {offset} is not in the log, which holds {log_start_offset} up to {log_end_offset}")]
    OutOfRange {
        /// The offset asked for.
        offset: Offset,
        /// The first offset of the log.
        log_start_offset: Offset,
        /// The offset after the last.
        log_end_offset: Offset,
    },
    /// Bytes that were sound when they were written no longer are.
    #[error("the log is corrupt in segment {segment} at byte {position}: {error}")]
    Corrupt {
        /// The base offset of the segment.
        segment: Offset,
        /// The place in its file.
        position: u64,
        /// What is wrong.
        error: BatchError,
    },
    /// A batch whose records cannot be read, in a look-up by time.
    #[error("the batch at offset {0} cannot be read: {1}")]
    CorruptRecords(Offset, RecordError),
}

impl ReadError {
    /// What the client is told.
    pub fn code(&self) -> ErrorCode {
        match self {
            ReadError::Disk(_) => ErrorCode::KafkaStorageError,
            ReadError::OutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            ReadError::Corrupt { .. } | ReadError::CorruptRecords(..) => ErrorCode::CorruptMessage,
        }
    }
}

/// Why a log, or the directory of all logs, cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk failed.
    #[error("{path}: {error}{}", full_disk_remedy(error))]
    Disk {
        /// The file or folder.
        path: String,
        /// What failed.
        error: io::Error,
    },
    /// Another process uses the directory (rule 104).
    #[error("{path} is in use by another broker; stop that one first, or name another directory in log.dirs")]
    Locked {
        /// The directory.
        path: String,
    },
    /// A file whose content makes no sense and cannot be rebuilt.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: String,
        /// What is wrong, and what would be right.
        what: String,
    },
}

/// What helps a start that found a disk full; nothing for other failures.
pub fn full_disk_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room on that disk and start again: nothing is lost by that"
        }
        _ => "",
    }
}

impl OpenError {
    /// What opening a folder failed with.
    pub(super) fn from_read(path: &Path, error: ReadError) -> OpenError {
        let path = path.display().to_string();
        match error {
            ReadError::Disk(error) => OpenError::Disk { path, error },
            other => OpenError::Content {
                path,
                what: other.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_comes_with_what_to_do() {
        let told = |kind: io::ErrorKind| {
            let path = "data".to_owned();
            let error = kind.into();
            OpenError::Disk { path, error }.to_string()
        };
        assert!(
            told(io::ErrorKind::StorageFull)
                .ends_with("; make room on that disk and start again: nothing is lost by that")
        );
        assert!(!told(io::ErrorKind::PermissionDenied).contains("room"));
    }
}

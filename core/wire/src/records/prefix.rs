//! What the leader changes in a batch before it stores it (rule 12), without touching the received bytes.
//!
//! Base offset, length, leader epoch, magic and checksum lie outside the checksum: giving a batch its offsets replaces
//! 21 bytes. Another timestamp replaces all 61 of the header, with a new checksum. The log writes the prefix, then the
//! rest of the received slice, with one vectored write.

use model::{LeaderEpoch, Offset};

use super::batch::Batch;
use super::header::{BATCH_HEADER_SIZE, CRC_START, TimestampType};

/// What becomes of the timestamps of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewTimestamps {
    /// They stay.
    Keep,
    /// The header gets this largest timestamp, for a client that left it out (-1).
    Max(i64),
    /// All records get the time of the append.
    LogAppend(i64),
}

/// The bytes that replace the start of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchPrefix {
    bytes: [u8; BATCH_HEADER_SIZE],
    length: usize,
}

impl BatchPrefix {
    /// The prefix of `batch` at `base_offset`, appended by the leader of `leader_epoch`.
    pub fn new(
        batch: &Batch,
        base_offset: Offset,
        leader_epoch: LeaderEpoch,
        timestamps: NewTimestamps,
    ) -> BatchPrefix {
        let mut header = *batch.header();
        header.base_offset = base_offset;
        header.leader_epoch = leader_epoch;
        match timestamps {
            NewTimestamps::Keep => {
                return BatchPrefix {
                    bytes: header.to_bytes(),
                    length: CRC_START,
                };
            }
            NewTimestamps::Max(max_timestamp) => header.max_timestamp = max_timestamp,
            NewTimestamps::LogAppend(now_ms) => {
                header.max_timestamp = now_ms;
                header.attributes = header
                    .attributes
                    .with_timestamp_type(TimestampType::LogAppendTime);
            }
        }
        let header = header.sealed(&batch.stored_records());
        BatchPrefix {
            bytes: header.to_bytes(),
            length: BATCH_HEADER_SIZE,
        }
    }

    /// The bytes: as many of the batch's own are left out behind them.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

//! Looking up offsets: by time, by the names that ListOffsets has for some, and by epoch.

use model::{LeaderEpoch, Offset};
use storage::{EpochEnd, LogReader, TimestampOffset};

use super::super::error::{LeaderRefusal, OffsetsRefused};
use super::{Isolation, Replica};

/// What ListOffsets looks for. Its numbers on the wire are those of Kafka; which version knows which is the handler's
/// matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetQuery {
    /// -1: the end of what the reader may read.
    Latest,
    /// -2: the first offset.
    Earliest,
    /// -3: the first record with the largest time of all (KIP-734).
    MaxTimestamp,
    /// -4: the first offset on local disks; without tiered storage the first of all (KIP-405).
    EarliestLocal,
    /// -5: the last offset in tiered storage; there is none (KIP-1005).
    LatestTiered,
    /// -6: the first offset that waits to be tiered; there is none (KIP-1023).
    EarliestPendingUpload,
    /// The first record of that time or later.
    Time(i64),
}

impl OffsetQuery {
    /// Of the timestamp in a request; `None` for a negative one without a meaning.
    pub fn from_timestamp(timestamp: i64) -> Option<OffsetQuery> {
        match timestamp {
            -1 => Some(OffsetQuery::Latest),
            -2 => Some(OffsetQuery::Earliest),
            -3 => Some(OffsetQuery::MaxTimestamp),
            -4 => Some(OffsetQuery::EarliestLocal),
            -5 => Some(OffsetQuery::LatestTiered),
            -6 => Some(OffsetQuery::EarliestPendingUpload),
            time if time >= 0 => Some(OffsetQuery::Time(time)),
            _ => None,
        }
    }

    /// Whether the answer may have to be read from disk.
    pub fn reads_records(self) -> bool {
        matches!(self, OffsetQuery::MaxTimestamp | OffsetQuery::Time(_))
    }

    /// Whether the answer depends on how far consumers may read.
    pub fn looks_at_end(self) -> bool {
        self == OffsetQuery::Latest || self.reads_records()
    }
}

/// An answer of ListOffsets; all -1 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    /// The time of the record, where one was looked for by time.
    pub timestamp: i64,
    /// The offset.
    pub offset: Offset,
    /// The leader epoch of the offset.
    pub leader_epoch: LeaderEpoch,
}

impl FoundOffset {
    /// There is none.
    pub const NONE: FoundOffset = FoundOffset {
        timestamp: -1,
        offset: Offset::NONE,
        leader_epoch: LeaderEpoch::NONE,
    };

    fn named(offset: Offset, leader_epoch: Option<LeaderEpoch>) -> FoundOffset {
        FoundOffset {
            timestamp: -1,
            offset,
            leader_epoch: leader_epoch.unwrap_or(LeaderEpoch::NONE),
        }
    }
}

impl From<TimestampOffset> for FoundOffset {
    fn from(found: TimestampOffset) -> FoundOffset {
        FoundOffset {
            timestamp: found.timestamp,
            offset: found.offset,
            leader_epoch: found.leader_epoch,
        }
    }
}

/// A look-up that was allowed, to be done without the replica: reading may wait for a disk.
#[derive(Debug)]
pub struct OffsetPlan {
    log: LogReader,
    query: OffsetQuery,
    /// The end of what the reader may read.
    readable: Offset,
    /// Rule 39: until the watermark is in this leader's own epoch, an older leader may have committed more.
    is_behind: bool,
    leader_epoch: LeaderEpoch,
}

impl<P, F: Clone> Replica<P, F> {
    /// Judges a look-up of ListOffsets, by what is in memory.
    pub fn plan_offset(
        &self,
        query: OffsetQuery,
        isolation: Isolation,
        current_leader_epoch: Option<LeaderEpoch>,
    ) -> Result<OffsetPlan, LeaderRefusal> {
        let leading = self.leading(current_leader_epoch)?;
        let readable = match isolation {
            Isolation::LogEnd => self.log.log_end_offset(),
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable_offset(),
        };
        Ok(OffsetPlan {
            log: self.log.reader(),
            query,
            readable,
            is_behind: isolation != Isolation::LogEnd && self.high_watermark < leading.epoch_start,
            leader_epoch: leading.at.leader_epoch,
        })
    }

    /// Looks up an offset as ListOffsets does.
    pub fn find_offset(
        &self,
        query: OffsetQuery,
        isolation: Isolation,
        current_leader_epoch: Option<LeaderEpoch>,
    ) -> Result<FoundOffset, OffsetsRefused> {
        self.plan_offset(query, isolation, current_leader_epoch)?.find()
    }

    /// Where a leader epoch ends, for OffsetForLeaderEpoch; `None` when nothing is known of it.
    pub fn epoch_end(
        &self,
        leader_epoch: LeaderEpoch,
        current_leader_epoch: Option<LeaderEpoch>,
    ) -> Result<Option<EpochEnd>, LeaderRefusal> {
        self.leading(current_leader_epoch)?;
        Ok(self.log.end_offset_for_epoch(leader_epoch))
    }
}

impl OffsetPlan {
    /// Finds the offset.
    pub fn find(self) -> Result<FoundOffset, OffsetsRefused> {
        let found = match self.query {
            OffsetQuery::LatestTiered | OffsetQuery::EarliestPendingUpload => return Ok(FoundOffset::NONE),
            OffsetQuery::Earliest | OffsetQuery::EarliestLocal => {
                let start = self.log.log_start_offset();
                return Ok(FoundOffset::named(start, self.log.epoch_of(start)));
            }
            OffsetQuery::Latest if self.is_behind => return Err(OffsetsRefused::NotAvailable),
            OffsetQuery::Latest => return Ok(FoundOffset::named(self.readable, Some(self.leader_epoch))),
            OffsetQuery::MaxTimestamp => self.log.offset_of_max_timestamp()?,
            OffsetQuery::Time(timestamp) => self.log.offset_by_timestamp(timestamp)?,
        };
        match found {
            Some(found) if found.offset < self.readable => Ok(found.into()),
            _ if self.is_behind => Err(OffsetsRefused::NotAvailable),
            _ => Ok(FoundOffset::NONE),
        }
    }
}

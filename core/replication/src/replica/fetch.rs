//! Reading for a fetch: who may read how far, and where a reader has strayed from this log.

use model::{LeaderEpoch, Offset};
use storage::{AbortedTransaction, EpochEnd, FirstBatch, LogReader};
use wire::Records;

use super::super::error::FetchRefused;
use super::super::waits::WatchId;
use super::Replica;

/// How far a reader may read (rule 66).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// To the end of the log: followers.
    LogEnd,
    /// To the watermark.
    ReadUncommitted,
    /// To the last stable offset, with the aborted transactions named.
    ReadCommitted,
}

/// What one partition is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// From where on.
    pub offset: Offset,
    /// About how much.
    pub max_bytes: usize,
    /// Whether the first batch is returned whole though it is larger (KIP-74, rule 59).
    pub first_batch: FirstBatch,
    /// How far.
    pub isolation: Isolation,
    /// The leader epoch the reader knows (rule 61).
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record the reader has (KIP-320, rule 63).
    pub last_fetched_epoch: Option<LeaderEpoch>,
}

/// The state of a partition that an answer told of, to watch for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// The watermark.
    pub high_watermark: Offset,
    /// The last stable offset.
    pub last_stable_offset: Offset,
    /// The first offset.
    pub log_start_offset: Offset,
    /// The offset after the last.
    pub log_end_offset: Offset,
}

/// What a fetch found.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The batches; ranges of files.
    pub records: Records,
    /// The state of the partition.
    pub seen: Seen,
    /// Whether the reader has everything it may read, `records` not counted.
    pub caught_up: bool,
    /// For readers of committed records: the aborted transactions among `records`.
    pub aborted: Option<Vec<AbortedTransaction>>,
    /// The reader's log has strayed from this one after that point; there are no records (rule 63).
    pub diverging: Option<EpochEnd>,
}

/// A fetch that was allowed, to be read without the replica: reading may wait for a disk.
#[derive(Debug)]
pub struct FetchPlan {
    log: LogReader,
    fetch: Fetch,
    seen: Seen,
    upto: Offset,
    diverging: Option<EpochEnd>,
}

impl<P, F: Clone> Replica<P, F> {
    /// Judges a fetch, by what is in memory: whether it may read, and how far.
    pub fn plan_fetch(&self, fetch: &Fetch) -> Result<FetchPlan, FetchRefused> {
        let seen = self.seen(self.leading(fetch.current_leader_epoch)?.at.leader_epoch);
        let upto = match fetch.isolation {
            Isolation::LogEnd => seen.log_end_offset,
            Isolation::ReadUncommitted => seen.high_watermark,
            Isolation::ReadCommitted => seen.last_stable_offset,
        };
        let diverging = self.diverging(fetch)?;
        let in_log = fetch.offset >= seen.log_start_offset && fetch.offset <= seen.log_end_offset;
        if diverging.is_none() && !in_log {
            return Err(FetchRefused::OutOfRange(fetch.offset));
        }
        Ok(FetchPlan {
            log: self.log.reader(),
            fetch: *fetch,
            seen,
            upto,
            diverging,
        })
    }

    /// Reads. Nothing is waited for but the disk: where there is nothing yet, the records are empty.
    pub fn fetch(&self, fetch: &Fetch) -> Result<Fetched, FetchRefused> {
        self.plan_fetch(fetch)?.read()
    }

    /// Rule 63: where a reader whose last record is of `last_fetched_epoch` has to go back to.
    fn diverging(&self, fetch: &Fetch) -> Result<Option<EpochEnd>, FetchRefused> {
        let Some(last_fetched_epoch) = fetch.last_fetched_epoch else {
            return Ok(None);
        };
        let end = self
            .log
            .end_offset_for_epoch(last_fetched_epoch)
            .ok_or(FetchRefused::OutOfRange(fetch.offset))?;
        let strayed = end.leader_epoch < last_fetched_epoch || end.end_offset < fetch.offset;
        Ok(strayed.then_some(end))
    }

    fn seen(&self, leader_epoch: LeaderEpoch) -> Seen {
        Seen {
            leader_epoch,
            high_watermark: self.high_watermark,
            last_stable_offset: self.last_stable_offset(),
            log_start_offset: self.log.log_start_offset(),
            log_end_offset: self.log.log_end_offset(),
        }
    }

    /// Watches for anything that would change an answer, until `wanted` bytes have been told of. `None` when something
    /// has changed since that answer: the caller has to read again.
    pub fn watch(&mut self, seen: &Seen, isolation: Isolation, wanted: u64, token: F) -> Option<WatchId> {
        let now = self.seen(self.leader_epoch()?);
        let mut comparable = *seen;
        if isolation != Isolation::LogEnd {
            // Records that are not committed yet change no answer to a consumer.
            comparable.log_end_offset = now.log_end_offset;
        }
        (now == comparable).then(|| self.watches.add(isolation, wanted, token))
    }

    /// Ends a watch.
    pub fn unwatch(&mut self, id: WatchId) {
        self.watches.remove(id);
    }
}

impl FetchPlan {
    /// Finds the records; ranges of files.
    pub fn read(self) -> Result<Fetched, FetchRefused> {
        let FetchPlan {
            log,
            fetch,
            seen,
            upto,
            diverging,
        } = self;
        let reads_committed = fetch.isolation == Isolation::ReadCommitted;
        let mut fetched = Fetched {
            records: Records::empty(),
            seen,
            caught_up: diverging.is_none() && fetch.offset >= upto,
            aborted: reads_committed.then(Vec::new),
            diverging,
        };
        if diverging.is_some() || fetched.caught_up {
            return Ok(fetched);
        }
        let read = log.read(fetch.offset, fetch.max_bytes, upto, fetch.first_batch)?;
        if reads_committed && !read.records.is_empty() {
            fetched.aborted = Some(log.aborted_transactions(fetch.offset, read.upper_offset)?);
        }
        fetched.records = read.records;
        Ok(fetched)
    }
}

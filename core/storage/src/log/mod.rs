//! The log of one partition.
//!
//! One writer at a time (`&mut self`); readers beside it take a [`LogReader`]. A call on the path of an append never
//! syncs: [`Log::dirty`] hands out what is to be synced, the caller syncs it outside any lock and reports back with
//! [`Log::mark_synced`]. Time is an argument.

mod append;
mod config;
mod durability;
mod error;
mod journal;
mod open;
mod reader;
mod recovery;
mod replay;
mod retention;
mod truncate;
mod validate;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition, Uuid};

use crate::disk::Disk;
use crate::producers::{DEDUPE_WINDOW, Producers};
use crate::segment::{IndexLimits, Segment};
pub use append::{Appended, Origin};
#[cfg(feature = "planted-bugs")]
pub use config::PlantedBugs;
pub use config::{CleanupPolicy, CompressedCheck, LogConfig};
use durability::Durability;
pub use durability::{Piece, Unsynced};
pub use error::{AppendError, OpenError, ReadError, RecordFault, full_disk_remedy};
pub use open::{LogCheckpoint, LogPlace, RecoveryReport, Shutdown};
pub use reader::{FirstBatch, LogReader, Read, TimestampOffset};
pub use retention::DeletedSegments;
use retention::Retired;

/// A transaction whose records are not to be shown to who reads committed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// The producer.
    pub producer_id: ProducerId,
    /// The first offset of the transaction.
    pub first_offset: Offset,
    /// The offset of the marker that aborted it.
    pub last_offset: Offset,
    /// The last stable offset once the marker was there.
    pub last_stable_offset: Offset,
}

/// The end of an epoch, for OffsetForLeaderEpoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch that is not above the one asked for.
    pub leader_epoch: LeaderEpoch,
    /// The offset after its last record.
    pub end_offset: Offset,
}

/// What a producer has done in the partition, for DescribeProducers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveProducer {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its newest epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence number of its last record; -1 when only a marker is known.
    pub last_sequence: i32,
    /// The time of its last batch.
    pub last_timestamp: i64,
    /// The epoch of the coordinator of its last marker; -1 without one.
    pub coordinator_epoch: i32,
    /// Where its open transaction begins.
    pub current_transaction_first_offset: Option<Offset>,
}

/// The log of one partition; see the module.
#[derive(Debug)]
pub struct Log {
    place: LogPlace,
    dir: Arc<Path>,
    topic_id: Option<Uuid>,
    config: Arc<LogConfig>,
    /// What readers see; the last segment is the active one.
    view: LogReader,
    producers: Producers,
    /// The offset of the newest producer snapshot.
    snapshot_offset: Option<Offset>,
    durability: Durability,
    retired: Vec<Retired>,
    /// A segment whose files may be there but which is no part of the log.
    orphan: Option<Offset>,
    state: WriteState,
}

/// Whether the log can be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteState {
    Sound,
    /// A failed append may have left bytes behind the end: they go before the next one (rule 112).
    Torn,
    /// No more (rule 109).
    Offline,
}

impl Log {
    /// The partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.place.topic_partition
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// The disk the folder lies on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.place.disk
    }

    /// The id in `partition.metadata`; `None` in a folder that has none.
    pub fn topic_id(&self) -> Option<Uuid> {
        self.topic_id
    }

    /// The configuration.
    pub fn config(&self) -> &Arc<LogConfig> {
        &self.config
    }

    /// Another configuration from now on.
    pub fn set_config(&mut self, config: Arc<LogConfig>) {
        self.view.limit = config.decompression_limit;
        self.config = config;
    }

    /// The log as it is now, to read without holding it.
    pub fn reader(&self) -> LogReader {
        self.view.clone()
    }

    /// See [`LogReader::read`].
    pub fn read(
        &self,
        offset: Offset,
        max_bytes: usize,
        upto: Offset,
        first: FirstBatch,
    ) -> Result<Read, ReadError> {
        self.view.read(offset, max_bytes, upto, first)
    }

    /// See [`LogReader::aborted_transactions`].
    pub fn aborted_transactions(
        &self,
        from: Offset,
        to: Offset,
    ) -> Result<Vec<AbortedTransaction>, ReadError> {
        self.view.aborted_transactions(from, to)
    }

    /// See [`LogReader::offset_by_timestamp`].
    pub fn offset_by_timestamp(&self, timestamp: i64) -> Result<Option<TimestampOffset>, ReadError> {
        self.view.offset_by_timestamp(timestamp)
    }

    /// See [`LogReader::offset_of_max_timestamp`].
    pub fn offset_of_max_timestamp(&self) -> Result<Option<TimestampOffset>, ReadError> {
        self.view.offset_of_max_timestamp()
    }

    /// The first offset.
    pub fn log_start_offset(&self) -> Offset {
        self.view.log_start_offset
    }

    /// The offset after the last record.
    pub fn log_end_offset(&self) -> Offset {
        self.view.log_end_offset
    }

    /// The offset up to which everything is durable, here or in a journal; never above the end. After an unclean end what
    /// recovery has found counts only once it is synced.
    pub fn synced_offset(&self) -> Offset {
        self.durability.synced_offset().min(self.view.log_end_offset)
    }

    /// The offset up to which everything is durable in the log's own files: what a recovery point may say.
    pub fn flushed_offset(&self) -> Offset {
        self.durability.flushed_offset().min(self.view.log_end_offset)
    }

    /// The offset below which every transaction has ended, by markers below the high watermark (rule 37).
    pub fn last_stable_offset(&self, high_watermark: Offset) -> Offset {
        let unstable = self.producers.first_unstable_offset(high_watermark);
        unstable
            .map_or(high_watermark, |offset| offset.min(high_watermark))
            .max(self.view.log_start_offset)
    }

    /// Tells the log how far its records are replicated, so that ended transactions can be forgotten.
    pub fn high_watermark_moved(&mut self, high_watermark: Offset) {
        self.producers.replicated(high_watermark);
    }

    /// The newest leader epoch with records, or begun.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.view.latest_epoch()
    }

    /// The epoch that holds an offset.
    pub fn epoch_of(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.view.epoch_of(offset)
    }

    /// See [`LogReader::end_offset_for_epoch`].
    pub fn end_offset_for_epoch(&self, leader_epoch: LeaderEpoch) -> Option<EpochEnd> {
        self.view.end_offset_for_epoch(leader_epoch)
    }

    /// Begins a leader epoch at the log's end, durably, before anything is appended in it (rule 40). An epoch that is
    /// not above the newest changes nothing.
    pub fn begin_epoch(&mut self, leader_epoch: LeaderEpoch) -> io::Result<()> {
        let mut epochs = (*self.view.epochs).clone();
        if !epochs.note(leader_epoch, self.view.log_end_offset) {
            return Ok(());
        }
        epochs.store(&*self.place.disk)?;
        self.view.epochs = Arc::new(epochs);
        Ok(())
    }

    /// The bytes of all segments.
    pub fn size(&self) -> u64 {
        self.view.size()
    }

    /// The number of segments.
    pub fn segment_count(&self) -> usize {
        self.view.segments.len()
    }

    /// What the producers known here have done.
    pub fn active_producers(&self) -> Vec<ActiveProducer> {
        self.producers.active()
    }

    /// Forgets producers that were idle too long (rule 31).
    pub fn expire_producers(&mut self, now_ms: i64) {
        self.producers
            .expire(now_ms, self.config.producer_id_expiration_ms);
    }

    /// Whether the log takes no more writes, since a failure of its disk.
    pub fn is_offline(&self) -> bool {
        self.state == WriteState::Offline
    }

    /// A sync failed, or the directory as a whole: no more appends; what is there can still be read (rule 109).
    pub fn set_offline(&mut self) {
        self.state = WriteState::Offline;
    }

    /// A clean end: everything durable, indexes trimmed, a producer snapshot at the end (rule 30).
    pub fn close(self) -> io::Result<()> {
        let closing = self.begin_close()?;
        closing.sync()?;
        closing.finish()
    }

    /// The same in steps, so that one sync can serve many logs.
    pub fn begin_close(mut self) -> io::Result<ClosingLog> {
        if self.state == WriteState::Offline {
            return Err(io::Error::other("the log is offline since a failure of its disk"));
        }
        self.clear_leftovers()?;
        let mut files = self.active().seal()?;
        files.extend(self.take_snapshot()?);
        self.durability.add(files);
        let unsynced = self.unsynced();
        Ok(ClosingLog { log: self, unsynced })
    }

    fn active(&self) -> Arc<Segment> {
        let last = self.view.segments.last();
        Arc::clone(last.expect("a log always has its active segment"))
    }

    fn index_limits(&self) -> IndexLimits {
        IndexLimits {
            bytes: self.config.segment_index_bytes,
        }
    }

    fn dedupe_window(&self) -> usize {
        #[cfg(feature = "planted-bugs")]
        if self.config.planted.dedupe_window_of_four {
            return DEDUPE_WINDOW - 1;
        }
        DEDUPE_WINDOW
    }

    /// Removes what a failed append or roll may have left behind (rule 112).
    fn clear_leftovers(&mut self) -> io::Result<()> {
        self.remove_orphan()?;
        if self.state == WriteState::Torn {
            if let Err(error) = self.active().cut_to_size() {
                self.state = WriteState::Offline;
                return Err(error);
            }
            self.state = WriteState::Sound;
        }
        Ok(())
    }
}

/// A log that is written to the end and not durable yet.
#[derive(Debug)]
pub struct ClosingLog {
    log: Log,
    unsynced: Unsynced,
}

impl ClosingLog {
    /// Makes it durable by itself.
    pub fn sync(&self) -> io::Result<()> {
        self.unsynced.sync()
    }

    /// The rest, once it is durable: files that are not needed any more go.
    pub fn finish(mut self) -> io::Result<()> {
        self.log.mark_synced(&self.unsynced);
        self.log.view.epochs.store_changes(&*self.log.place.disk)?;
        self.log
            .take_deleted(i64::MAX)
            .map_or(Ok(()), DeletedSegments::remove)
    }
}

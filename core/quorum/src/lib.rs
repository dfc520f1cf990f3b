//! KRaft: the quorum that keeps the metadata log, in Apache Kafka's files.
//!
//! Today a quorum of one: it leads alone, and a record is committed once it is on its disk. No thread, no clock and no
//! network: the broker and the simulator run this same code. It knows nothing of what the records say.

mod error;
mod format;
mod open;
mod quorum_state;
mod segments;
mod snapshots;
mod synced;
mod voters;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use metadata::batch::{BATCH_BYTES_MAX, BatchWriter};
use metadata::snapshot::SnapshotId;
use metadata::{Image, LogPosition, MetadataLog, MetadataRecord, RecordVersions, Replay};
use model::{LeaderEpoch, Offset};
use storage::{CleanupPolicy, CompressedCheck, Disk, Log, LogConfig, Origin};
use wire::internal::metadata_log::BeginTransactionRecord;

pub use error::{Fault, LogError, OpenError};
pub use format::{BOOTSTRAP_CHECKPOINT, Bootstrap, write_bootstrap, write_first_voter};
pub use open::{OpenQuorum, Opened};
pub use snapshots::SnapshotJob;
pub use voters::Voter;
/// Where a voter listens.
pub use wire::internal::raft::Endpoint as VoterEndpoint;

use error::log_disk;
use snapshots::Outcome;
use voters::Known;

/// How often the durable end is noted, at most.
const NOTE_SYNCED_EVERY_MS: i64 = 10_000;

/// When a snapshot is tried again that found no room.
const SNAPSHOT_AGAIN_AFTER_MS: i64 = 60_000;

/// When to take snapshots, and what to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumConfig {
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub bytes_between_snapshots: u64,
    /// `metadata.log.max.snapshot.interval.ms`; 0 for never.
    pub snapshot_interval_ms: i64,
    /// `metadata.log.segment.bytes`.
    pub segment_bytes: u32,
    /// `metadata.log.segment.ms`.
    pub segment_ms: i64,
    /// `metadata.max.retention.bytes`: log and snapshots together; `None` for no limit.
    pub retention_bytes: Option<u64>,
    /// `metadata.max.retention.ms`; `None` for ever.
    pub retention_ms: Option<i64>,
}

impl Default for QuorumConfig {
    /// Kafka's defaults.
    fn default() -> QuorumConfig {
        QuorumConfig {
            bytes_between_snapshots: 20 << 20,
            snapshot_interval_ms: 3_600_000,
            segment_bytes: 1 << 30,
            segment_ms: 7 * 24 * 3_600_000,
            retention_bytes: Some(100 << 20),
            retention_ms: Some(7 * 24 * 3_600_000),
        }
    }
}

impl QuorumConfig {
    /// Retention is by snapshots alone: the log starts where the oldest one that is kept ends.
    pub(crate) fn log_config(&self) -> LogConfig {
        LogConfig {
            segment_bytes: self.segment_bytes,
            segment_ms: self.segment_ms,
            retention_ms: None,
            retention_bytes: None,
            max_message_bytes: 2 * BATCH_BYTES_MAX as u32,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: i64::MAX,
            cleanup: CleanupPolicy {
                delete: true,
                compact: false,
            },
            compressed_check: CompressedCheck::Header,
            ..LogConfig::default()
        }
    }
}

/// The metadata log of a node that is the whole quorum. Dropped without [`QuorumOfOne::close`] it is as after a crash,
/// which every start can deal with.
#[derive(Debug)]
pub struct QuorumOfOne {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    log: Log,
    epoch: LeaderEpoch,
    config: QuorumConfig,
    known: Known,
    /// The snapshots that are kept, oldest first.
    snapshots: Vec<SnapshotId>,
    latest_snapshot: Option<SnapshotId>,
    latest_snapshot_ms: i64,
    bytes_since_snapshot: u64,
    /// A snapshot that another thread writes.
    writing: Option<Outcome>,
    /// After one that found no room.
    snapshot_not_before_ms: i64,
    noted_synced: Offset,
    noted_at_ms: i64,
}

impl MetadataLog for QuorumOfOne {
    type Error = LogError;
    type Snapshot = SnapshotJob;

    fn leader_epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    fn next_offset(&self) -> Offset {
        self.log.log_end_offset()
    }

    /// One batch where one holds the records; else a transaction of the log holds the batches together (KIP-868).
    fn append(
        &mut self,
        records: &[MetadataRecord],
        versions: RecordVersions,
        now_ms: i64,
    ) -> Result<LogPosition, LogError> {
        let mut writer = BatchWriter::new(self.next_offset(), self.epoch, now_ms);
        let mut batches = writer.records(records, versions, BATCH_BYTES_MAX)?;
        if batches.len() > 1 {
            let name = Some("Decision".into());
            let mut all = vec![MetadataRecord::BeginTransaction(BeginTransactionRecord { name })];
            all.extend_from_slice(records);
            all.push(Replay::end());
            writer = BatchWriter::new(self.next_offset(), self.epoch, now_ms);
            batches = writer.records(&all, versions, BATCH_BYTES_MAX)?;
        }
        let start = self.next_offset();
        for batch in &batches {
            if let Err(error) = self.append_batch(batch, now_ms) {
                self.take_back(start, now_ms)?;
                return Err(error);
            }
        }
        Ok(self.last_position(now_ms))
    }

    fn commit(&mut self) -> Result<(), LogError> {
        if let Some(unsynced) = self.log.dirty() {
            if let Err(error) = unsynced.sync() {
                self.log.set_offline();
                return Err(log_disk(&self.dir)(error));
            }
            self.log.mark_synced(&unsynced);
        }
        self.log.high_watermark_moved(self.log.log_end_offset());
        Ok(())
    }

    fn maintain(&mut self, committed: &Image, now_ms: i64) -> Result<Option<SnapshotJob>, LogError> {
        self.take_written_snapshot(now_ms)?;
        if let Some(deleted) = self.log.take_deleted(now_ms) {
            deleted.remove().map_err(log_disk(&self.dir))?;
        }
        if now_ms.saturating_sub(self.noted_at_ms) >= NOTE_SYNCED_EVERY_MS {
            self.note_synced(now_ms)?;
        }
        Ok(self.due_snapshot(committed, now_ms))
    }
}

impl QuorumOfOne {
    /// A clean end: the next start has nothing to cut off.
    pub fn close(mut self, now_ms: i64) -> Result<(), LogError> {
        self.commit()?;
        match self.note_synced(now_ms) {
            // The note of last time still holds.
            Err(error) if error.is_full() => {}
            result => result?,
        }
        self.log.close().map_err(log_disk(&self.dir))
    }

    /// The level of `kraft.version`: 1 where the quorum keeps its voters itself (KIP-853).
    pub fn kraft_version(&self) -> i16 {
        self.known.kraft_version()
    }

    /// The folder of the log.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn append_batch(&mut self, batch: &Bytes, now_ms: i64) -> Result<(), LogError> {
        self.log
            .append_as_leader(batch, Origin::Raft, self.epoch, now_ms)?;
        self.bytes_since_snapshot += batch.len() as u64;
        Ok(())
    }

    /// Removes the first batches of a decision whose last ones found no room.
    fn take_back(&mut self, start: Offset, now_ms: i64) -> Result<(), LogError> {
        if self.next_offset() > start {
            self.log.truncate_to(start, now_ms)?;
        }
        Ok(())
    }

    /// Notes how far the log is durable, where that is further than was noted.
    fn note_synced(&mut self, now_ms: i64) -> Result<(), LogError> {
        self.noted_at_ms = now_ms;
        let synced = self.log.synced_offset();
        if synced > self.noted_synced {
            synced::write(&*self.disk, &self.dir, synced)?;
            self.noted_synced = synced;
        }
        Ok(())
    }

    fn due_snapshot(&mut self, committed: &Image, now_ms: i64) -> Option<SnapshotJob> {
        let id = SnapshotId::at(committed.position);
        let by_size = self.bytes_since_snapshot >= self.config.bytes_between_snapshots;
        let interval_ms = self.config.snapshot_interval_ms;
        let by_time = interval_ms > 0
            && self.bytes_since_snapshot > 0
            && now_ms.saturating_sub(self.latest_snapshot_ms) >= interval_ms;
        let waits = self.writing.is_some() || now_ms < self.snapshot_not_before_ms;
        if waits || Some(id) <= self.latest_snapshot || !(by_size || by_time) {
            return None;
        }
        let outcome = Outcome::default();
        self.writing = Some(outcome.clone());
        self.bytes_since_snapshot = 0;
        self.latest_snapshot_ms = now_ms;
        Some(SnapshotJob {
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            image: committed.clone(),
            quorum: self.known.records(),
            now_ms,
            outcome,
        })
    }

    fn take_written_snapshot(&mut self, now_ms: i64) -> Result<(), LogError> {
        let Some(outcome) = &self.writing else {
            return Ok(());
        };
        let Some(result) = outcome.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(());
        };
        self.writing = None;
        let id = match result {
            Err(error) if error.is_full() => {
                self.bytes_since_snapshot = self.config.bytes_between_snapshots;
                self.snapshot_not_before_ms = now_ms.saturating_add(SNAPSHOT_AGAIN_AFTER_MS);
                return Err(error);
            }
            result => result?,
        };
        self.latest_snapshot = Some(id);
        self.snapshots.push(id);
        self.note_synced(now_ms)?;
        self.retain(now_ms)
    }

    /// Removes the oldest snapshots past the retention, never the newest, then what the log held only for them.
    fn retain(&mut self, now_ms: i64) -> Result<(), LogError> {
        while let [oldest, next, ..] = self.snapshots.as_slice() {
            let path = self.dir.join(oldest.file_name());
            let is_first = oldest.end_offset == Offset::ZERO;
            let is_old = self.config.retention_ms.is_some_and(|kept_ms| {
                self.written_ms(*next)
                    .is_some_and(|written_ms| now_ms.saturating_sub(written_ms) > kept_ms)
            });
            let is_too_much = self.config.retention_bytes.is_some_and(|most| {
                self.log.size() + open::snapshot_bytes(&*self.disk, &self.dir, &self.snapshots) > most
            });
            if !(is_first || is_old || is_too_much) {
                break;
            }
            self.disk.remove_file_if_there(&path).map_err(log_disk(&path))?;
            self.snapshots.remove(0);
        }
        self.disk.sync_dir(&self.dir).map_err(log_disk(&self.dir))?;
        if let Some(oldest) = self.snapshots.first() {
            self.log.set_log_start_offset(oldest.end_offset);
            self.log.delete_old_segments(now_ms, self.log.log_end_offset())?;
        }
        Ok(())
    }

    /// When the last record of a snapshot was written.
    fn written_ms(&self, id: SnapshotId) -> Option<i64> {
        let bytes = self.disk.read(&self.dir.join(id.file_name())).ok()?;
        metadata::snapshot::last_contained_timestamp_ms(&bytes.into())
    }
}

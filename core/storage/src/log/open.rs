//! Making and opening the folder of a partition.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Offset, TopicPartition, Uuid};

use super::durability::Durability;
use super::recovery::Opening;
use super::{Log, LogConfig, LogReader, OpenError, WriteState};
use crate::disk::Disk;
use crate::epochs::{EPOCH_FILE, LeaderEpochs};
use crate::journal::JournalRows;
use crate::log_dir::{PartitionMetadata, create_dir_durably};
use crate::producers::Producers;
use crate::segment::{IndexLimits, Segment};

/// Where a log lies and whose it is.
#[derive(Clone, Debug)]
pub struct LogPlace {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// The folder of the partition.
    pub dir: PathBuf,
    /// The partition.
    pub topic_partition: TopicPartition,
}

/// What the directory's files say about a log when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCheckpoint {
    /// Everything below is durable; 0 when not known.
    pub recovery_point: Offset,
    /// The first offset, where it was moved inside a segment; 0 when not known.
    pub log_start_offset: Offset,
    /// How the directory was left.
    pub shutdown: Shutdown,
}

/// How a log directory was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// All is durable, and closed in order.
    Clean,
    /// The end is to be found by reading.
    Unclean,
}

/// What opening a log had to repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Segments that were read whole.
    pub recovered_segments: usize,
    /// Bytes cut off behind the last sound batch.
    pub truncated_bytes: u64,
    /// Segments removed because one before them was cut, or does not reach them.
    pub removed_segments: usize,
    /// Bytes that the journal of the directory brought back.
    pub replayed_bytes: u64,
    /// Why the rest of what the journal has was not.
    pub journal_fault: Option<String>,
    /// Segments whose indexes were built anew though their batches were not in doubt.
    pub rebuilt_indexes: usize,
    /// The first thing that was wrong, in words.
    pub first_fault: Option<String>,
}

impl RecoveryReport {
    pub(super) fn fault(&mut self, what: impl FnOnce() -> String) {
        self.first_fault.get_or_insert_with(what);
    }
}

pub(super) fn disk_error(path: &Path) -> impl Fn(io::Error) -> OpenError + '_ {
    move |error| OpenError::Disk {
        path: path.display().to_string(),
        error,
    }
}

impl Log {
    /// Makes the folder of a new partition, durably, with the topic id in it before anything can be appended (rule 17).
    pub fn create(
        place: LogPlace,
        topic_id: Uuid,
        config: Arc<LogConfig>,
        now_ms: i64,
    ) -> Result<Log, OpenError> {
        let dir: Arc<Path> = Arc::from(place.dir.as_path());
        let made = || -> io::Result<Segment> {
            create_dir_durably(&*place.disk, &dir)?;
            let limits = IndexLimits {
                bytes: config.segment_index_bytes,
            };
            let segment = Segment::create(&place.disk, &dir, Offset::ZERO, limits, now_ms)?;
            // The last of the files, since it syncs the folder's names: all of them are durable with it.
            PartitionMetadata { topic_id }.write(&*place.disk, &dir)?;
            Ok(segment)
        };
        let segment = made().map_err(disk_error(&dir))?;
        let epochs = LeaderEpochs::load(&*place.disk, dir.join(EPOCH_FILE)).map_err(disk_error(&dir))?;
        let view = LogReader {
            segments: Arc::new(vec![Arc::new(segment)]),
            epochs: Arc::new(epochs),
            log_start_offset: Offset::ZERO,
            log_end_offset: Offset::ZERO,
            limit: config.decompression_limit,
        };
        Ok(Log {
            dir,
            topic_id: Some(topic_id),
            view,
            producers: Producers::default(),
            snapshot_offset: None,
            durability: Durability::new(Offset::ZERO, Some((Offset::ZERO, 0))),
            retired: Vec::new(),
            orphan: None,
            state: WriteState::Sound,
            config,
            place,
        })
    }

    /// Opens the folder of a partition, repairing what a crash has left (rules 93 to 106).
    pub fn open(
        place: LogPlace,
        checkpoint: LogCheckpoint,
        config: Arc<LogConfig>,
        now_ms: i64,
    ) -> Result<(Log, RecoveryReport), OpenError> {
        Log::open_replaying(place, checkpoint, config, &JournalRows::default(), now_ms)
    }

    /// Opens the folder of a partition, of which the journal of the directory may have more.
    pub fn open_replaying(
        place: LogPlace,
        checkpoint: LogCheckpoint,
        config: Arc<LogConfig>,
        journal: &JournalRows,
        now_ms: i64,
    ) -> Result<(Log, RecoveryReport), OpenError> {
        let topic_id = PartitionMetadata::read(&*place.disk, &place.dir)?.map(|metadata| metadata.topic_id);
        let path = place.dir.clone();
        let failed = |error| OpenError::from_read(&path, error);
        let mut opening = Opening::new(place, config, now_ms);
        opening.journal_from = journal.first_base();
        opening.tidy_folder().map_err(failed)?;
        opening.load_epochs().map_err(failed)?;
        match checkpoint.shutdown {
            Shutdown::Clean => opening.reopen().map_err(failed)?,
            Shutdown::Unclean => opening.recover(checkpoint.recovery_point).map_err(failed)?,
        }
        if opening.journal_from.is_none() {
            return opening.finish(checkpoint, topic_id).map_err(failed);
        }
        let start = checkpoint.log_start_offset;
        let checkpoint = LogCheckpoint {
            log_start_offset: Offset::ZERO,
            ..checkpoint
        };
        let (mut log, mut report) = opening.finish(checkpoint, topic_id).map_err(failed)?;
        log.replay(journal, &mut report, now_ms).map_err(failed)?;
        log.start_at(start, &mut report, now_ms).map_err(failed)?;
        Ok((log, report))
    }
}

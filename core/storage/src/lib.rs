//! The log of one partition: segments, indexes, producer state, leader epochs, retention and recovery, over a [`Disk`].

mod checkpoint;
mod disk;
mod epochs;
mod journal;
mod log;
mod log_dir;
mod offline;
mod producers;
mod segment;

pub use checkpoint::{CheckpointError, OffsetMap, parse_offsets, render_offsets};
pub use disk::{DirEntry, DirLock, Disk, DiskFile, Random, RealDisk, SimDisk, SimFaults};
pub use epochs::{EpochStart, parse_epochs};
pub use journal::{
    InRound, Journal, JournalContent, JournalEntry, JournalHead, JournalKey, JournalKind, JournalReader,
    JournalRows, Replayed, Round, Takes, has_journal, is_journal,
};
#[cfg(feature = "planted-bugs")]
pub use log::PlantedBugs;
pub use log::{
    AbortedTransaction, ActiveProducer, AppendError, Appended, CleanupPolicy, ClosingLog, CompressedCheck,
    DeletedSegments, EpochEnd, FirstBatch, Log, LogCheckpoint, LogConfig, LogPlace, LogReader, OpenError,
    Origin, Piece, Read, ReadError, RecordFault, RecoveryReport, Shutdown, TimestampOffset, Unsynced,
    full_disk_remedy,
};
pub use log_dir::{
    Checkpoints, FolderKind, LastShutdown, LogDir, MetaProperties, MetaPropertiesError, PartitionFolder,
    PartitionMetadata,
};
pub use offline::{
    SegmentFault, SegmentReader, StoredEntry, base_offset_of, decode_offset_index, decode_time_index,
};
pub use producers::{ProducedBatch, ProducerSnapshotEntry, SnapshotError, decode_snapshot};
pub use segment::{OffsetEntry, TimeEntry, TransactionIndexError, decode_transactions};

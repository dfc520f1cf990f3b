//! What a log is told about its partition: the typed part of a topic's configuration that governs storage.

use wire::records::{Compression, DecompressionLimit, TimestampType};

/// The configuration of a log. The key names are Kafka's, with `_` for `.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// `segment.bytes` (or `internal.segment.bytes`): the largest size of a segment.
    pub segment_bytes: u32,
    /// `segment.ms`: the age at which a segment is closed.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: at most this much is taken off `segment_ms`, differently for each segment.
    pub segment_jitter_ms: i64,
    /// `segment.index.bytes`: the largest size of an index file; a full index closes its segment.
    pub segment_index_bytes: u32,
    /// `index.interval.bytes`: about one index entry for this many bytes of records.
    pub index_interval_bytes: u32,
    /// `retention.ms`; `None` keeps records for ever.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; `None` sets no limit.
    pub retention_bytes: Option<u64>,
    /// `file.delete.delay.ms`: how long the files of a deleted segment stay.
    pub file_delete_delay_ms: i64,
    /// `max.message.bytes`: the largest batch, after compression.
    pub max_message_bytes: u32,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `cleanup.policy`.
    pub cleanup: CleanupPolicy,
    /// `compression.type` with its level; `None` is `producer`, which keeps what was sent.
    pub compression: Option<Compression>,
    /// How much of a compressed batch an append checks.
    pub compressed_check: CompressedCheck,
    /// How far the records of a batch may grow when they are decompressed.
    pub decompression_limit: DecompressionLimit,
    /// `producer.id.expiration.ms`: when an idle producer is forgotten.
    pub producer_id_expiration_ms: i64,
    /// Faults that the simulator must find.
    #[cfg(feature = "planted-bugs")]
    pub planted: PlantedBugs,
}

impl Default for LogConfig {
    /// Kafka's defaults.
    fn default() -> LogConfig {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        LogConfig {
            segment_bytes: 1 << 30,
            segment_ms: 7 * DAY_MS,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            retention_ms: Some(7 * DAY_MS),
            retention_bytes: None,
            file_delete_delay_ms: 60_000,
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            cleanup: CleanupPolicy {
                delete: true,
                compact: false,
            },
            compression: None,
            compressed_check: CompressedCheck::Records,
            decompression_limit: DecompressionLimit::default(),
            producer_id_expiration_ms: DAY_MS,
            #[cfg(feature = "planted-bugs")]
            planted: PlantedBugs::default(),
        }
    }
}

/// `cleanup.policy`: what happens to old records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Segments past their retention are removed.
    pub delete: bool,
    /// The newest record of each key is kept: every record needs a key.
    pub compact: bool,
}

/// How much of a compressed batch an append checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressedCheck {
    /// The records, as in an uncompressed batch: what a client cannot read is not stored.
    Records,
    /// Header and checksum: for producers that are trusted. What else needs the records (a compacted topic, another
    /// codec) still reads them.
    Header,
}

/// Faults switched on by name, to see that the simulator finds them.
#[cfg(feature = "planted-bugs")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlantedBugs {
    /// Recovery takes a batch for sound without its checksum.
    pub recovery_skips_checksums: bool,
    /// Of each producer four batches are remembered instead of five.
    pub dedupe_window_of_four: bool,
}

//! A data directory that Apache Kafka 4.3.1 has written, with what its own tool prints for each file.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Not;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::model::{Offset, TopicPartition};
use storage::{
    CleanupPolicy, Disk, FirstBatch, FolderKind, Log, LogCheckpoint, LogConfig, LogDir, LogPlace,
    PartitionFolder, RealDisk, RecoveryReport, SegmentReader, Shutdown, base_offset_of, decode_offset_index,
    decode_snapshot, decode_time_index, decode_transactions,
};
use tempfile::TempDir;
use wire::records::{Batch, BatchHeader, Entry, Record, TimestampType, batches};

const ARCHIVE: &[u8] = include_bytes!("../../../../tests/golden/kafka-data-4.3.1.tar.gz");

struct Golden {
    root: TempDir,
}

impl Golden {
    fn unpack() -> Golden {
        let root = tempfile::tempdir().unwrap();
        tar::Archive::new(flate2::read::GzDecoder::new(ARCHIVE))
            .unpack(root.path())
            .unwrap();
        Golden { root }
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("kafka-data-4.3.1/data")
    }

    /// What `kafka-dump-log` printed, without its heading, by the file it was called on.
    fn dumps(&self, suffix: &str) -> Vec<(PathBuf, Vec<String>)> {
        let mut dumps = Vec::new();
        for entry in fs::read_dir(self.root.path().join("kafka-data-4.3.1/dump")).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .strip_suffix(".txt")
                .unwrap();
            if !name.ends_with(suffix) || name.starts_with("__cluster_metadata-0") && suffix == ".snapshot" {
                continue;
            }
            let (folder, file) = name.rsplit_once('_').unwrap();
            let lines = fs::read_to_string(&path).unwrap();
            let heading = |line: &&str| {
                !line.starts_with("Dumping ") && !line.starts_with("Log starting offset") && !line.is_empty()
            };
            let lines = lines.lines().filter(heading).map(str::to_owned).collect();
            dumps.push((self.data().join(folder).join(file), lines));
        }
        assert!(!dumps.is_empty(), "no dump of {suffix}");
        dumps.sort();
        dumps
    }

    fn folders(&self, dir: &LogDir) -> Vec<PartitionFolder> {
        let folders = dir.partition_folders().unwrap();
        assert_eq!(folders.len(), 16);
        folders
    }
}

/// The configuration that the topic had.
fn config_of(topic: &str) -> Arc<LogConfig> {
    let mut config = LogConfig {
        retention_ms: None,
        ..LogConfig::default()
    };
    match topic {
        "plain" => (config.segment_bytes, config.index_interval_bytes) = (16_384, 512),
        "transactions" => config.segment_bytes = 16_384,
        "compacted" => {
            config.segment_bytes = 8192;
            config.cleanup = CleanupPolicy {
                delete: false,
                compact: true,
            };
        }
        "append-time" => config.timestamp_type = TimestampType::LogAppendTime,
        _ => {}
    }
    Arc::new(config)
}

fn open(folder: &PartitionFolder, checkpoint: LogCheckpoint) -> (Log, RecoveryReport) {
    let place = LogPlace {
        disk: Arc::new(RealDisk),
        dir: folder.path.clone(),
        topic_partition: folder.topic_partition.clone(),
    };
    Log::open(place, checkpoint, config_of(&folder.topic_partition.topic), 0).unwrap()
}

fn read_all(log: &Log) -> Vec<Batch> {
    let mut found: Vec<Batch> = Vec::new();
    let mut next = log.log_start_offset();
    while next < log.log_end_offset() {
        let read = log
            .read(next, 1 << 20, log.log_end_offset(), FirstBatch::Whole)
            .unwrap();
        let bytes = read.records.to_bytes().unwrap();
        assert!(!bytes.is_empty());
        for batch in batches(&bytes) {
            let batch = batch.unwrap();
            batch.verify_crc().unwrap();
            next = batch.header().next_offset();
            found.push(batch);
        }
    }
    found
}

fn batch_line(position: u64, header: &BatchHeader) -> String {
    let time = match header.attributes.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    };
    let horizon = match header.delete_horizon_ms() {
        Some(horizon) => format!("OptionalLong[{horizon}]"),
        None => "OptionalLong.empty".to_owned(),
    };
    format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} \
         partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {horizon} position: {position} \
         {time}: {} size: {} magic: 2 compresscodec: {} crc: {} isvalid: true",
        header.base_offset,
        header.last_offset(),
        header.record_count,
        header.base_sequence,
        header.last_sequence(),
        header.producer_id,
        header.producer_epoch,
        header.leader_epoch,
        header.attributes.is_transactional(),
        header.attributes.is_control(),
        header.max_timestamp,
        header.size(),
        header.attributes.codec().unwrap().name(),
        header.crc,
    )
}

fn record_line(header: &BatchHeader, record: &Record) -> String {
    let time = match header.attributes.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    };
    let size = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(-1, |bytes| bytes.len() as i64);
    let keys: Vec<&str> = record
        .headers
        .iter()
        .map(|header| std::str::from_utf8(&header.key).unwrap())
        .collect();
    format!(
        "| offset: {} {time}: {} keySize: {} valueSize: {} sequence: {} headerKeys: [{}]",
        record.offset,
        record.timestamp,
        size(&record.key),
        size(&record.value),
        record.sequence,
        keys.join(","),
    )
}

#[test]
fn every_segment_reads_as_kafkas_own_tool_reads_it() {
    let golden = Golden::unpack();
    let mut lines = 0;
    for (path, expected) in golden.dumps(".log") {
        let mut expected = expected.iter();
        for stored in SegmentReader::open(&RealDisk, &path).unwrap() {
            let stored = stored.unwrap();
            stored.entry.verify_crc().unwrap();
            let Entry::Batch(batch) = &stored.entry else {
                panic!("magic 2 only")
            };
            assert_eq!(
                &batch_line(stored.position, batch.header()),
                expected.next().unwrap(),
                "{}",
                path.display()
            );
            for record in stored.entry.records(Default::default()).unwrap() {
                let (ours, theirs) = (record_line(batch.header(), &record), expected.next().unwrap());
                // Behind it come markers and the decoded records of internal topics, which are not a log's business.
                let rest = theirs.strip_prefix(&ours);
                assert!(
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
                    "{ours}\n{theirs}"
                );
                lines += 1;
            }
        }
        let left: Vec<&String> = expected
            .filter(|line| line.starts_with("| ") || line.starts_with("base"))
            .collect();
        assert_eq!(left, Vec::<&String>::new(), "{}", path.display());
    }
    assert!(lines > 3000, "{lines}");
}

#[test]
fn every_index_reads_as_kafkas_own_tool_reads_it() {
    let golden = Golden::unpack();
    let read = |path: &Path| (fs::read(path).unwrap(), base_offset_of(path).unwrap().0);
    for (path, expected) in golden.dumps(".index") {
        let (content, base) = read(&path);
        let line = |entry: storage::OffsetEntry| {
            format!(
                "offset: {} position: {}",
                base + i64::from(entry.relative_offset),
                entry.position
            )
        };
        assert_eq!(
            decode_offset_index(&content)
                .into_iter()
                .map(line)
                .collect::<Vec<_>>(),
            expected
        );
    }
    for (path, expected) in golden.dumps(".timeindex") {
        let (content, base) = read(&path);
        let line = |entry: storage::TimeEntry| {
            format!(
                "timestamp: {} offset: {}",
                entry.timestamp,
                base + i64::from(entry.relative_offset)
            )
        };
        let expected: Vec<String> = expected
            .into_iter()
            .filter(|line| line.starts_with("timestamp: "))
            .collect();
        assert_eq!(
            decode_time_index(&content)
                .into_iter()
                .map(line)
                .collect::<Vec<_>>(),
            expected
        );
    }
    for (path, expected) in golden.dumps(".txnindex") {
        let line = |entry: &storage::AbortedTransaction| {
            format!(
                "version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
                entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset
            )
        };
        let entries = decode_transactions(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(entries.iter().map(line).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn every_snapshot_reads_as_kafkas_own_tool_reads_it() {
    let golden = Golden::unpack();
    for (path, expected) in golden.dumps(".snapshot") {
        let line = |entry: &storage::ProducerSnapshotEntry| {
            let open = match entry.current_transaction_first_offset {
                Some(offset) => format!("OptionalLong[{offset}]"),
                None => "OptionalLong.empty".to_owned(),
            };
            let batch = entry.batch.unwrap();
            format!(
                "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: {open} \
                 lastTimestamp: {} firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
                entry.producer_id,
                entry.producer_epoch,
                entry.coordinator_epoch,
                entry.last_timestamp,
                batch.first_sequence(),
                batch.last_sequence,
                batch.last_offset,
                batch.offset_delta,
                batch.timestamp,
            )
        };
        let entries = decode_snapshot(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(
            entries.iter().map(line).collect::<Vec<_>>(),
            expected,
            "{}",
            path.display()
        );
    }
}

#[test]
fn the_directory_says_who_it_is_and_how_it_was_left() {
    let golden = Golden::unpack();
    let dir = LogDir::open(Arc::new(RealDisk), &golden.data()).unwrap();
    let meta = dir.meta_properties().unwrap().unwrap();
    assert_eq!(
        (meta.node_id.0, meta.cluster_id.as_str()),
        (1, "1vR05W1yRTm40ArhIWTDng")
    );
    assert_eq!(meta.directory_id.unwrap().to_string(), "Jtflsnh6DUEpc2Xx0hyhLw");
    let last = dir.take_last_shutdown().unwrap();
    assert_eq!(
        (last.shutdown, last.broker_epoch.map(|epoch| epoch.0)),
        (Shutdown::Clean, Some(13))
    );
    assert_eq!(dir.take_last_shutdown().unwrap().shutdown, Shutdown::Unclean);
    let checkpoints = dir.checkpoints().unwrap();
    assert_eq!(checkpoints.recovery_points.len(), 15);
    assert_eq!(checkpoints.high_watermarks, checkpoints.recovery_points);
    let starts: BTreeMap<_, _> = [(TopicPartition::new("deleted-prefix", 0), Offset(7))].into();
    assert_eq!(
        (checkpoints.log_start_offsets, checkpoints.unreadable),
        (starts, Vec::new())
    );
}

#[test]
fn every_partition_opens_with_nothing_to_repair_and_all_records() {
    let golden = Golden::unpack();
    let dir = LogDir::open(Arc::new(RealDisk), &golden.data()).unwrap();
    let checkpoints = dir.checkpoints().unwrap();
    for folder in golden.folders(&dir) {
        assert_eq!(folder.kind, FolderKind::Live);
        let partition = &folder.topic_partition;
        let known = |map: &BTreeMap<TopicPartition, Offset>| map.get(partition).copied().unwrap_or_default();
        let checkpoint = LogCheckpoint {
            recovery_point: known(&checkpoints.recovery_points),
            log_start_offset: known(&checkpoints.log_start_offsets),
            shutdown: Shutdown::Clean,
        };
        let (log, report) = open(&folder, checkpoint);
        assert_eq!(report, RecoveryReport::default(), "{partition}");
        let end = if &*partition.topic == "__cluster_metadata" {
            Offset(118)
        } else {
            checkpoint.recovery_point
        };
        assert_eq!(
            (log.log_end_offset(), log.synced_offset()),
            (end, end),
            "{partition}"
        );
        assert!(log.topic_id().is_some() && log.dirty().is_none(), "{partition}");
        let found = read_all(&log);
        assert_eq!(
            found
                .last()
                .map_or(Offset(0), |batch| batch.header().next_offset()),
            end,
            "{partition}"
        );
        match &*partition.topic {
            "deleted-prefix" => assert_eq!(log.log_start_offset(), Offset(7)),
            "transactions" => {
                let aborted = log.aborted_transactions(Offset(0), end).unwrap();
                let offsets: Vec<(i64, i64)> = aborted
                    .iter()
                    .map(|entry| (entry.first_offset.0, entry.last_offset.0))
                    .collect();
                assert_eq!(offsets, [(0, 10), (33, 43), (66, 76), (99, 109)]);
                assert_eq!(log.last_stable_offset(end), end);
            }
            "append-time" => {
                let time = found[0].header().max_timestamp;
                let first = log.offset_by_timestamp(time).unwrap().unwrap();
                assert_eq!((first.offset, first.timestamp), (Offset(0), time));
            }
            _ => {}
        }
    }
}

/// All files of a folder whose content follows from the batches.
fn derived(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept = names.filter(|name| {
        [".log", ".index", ".timeindex", ".txnindex"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
    });
    kept.map(|name| (name.clone(), fs::read(dir.join(&name)).unwrap()))
        .collect()
}

/// The last entry of each producer in each snapshot: what Kafka keeps.
fn snapshots(dir: &Path) -> BTreeMap<String, Vec<storage::ProducerSnapshotEntry>> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let read = |name: String| {
        let entries = decode_snapshot(&fs::read(dir.join(&name)).unwrap()).unwrap();
        let last: BTreeMap<i64, _> = entries
            .into_iter()
            .map(|entry| (entry.producer_id.0, entry))
            .collect();
        (name, last.into_values().collect())
    };
    names
        .filter(|name| name.ends_with(".snapshot"))
        .map(read)
        .collect()
}

#[test]
fn recovery_builds_the_files_that_kafka_had_written() {
    let golden = Golden::unpack();
    let dir = LogDir::open(Arc::new(RealDisk), &golden.data()).unwrap();
    let mut compared = 0;
    for folder in golden.folders(&dir) {
        let names = fs::read_dir(&folder.path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        names
            .filter(|path| path.extension().is_some_and(|suffix| suffix == "deleted"))
            .for_each(|path| {
                fs::remove_file(path).unwrap();
            });
        let (before, mut producers) = (derived(&folder.path), snapshots(&folder.path));
        for name in before
            .keys()
            .chain(producers.keys())
            .filter(|name| !name.ends_with(".log"))
        {
            fs::remove_file(folder.path.join(name)).unwrap();
        }
        let start = if &*folder.topic_partition.topic == "deleted-prefix" {
            Offset(7)
        } else {
            Offset(0)
        };
        let checkpoint = LogCheckpoint {
            recovery_point: Offset(0),
            log_start_offset: start,
            shutdown: Shutdown::Unclean,
        };
        let (log, report) = open(&folder, checkpoint);
        assert_eq!((report.truncated_bytes, report.first_fault), (0, None));
        log.close().unwrap();
        assert_eq!(derived(&folder.path), before, "{}", folder.topic_partition);
        let rebuilt = snapshots(&folder.path);
        if &*folder.topic_partition.topic == "compacted" {
            // Compaction has removed the batches that the older snapshots were taken of.
            producers.retain(|name, _| rebuilt.get(name).is_some_and(|entries| entries.is_empty()).not());
            assert_eq!(producers.len(), 2);
        }
        assert!(
            producers
                .iter()
                .all(|(name, entries)| rebuilt.get(name) == Some(entries)),
            "{}",
            folder.topic_partition
        );
        compared += before.len() + producers.len();
    }
    assert!(compared > 70, "{compared}");
}

#[test]
fn a_clean_stop_leaves_what_kafka_leaves() {
    let golden = Golden::unpack();
    let dir = LogDir::open(Arc::new(RealDisk), &golden.data()).unwrap();
    let starts = dir.checkpoints().unwrap().log_start_offsets;
    for folder in golden.folders(&dir) {
        let before = derived(&folder.path);
        let log_start_offset = starts.get(&folder.topic_partition).copied().unwrap_or_default();
        let checkpoint = LogCheckpoint {
            recovery_point: Offset(i64::MAX),
            log_start_offset,
            shutdown: Shutdown::Clean,
        };
        let (log, _) = open(&folder, checkpoint);
        log.close().unwrap();
        assert_eq!(derived(&folder.path), before, "{}", folder.topic_partition);
        assert!(
            !RealDisk
                .exists(&folder.path.join("leader-epoch-checkpoint.tmp"))
                .unwrap()
        );
    }
}

//! Recovery: whatever happened to the files of a partition, its log opens or says why not, and what an unclean start
//! let through is sound, readable, and can be appended to.

#![no_main]

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition, Uuid};
use storage::{Disk, FirstBatch, Log, LogCheckpoint, LogConfig, LogPlace, Origin, Shutdown, SimDisk};
use wire::records::{BatchBuilder, Producer, batches};

const NOW: i64 = 1_700_000_000_000;
const DIR: &str = "/data/t-0";

fn place(disk: &SimDisk) -> LogPlace {
    LogPlace {
        disk: Arc::new(disk.clone()),
        dir: PathBuf::from(DIR),
        topic_partition: TopicPartition::new("t", 0),
    }
}

fn config() -> Arc<LogConfig> {
    Arc::new(LogConfig {
        segment_bytes: 400,
        segment_index_bytes: 120,
        index_interval_bytes: 100,
        retention_ms: None,
        ..LogConfig::default()
    })
}

fn batch(sequence: i32) -> Bytes {
    let producer = Producer { id: ProducerId(7), epoch: ProducerEpoch(0), base_sequence: sequence };
    let mut builder = BatchBuilder::new().with_producer(producer);
    builder.append(NOW, Some(b"key"), Some(b"a value of some length"), &[]).expect("it fits");
    builder.build().expect("it is not empty")
}

/// How many batches the log holds before anything happens to it.
const BATCHES: i32 = 12;

/// The files of a log of a few segments, closed in order. Written once: what is tried is what happens to them.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let disk = SimDisk::new(0);
    let mut log = Log::create(place(&disk), Uuid([7; 16]), config(), NOW).expect("nothing is there");
    for sequence in 0..BATCHES {
        log.append_as_leader(&batch(sequence), Origin::Client, LeaderEpoch(sequence / 5), NOW)
            .expect("a sound batch");
    }
    log.close().expect("the disk is fine");
    let entries = disk.list(Path::new(DIR)).expect("the folder is there");
    let paths = entries.into_iter().map(|entry| Path::new(DIR).join(entry.name));
    paths.map(|path| { let content = disk.read(&path).expect("it was listed"); (path, content) }).collect()
});

/// A fresh disk with those files.
fn laid_out(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.create_dir_all(Path::new(DIR)).expect("nothing is there");
    for (path, content) in FILES.iter() {
        disk.write(path, content).expect("the disk is fine");
    }
    disk
}

/// One change to a file: `[file, operation, position, length, bytes..]`.
fn damage<'a>(disk: &SimDisk, change: &'a [u8]) -> Option<&'a [u8]> {
    let [file, operation, position, length, rest @ ..] = change else { return None };
    let (bytes, rest) = rest.split_at((*length as usize % 32).min(rest.len()));
    let names = disk.list(Path::new(DIR)).expect("the folder is there");
    let name = &names.get(usize::from(*file) % names.len().max(1))?.name;
    let file = disk.open(&Path::new(DIR).join(name)).expect("it was listed");
    let position = u64::from(*position) * 4;
    let _ = match operation % 3 {
        0 => file.write_all_at(&[IoSlice::new(bytes)], position),
        1 => file.set_len(position),
        _ => file.write_all_at(&[IoSlice::new(bytes)], file.len().unwrap_or(0)),
    };
    Some(rest)
}

fn read_all(log: &Log, end: Offset) {
    let mut offset = log.log_start_offset();
    while offset < end {
        let Ok(read) = log.read(offset, 1 << 20, end, FirstBatch::Whole) else { return };
        let Ok(bytes) = read.records.to_bytes() else { return };
        let before = offset;
        for batch in batches(&bytes).map_while(Result::ok) {
            batch.verify_crc().expect("an unclean start reads every batch that it keeps");
            offset = offset.max(batch.header().next_offset());
        }
        if offset == before {
            return;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&mode, mut changes)) = data.split_first() else { return };
    let disk = laid_out(u64::from(mode));
    while let Some(rest) = damage(&disk, changes) {
        changes = rest;
    }
    let shutdown = if mode % 4 == 0 { Shutdown::Clean } else { Shutdown::Unclean };
    let checkpoint = LogCheckpoint { recovery_point: Offset(0), log_start_offset: Offset(0), shutdown };
    let Ok((mut log, _)) = Log::open(place(&disk), checkpoint, config(), NOW) else { return };
    let end = log.log_end_offset();
    if shutdown == Shutdown::Unclean {
        read_all(&log, end);
    }
    let _ = log.offset_by_timestamp(NOW);
    let _ = log.offset_of_max_timestamp();
    let _ = log.aborted_transactions(Offset(0), end);
    if let Ok(appended) = log.append_as_leader(&batch(BATCHES), Origin::Client, LeaderEpoch(9), NOW) {
        assert!(appended.duplicate || appended.first_offset >= end);
    }
    let _ = log.close();
});

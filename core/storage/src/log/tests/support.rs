//! Logs to test with, and batches to put in them.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition, Uuid};
use wire::records::{
    Batch, BatchBuilder, Compression, ControlRecordType, DecompressionLimit, EndTransactionMarker, Producer,
    Record, batches,
};

use crate::disk::{Disk, SimDisk};
use crate::log::*;

pub(super) const NOW: i64 = 1_700_000_000_000;
pub(super) const EPOCH: LeaderEpoch = LeaderEpoch(3);

pub(super) fn place(disk: &SimDisk) -> LogPlace {
    LogPlace {
        disk: Arc::new(disk.clone()),
        dir: PathBuf::from("/data/t-0"),
        topic_partition: TopicPartition::new("t", 0),
    }
}

/// A configuration whose segments and indexes are small.
pub(super) fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 1000,
        segment_index_bytes: 4096,
        index_interval_bytes: 100,
        retention_ms: None,
        ..LogConfig::default()
    }
}

pub(super) fn create(disk: &SimDisk, config: LogConfig) -> Log {
    Log::create(place(disk), Uuid([7; 16]), Arc::new(config), NOW).unwrap()
}

pub(super) fn reopen(
    disk: &SimDisk,
    config: LogConfig,
    shutdown: Shutdown,
    recovery_point: i64,
) -> (Log, RecoveryReport) {
    let checkpoint = LogCheckpoint {
        recovery_point: Offset(recovery_point),
        log_start_offset: Offset::ZERO,
        shutdown,
    };
    Log::open(place(disk), checkpoint, Arc::new(config), NOW).unwrap()
}

/// A batch of records with these values, one millisecond apart from `NOW` on.
pub(super) fn batch(values: &[&str]) -> Bytes {
    with(BatchBuilder::new(), values)
}

pub(super) fn with(mut builder: BatchBuilder, values: &[&str]) -> Bytes {
    for (index, value) in values.iter().enumerate() {
        builder
            .append(NOW + index as i64, Some(b"key"), Some(value.as_bytes()), &[])
            .unwrap();
    }
    builder.build().unwrap()
}

pub(super) fn timed(times: &[i64], compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new().with_compression(compression);
    for time in times {
        builder.append(*time, None, Some(b"value"), &[]).unwrap();
    }
    builder.build().unwrap()
}

pub(super) fn producer(id: i64, epoch: i16, base_sequence: i32) -> Producer {
    Producer {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
        base_sequence,
    }
}

pub(super) fn produced(id: i64, epoch: i16, base_sequence: i32, values: &[&str]) -> Bytes {
    with(
        BatchBuilder::new().with_producer(producer(id, epoch, base_sequence)),
        values,
    )
}

pub(super) fn transactional(id: i64, base_sequence: i32, values: &[&str]) -> Bytes {
    with(
        BatchBuilder::new()
            .with_producer(producer(id, 0, base_sequence))
            .transactional(),
        values,
    )
}

pub(super) fn marker(id: i64, kind: ControlRecordType) -> Bytes {
    let marker = EndTransactionMarker {
        kind,
        coordinator_epoch: 0,
    };
    BatchBuilder::end_transaction(marker, ProducerId(id), ProducerEpoch(0), NOW)
        .unwrap()
        .build()
        .unwrap()
}

pub(super) fn append(log: &mut Log, batch: &Bytes) -> Appended {
    log.append_as_leader(batch, Origin::Client, EPOCH, NOW).unwrap()
}

pub(super) fn append_marker(log: &mut Log, batch: &Bytes) -> Appended {
    log.append_as_leader(batch, Origin::Coordinator, EPOCH, NOW)
        .unwrap()
}

pub(super) fn sync(log: &mut Log) {
    if let Some(unsynced) = log.dirty() {
        unsynced.sync().unwrap();
        log.mark_synced(&unsynced);
    }
    assert!(log.dirty().is_none());
}

/// All batches from an offset on.
pub(super) fn read_batches(log: &Log, from: Offset) -> Vec<Batch> {
    let mut found = Vec::new();
    let mut next = from;
    loop {
        let read = log
            .read(next, 1 << 20, log.log_end_offset(), FirstBatch::Whole)
            .unwrap();
        let bytes = read.records.to_bytes().unwrap();
        if bytes.is_empty() {
            return found;
        }
        for batch in batches(&bytes) {
            let batch = batch.unwrap();
            batch.verify_crc().unwrap();
            next = batch.header().next_offset();
            found.push(batch);
        }
    }
}

/// All records from an offset on.
pub(super) fn records(log: &Log, from: Offset) -> Vec<Record> {
    let limit = DecompressionLimit::default();
    let in_batch = |batch: &Batch| {
        batch
            .records(limit)
            .unwrap()
            .collect::<Result<Vec<_>, _>>()
            .unwrap()
    };
    read_batches(log, from).iter().flat_map(in_batch).collect()
}

/// Offset and value of each record.
pub(super) fn contents(log: &Log) -> Vec<(i64, String)> {
    let text = |record: Record| {
        (
            record.offset.0,
            String::from_utf8(record.value.unwrap().to_vec()).unwrap(),
        )
    };
    records(log, log.log_start_offset())
        .into_iter()
        .map(text)
        .collect()
}

pub(super) fn files(disk: &SimDisk) -> Vec<String> {
    disk.list(&PathBuf::from("/data/t-0"))
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

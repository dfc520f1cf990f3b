//! Logs and snapshots of Apache Kafka.

use std::path::PathBuf;

use bytes::Bytes;
use metadata::batch::{BatchWriter, Contents, ControlRecord, read_batch};
use metadata::image::{ConfigKind, Image, LogPosition};
use metadata::snapshot::{self, SnapshotError, SnapshotFrame, SnapshotId};
use metadata::{Delta, MetadataRecord, RecordVersions, Replay, TopicFate};
use model::{BrokerId, LeaderEpoch, Offset};
use wire::records::{Batch, DecompressionLimit, batches};

fn data(name: &str) -> Bytes {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .into()
}

fn all_batches(bytes: &Bytes) -> Vec<Batch> {
    batches(bytes).map(|batch| batch.unwrap()).collect()
}

/// Follows a log up to an offset, that one excluded.
fn replay_up_to(log: &Bytes, end: Offset) -> Replay {
    let mut replay = Replay::default();
    for batch in all_batches(log) {
        if batch.header().base_offset >= end {
            break;
        }
        let (position, contents) = read_batch(&batch).unwrap();
        match contents {
            Contents::Records(records) => replay.apply_batch(&records, position).unwrap(),
            Contents::Control(_) => replay.advance(position),
        }
    }
    replay
}

fn replay_all(log: &Bytes) -> Replay {
    replay_up_to(log, Offset(i64::MAX))
}

/// The lines Kafka's dump tool prints for a file, from what we read of it.
fn dump(bytes: &Bytes) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in all_batches(bytes) {
        let (_, contents) = read_batch(&batch).unwrap();
        let records = batch
            .records(DecompressionLimit::default())
            .unwrap()
            .map(|record| record.unwrap());
        match contents {
            Contents::Control(control) => {
                for (record, control) in records.zip(control) {
                    let (kind, json) = control.to_json();
                    let colon = if kind == "LeaderChange" { ":" } else { "" };
                    lines.push(format!("{} {kind}{colon} {json}", record.offset));
                }
            }
            Contents::Records(_) => {
                for record in records {
                    let (version, decoded) = MetadataRecord::decode(record.value.unwrap()).unwrap();
                    lines.push(format!("{} {}", record.offset, decoded.to_json(version)));
                }
            }
        }
    }
    lines
}

#[test]
fn every_record_reads_as_kafkas_dump_tool_prints_it() {
    for name in [
        "static-quorum",
        "dynamic-quorum",
        "00000000000000000000-0000000000",
        "00000000000000000225-0000000001",
    ] {
        let extension = if name.ends_with("quorum") {
            "log"
        } else {
            "checkpoint"
        };
        let ours = dump(&data(&format!("{name}.{extension}")));
        let kafkas = data(&format!("{name}.dump"));
        let kafkas: Vec<&str> = std::str::from_utf8(&kafkas).unwrap().lines().collect();
        assert_eq!(ours, kafkas, "{name}");
    }
}

#[test]
fn every_record_is_written_byte_for_byte_as_kafka_wrote_it() {
    let mut count = 0;
    for name in [
        "static-quorum.log",
        "dynamic-quorum.log",
        "00000000000000000225-0000000001.checkpoint",
    ] {
        for batch in all_batches(&data(name))
            .iter()
            .filter(|batch| !batch.header().attributes.is_control())
        {
            for record in batch.records(DecompressionLimit::default()).unwrap() {
                let value = record.unwrap().value.unwrap();
                let (_, decoded) = MetadataRecord::decode(value.clone()).unwrap();
                assert_eq!(
                    decoded.encode(RecordVersions::at(30)).unwrap(),
                    value,
                    "{decoded:?}"
                );
                count += 1;
            }
        }
    }
    assert_eq!(count, 375);
}

#[test]
fn control_batches_are_written_byte_for_byte_as_kafka_wrote_them() {
    let files = [
        "dynamic-quorum.log",
        "bootstrap.checkpoint",
        "00000000000000000000-0000000000.checkpoint",
    ];
    let mut count = 0;
    for batch in files.iter().flat_map(|name| all_batches(&data(name))) {
        let header = *batch.header();
        let (position, Contents::Control(records)) = read_batch(&batch).unwrap() else {
            continue;
        };
        let mut writer = BatchWriter::new(header.base_offset, position.epoch, header.base_timestamp);
        assert_eq!(writer.control(&records).unwrap(), *batch.bytes());
        assert_eq!(writer.next_offset(), header.next_offset());
        count += 1;
    }
    assert_eq!(count, 5);
}

#[test]
fn the_image_of_kafkas_log_equals_kafkas_own_snapshot_of_it() {
    let log = data("dynamic-quorum.log");
    for name in [
        "00000000000000000138-0000000001.checkpoint",
        "00000000000000000225-0000000001.checkpoint",
    ] {
        let id = SnapshotId::parse(name).unwrap();
        let (from_snapshot, frame) = snapshot::read_image(&data(name), id).unwrap();
        let from_log = replay_up_to(&log, id.end_offset);
        assert_eq!(*from_log.image(), from_snapshot, "{name}");
        assert_eq!(frame.quorum.len(), 2, "the level of kraft.version and the voters");
        assert!(matches!(&frame.quorum[1], ControlRecord::Voters(voters) if voters.voters[0].voter_id == 7));
    }
}

fn snapshot_of(image: &Image, quorum: Vec<ControlRecord>) -> Bytes {
    let mut bytes = Vec::new();
    snapshot::write_image(image, quorum, 1_700_000_000_000, &mut |piece| {
        bytes.extend_from_slice(&piece);
        Ok::<(), metadata::batch::WriteError>(())
    })
    .unwrap();
    bytes.into()
}

#[test]
fn an_image_survives_its_snapshot() {
    for name in ["static-quorum.log", "dynamic-quorum.log"] {
        let image = replay_all(&data(name)).image().clone();
        let id = SnapshotId::at(image.position);
        let (again, frame) = snapshot::read_image(&snapshot_of(&image, Vec::new()), id).unwrap();
        assert_eq!(again, image, "{name}");
        let last_contained_log_timestamp_ms = image.position.timestamp_ms;
        assert_eq!(
            frame,
            SnapshotFrame {
                last_contained_log_timestamp_ms,
                quorum: Vec::new()
            }
        );
    }
}

#[test]
fn the_golden_log_says_what_was_done_to_the_cluster() {
    let mut replay = replay_all(&data("static-quorum.log"));
    let image = replay.image().clone();
    assert_eq!(image.position.offset, Offset(117));
    assert_eq!(image.position.epoch, LeaderEpoch(1));
    assert_eq!(image.features.metadata_version(), Some(30));
    assert_eq!(image.features.level("transaction.version"), 2);
    assert!(image.features.elr_enabled());

    let broker = image.cluster.broker(BrokerId(1)).unwrap();
    assert!(broker.fenced && broker.in_controlled_shutdown && !broker.is_active());
    assert_eq!(broker.epoch.0, 13);
    assert_eq!(broker.endpoint("PLAINTEXT").unwrap().port, 33092);
    assert_eq!(image.cluster.controllers().count(), 1);

    assert_eq!(image.topics.len(), 11);
    assert_eq!(image.topics.partition_count(), 15);
    let plain = image.topics.by_name("plain").unwrap();
    assert_eq!(image.topics.by_id(plain.id).unwrap().name, plain.name);
    let partition = plain.partition(1).unwrap();
    assert_eq!(partition.leader, None);
    assert_eq!(partition.eligible_leader_replicas, [BrokerId(1)]);
    assert_eq!(partition.last_known_elr, [BrokerId(1)]);
    assert_eq!((partition.leader_epoch.0, partition.partition_epoch), (1, 1));
    assert_eq!(
        partition.directory_of(BrokerId(1)).unwrap().to_string(),
        "Jtflsnh6DUEpc2Xx0hyhLw"
    );
    assert_eq!(&*image.configs.topic("plain")["internal.segment.bytes"], "16384");
    assert_eq!(
        &*image.configs.of(ConfigKind::BROKER, "")["min.insync.replicas"],
        "1"
    );
    assert_eq!(image.next_producer_id, 1000);

    let delta = replay.take_delta();
    assert_eq!(delta.topics.len(), 11);
    assert!(
        delta
            .topics
            .values()
            .all(|change| change.fate == TopicFate::Created)
    );
    assert_eq!(delta.topics[&plain.id].partitions.len(), 2);
    assert!(replay.take_delta().is_empty());
    assert_eq!(Delta::of_whole(&image).topics, delta.topics);
}

#[test]
fn records_of_access_are_kept_as_they_are() {
    let image = replay_all(&data("dynamic-quorum.log")).image().clone();
    let principals: Vec<_> = image.acls.iter().map(|(_, acl)| &*acl.principal).collect();
    assert_eq!(principals.len(), 2);
    assert!(principals.contains(&"User:alice") && principals.contains(&"User:bob"));
    assert_eq!(image.scram.of(1, "admin").unwrap().iterations, 4096);
    assert_eq!(image.scram.of(2, "carol").unwrap().iterations, 5000);
    assert_eq!(image.scram.of(1, "dave"), None, "it was removed again");
    assert_eq!(image.delegation_tokens.iter().count(), 2);
    assert_eq!(image.quotas.iter().count(), 2);
    assert_eq!(
        image.cluster.broker(BrokerId(7)).unwrap().rack.as_deref(),
        Some("r1")
    );
    assert_eq!(image.topics.by_name("gone"), None);
    assert!(
        image.configs.topic("gone").is_empty(),
        "settings end with their topic"
    );
    assert_eq!(image.topics.by_name("other_topic").unwrap().partition_count(), 4);
}

#[test]
fn a_snapshot_that_is_not_whole_is_refused() {
    let bytes = data("00000000000000000225-0000000001.checkpoint");
    let id = SnapshotId::parse("00000000000000000225-0000000001.checkpoint").unwrap();
    let footer = all_batches(&bytes).last().unwrap().bytes().len();
    let cut = bytes.slice(..bytes.len() - footer);
    assert_eq!(
        snapshot::read_image(&cut, id).unwrap_err(),
        SnapshotError::NoFooter
    );
    assert_eq!(
        snapshot::read_image(&Bytes::new(), id).unwrap_err(),
        SnapshotError::NoHeader
    );
    let log = data("static-quorum.log");
    assert_eq!(
        snapshot::read_image(&log, id).unwrap_err(),
        SnapshotError::NoHeader
    );
    let twice = Bytes::from([bytes.as_ref(), bytes.as_ref()].concat());
    assert_eq!(
        snapshot::read_image(&twice, id).unwrap_err(),
        SnapshotError::AfterFooter
    );
}

#[test]
fn no_flipped_bit_of_a_snapshot_goes_unnoticed() {
    let bytes = data("00000000000000000138-0000000001.checkpoint");
    let id = SnapshotId::parse("00000000000000000138-0000000001.checkpoint").unwrap();
    let whole = snapshot::read_image(&bytes, id).unwrap();
    for position in 0..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[position] ^= 1 << (position % 8);
        // The first 12 bytes and the epoch of a batch lie outside its checksum: they say where it lies, not what it says.
        if let Ok(read) = snapshot::read_image(&damaged.into(), id) {
            assert_eq!(read, whole, "bit flipped in byte {position}");
        }
    }
}

#[test]
fn a_transaction_counts_whole_or_not_at_all() {
    let log = data("static-quorum.log");
    let bootstrap = all_batches(&log).into_iter().nth(1).unwrap();
    let (position, Contents::Records(records)) = read_batch(&bootstrap).unwrap() else {
        panic!("control batch")
    };
    let open = &records[..records.len() - 1];

    let mut replay = Replay::default();
    replay
        .apply_batch(
            open,
            LogPosition {
                offset: Offset(8),
                ..position
            },
        )
        .unwrap();
    assert!(replay.in_transaction());
    assert!(replay.image().is_empty() && replay.take_delta().is_empty());

    let mut aborted = replay.clone();
    aborted.apply_batch(&[Replay::abort("test")], position).unwrap();
    assert!(aborted.image().is_empty() && aborted.take_delta().is_empty());
    assert_eq!(aborted.image().position.offset, Offset(9));
    assert!(
        aborted.apply_batch(&[Replay::end()], position).is_err(),
        "no transaction is open"
    );

    replay.apply_batch(&[Replay::end()], position).unwrap();
    assert_eq!(replay.image().features.metadata_version(), Some(30));
    assert_eq!(replay.take_delta().features.len(), 6);
    replay.apply_batch(open, position).unwrap();
    assert!(
        replay.apply_batch(open, position).is_err(),
        "a transaction is open already"
    );
}

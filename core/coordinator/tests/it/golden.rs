//! A partition of `__consumer_offsets` that Apache Kafka 4.3.1 wrote: a classic group and a group of the consumer
//! protocol, both left by their member after it had committed offsets.

use bytes::Bytes;
use coordinator::{DecodeRecordError, GroupConfig, GroupShard, Record, encode_batch};
use wire::records::{Batch, DecompressionLimit, batches};

use crate::stage::Stage;

const LOG: &[u8] = include_bytes!("golden/consumer_offsets.log");

fn golden() -> Vec<Batch> {
    batches(&Bytes::from_static(LOG))
        .map(|batch| batch.unwrap())
        .collect()
}

fn loaded(config: GroupConfig) -> Stage {
    let mut shard = GroupShard::new(config.clone());
    for batch in golden() {
        batch.verify_crc().unwrap();
        assert_eq!(shard.load_batch(&batch).unwrap(), []);
    }
    Stage::with_shard(config, shard)
}

fn check(config: GroupConfig, lines: &[&str], expected: &[&str]) {
    let mut stage = loaded(config);
    stage.output.clear();
    for line in lines {
        stage.run(line);
    }
    assert_eq!(stage.output, expected);
}

#[test]
fn groups_of_every_protocol_are_listed() {
    check(
        GroupConfig::default(),
        &["list", "list types=CONSUMER", "list states=stable"],
        &[
            "golden-group \"consumer\" Empty classic",
            "golden-next \"consumer\" Empty consumer",
            "golden-next \"consumer\" Empty consumer",
        ],
    );
}

#[test]
fn committed_offsets_of_every_group_are_readable() {
    check(
        GroupConfig::default(),
        &[
            "a: fetch g=golden-group",
            "b: fetch g=golden-next codec-lz4-0 stable",
        ],
        &["a: plain-0=179@0 plain-1=521@0", "b: codec-lz4-0=200@0"],
    );
}

#[test]
fn only_classic_groups_are_described_here() {
    check(
        GroupConfig::default(),
        &["describe golden-group", "describe golden-next"],
        &["Empty \"consumer\" \"\" []", "none"],
    );
}

#[test]
fn the_classic_group_goes_on_at_its_generation() {
    check(
        GroupConfig {
            initial_rebalance_delay_ms: 0,
            ..GroupConfig::default()
        },
        &["a: join v3 g=golden-group"],
        &["a: joined 3 range leader=a1 [a1]"],
    );
}

#[test]
fn a_deserted_group_of_another_protocol_makes_room_for_a_classic_one_and_keeps_its_offsets() {
    check(
        GroupConfig {
            initial_rebalance_delay_ms: 0,
            ..GroupConfig::default()
        },
        &[
            "a: join somebody g=golden-next",
            "a: join v3 g=golden-next",
            "a: sync a2 1 g=golden-next a2=x",
            "list",
            "a: fetch g=golden-next",
        ],
        &[
            "a: UnknownMember somebody",
            "a: joined 1 range leader=a2 [a2]",
            "log: golden-next consumer 3 gone",
            "log: golden-next consumer 6 gone",
            "log: golden-next 0 []",
            "log: golden-next 1 [a2=x]",
            "a: synced \"x\" consumer range",
            "golden-group \"consumer\" Empty classic",
            "golden-next \"consumer\" Stable classic",
            "a: codec-lz4-0=200@0",
        ],
    );
}

#[test]
fn offsets_of_a_deserted_group_of_another_protocol_expire_with_the_group() {
    let mut stage = loaded(GroupConfig {
        offsets_retention_check_interval_ms: 1_000,
        ..GroupConfig::default()
    });
    // What Kafka wrote is stamped with the wall clock of that day.
    let later = 1_795_988_970_128 + 7 * 24 * 3_600_000;
    let step = stage.shard.tick(coordinator::Now {
        wall_ms: later,
        steady_ms: 1_000,
    });
    stage.take(step);
    assert_eq!(
        stage.output,
        [
            "log: golden-group plain-0 gone",
            "log: golden-group plain-1 gone",
            "log: golden-group gone",
            "log: golden-next codec-lz4-0 gone",
            "log: golden-next consumer 3 gone",
            "log: golden-next consumer 6 gone",
        ]
    );
}

#[test]
fn while_somebody_is_in_a_group_of_another_protocol_it_is_left_alone() {
    let mut shard = GroupShard::new(GroupConfig::default());
    // The batches up to the one in which the member left.
    let batches = golden();
    for batch in batches.iter().take(batches.len() - 1) {
        shard.load_batch(batch).unwrap();
    }
    let mut stage = Stage::with_shard(GroupConfig::default(), shard);
    for line in [
        "list types=consumer",
        "a: join g=golden-next",
        "a: commit g=golden-next codec-lz4-0=1",
        "a: fetch m=somebody g=golden-next",
        "heartbeat somebody 2 g=golden-next",
        "a: sync somebody 2 g=golden-next",
        "a: leave somebody g=golden-next",
    ] {
        stage.run(line);
    }
    assert_eq!(
        stage.output,
        [
            "golden-next \"consumer\" Stable consumer",
            "a: InconsistentProtocol",
            "a: UnknownMember",
            "a: UnknownMember",
            "UnknownMember",
            "a: UnknownMember",
            "a: somebody UnknownMember",
        ]
    );
}

#[test]
fn our_records_have_kafkas_bytes() {
    for batch in golden() {
        for record in batch.records(DecompressionLimit::default()).unwrap() {
            let record = record.unwrap();
            let decoded = Record::decode(record.key.as_ref(), record.value.as_ref()).unwrap();
            if !matches!(decoded, Record::Foreign { .. }) {
                let (key, value) = decoded.encode().unwrap();
                assert_eq!(
                    (Some(key), value),
                    (record.key, record.value),
                    "offset {}",
                    record.offset
                );
            }
        }
    }
}

#[test]
fn a_write_is_one_batch_that_loads_again() {
    let records = vec![
        Record::Group {
            group: "g".into(),
            metadata: None,
        },
        Record::Offset {
            group: "g".into(),
            topic: "t".into(),
            partition: 3,
            commit: None,
        },
    ];
    let bytes = encode_batch(&records, 1_234).unwrap();
    let batch = Batch::parse(&bytes).unwrap();
    assert_eq!(batch.bytes().len(), bytes.len());
    assert_eq!(batch.header().max_timestamp, 1_234);
    let read = batch
        .records(DecompressionLimit::default())
        .unwrap()
        .map(|record| record.unwrap());
    let read: Vec<Record> = read
        .map(|record| Record::decode(record.key.as_ref(), record.value.as_ref()).unwrap())
        .collect();
    assert_eq!(read, records);
}

#[test]
fn what_a_later_kafka_wrote_is_passed_over() {
    let unknown_kind = Bytes::from_static(&[0, 99, 0, 1, b'g']);
    assert_eq!(
        Record::decode(Some(&unknown_kind), None),
        Err(DecodeRecordError::Unknown {
            kind: 99,
            version: -1
        })
    );
    let group_key = Bytes::from_static(&[0, 2, 0, 1, b'g']);
    let later_version = Bytes::from_static(&[0, 9, 1, 2, 3]);
    assert_eq!(
        Record::decode(Some(&group_key), Some(&later_version)),
        Err(DecodeRecordError::Unknown { kind: 2, version: 9 })
    );
}

#[test]
fn malformed_records_are_refused() {
    assert_eq!(Record::decode(None, None), Err(DecodeRecordError::NoKey));
    let key = Bytes::from_static(&[0, 2, 0, 1, b'g']);
    for length in 0..5 {
        let cut = key.slice(..length);
        assert!(
            matches!(
                Record::decode(Some(&cut), None),
                Err(DecodeRecordError::Malformed(_))
            ),
            "{length}"
        );
    }
    let record = golden().into_iter().nth(1).unwrap();
    let record = record
        .records(DecompressionLimit::default())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let value = record.value.unwrap();
    for length in 0..value.len() {
        let cut = value.slice(..length);
        assert!(
            Record::decode(record.key.as_ref(), Some(&cut)).is_err(),
            "{length}"
        );
    }
}

#[test]
fn records_of_old_brokers_are_read() {
    let key = Bytes::from_static(&[0, 0, 0, 1, b'g', 0, 1, b't', 0, 0, 0, 2]);
    // Version 0: offset 5, metadata "m", commit time 7.
    let value = Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, b'm', 0, 0, 0, 0, 0, 0, 0, 7]);
    let Ok(Record::Offset {
        partition: 2,
        commit: Some(commit),
        ..
    }) = Record::decode(Some(&key), Some(&value))
    else {
        panic!("an offset in its oldest form");
    };
    assert_eq!(
        (commit.offset, &*commit.metadata, commit.commit_timestamp_ms),
        (5, "m", 7)
    );
    assert_eq!((commit.leader_epoch, commit.expire_timestamp_ms), (None, None));

    let key = Bytes::from_static(&[0, 2, 0, 1, b'g']);
    // Version 0: protocol type "c", generation 4, protocol "p", leader "m", one member with a session of 9 seconds.
    let mut value = vec![0, 0, 0, 1, b'c', 0, 0, 0, 4, 0, 1, b'p', 0, 1, b'm', 0, 0, 0, 1];
    value.extend_from_slice(&[
        0, 1, b'm', 0, 1, b'i', 0, 1, b'h', 0, 0, 0x23, 0x28, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    let Ok(Record::Group {
        metadata: Some(group),
        ..
    }) = Record::decode(Some(&key), Some(&value.into()))
    else {
        panic!("a group in its oldest form");
    };
    assert_eq!((group.generation, group.state_since_ms), (4, None));
    assert_eq!(
        (
            group.members[0].session_timeout_ms,
            group.members[0].rebalance_timeout_ms
        ),
        (9_000, 9_000)
    );
}

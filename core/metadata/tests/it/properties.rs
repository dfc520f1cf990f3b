//! What must hold for any log.

use bytes::Bytes;
use metadata::image::{Image, LogPosition};
use metadata::snapshot::{self, SnapshotId};
use metadata::{Delta, MetadataRecord, RecordError, RecordVersions};
use model::{LeaderEpoch, Offset, Uuid};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::internal::metadata_log::{
    AccessControlEntryRecord, BrokerRegistrationChangeRecord, ClearElrRecord, ClientQuotaRecord,
    ConfigRecord, DelegationTokenRecord, EntityData, FeatureLevelRecord, PartitionChangeRecord,
    PartitionRecord, ProducerIdsRecord, RegisterBrokerRecord, RemoveDelegationTokenRecord, RemoveTopicRecord,
    RemoveUserScramCredentialRecord, TopicRecord, UnregisterBrokerRecord, UserScramCredentialRecord,
};

fn id(number: u8) -> Uuid {
    Uuid([number; 16])
}

fn brokers() -> impl Strategy<Value = Vec<i32>> {
    vec(0..4i32, 0..4)
}

fn name() -> impl Strategy<Value = wire::Str> {
    "[a-c]([._][a-c])?".prop_map(Into::into)
}

fn topic_records() -> BoxedStrategy<MetadataRecord> {
    let partition = (0..3i32, 1..6u8, brokers(), brokers(), -1..4i32, 0..2i8).prop_map(
        |(partition_id, topic, replicas, isr, leader, leader_recovery_state)| {
            let directories = replicas
                .iter()
                .map(|broker| id(100 + broker.unsigned_abs() as u8))
                .collect();
            PartitionRecord {
                partition_id,
                topic_id: id(topic),
                eligible_leader_replicas: Some(replicas.clone()),
                last_known_elr: Some(vec![leader.max(0)]),
                replicas,
                isr,
                leader,
                leader_epoch: 3,
                partition_epoch: 4,
                leader_recovery_state,
                directories,
                ..PartitionRecord::default()
            }
            .into()
        },
    );
    let change = (
        0..3i32,
        1..6u8,
        proptest::option::of(brokers()),
        -2..4i32,
        proptest::option::of(brokers()),
    );
    let change = change.prop_map(|(partition_id, topic, isr, leader, eligible_leader_replicas)| {
        PartitionChangeRecord {
            partition_id,
            topic_id: id(topic),
            isr,
            leader,
            eligible_leader_replicas,
            ..PartitionChangeRecord::default()
        }
        .into()
    });
    prop_oneof![
        3 => (name(), 1..6u8).prop_map(|(name, topic)| TopicRecord { name, topic_id: id(topic) }.into()),
        6 => partition,
        4 => change,
        1 => (1..6u8).prop_map(|topic| RemoveTopicRecord { topic_id: id(topic) }.into()),
        1 => name().prop_map(|topic_name| ClearElrRecord { topic_name }.into()),
        1 => Just(ClearElrRecord { topic_name: wire::Str::new() }.into()),
    ]
    .boxed()
}

fn other_records() -> BoxedStrategy<MetadataRecord> {
    prop_oneof![setting_records(), broker_records(), access_records()].boxed()
}

fn setting_records() -> BoxedStrategy<MetadataRecord> {
    let config = (
        prop_oneof![Just(2i8), Just(4), Just(16), Just(32)],
        name(),
        name(),
        proptest::option::of(name()),
    );
    let quota = (proptest::option::of(name()), name(), 0..100u32, any::<bool>());
    prop_oneof![
        config.prop_map(|(resource_type, resource_name, name, value)| {
            ConfigRecord {
                resource_type,
                resource_name,
                name,
                value,
            }
            .into()
        }),
        quota.prop_map(|(entity_name, key, value, remove)| {
            let entity = vec![EntityData {
                entity_type: "user".into(),
                entity_name,
            }];
            ClientQuotaRecord {
                entity,
                key,
                value: f64::from(value) / 8.0,
                remove,
            }
            .into()
        }),
        (name(), -1..9i16)
            .prop_map(|(name, feature_level)| FeatureLevelRecord { name, feature_level }.into()),
        (0..9i64).prop_map(|next| ProducerIdsRecord {
            next_producer_id: next * 1000,
            ..Default::default()
        }
        .into()),
    ]
    .boxed()
}

fn broker_records() -> BoxedStrategy<MetadataRecord> {
    prop_oneof![
        (0..4i32, any::<u16>(), any::<bool>()).prop_map(|(broker_id, port, fenced)| {
            let end_points = vec![wire::internal::metadata_log::BrokerEndpoint {
                name: "PLAINTEXT".into(),
                host: "localhost".into(),
                port,
                security_protocol: 0,
            }];
            RegisterBrokerRecord {
                broker_id,
                broker_epoch: 5,
                end_points,
                fenced,
                ..RegisterBrokerRecord::default()
            }
            .into()
        }),
        (0..4i32, -1..2i8, 0..2i8).prop_map(|(broker_id, fenced, in_controlled_shutdown)| {
            let log_dirs = vec![id(9)];
            let record = BrokerRegistrationChangeRecord {
                broker_id,
                broker_epoch: 5,
                fenced,
                ..Default::default()
            };
            BrokerRegistrationChangeRecord {
                in_controlled_shutdown,
                log_dirs,
                ..record
            }
            .into()
        }),
        (0..4i32).prop_map(|broker_id| UnregisterBrokerRecord {
            broker_id,
            broker_epoch: 5
        }
        .into()),
    ]
    .boxed()
}

fn access_records() -> BoxedStrategy<MetadataRecord> {
    prop_oneof![
        (0..4u8, name()).prop_map(|(acl, principal)| {
            AccessControlEntryRecord {
                id: id(acl),
                principal,
                operation: 3,
                ..Default::default()
            }
            .into()
        }),
        (name(), 1..3i8).prop_map(|(name, mechanism)| {
            UserScramCredentialRecord {
                name,
                mechanism,
                salt: Bytes::from_static(b"s"),
                ..Default::default()
            }
            .into()
        }),
        (name(), 1..3i8)
            .prop_map(|(name, mechanism)| RemoveUserScramCredentialRecord { name, mechanism }.into()),
        (name(), name()).prop_map(|(token_id, renewer)| {
            DelegationTokenRecord {
                token_id,
                renewers: vec![renewer],
                ..Default::default()
            }
            .into()
        }),
        name().prop_map(|token_id| RemoveDelegationTokenRecord { token_id }.into()),
    ]
    .boxed()
}

/// The image after those of the records that fit.
fn image_of(records: &[MetadataRecord]) -> Image {
    let mut image = Image::default();
    for record in records {
        let mut next = image.clone();
        if next.apply(record, &mut Delta::default()).is_ok() {
            image = next;
        }
    }
    image.position = LogPosition {
        offset: Offset(99),
        epoch: LeaderEpoch(2),
        timestamp_ms: 7,
    };
    image
}

proptest! {
    #[test]
    fn any_image_survives_its_snapshot(
        records in vec(prop_oneof![topic_records(), other_records()], 0..60)
    ) {
        let image = image_of(&records);
        let mut bytes = Vec::new();
        snapshot::write_image(&image, Vec::new(), 1, &mut |piece| {
            bytes.extend_from_slice(&piece);
            Ok::<(), metadata::batch::WriteError>(())
        }).unwrap();
        let (again, _) = snapshot::read_image(&bytes.into(), SnapshotId::at(image.position)).unwrap();
        prop_assert_eq!(again, image);
    }

    #[test]
    fn a_delta_names_every_topic_that_differs(
        before in vec(topic_records(), 0..30),
        after in vec(topic_records(), 0..30),
    ) {
        let old = image_of(&before);
        let mut new = old.clone();
        let mut delta = Delta::default();
        for record in &after {
            let mut next = new.clone();
            let mut next_delta = delta.clone();
            if next.apply(record, &mut next_delta).is_ok() {
                (new, delta) = (next, next_delta);
            }
        }
        for topic in old.topics.iter().chain(new.topics.iter()) {
            let (was, is) = (old.topics.by_id(topic.id), new.topics.by_id(topic.id));
            if was != is {
                let change = &delta.topics[&topic.id];
                for (index, partition) in is.iter().flat_map(|topic| &topic.partitions) {
                    let unchanged = was.and_then(|topic| topic.partition(*index)) == Some(partition);
                    prop_assert!(unchanged || change.partitions.contains(index));
                }
            }
        }
        let counted: usize = new.topics.iter().map(|topic| topic.partition_count()).sum();
        prop_assert_eq!(new.topics.partition_count(), counted);
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok((version, record)) = MetadataRecord::decode(bytes.into()) {
            prop_assert!(!record.to_json(version).is_empty());
        }
    }

    #[test]
    fn any_record_reads_back_as_it_was_written(record in prop_oneof![topic_records(), other_records()]) {
        let versions = RecordVersions::at(30);
        let (version, again) = MetadataRecord::decode(record.encode(versions).unwrap()).unwrap();
        prop_assert_eq!(version, record.version(versions));
        prop_assert_eq!(again, record);
    }
}

#[test]
fn a_record_from_a_later_time_is_an_error_that_says_so() {
    let unknown_kind = Bytes::from_static(&[1, 99, 0, 0]);
    assert_eq!(
        MetadataRecord::decode(unknown_kind),
        Err(RecordError::Kind { kind: 99 })
    );
    let unknown_version = Bytes::from_static(&[1, 2, 9, 0]);
    let expected = RecordError::Version {
        name: "TopicRecord",
        version: 9,
    };
    assert_eq!(MetadataRecord::decode(unknown_version), Err(expected));
    assert_eq!(
        MetadataRecord::decode(Bytes::from_static(&[0, 2, 0])),
        Err(RecordError::Frame(0))
    );
    let mut trailing = MetadataRecord::NoOp(Default::default())
        .encode(RecordVersions::at(30))
        .unwrap()
        .to_vec();
    trailing.push(0);
    assert_eq!(
        MetadataRecord::decode(trailing.into()),
        Err(RecordError::Trailing(1))
    );
}

#[test]
fn records_are_written_at_the_versions_the_clusters_level_allows() {
    let partition = MetadataRecord::from(PartitionRecord::default());
    let register = MetadataRecord::from(RegisterBrokerRecord::default());
    let versions = |level| {
        let at = RecordVersions::at(level);
        (partition.version(at), register.version(at))
    };
    assert_eq!(versions(7), (0, 1));
    assert_eq!(versions(16), (0, 2));
    assert_eq!(versions(17), (1, 3));
    assert_eq!(versions(22), (1, 3));
    assert_eq!(versions(23), (2, 3));
    assert_eq!(versions(30), (2, 4));
    let change = |fenced, in_controlled_shutdown, log_dirs: Vec<Uuid>, cordoned_log_dirs| {
        let record = BrokerRegistrationChangeRecord {
            fenced,
            in_controlled_shutdown,
            log_dirs,
            ..Default::default()
        };
        let record = BrokerRegistrationChangeRecord {
            cordoned_log_dirs,
            ..record
        };
        MetadataRecord::from(record).version(RecordVersions::at(30))
    };
    assert_eq!(change(1, 0, vec![], None), 0);
    assert_eq!(change(0, 1, vec![], None), 1);
    assert_eq!(change(0, 0, vec![id(1)], None), 2);
    assert_eq!(change(0, 0, vec![], Some(vec![])), 3);
}

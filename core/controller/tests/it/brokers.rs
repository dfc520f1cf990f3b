//! Brokers that come and go, and what becomes of their partitions (rules 76 to 85).

use std::sync::Arc;

use controller::{
    BrokerError, CreateTopic, Mode, PreviousShutdown, ProducerIdError, allocate_producer_ids, create_topics,
    register_broker, start_broker, stop_broker,
};
use metadata::MetadataRecord;
use metadata::image::{LeaderRecovery, Partition};
use model::{BrokerEpoch, BrokerId, ProducerId};
use wire::internal::metadata_log::{
    ConfigRecord, FeatureLevelRecord, PartitionChangeRecord, ProducerIdsRecord,
};

use super::{Cluster, registration};

fn make(cluster: &mut Cluster, name: &str, brokers: &[i32], configs: &[(&str, &str)]) {
    let topic = CreateTopic {
        name: Arc::from(name),
        num_partitions: -1,
        replication_factor: -1,
        assignments: vec![(0, brokers.iter().copied().map(BrokerId).collect())],
        configs: configs
            .iter()
            .map(|(key, value)| (Arc::from(*key), Some(Arc::from(*value))))
            .collect(),
    };
    let reply = cluster.decide(|context, entropy| create_topics(context, &[topic], Mode::Commit, entropy));
    reply[0].1.as_ref().unwrap();
}

fn partition(cluster: &Cluster, name: &str) -> Partition {
    (**cluster
        .image()
        .topics
        .by_name(name)
        .unwrap()
        .partition(0)
        .unwrap())
    .clone()
}

fn epoch(cluster: &Cluster, id: i32) -> BrokerEpoch {
    cluster.image().cluster.broker(BrokerId(id)).unwrap().epoch
}

/// The changes of partitions, without the partition they name: each as fields that Apache Kafka's dump shows.
fn partition_changes(records: &[MetadataRecord]) -> Vec<PartitionChangeRecord> {
    let changes = records.iter().filter_map(|record| match record {
        MetadataRecord::PartitionChange(change) => Some(change.clone()),
        _ => None,
    });
    let anonymous = changes.map(|change| PartitionChangeRecord {
        partition_id: -1,
        topic_id: model::Uuid::ZERO,
        ..change
    });
    anonymous.collect()
}

fn stop(cluster: &mut Cluster, id: i32) -> Vec<MetadataRecord> {
    let epoch = epoch(cluster, id);
    cluster.decide(|context, _| {
        let decision = stop_broker(context, BrokerId(id), epoch);
        let records = decision.records.clone();
        controller::Decision {
            records: decision.records,
            reply: records,
        }
    })
}

fn return_of(
    cluster: &mut Cluster,
    id: i32,
    previous: PreviousShutdown,
) -> (Vec<MetadataRecord>, Vec<MetadataRecord>) {
    let registered = cluster.decide(|context, _| {
        let decision = register_broker(context, &registration(id), previous);
        let records = decision.records.clone();
        controller::Decision {
            records: decision.records,
            reply: records,
        }
    });
    let epoch = epoch(cluster, id);
    let started = cluster.decide(|context, _| {
        let decision = start_broker(context, BrokerId(id), epoch);
        let records = decision.records.clone();
        controller::Decision {
            records: decision.records,
            reply: records,
        }
    });
    (registered, started)
}

#[test]
fn a_clean_restart_of_the_only_broker_writes_what_apache_kafka_writes() {
    let mut cluster = Cluster::of(1);
    make(&mut cluster, "t", &[1], &[]);
    let stopped = partition_changes(&stop(&mut cluster, 1));
    let left = PartitionChangeRecord {
        isr: Some(vec![]),
        leader: -1,
        eligible_leader_replicas: Some(vec![1]),
        last_known_elr: Some(vec![1]),
        ..PartitionChangeRecord::default()
    };
    assert_eq!(stopped, [left]);
    let broker = cluster.image().cluster.broker(BrokerId(1)).unwrap();
    assert!(broker.fenced && broker.in_controlled_shutdown);

    let (registered, started) = return_of(&mut cluster, 1, PreviousShutdown::Clean);
    assert_eq!(partition_changes(&registered), []);
    let leads = PartitionChangeRecord {
        isr: Some(vec![1]),
        leader: 1,
        eligible_leader_replicas: Some(vec![]),
        last_known_elr: Some(vec![]),
        ..PartitionChangeRecord::default()
    };
    assert_eq!(partition_changes(&started), [leads]);
    let after = partition(&cluster, "t");
    assert_eq!((after.leader_epoch.0, after.partition_epoch), (2, 2));
    assert_eq!(after.leader_recovery, LeaderRecovery::Recovered);
}

#[test]
fn after_a_crash_without_durability_the_only_broker_leads_as_one_that_recovers() {
    let mut cluster = Cluster::of(1);
    cluster.settings.durable = false;
    make(&mut cluster, "t", &[1], &[]);
    stop(&mut cluster, 1);
    let (registered, started) = return_of(&mut cluster, 1, PreviousShutdown::Unclean);
    let no_longer_eligible = PartitionChangeRecord {
        eligible_leader_replicas: Some(vec![]),
        ..PartitionChangeRecord::default()
    };
    assert_eq!(partition_changes(&registered), [no_longer_eligible]);
    let leads = PartitionChangeRecord {
        isr: Some(vec![1]),
        leader: 1,
        leader_recovery_state: 1,
        last_known_elr: Some(vec![]),
        ..PartitionChangeRecord::default()
    };
    assert_eq!(partition_changes(&started), [leads]);
}

#[test]
fn after_a_crash_what_was_durable_makes_the_broker_eligible() {
    let mut cluster = Cluster::of(1);
    make(&mut cluster, "durable", &[1], &[]);
    make(&mut cluster, "cached", &[1], &[("durability", "pagecache")]);
    return_of(&mut cluster, 1, PreviousShutdown::Unclean);
    assert_eq!(
        partition(&cluster, "durable").leader_recovery,
        LeaderRecovery::Recovered
    );
    assert_eq!(
        partition(&cluster, "cached").leader_recovery,
        LeaderRecovery::Recovering
    );
    for name in ["durable", "cached"] {
        let partition = partition(&cluster, name);
        assert_eq!(
            (partition.leader, partition.isr),
            (Some(BrokerId(1)), vec![BrokerId(1)]),
            "{name}"
        );
    }
}

#[test]
fn the_first_replica_in_sync_takes_over() {
    let mut cluster = Cluster::of(3);
    make(&mut cluster, "t", &[2, 3, 1], &[]);
    stop(&mut cluster, 2);
    let after = partition(&cluster, "t");
    assert_eq!(
        (after.leader, &*after.isr),
        (Some(BrokerId(3)), &[BrokerId(3), BrokerId(1)][..])
    );
    assert!(after.eligible_leader_replicas.is_empty(), "enough are in sync");
    stop(&mut cluster, 1);
    let after = partition(&cluster, "t");
    assert_eq!(
        (after.leader, after.leader_epoch.0),
        (Some(BrokerId(3)), 1),
        "a follower that goes moves no leader"
    );
}

#[test]
fn who_leaves_while_too_few_are_in_sync_stays_eligible() {
    let mut cluster = Cluster::of(3);
    make(&mut cluster, "t", &[1, 2, 3], &[("min.insync.replicas", "2")]);
    stop(&mut cluster, 1);
    stop(&mut cluster, 2);
    let after = partition(&cluster, "t");
    assert_eq!(
        (after.isr, after.eligible_leader_replicas),
        (vec![BrokerId(3)], vec![BrokerId(2)])
    );
    stop(&mut cluster, 3);
    let after = partition(&cluster, "t");
    assert_eq!((after.leader, after.isr), (None, vec![]));
    assert_eq!(after.eligible_leader_replicas, [BrokerId(2), BrokerId(3)]);
    assert_eq!(after.last_known_elr, [BrokerId(3)]);

    return_of(&mut cluster, 1, PreviousShutdown::Clean);
    assert_eq!(
        partition(&cluster, "t").leader,
        None,
        "broker 1 was not eligible: it may lack records"
    );
    return_of(&mut cluster, 2, PreviousShutdown::Clean);
    let after = partition(&cluster, "t");
    assert_eq!((after.leader, after.isr), (Some(BrokerId(2)), vec![BrokerId(2)]));
    assert_eq!(after.eligible_leader_replicas, [BrokerId(3)]);
    assert_eq!(after.leader_recovery, LeaderRecovery::Recovered);
}

#[test]
fn a_replica_that_may_lack_records_leads_only_where_the_topic_allows_it() {
    for (allowed, expected) in [("false", None), ("true", Some(BrokerId(1)))] {
        let mut cluster = Cluster::of(2);
        make(
            &mut cluster,
            "t",
            &[1, 2],
            &[("unclean.leader.election.enable", allowed)],
        );
        stop(&mut cluster, 1);
        stop(&mut cluster, 2);
        return_of(&mut cluster, 1, PreviousShutdown::Clean);
        assert_eq!(
            partition(&cluster, "t").leader,
            expected,
            "unclean.leader.election.enable={allowed}"
        );
        if allowed == "true" {
            assert_eq!(
                partition(&cluster, "t").leader_recovery,
                LeaderRecovery::Recovering
            );
            assert!(partition(&cluster, "t").eligible_leader_replicas.is_empty());
        }
    }
}

#[test]
fn the_last_known_leader_is_elected_only_when_it_is_there() {
    let mut cluster = Cluster::of(2);
    cluster.settings.durable = false;
    make(&mut cluster, "t", &[1, 2], &[]);
    stop(&mut cluster, 2);
    stop(&mut cluster, 1);
    let epoch_of_2 = cluster.register(2, PreviousShutdown::Unclean);
    cluster.register(1, PreviousShutdown::Unclean);
    assert_eq!(partition(&cluster, "t").last_known_elr, [BrokerId(1)]);
    cluster.start(2, epoch_of_2);
    assert_eq!(
        partition(&cluster, "t").leader,
        None,
        "broker 1 led last, and is still fenced"
    );
    let epoch_of_1 = epoch(&cluster, 1);
    cluster.start(1, epoch_of_1);
    let after = partition(&cluster, "t");
    assert_eq!(
        (after.leader, after.leader_recovery),
        (Some(BrokerId(1)), LeaderRecovery::Recovering)
    );
}

#[test]
fn without_the_feature_nobody_is_eligible_and_the_in_sync_set_keeps_its_last_member() {
    let mut cluster = Cluster::formatted(Some("3.9"));
    let epoch_of_1 = cluster.register(1, PreviousShutdown::Clean);
    cluster.start(1, epoch_of_1);
    make(&mut cluster, "t", &[1], &[]);
    stop(&mut cluster, 1);
    let after = partition(&cluster, "t");
    assert_eq!((after.leader, after.isr), (None, vec![BrokerId(1)]));
    assert!(after.eligible_leader_replicas.is_empty() && after.last_known_elr.is_empty());
    return_of(&mut cluster, 1, PreviousShutdown::Unclean);
    assert_eq!(partition(&cluster, "t").leader, Some(BrokerId(1)));
}

#[test]
fn a_partition_whose_directory_is_gone_is_not_led() {
    let mut cluster = Cluster::of(1);
    make(&mut cluster, "t", &[1], &[]);
    stop(&mut cluster, 1);
    let mut moved = registration(1);
    moved.log_dirs = vec![model::Uuid([9; 16])];
    let epoch = cluster
        .decide(|context, _| register_broker(context, &moved, PreviousShutdown::Clean))
        .unwrap();
    cluster.start(1, epoch);
    assert_eq!(partition(&cluster, "t").leader, None);
}

#[test]
fn each_registration_has_its_offset_as_epoch_and_ends_the_one_before() {
    let mut cluster = Cluster::of(1);
    let first = epoch(&cluster, 1);
    let second = cluster.register(1, PreviousShutdown::Clean);
    assert!(second > first);
    let stale = cluster.decide(|context, _| start_broker(context, BrokerId(1), first));
    assert_eq!(
        stale,
        Err(BrokerError::StaleEpoch {
            id: BrokerId(1),
            epoch: first
        })
    );
    let stale = cluster.decide(|context, _| stop_broker(context, BrokerId(1), first));
    assert_eq!(stale.unwrap_err().code(), model::ErrorCode::StaleBrokerEpoch);
}

#[test]
fn directories_belong_to_one_broker() {
    let mut cluster = Cluster::of(1);
    let mut refused = |log_dirs| {
        let registration = controller::BrokerRegistration {
            log_dirs,
            ..registration(2)
        };
        let result =
            cluster.decide(|context, _| register_broker(context, &registration, PreviousShutdown::Clean));
        result.unwrap_err().code() == model::ErrorCode::InvalidRegistration
    };
    assert!(refused(vec![]));
    assert!(refused(vec![super::directory(5), super::directory(5)]));
    assert!(refused(vec![super::directory(1)]));
}

#[test]
fn a_broker_that_cannot_work_with_the_clusters_features_is_refused() {
    let mut cluster = Cluster::of(1);
    let later = FeatureLevelRecord {
        name: "group.version".into(),
        feature_level: 9,
    };
    cluster.write(vec![later.into()]);
    let result =
        cluster.decide(|context, _| register_broker(context, &registration(2), PreviousShutdown::Clean));
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("group.version at level 9")
    );
}

#[test]
fn blocks_of_producer_ids_never_overlap_and_end() {
    let mut cluster = Cluster::of(1);
    let epoch = epoch(&cluster, 1);
    let mut next = || cluster.decide(|context, _| allocate_producer_ids(context, BrokerId(1), epoch));
    assert_eq!(next().unwrap().first, ProducerId(0));
    assert_eq!(next().unwrap().first, ProducerId(1000));
    let stale = cluster.decide(|context, _| allocate_producer_ids(context, BrokerId(1), BrokerEpoch(0)));
    assert!(matches!(stale, Err(ProducerIdError::Broker(_))));
    cluster.write(vec![
        ProducerIdsRecord {
            next_producer_id: i64::MAX - 1,
            ..Default::default()
        }
        .into(),
    ]);
    let last = cluster.decide(|context, _| allocate_producer_ids(context, BrokerId(1), epoch));
    assert_eq!(last, Err(ProducerIdError::Exhausted));
}

#[test]
fn the_least_in_sync_of_the_cluster_holds_where_the_topic_does_not_say() {
    let mut cluster = Cluster::of(3);
    let set = ConfigRecord {
        resource_type: 4,
        resource_name: "".into(),
        name: "min.insync.replicas".into(),
        value: Some("3".into()),
    };
    cluster.write(vec![set.into()]);
    make(&mut cluster, "t", &[1, 2, 3], &[]);
    stop(&mut cluster, 1);
    assert_eq!(partition(&cluster, "t").eligible_leader_replicas, [BrokerId(1)]);
}

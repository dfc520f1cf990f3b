//! Topics made, grown and deleted: cases 13 and 14, bad input 34 and 46.

use std::collections::BTreeSet;
use std::sync::Arc;

use controller::{
    CreatePartitions, CreateTopic, CreatedTopic, DeletedTopic, Mode, TopicError, TopicReference,
    create_partitions, create_topics, delete_topics,
};
use metadata::image::{DIRECTORY_UNASSIGNED, Partition};
use model::{BrokerId, ErrorCode, LeaderEpoch, Uuid};
use wire::internal::metadata_log::BrokerRegistrationChangeRecord;

use super::{Cluster, directory, registration};

fn topic(name: &str, num_partitions: i32, replication_factor: i16) -> CreateTopic {
    CreateTopic {
        name: Arc::from(name),
        num_partitions,
        replication_factor,
        ..CreateTopic::default()
    }
}

fn with_config(name: &str, key: &str, value: Option<&str>) -> CreateTopic {
    CreateTopic {
        configs: vec![(Arc::from(key), value.map(Arc::from))],
        ..topic(name, 1, 1)
    }
}

fn assigned(name: &str, assignments: &[(i32, &[i32])]) -> CreateTopic {
    let brokers = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect::<Vec<_>>();
    let assignments = assignments
        .iter()
        .map(|(index, ids)| (*index, brokers(ids)))
        .collect();
    CreateTopic {
        assignments,
        ..topic(name, -1, -1)
    }
}

fn create(cluster: &mut Cluster, topics: &[CreateTopic]) -> Vec<Result<CreatedTopic, TopicError>> {
    let reply = cluster.decide(|context, entropy| create_topics(context, topics, Mode::Commit, entropy));
    reply.into_iter().map(|(_, result)| result).collect()
}

fn create_one(cluster: &mut Cluster, topic: CreateTopic) -> Result<CreatedTopic, TopicError> {
    create(cluster, &[topic]).remove(0)
}

fn code(result: Result<CreatedTopic, TopicError>) -> ErrorCode {
    result.map_or_else(|error| error.code(), |_| ErrorCode::None)
}

fn partition(cluster: &Cluster, name: &str, index: i32) -> Partition {
    (**cluster
        .image()
        .topics
        .by_name(name)
        .unwrap()
        .partition(index)
        .unwrap())
    .clone()
}

#[test]
fn a_new_topic_is_led_at_once() {
    let mut cluster = Cluster::of(3);
    let created = create_one(&mut cluster, topic("t", 6, 2)).unwrap();
    assert_eq!((created.num_partitions, created.replication_factor), (6, 2));
    let known = cluster.image().topics.by_id(created.id).unwrap().clone();
    assert_eq!((&*known.name, known.partition_count()), ("t", 6));
    for partition in known.partitions.values() {
        assert_eq!(partition.leader, Some(partition.replicas[0]));
        assert_eq!(partition.isr, partition.replicas);
        assert_eq!(
            (partition.leader_epoch, partition.partition_epoch),
            (LeaderEpoch(0), 0)
        );
        let expected: Vec<Uuid> = partition
            .replicas
            .iter()
            .map(|broker| directory(broker.0))
            .collect();
        assert_eq!(partition.directories, expected);
    }
}

#[test]
fn two_topics_never_get_the_same_id() {
    let mut cluster = Cluster::of(1);
    let topics: Vec<_> = (0..100)
        .map(|number| topic(&format!("t{number}"), 1, 1))
        .collect();
    let ids: BTreeSet<Uuid> = create(&mut cluster, &topics)
        .into_iter()
        .map(|created| created.unwrap().id)
        .collect();
    assert_eq!(ids.len(), 100);
    assert!(ids.iter().all(|id| !id.to_string().starts_with('-')));
}

#[test]
fn minus_one_means_the_brokers_defaults() {
    let mut cluster = Cluster::of(3);
    cluster.settings.num_partitions = 4;
    cluster.settings.default_replication_factor = 2;
    let created = create_one(&mut cluster, topic("t", -1, -1)).unwrap();
    assert_eq!((created.num_partitions, created.replication_factor), (4, 2));
}

#[test]
fn numbers_that_cannot_be_had_are_refused_with_their_own_code() {
    let mut cluster = Cluster::of(1);
    let mut refused = |partitions, replicas| code(create_one(&mut cluster, topic("t", partitions, replicas)));
    assert_eq!(refused(1, 5), ErrorCode::InvalidReplicationFactor);
    assert_eq!(refused(1, 0), ErrorCode::InvalidReplicationFactor);
    assert_eq!(refused(1, -2), ErrorCode::InvalidReplicationFactor);
    assert_eq!(refused(0, 1), ErrorCode::InvalidPartitions);
    assert_eq!(refused(-2, 1), ErrorCode::InvalidPartitions);
    assert_eq!(refused(i32::MIN, 1), ErrorCode::InvalidPartitions);
    assert!(cluster.image().topics.is_empty());
}

#[test]
fn an_even_number_of_replicas_is_fine() {
    assert_eq!(
        code(create_one(&mut Cluster::of(3), topic("t", 1, 2))),
        ErrorCode::None
    );
}

#[test]
fn bad_names_are_refused() {
    let mut cluster = Cluster::of(1);
    for bad in ["", ".", "..", "a/b", "../x", "a\0b", "a b", "ä", &"x".repeat(250)] {
        assert_eq!(
            code(create_one(&mut cluster, topic(bad, 1, 1))),
            ErrorCode::InvalidTopicException,
            "{bad:?}"
        );
    }
    assert_eq!(
        code(create_one(&mut cluster, topic(&"x".repeat(249), 1, 1))),
        ErrorCode::None
    );
    assert_eq!(
        code(create_one(&mut cluster, topic("__cluster_metadata", 1, 1))),
        ErrorCode::InvalidRequest
    );
}

#[test]
fn names_that_differ_by_dots_and_underscores_collide() {
    let mut cluster = Cluster::of(1);
    create_one(&mut cluster, topic("a.b", 1, 1)).unwrap();
    let error = create_one(&mut cluster, topic("a_b", 1, 1)).unwrap_err();
    assert_eq!(error.to_string(), "Topic 'a_b' collides with existing topic: a.b");
    assert_eq!(error.code(), ErrorCode::InvalidTopicException);
    let results = create(&mut cluster, &[topic("c_d.e", 1, 1), topic("c.d_e", 1, 1)]);
    assert!(results[0].is_ok());
    assert!(
        matches!(results[1], Err(TopicError::Collision { .. })),
        "two names of one request collide as well"
    );
    delete(&mut cluster, &[named("a.b")]);
    assert_eq!(
        code(create_one(&mut cluster, topic("a_b", 1, 1))),
        ErrorCode::None
    );
}

#[test]
fn a_topic_that_exists_or_is_asked_for_twice_is_not_made() {
    let mut cluster = Cluster::of(1);
    create_one(&mut cluster, topic("t", 1, 1)).unwrap();
    assert_eq!(
        code(create_one(&mut cluster, topic("t", 1, 1))),
        ErrorCode::TopicAlreadyExists
    );
    let results = create(
        &mut cluster,
        &[
            topic("d", 1, 1),
            topic("ok", 1, 1),
            topic("d", 1, 1),
            topic("d", 2, 1),
        ],
    );
    let codes: Vec<_> = results.into_iter().map(code).collect();
    assert_eq!(
        codes,
        [ErrorCode::InvalidRequest, ErrorCode::None],
        "one answer for all of the same name"
    );
    assert!(cluster.image().topics.by_name("d").is_none());
}

#[test]
fn settings_are_checked_and_kept() {
    let mut cluster = Cluster::of(1);
    for (key, value) in [
        ("cleanup.policy", "foo"),
        ("no.such.key", "1"),
        ("retention.ms", "x"),
        ("segment.bytes", "10"),
    ] {
        let error = create_one(&mut cluster, with_config("t", key, Some(value))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfig, "{key}");
        assert!(error.to_string().contains(key), "{error}");
    }
    let error = create_one(&mut cluster, with_config("t", "retention.ms", None)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfig);
    assert!(error.to_string().contains("Null value not supported"), "{error}");

    create_one(&mut cluster, with_config("t", "retention.ms", Some("1000"))).unwrap();
    assert_eq!(&*cluster.image().configs.topic("t")["retention.ms"], "1000");
    delete(&mut cluster, &[named("t")]);
    create_one(&mut cluster, topic("t", 1, 1)).unwrap();
    assert!(
        cluster.image().configs.topic("t").is_empty(),
        "a new topic has none of the old one's settings"
    );
}

#[test]
fn validating_creates_nothing() {
    let mut cluster = Cluster::of(1);
    let before = cluster.image().clone();
    let topics = [topic("t", 3, 1), topic(".", 1, 1)];
    let reply =
        cluster.decide(|context, entropy| create_topics(context, &topics, Mode::ValidateOnly, entropy));
    let checked = CreatedTopic {
        id: Uuid::ZERO,
        num_partitions: 3,
        replication_factor: 1,
    };
    assert_eq!(reply[0].1, Ok(checked));
    assert!(reply[1].1.is_err());
    assert_eq!(*cluster.image(), before);
}

#[test]
fn an_assignment_is_followed_to_the_letter() {
    let mut cluster = Cluster::of(3);
    let created = create_one(&mut cluster, assigned("t", &[(1, &[2, 3]), (0, &[3, 1])])).unwrap();
    assert_eq!((created.num_partitions, created.replication_factor), (2, 2));
    assert_eq!(partition(&cluster, "t", 0).replicas, [BrokerId(3), BrokerId(1)]);
    assert_eq!(partition(&cluster, "t", 0).leader, Some(BrokerId(3)));
    assert_eq!(partition(&cluster, "t", 1).replicas, [BrokerId(2), BrokerId(3)]);
}

#[test]
fn an_assignment_that_cannot_be_followed_is_refused() {
    let mut cluster = Cluster::of(3);
    let assignment = ErrorCode::InvalidReplicaAssignment;
    for (wrong, expected) in [
        (assigned("t", &[(0, &[])]), assignment),
        (assigned("t", &[(0, &[9])]), assignment),
        (assigned("t", &[(0, &[1, 1])]), assignment),
        (assigned("t", &[(0, &[1]), (0, &[2])]), assignment),
        (assigned("t", &[(0, &[1]), (2, &[2])]), assignment),
        (assigned("t", &[(-1, &[1]), (0, &[2])]), assignment),
        (assigned("t", &[(0, &[1]), (1, &[2, 3])]), assignment),
        (
            CreateTopic {
                replication_factor: 1,
                ..assigned("t", &[(0, &[1])])
            },
            ErrorCode::InvalidRequest,
        ),
        (
            CreateTopic {
                num_partitions: 1,
                ..assigned("t", &[(0, &[1])])
            },
            ErrorCode::InvalidRequest,
        ),
    ] {
        let result = create_one(&mut cluster, wrong.clone());
        assert_eq!(code(result), expected, "{:?}", wrong.assignments);
    }
    assert!(cluster.image().topics.is_empty());
}

#[test]
fn a_fenced_broker_is_assigned_but_leads_nothing_and_is_not_in_sync() {
    let mut cluster = Cluster::of(1);
    cluster.register(2, controller::PreviousShutdown::Clean);
    create_one(&mut cluster, assigned("t", &[(0, &[2, 1])])).unwrap();
    let made = partition(&cluster, "t", 0);
    assert_eq!((made.leader, made.isr), (Some(BrokerId(1)), vec![BrokerId(1)]));
    let result = create_one(&mut cluster, assigned("u", &[(0, &[2])]));
    assert_eq!(code(result), ErrorCode::InvalidReplicaAssignment);
    let mut nobody = Cluster::empty();
    assert_eq!(
        code(create_one(&mut nobody, topic("t", 1, 1))),
        ErrorCode::InvalidReplicationFactor
    );
}

fn with_directories(cordoned: Option<Vec<Uuid>>) -> Cluster {
    let mut cluster = Cluster::empty();
    let mut several = registration(1);
    several.log_dirs = vec![directory(1), directory(2), directory(3)];
    let epoch = cluster
        .decide(|context, _| {
            controller::register_broker(context, &several, controller::PreviousShutdown::Clean)
        })
        .unwrap();
    cluster.start(1, epoch);
    let change = BrokerRegistrationChangeRecord {
        broker_id: 1,
        broker_epoch: epoch.0,
        cordoned_log_dirs: cordoned,
        ..Default::default()
    };
    cluster.write(vec![change.into()]);
    cluster
}

#[test]
fn new_replicas_fill_the_directories_of_a_broker_evenly() {
    let mut cluster = with_directories(None);
    create_one(&mut cluster, topic("a", 4, 1)).unwrap();
    create(&mut cluster, &[topic("b", 1, 1), topic("c", 2, 1)]);
    grow(&mut cluster, "a", 6, None).unwrap();
    let mut held = [0; 3];
    for (_, _, partition) in cluster.image().topics.partitions() {
        held[usize::from(partition.directories[0].0[0]) - 1] += 1;
    }
    assert_eq!(held, [3, 3, 3]);
}

#[test]
fn a_cordoned_directory_takes_no_new_replicas() {
    let mut cluster = with_directories(Some(vec![directory(1), directory(3)]));
    create_one(&mut cluster, topic("a", 3, 1)).unwrap();
    assert!(
        cluster
            .image()
            .topics
            .partitions()
            .all(|(_, _, partition)| partition.directories == [directory(2)])
    );
    let mut cluster = with_directories(Some(vec![directory(1), directory(2), directory(3)]));
    create_one(&mut cluster, topic("a", 1, 1)).unwrap();
    assert_eq!(partition(&cluster, "a", 0).directories, [DIRECTORY_UNASSIGNED]);
}

#[test]
fn partitions_are_limited_per_request_and_in_all() {
    let mut cluster = Cluster::of(1);
    let results = create(&mut cluster, &[topic("big", 1_000_000, 1), topic("small", 1, 1)]);
    assert!(
        results
            .into_iter()
            .map(code)
            .all(|code| code == ErrorCode::PolicyViolation)
    );
    assert_eq!(
        code(create_one(&mut cluster, topic("t", i32::MAX, 1))),
        ErrorCode::PolicyViolation
    );

    cluster.settings.partitions_max = 5;
    let results = create(
        &mut cluster,
        &[topic("a", 3, 1), topic("b", 3, 1), topic("c", 2, 1)],
    );
    let codes: Vec<_> = results.into_iter().map(code).collect();
    assert_eq!(
        codes,
        [ErrorCode::None, ErrorCode::PolicyViolation, ErrorCode::None]
    );
    assert_eq!(
        grow(&mut cluster, "a", 4, None).unwrap_err().code(),
        ErrorCode::PolicyViolation
    );
}

fn grow(cluster: &mut Cluster, name: &str, count: i32, brokers: Option<&[&[i32]]>) -> Result<(), TopicError> {
    let assignments = brokers.map(|all| {
        all.iter()
            .map(|ids| ids.iter().copied().map(BrokerId).collect())
            .collect()
    });
    let topics = [CreatePartitions {
        name: Arc::from(name),
        count,
        assignments,
    }];
    cluster
        .decide(|context, entropy| create_partitions(context, &topics, Mode::Commit, entropy))
        .remove(0)
        .1
}

#[test]
fn a_topic_grows_and_never_shrinks() {
    let mut cluster = Cluster::of(3);
    create_one(&mut cluster, topic("t", 2, 2)).unwrap();
    grow(&mut cluster, "t", 5, None).unwrap();
    assert_eq!(cluster.image().topics.by_name("t").unwrap().partition_count(), 5);
    assert!((0..5).all(|index| partition(&cluster, "t", index).replicas.len() == 2));
    grow(&mut cluster, "t", 6, Some(&[&[3, 1]])).unwrap();
    assert_eq!(partition(&cluster, "t", 5).replicas, [BrokerId(3), BrokerId(1)]);

    let mut refused = |name, count, brokers| grow(&mut cluster, name, count, brokers).unwrap_err().code();
    assert_eq!(refused("t", 6, None), ErrorCode::InvalidPartitions);
    assert_eq!(refused("t", 3, None), ErrorCode::InvalidPartitions);
    assert_eq!(refused("t", -1, None), ErrorCode::InvalidPartitions);
    assert_eq!(refused("t", 1_000_000, None), ErrorCode::PolicyViolation);
    assert_eq!(refused("none", 3, None), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(
        refused("t", 8, Some(&[&[1, 2]])),
        ErrorCode::InvalidReplicaAssignment
    );
    assert_eq!(
        refused("t", 7, Some(&[&[1]])),
        ErrorCode::InvalidReplicaAssignment
    );
    assert_eq!(cluster.image().topics.by_name("t").unwrap().partition_count(), 6);
}

#[test]
fn growing_twice_in_one_request_or_only_validating_changes_nothing() {
    let mut cluster = Cluster::of(1);
    create_one(&mut cluster, topic("t", 1, 1)).unwrap();
    let one = CreatePartitions {
        name: Arc::from("t"),
        count: 2,
        assignments: None,
    };
    let twice = [one.clone(), one.clone()];
    let reply = cluster.decide(|context, entropy| create_partitions(context, &twice, Mode::Commit, entropy));
    assert_eq!(
        reply,
        [(Arc::from("t"), Err(TopicError::Request("Duplicate topic name.")))]
    );
    let reply =
        cluster.decide(|context, entropy| create_partitions(context, &[one], Mode::ValidateOnly, entropy));
    assert_eq!(reply, [(Arc::from("t"), Ok(()))]);
    assert_eq!(cluster.image().topics.partition_count(), 1);
}

fn named(name: &str) -> TopicReference {
    TopicReference {
        name: Some(Arc::from(name)),
        id: Uuid::ZERO,
    }
}

fn with_id(id: Uuid) -> TopicReference {
    TopicReference { name: None, id }
}

fn delete(cluster: &mut Cluster, topics: &[TopicReference]) -> Vec<DeletedTopic> {
    cluster.decide(|context, _| delete_topics(context, topics))
}

#[test]
fn topics_are_deleted_by_name_or_by_id() {
    let mut cluster = Cluster::of(1);
    let a = create_one(&mut cluster, topic("a", 1, 1)).unwrap().id;
    let b = create_one(&mut cluster, topic("b", 1, 1)).unwrap().id;
    let answers = delete(&mut cluster, &[named("a"), with_id(b)]);
    let expected = [("a", a), ("b", b)].map(|(name, id)| DeletedTopic {
        name: Some(Arc::from(name)),
        id,
        result: Ok(()),
    });
    assert_eq!(answers, expected);
    assert!(cluster.image().topics.is_empty());
    assert_eq!(cluster.image().topics.partition_count(), 0);
}

#[test]
fn what_is_not_there_is_not_deleted() {
    let mut cluster = Cluster::of(1);
    let id = create_one(&mut cluster, topic("t", 1, 1)).unwrap().id;
    let codes = |answers: Vec<DeletedTopic>| -> Vec<ErrorCode> {
        answers
            .into_iter()
            .map(|answer| {
                answer
                    .result
                    .map_or_else(|error| error.code(), |()| ErrorCode::None)
            })
            .collect()
    };
    let both = TopicReference {
        name: Some(Arc::from("t")),
        id,
    };
    let unknown = [
        named("none"),
        with_id(Uuid([3; 16])),
        TopicReference::default(),
        both,
    ];
    assert_eq!(
        codes(delete(&mut cluster, &unknown)),
        [
            ErrorCode::UnknownTopicOrPartition,
            ErrorCode::UnknownTopicId,
            ErrorCode::InvalidRequest,
            ErrorCode::InvalidRequest
        ]
    );
    assert_eq!(
        codes(delete(&mut cluster, &[named("t"), named("t")])),
        [ErrorCode::InvalidRequest]
    );
    assert_eq!(
        codes(delete(&mut cluster, &[with_id(id), with_id(id)])),
        [ErrorCode::InvalidRequest]
    );
    assert_eq!(cluster.image().topics.len(), 1);
    let by_name_and_id = codes(delete(&mut cluster, &[named("t"), with_id(id)]));
    assert_eq!(by_name_and_id, [ErrorCode::InvalidRequest, ErrorCode::None]);
    assert!(cluster.image().topics.is_empty());
}

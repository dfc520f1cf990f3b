//! Topics over sockets, at every version: cases 10, 11, 13 and 14, bad input 34, 39 and 46.

use bytes::Bytes;
use model::{ErrorCode, Uuid};
use wire::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
use wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreatableTopicResult,
    CreateTopicsRequest,
};
use wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use wire::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, TopicRequest,
};
use wire::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use wire::records::BatchBuilder;

use crate::support::{Client, Node};

fn topic(name: &str, num_partitions: i32) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions,
        replication_factor: 1,
        ..CreatableTopic::default()
    }
}

fn create_at(client: &mut Client, version: i16, topics: Vec<CreatableTopic>) -> Vec<CreatableTopicResult> {
    let request = CreateTopicsRequest {
        topics,
        timeout_ms: 20_000,
        ..CreateTopicsRequest::default()
    };
    client.call(version, &request).topics
}

fn create(client: &mut Client, topic: CreatableTopic) -> CreatableTopicResult {
    create_at(client, 7, vec![topic]).remove(0)
}

fn named(names: &[&str]) -> Option<Vec<MetadataRequestTopic>> {
    let topic = |name: &&str| MetadataRequestTopic {
        name: Some((*name).into()),
        topic_id: Uuid::ZERO,
    };
    Some(names.iter().map(topic).collect())
}

fn ask(client: &mut Client, version: i16, topics: Option<Vec<MetadataRequestTopic>>) -> MetadataResponse {
    let request = MetadataRequest {
        topics,
        allow_auto_topic_creation: false,
        ..MetadataRequest::default()
    };
    client.call(version, &request)
}

fn names(response: &MetadataResponse) -> Vec<String> {
    response
        .topics
        .iter()
        .map(|topic| topic.name.as_deref().unwrap_or("-").to_owned())
        .collect()
}

fn produce(client: &mut Client, topic: &str, partition: i32) -> i16 {
    let mut batch = BatchBuilder::new();
    batch
        .append(broker::dispatch::now_ms(), Some(b"k"), Some(b"v"), &[])
        .unwrap();
    let records: Bytes = batch.build().unwrap();
    let partition = PartitionProduceData {
        index: partition,
        records: Some(records.into()),
    };
    let topic = TopicProduceData {
        name: topic.into(),
        partition_data: vec![partition],
        ..TopicProduceData::default()
    };
    let request = ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 20_000,
        topic_data: vec![topic],
    };
    client.call(9, &request).responses[0].partition_responses[0].error_code
}

#[test]
fn a_produce_right_after_the_topic_was_made_succeeds() {
    let node = Node::start(&[]);
    let (mut admin, mut producer) = (node.connect(), node.connect());
    for number in 0..60 {
        let name = format!("t{number}");
        assert_eq!(create(&mut admin, topic(&name, 2)).error_code, 0);
        assert_eq!(produce(&mut producer, &name, 1), 0, "{name}");
        let told = ask(&mut producer, 12, named(&[&name]));
        assert!(
            told.topics[0]
                .partitions
                .iter()
                .all(|partition| partition.leader_id == 1 && partition.error_code == 0)
        );
    }
}

#[test]
fn a_topic_that_is_asked_for_is_made_and_serves_at_once() {
    let node = Node::start(&[("num.partitions", "3")]);
    let mut client = node.connect();
    for version in 0..=13 {
        let name = format!("asked-{version}");
        let request = MetadataRequest {
            topics: named(&[&name, &name]),
            ..MetadataRequest::default()
        };
        let told = client.call(version, &request);
        assert_eq!(told.topics.len(), 1, "asked for twice, answered once");
        assert_eq!(
            (told.topics[0].error_code, told.topics[0].partitions.len()),
            (0, 3),
            "version {version}"
        );
        assert!(
            told.topics[0]
                .partitions
                .iter()
                .all(|partition| partition.leader_id == 1)
        );
        assert_eq!(produce(&mut client, &name, 2), 0);
    }
}

#[test]
fn no_topic_is_made_where_client_or_broker_forbid_it() {
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    let node = Node::start(&[]);
    let mut client = node.connect();
    assert_eq!(
        ask(&mut client, 4, named(&["nobody"])).topics[0].error_code,
        unknown
    );
    for (bad, expected) in [
        ("a/b", ErrorCode::InvalidTopicException),
        ("..", ErrorCode::InvalidTopicException),
        ("", ErrorCode::InvalidTopicException),
        ("__cluster_metadata", ErrorCode::UnknownTopicOrPartition),
        ("__transaction_state", ErrorCode::UnknownTopicOrPartition),
    ] {
        let request = MetadataRequest {
            topics: named(&[bad]),
            ..MetadataRequest::default()
        };
        assert_eq!(
            client.call(12, &request).topics[0].error_code,
            expected.code(),
            "{bad:?}"
        );
    }
    assert!(ask(&mut client, 12, None).topics.is_empty());

    let node = Node::start(&[("auto.create.topics.enable", "false")]);
    let mut client = node.connect();
    let request = MetadataRequest {
        topics: named(&["nobody"]),
        ..MetadataRequest::default()
    };
    assert_eq!(client.call(12, &request).topics[0].error_code, unknown);
    assert!(ask(&mut client, 12, None).topics.is_empty());
}

#[test]
fn all_topics_are_meant_by_an_empty_list_first_and_by_null_later() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    create_at(&mut client, 7, vec![topic("b", 1), topic("a", 1)]);
    assert_eq!(names(&ask(&mut client, 0, Some(vec![]))), ["a", "b"]);
    for version in 1..=13 {
        assert_eq!(names(&ask(&mut client, version, None)), ["a", "b"]);
        assert!(ask(&mut client, version, Some(vec![])).topics.is_empty());
    }
}

#[test]
fn metadata_tells_each_version_what_it_knows() {
    let node = Node::start(&[("broker.rack", "shelf")]);
    let mut client = node.connect();
    let made = create(&mut client, topic("t", 1));
    for version in 0..=13 {
        let request = MetadataRequest {
            topics: named(&["t"]),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: (8..=10).contains(&version),
            include_topic_authorized_operations: version >= 8,
        };
        let told = client.call(version, &request);
        assert_eq!((told.brokers.len(), told.brokers[0].node_id), (1, 1));
        assert_eq!(told.brokers[0].port, i32::from(node.address().port()));
        assert_eq!(told.brokers[0].rack.as_deref(), (version >= 1).then_some("shelf"));
        assert_eq!(
            told.cluster_id.as_deref(),
            (version >= 2).then_some("test-cluster-of-one")
        );
        assert_eq!(told.controller_id, if version >= 1 { 1 } else { -1 });
        let topic = &told.topics[0];
        assert_eq!(
            topic.topic_id,
            if version >= 10 { made.topic_id } else { Uuid::ZERO }
        );
        assert_eq!(
            topic.topic_authorized_operations,
            if version >= 8 { 3576 } else { i32::MIN }
        );
        let cluster_operations = if (8..=10).contains(&version) {
            8096
        } else {
            i32::MIN
        };
        assert_eq!(told.cluster_authorized_operations, cluster_operations);
        let partition = &topic.partitions[0];
        assert_eq!((partition.leader_id, partition.error_code), (1, 0));
        assert_eq!(partition.leader_epoch, if version >= 7 { 0 } else { -1 });
        assert_eq!(
            (&partition.replica_nodes[..], &partition.isr_nodes[..]),
            (&[1][..], &[1][..])
        );
        assert!(partition.offline_replicas.is_empty());
    }
}

#[test]
fn topics_are_found_by_id_where_the_version_can_ask_for_it() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    let made = create(&mut client, topic("t", 1));
    let by_id = |id| {
        Some(vec![MetadataRequestTopic {
            topic_id: id,
            name: None,
        }])
    };
    for version in 12..=13 {
        let told = ask(&mut client, version, by_id(made.topic_id));
        assert_eq!(
            (told.topics[0].error_code, told.topics[0].name.as_deref()),
            (0, Some("t"))
        );
        let told = ask(&mut client, version, by_id(Uuid([9; 16])));
        assert_eq!(told.topics[0].error_code, ErrorCode::UnknownTopicId.code());
        assert_eq!(
            (&told.topics[0].name, told.topics[0].topic_id),
            (&None, Uuid([9; 16]))
        );
    }
    for version in 10..=11 {
        for topics in [by_id(made.topic_id), by_id(Uuid::ZERO)] {
            let told = ask(&mut client, version, topics);
            assert_eq!(told.topics[0].error_code, ErrorCode::InvalidRequest.code());
        }
    }
}

#[test]
fn row_39_a_metadata_request_for_too_many_topics_is_refused() {
    let node = Node::start(&[]);
    let many = vec![
        MetadataRequestTopic {
            name: Some("t".into()),
            topic_id: Uuid::ZERO
        };
        100_001
    ];
    let mut client = node.connect();
    client.send(
        9,
        &MetadataRequest {
            topics: Some(many.clone()),
            ..MetadataRequest::default()
        },
    );
    client.assert_closed();
    let most = Some(many[1..].to_vec());
    assert_eq!(ask(&mut node.connect(), 9, most).topics.len(), 1);
    // A count of 2^31 - 1 without a topic behind it.
    let mut lie = vec![
        0, 0, 0, 18, 0, 3, 0, 4, 0, 0, 0, 7, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0, 0,
    ];
    lie.extend([0, 0]);
    let mut client = node.connect();
    client.send_bytes(&lie);
    client.assert_closed();
    node.assert_alive();
}

#[test]
fn create_topics_answers_at_every_version_and_lists_every_setting_from_five_on() {
    let node = Node::start(&[("log.retention.hours", "5")]);
    let mut client = node.connect();
    for version in 2..=7 {
        let config = CreatableTopicConfig {
            name: "segment.bytes".into(),
            value: Some("2000000".into()),
        };
        let wanted = CreatableTopic {
            configs: vec![config],
            ..topic(&format!("t{version}"), 2)
        };
        let made = create_at(&mut client, version, vec![wanted]).remove(0);
        assert_eq!((made.error_code, made.error_message.as_deref()), (0, None));
        assert_eq!(made.topic_id.is_zero(), version < 7);
        assert_eq!(
            (made.num_partitions, made.replication_factor),
            if version >= 5 { (2, 1) } else { (-1, -1) }
        );
        let configs = made.configs.unwrap();
        if version < 5 {
            assert!(configs.is_empty());
            continue;
        }
        assert!(configs.len() >= 33, "{} settings", configs.len());
        let setting = |name: &str| configs.iter().find(|config| &*config.name == name).unwrap();
        let (given, of_broker, default) = (
            setting("segment.bytes"),
            setting("retention.ms"),
            setting("cleanup.policy"),
        );
        assert_eq!(
            (given.value.as_deref(), given.config_source),
            (Some("2000000"), 1)
        );
        assert_eq!(
            (of_broker.value.as_deref(), of_broker.config_source),
            (Some("18000000"), 4)
        );
        assert_eq!(
            (default.value.as_deref(), default.config_source),
            (Some("delete"), 5)
        );
        assert!(
            configs
                .iter()
                .all(|config| !config.read_only && !config.is_sensitive)
        );
        let mut sorted = configs.clone();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(sorted, configs);
    }
}

#[test]
fn create_topics_refuses_each_wrong_topic_with_its_code() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    create(&mut client, topic("there", 1));
    let with = |name: &str, key: &str, value: Option<&str>| CreatableTopic {
        configs: vec![CreatableTopicConfig {
            name: key.into(),
            value: value.map(Into::into),
        }],
        ..topic(name, 1)
    };
    let assigned = |name: &str, partitions, brokers: Vec<i32>| CreatableTopic {
        assignments: vec![CreatableReplicaAssignment {
            partition_index: 0,
            broker_ids: brokers,
        }],
        replication_factor: -1,
        ..topic(name, partitions)
    };
    let cases = [
        (
            CreatableTopic {
                replication_factor: 5,
                ..topic("a", 1)
            },
            ErrorCode::InvalidReplicationFactor,
        ),
        (topic("b", 0), ErrorCode::InvalidPartitions),
        (topic("c", 1_000_000), ErrorCode::PolicyViolation),
        (with("d", "cleanup.policy", Some("foo")), ErrorCode::InvalidConfig),
        (with("e", "retention.ms", None), ErrorCode::InvalidConfig),
        (with("f", "no.such.key", Some("1")), ErrorCode::InvalidConfig),
        (assigned("g", 1, vec![1]), ErrorCode::InvalidRequest),
        (assigned("h", -1, vec![7]), ErrorCode::InvalidReplicaAssignment),
        (topic("there", 1), ErrorCode::TopicAlreadyExists),
        (topic("__cluster_metadata", 1), ErrorCode::InvalidRequest),
    ];
    for (wanted, expected) in cases {
        let refused = create(&mut client, wanted.clone());
        assert_eq!(refused.error_code, expected.code(), "{}", wanted.name);
        assert!(
            refused.error_message.is_some_and(|message| !message.is_empty()),
            "{}",
            wanted.name
        );
        assert!(refused.topic_id.is_zero());
    }
    assert_eq!(create(&mut client, assigned("ok", -1, vec![1])).error_code, 0);
    let twice = create_at(&mut client, 7, vec![topic("w", 1), topic("w", 1)]);
    assert_eq!(
        (twice.len(), twice[0].error_code),
        (1, ErrorCode::InvalidRequest.code())
    );
    assert_eq!(names(&ask(&mut client, 12, None)), ["ok", "there"]);
    let collides =
        create(&mut client, topic("a.b", 1)).error_code + create(&mut client, topic("a_b", 1)).error_code;
    assert_eq!(collides, ErrorCode::InvalidTopicException.code());
}

#[test]
fn row_34_what_is_no_topic_name_makes_no_topic_and_no_path() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    let long = "x".repeat(250);
    for name in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\0b",
        "a b",
        "\u{fc}",
        long.as_str(),
    ] {
        let expected = ErrorCode::InvalidTopicException.code();
        assert_eq!(
            create(&mut client, topic(name, 1)).error_code,
            expected,
            "{name:?}"
        );
        let told = ask(&mut client, 12, named(&[name]));
        assert_eq!(told.topics[0].error_code, expected, "{name:?}");
    }
    assert_eq!(create(&mut client, topic(&long[1..], 1)).error_code, 0);
    assert_eq!(names(&ask(&mut client, 12, None)), [&long[1..]]);
}

#[test]
fn validating_a_topic_makes_none() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    let request = CreateTopicsRequest {
        topics: vec![topic("t", 2)],
        timeout_ms: 1000,
        validate_only: true,
    };
    let checked = client.call(7, &request).topics.remove(0);
    assert_eq!(
        (checked.error_code, checked.num_partitions, checked.topic_id),
        (0, 2, Uuid::ZERO)
    );
    assert!(ask(&mut client, 12, None).topics.is_empty());
}

fn delete(client: &mut Client, version: i16, names: &[&str], ids: &[Uuid]) -> DeleteTopicsResponse {
    let name = |name: &&str| DeleteTopicState {
        name: Some((*name).into()),
        topic_id: Uuid::ZERO,
    };
    let id = |id: &Uuid| DeleteTopicState {
        name: None,
        topic_id: *id,
    };
    let request = DeleteTopicsRequest {
        topics: names.iter().map(name).chain(ids.iter().map(id)).collect(),
        topic_names: names.iter().map(|name| (*name).into()).collect(),
        timeout_ms: 20_000,
    };
    client.call(version, &request)
}

#[test]
fn a_topic_is_deleted_at_every_version_with_all_its_records() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    for version in 1..=6 {
        create(&mut client, topic("t", 1));
        assert_eq!(produce(&mut client, "t", 0), 0);
        let gone = delete(&mut client, version, &["t"], &[]);
        assert_eq!((gone.responses.len(), gone.responses[0].error_code), (1, 0));
        assert_eq!(
            produce(&mut client, "t", 0),
            ErrorCode::UnknownTopicOrPartition.code()
        );
        let again = delete(&mut client, version, &["t"], &[]);
        assert_eq!(
            again.responses[0].error_code,
            ErrorCode::UnknownTopicOrPartition.code()
        );
        assert_eq!(again.responses[0].error_message.is_some(), version >= 5);
    }
    let id = create(&mut client, topic("t", 1)).topic_id;
    let gone = delete(&mut client, 6, &[], &[id, Uuid([4; 16])]);
    assert_eq!(
        (gone.responses[0].error_code, gone.responses[0].name.as_deref()),
        (0, Some("t"))
    );
    assert_eq!(gone.responses[1].error_code, ErrorCode::UnknownTopicId.code());
    assert!(ask(&mut client, 12, None).topics.is_empty());
}

#[test]
fn deleting_can_be_forbidden() {
    let node = Node::start(&[("delete.topic.enable", "false")]);
    let mut client = node.connect();
    create(&mut client, topic("t", 1));
    assert_eq!(
        delete(&mut client, 2, &["t"], &[]).responses[0].error_code,
        ErrorCode::InvalidRequest.code()
    );
    let refused = delete(&mut client, 6, &["t"], &[]).responses[0].error_code;
    assert_eq!(refused, ErrorCode::TopicDeletionDisabled.code());
    assert_eq!(names(&ask(&mut client, 12, None)), ["t"]);
}

#[test]
fn a_topic_grows_at_every_version_and_its_new_partitions_serve_at_once() {
    let node = Node::start(&[]);
    let mut client = node.connect();
    create(&mut client, topic("t", 1));
    let mut grow = |version, count, assignments, validate_only| {
        let topics = vec![CreatePartitionsTopic {
            name: "t".into(),
            count,
            assignments,
        }];
        let grown = client.call(
            version,
            &CreatePartitionsRequest {
                topics,
                timeout_ms: 20_000,
                validate_only,
            },
        );
        grown.results[0].error_code
    };
    for version in 0..=3 {
        let count = 2 + i32::from(version);
        assert_eq!(grow(version, count, None, true), 0);
        assert_eq!(grow(version, count, None, false), 0);
        assert_eq!(
            grow(version, count, None, false),
            ErrorCode::InvalidPartitions.code()
        );
    }
    let on = |brokers: Vec<i32>| Some(vec![CreatePartitionsAssignment { broker_ids: brokers }]);
    assert_eq!(
        grow(3, 6, on(vec![7]), false),
        ErrorCode::InvalidReplicaAssignment.code()
    );
    assert_eq!(grow(3, 6, on(vec![1]), false), 0);
    assert_eq!(produce(&mut client, "t", 5), 0);
    assert_eq!(ask(&mut client, 12, named(&["t"])).topics[0].partitions.len(), 6);
}

fn pages(
    client: &mut Client,
    names: &[&str],
    limit: i32,
    cursor: Option<(&str, i32)>,
) -> DescribeTopicPartitionsResponse {
    let request = DescribeTopicPartitionsRequest {
        topics: names
            .iter()
            .map(|name| TopicRequest { name: (*name).into() })
            .collect(),
        response_partition_limit: limit,
        cursor: cursor.map(|(name, index)| Cursor {
            topic_name: name.into(),
            partition_index: index,
        }),
    };
    client.call(0, &request)
}

/// Topics with their partitions.
type Listed = Vec<(String, Vec<i32>)>;

/// What a page lists, and where the next one begins.
fn page(response: &DescribeTopicPartitionsResponse) -> (Listed, Option<(String, i32)>) {
    let partitions =
        |topic: &wire::messages::describe_topic_partitions::DescribeTopicPartitionsResponseTopic| {
            topic
                .partitions
                .iter()
                .map(|partition| partition.partition_index)
                .collect()
        };
    let topics = response.topics.iter();
    let listed = topics
        .map(|topic| (topic.name.as_deref().unwrap().to_owned(), partitions(topic)))
        .collect();
    let cursor = response.next_cursor.as_ref();
    (
        listed,
        cursor.map(|cursor| (cursor.topic_name.to_string(), cursor.partition_index)),
    )
}

#[test]
fn partitions_are_described_page_by_page_in_the_order_of_names() {
    let node = Node::start(&[("max.request.partition.size.limit", "4")]);
    let mut client = node.connect();
    create_at(&mut client, 7, vec![topic("b", 3), topic("a", 2), topic("c", 1)]);
    let listed = |parts: &[(&str, &[i32])]| -> Vec<(String, Vec<i32>)> {
        parts
            .iter()
            .map(|(name, partitions)| ((*name).to_owned(), partitions.to_vec()))
            .collect()
    };
    let next = |name: &str, index| Some((name.to_owned(), index));

    let first = pages(&mut client, &[], 3, None);
    assert_eq!(
        page(&first),
        (listed(&[("a", &[0, 1]), ("b", &[0])]), next("b", 1))
    );
    assert_eq!(
        first.topics[0].partitions[0].eligible_leader_replicas,
        Some(vec![])
    );
    assert_eq!(first.topics[0].topic_authorized_operations, 3576);
    let second = page(&pages(&mut client, &[], 2, Some(("b", 1))));
    assert_eq!(second, (listed(&[("b", &[1, 2])]), next("c", 0)));
    assert_eq!(
        page(&pages(&mut client, &[], 3, Some(("c", 0)))),
        (listed(&[("c", &[0])]), None)
    );
    assert_eq!(
        page(&pages(&mut client, &[], 3, Some(("bb", 7)))),
        (listed(&[("c", &[0])]), None)
    );
    let capped = page(&pages(&mut client, &[], 2000, None));
    assert_eq!(capped, (listed(&[("a", &[0, 1]), ("b", &[0, 1])]), next("b", 2)));
    assert_eq!(
        page(&pages(&mut client, &[], -5, None)),
        (listed(&[("a", &[0])]), next("a", 1))
    );

    let some = pages(&mut client, &["c", "nobody", "b", "c", "a/b"], 4, Some(("b", 2)));
    let codes: Vec<i16> = some.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [0, 0, ErrorCode::UnknownTopicOrPartition.code()]);
    assert_eq!(
        page(&some).0,
        listed(&[("b", &[2]), ("c", &[0]), ("nobody", &[])])
    );
    let refused = pages(&mut client, &["a"], 4, Some(("a", -1)));
    assert_eq!(refused.topics[0].error_code, ErrorCode::InvalidRequest.code());
}

#[test]
fn topics_outlive_the_process_with_ids_settings_and_records() {
    let mut node = Node::start(&[("metadata.log.max.record.bytes.between.snapshots", "1000")]);
    let mut client = node.connect();
    let config = CreatableTopicConfig {
        name: "retention.ms".into(),
        value: Some("-1".into()),
    };
    let id = create(
        &mut client,
        CreatableTopic {
            configs: vec![config],
            ..topic("kept", 2)
        },
    )
    .topic_id;
    assert_eq!(produce(&mut client, "kept", 1), 0);
    for number in 0..30 {
        create(&mut client, topic(&format!("gone-{number}"), 1));
        delete(&mut client, 6, &[&format!("gone-{number}")], &[]);
    }
    for life in 1..=3 {
        node.restart();
        let mut client = node.connect();
        let told = ask(&mut client, 12, None);
        assert_eq!(names(&told), ["kept"]);
        assert_eq!(told.topics[0].topic_id, id);
        // Each stop and each start is a change of leader, as in Apache Kafka.
        let epochs = told.topics[0]
            .partitions
            .iter()
            .map(|partition| partition.leader_epoch);
        assert!(epochs.into_iter().all(|epoch| epoch == 2 * life));
        assert_eq!(produce(&mut client, "kept", 1), 0);
    }
    let folder = node.dir().join("data/__cluster_metadata-0");
    let files = std::fs::read_dir(folder).unwrap();
    let snapshots = files.filter(|file| {
        file.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".checkpoint")
    });
    assert!(snapshots.count() >= 2, "snapshots are taken while the node runs");
}

#[test]
fn commands_from_many_connections_are_carried_out_one_after_the_other() {
    let node = Node::start(&[]);
    let address = node.address();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                let mut made =
                    |name: String| usize::from(create(&mut client, topic(&name, 1)).error_code == 0);
                let common: usize = (0..10).map(|number| made(format!("n{number}"))).sum();
                let own: usize = (0..5).map(|number| made(format!("o{thread}-{number}"))).sum();
                (common, own)
            })
        })
        .collect();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(
        results.iter().map(|(made, _)| made).sum::<usize>(),
        10,
        "each of the common topics is made once"
    );
    assert!(results.iter().all(|(_, own)| *own == 5));
    assert_eq!(ask(&mut node.connect(), 12, None).topics.len(), 50);
}

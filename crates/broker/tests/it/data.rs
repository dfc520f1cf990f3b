//! Records over real sockets: pipelined produces, waiting fetches, ranges of files, what is there after a restart.

use std::time::{Duration, Instant};

use bytes::Bytes;
use wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use wire::messages::init_producer_id::InitProducerIdRequest;
use wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use wire::records::{BatchBuilder, batches};

use super::support::{Client, Node};

const PRODUCE: i16 = 12;
const FETCH: i16 = 12;

fn node_with_orders() -> Node {
    // The records are of 1970.
    let node = Node::start(&[("log.retention.ms", "-1")]);
    let topic = CreatableTopic {
        name: "orders".into(),
        num_partitions: 1,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest {
        topics: vec![topic],
        timeout_ms: 10_000,
        ..CreateTopicsRequest::default()
    };
    let response = node.connect().call(7, &request);
    assert_eq!(response.topics[0].error_code, 0);
    node
}

fn batch(values: &[String]) -> Bytes {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.append(1_000, None, Some(value.as_bytes()), &[]).unwrap();
    }
    builder.build().unwrap()
}

fn produce(value: &str, acks: i16) -> ProduceRequest {
    to("orders", batch(&[value.to_owned()]), acks)
}

fn to(topic: &str, records: Bytes, acks: i16) -> ProduceRequest {
    let data = PartitionProduceData {
        index: 0,
        records: Some(records.into()),
    };
    ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: 10_000,
        topic_data: vec![TopicProduceData {
            name: topic.into(),
            partition_data: vec![data],
            ..TopicProduceData::default()
        }],
    }
}

fn fetch(offset: i64, max_wait_ms: i32) -> FetchRequest {
    let partition = FetchPartition {
        fetch_offset: offset,
        partition_max_bytes: 10 << 20,
        ..FetchPartition::default()
    };
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        topics: vec![FetchTopic {
            topic: "orders".into(),
            partitions: vec![partition],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

fn values(response: &FetchResponse) -> Vec<String> {
    let partition = &response.responses[0].partitions[0];
    assert_eq!(partition.error_code, 0);
    let bytes = partition.records.as_ref().unwrap().to_bytes().unwrap();
    let records = batches(&bytes).flat_map(|batch| batch.unwrap().records(Default::default()).unwrap());
    records
        .map(|record| String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap())
        .collect()
}

/// Everything in the topic.
fn all_values(client: &mut Client) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let offset = i64::try_from(all.len()).unwrap();
        let more = values(&client.call(FETCH, &fetch(offset, 0)));
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

#[test]
fn produces_of_one_connection_are_appended_and_answered_in_their_order() {
    let node = node_with_orders();
    let mut client = node.connect();
    let sent: Vec<(i32, i16)> = (0..60)
        .map(|number| {
            // Those that wait for a disk and those that do not, one after the other without waiting for an answer.
            let acks = if number % 3 == 0 { 1 } else { -1 };
            (
                client.send(PRODUCE, &produce(&format!("value {number}"), acks)),
                acks,
            )
        })
        .collect();
    for (expected, (correlation_id, _)) in (0..).zip(sent) {
        let response = client.receive::<ProduceRequest>(PRODUCE, correlation_id);
        let partition = &response.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.base_offset), (0, expected));
    }
    let expected: Vec<String> = (0..60).map(|number| format!("value {number}")).collect();
    assert_eq!(all_values(&mut client), expected);
}

#[test]
fn row_23_acks_0_is_not_answered_and_an_error_closes_only_that_connection() {
    let node = node_with_orders();
    let mut client = node.connect();
    client.send(PRODUCE, &produce("silent", 0));
    assert_eq!(
        client.api_versions().error_code,
        0,
        "the next answer is the next request's"
    );
    client.send(PRODUCE, &to("unknown", batch(&["x".to_owned()]), 0));
    client.assert_closed();
    // Readable once it is synced, for which nobody has waited.
    assert_eq!(values(&node.connect().call(FETCH, &fetch(0, 60_000))), ["silent"]);
}

#[test]
fn case_29_a_fetch_waits_and_a_produce_of_another_connection_ends_the_wait() {
    let node = node_with_orders();
    let (mut consumer, mut producer) = (node.connect(), node.connect());
    let began = Instant::now();
    assert!(values(&consumer.call(FETCH, &fetch(0, 200))).is_empty());
    assert!(began.elapsed() >= Duration::from_millis(190));
    let waiting = consumer.send(FETCH, &fetch(0, 60_000));
    producer.call(PRODUCE, &produce("at last", -1));
    assert_eq!(
        values(&consumer.receive::<FetchRequest>(FETCH, waiting)),
        ["at last"]
    );
}

#[test]
fn what_was_acknowledged_is_there_after_a_restart_and_large_answers_leave_whole() {
    let mut node = node_with_orders();
    let mut client = node.connect();
    let mut sent = Vec::new();
    for round in 0..12 {
        let round: Vec<String> = (0..400)
            .map(|number| format!("{round} {number} {}", "x".repeat(500)))
            .collect();
        let response = client.call(PRODUCE, &to("orders", batch(&round), -1));
        assert_eq!(response.responses[0].partition_responses[0].error_code, 0);
        sent.extend(round);
    }
    // One answer of more than two megabytes, in ranges of files.
    assert!(all_values(&mut client) == sent);
    node.restart();
    // The same from a log that was opened anew: by way of a request handler.
    assert!(all_values(&mut node.connect()) == sent);
}

#[test]
fn a_stop_answers_a_fetch_that_waits() {
    let mut node = node_with_orders();
    let mut consumer = node.connect();
    let waiting = consumer.send(FETCH, &fetch(0, 60_000));
    // The request has to be there before the stop begins.
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    node.stop();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(values(&consumer.receive::<FetchRequest>(FETCH, waiting)).is_empty());
}

#[test]
fn producer_ids_are_given_once_each_across_restarts() {
    let mut node = Node::start(&[]);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let mut client = node.connect();
        for _ in 0..5 {
            let request = InitProducerIdRequest {
                transactional_id: None,
                ..InitProducerIdRequest::default()
            };
            let response = client.call(5, &request);
            assert_eq!((response.error_code, response.producer_epoch), (0, 0));
            assert!(seen.insert(response.producer_id));
        }
        node.restart();
    }
}

#[test]
fn offsets_by_time_are_looked_up_on_a_request_handler_and_answered() {
    let node = node_with_orders();
    let mut client = node.connect();
    client.call(PRODUCE, &produce("x", -1));
    let mut find = |timestamp| {
        let partition = ListOffsetsPartition {
            timestamp,
            ..ListOffsetsPartition::default()
        };
        let topics = vec![ListOffsetsTopic {
            name: "orders".into(),
            partitions: vec![partition],
        }];
        let request = ListOffsetsRequest {
            replica_id: -1,
            topics,
            ..ListOffsetsRequest::default()
        };
        let response = client.call(7, &request);
        let found = &response.topics[0].partitions[0];
        (found.error_code, found.offset, found.timestamp)
    };
    assert_eq!(find(-1), (0, 1, -1));
    assert_eq!(find(1_000), (0, 0, 1_000));
    assert_eq!(find(1_001), (0, -1, -1));
    assert_eq!(find(-3), (0, 0, 1_000));
}

//! Consuming: alone and in a group, while sessions, offsets and memberships are lost.

use std::time::Duration;

use client::{Consumer, ConsumerConfig, OffsetReset, Producer, ProducerConfig, ProducerRecord};
use model::{ErrorCode, TopicPartition};
use wire::ApiKey;

use crate::fake_broker::{FakeBroker, Fault};

/// A broker whose partitions hold `n` records in turn.
async fn broker_with(partitions: i32, records: usize) -> FakeBroker {
    let broker = FakeBroker::start(partitions).await;
    let config = ProducerConfig {
        batch_size: 300,
        ..ProducerConfig::default()
    };
    let producer = Producer::new(broker.client(), config);
    for n in 0..records {
        let record = ProducerRecord {
            partition: Some(n as i32 % partitions),
            ..ProducerRecord::new("t", n.to_string())
        };
        producer.send(record).await.unwrap();
    }
    producer.close().await;
    broker
}

fn config(group: Option<&str>) -> ConsumerConfig {
    ConsumerConfig {
        group_id: group.map(str::to_owned),
        auto_offset_reset: OffsetReset::Earliest,
        fetch_max_wait: Duration::from_millis(10),
        heartbeat_interval: Duration::from_millis(20),
        max_poll_records: 7,
        ..ConsumerConfig::default()
    }
}

fn all(partitions: i32) -> Vec<TopicPartition> {
    (0..partitions)
        .map(|partition| TopicPartition::new("t", partition))
        .collect()
}

/// The next `count` values, by partition and offset.
async fn read(consumer: &mut Consumer, count: usize) -> Vec<String> {
    let mut records = Vec::new();
    while records.len() < count {
        let polled = consumer.poll(Duration::from_secs(5)).await.unwrap();
        records.extend(polled);
    }
    assert_eq!(records.len(), count);
    records.sort_by_key(|record| (record.offset, record.partition.partition));
    records
        .iter()
        .map(|record| String::from_utf8(record.value.as_ref().unwrap().to_vec()).unwrap())
        .collect()
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[tokio::test]
async fn everything_is_read_once_although_sessions_and_connections_end() {
    let broker = broker_with(3, 300).await;
    let faults = [
        None,
        Some(Fault::Error(ErrorCode::FetchSessionIdNotFound)),
        Some(Fault::CloseBefore),
        Some(Fault::Error(ErrorCode::InvalidFetchSessionEpoch)),
        Some(Fault::CloseAfter),
    ];
    broker.fail(ApiKey::Fetch, faults.into_iter().cycle().take(40));
    let mut consumer = Consumer::new(broker.client(), config(None)).unwrap();
    consumer.assign(&all(3));
    assert_eq!(read(&mut consumer, 300).await, numbers(0..300));
}

#[tokio::test]
async fn seeking_drops_what_was_fetched_ahead() {
    let broker = broker_with(1, 100).await;
    let mut consumer = Consumer::new(broker.client(), config(None)).unwrap();
    consumer.assign(&all(1));
    assert_eq!(read(&mut consumer, 7).await, numbers(0..7));
    consumer.seek(&all(1)[0], 90).unwrap();
    assert_eq!(read(&mut consumer, 7).await, numbers(90..97));
    assert_eq!(consumer.position(&all(1)[0]), Some(97));
    assert!(consumer.seek(&TopicPartition::new("t", 9), 0).is_err());
}

#[tokio::test]
async fn an_offset_that_is_gone_is_reset_as_told() {
    let broker = FakeBroker::start(1).await;
    broker.state().log_start = 50;
    let producer = Producer::new(broker.client(), ProducerConfig::default());
    producer.send(ProducerRecord::new("t", "50")).await.unwrap();
    producer.close().await;
    let mut consumer = Consumer::new(broker.client(), config(None)).unwrap();
    consumer.assign(&all(1));
    consumer.seek(&all(1)[0], 3).unwrap();
    assert_eq!(read(&mut consumer, 1).await, ["50"]);

    let none = ConsumerConfig {
        auto_offset_reset: OffsetReset::None,
        ..config(None)
    };
    let mut consumer = Consumer::new(broker.client(), none).unwrap();
    consumer.assign(&all(1));
    consumer.seek(&all(1)[0], 3).unwrap();
    let error = loop {
        if let Err(error) = consumer.poll(Duration::from_secs(5)).await {
            break error;
        }
    };
    assert!(
        error.to_string().contains("auto.offset.reset is `none`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_member_goes_on_where_the_group_was() {
    let broker = broker_with(2, 40).await;
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    let first = read(&mut consumer, 7).await;
    consumer.close().await.unwrap();
    assert_eq!(broker.state().committed.values().sum::<i64>(), 7);

    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    let mut everything = read(&mut consumer, 33).await;
    everything.extend(first);
    everything.sort_by_key(|n| n.parse::<u32>().unwrap());
    assert_eq!(everything, numbers(0..40));
}

#[tokio::test]
async fn a_rebalance_commits_what_was_read_before_it_joins_again() {
    let broker = broker_with(1, 40).await;
    broker.fail(
        ApiKey::Heartbeat,
        [Some(Fault::Error(ErrorCode::RebalanceInProgress))],
    );
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    assert_eq!(read(&mut consumer, 7).await, numbers(0..7));
    // The heartbeat learns of the rebalance; the next polls follow it.
    while !broker.state().seen.contains_key(&ApiKey::Heartbeat) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(read(&mut consumer, 33).await, numbers(7..40));
    // Once for the id, once to join, once to join again, sooner or later; nothing is read twice for that.
    let joins_again = async {
        while broker.state().seen[&ApiKey::JoinGroup] < 3 {
            assert!(consumer.poll(Duration::from_millis(20)).await.unwrap().is_empty());
        }
    };
    tokio::time::timeout(Duration::from_secs(10), joins_again)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_member_that_was_thrown_out_joins_anew_and_reads_from_the_last_commit() {
    let broker = broker_with(1, 20).await;
    broker.fail(
        ApiKey::Heartbeat,
        [Some(Fault::Error(ErrorCode::UnknownMemberId))],
    );
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    assert_eq!(read(&mut consumer, 7).await, numbers(0..7));
    // What was fetched ahead may still come; then nothing was committed, and the group begins again.
    let begins_again = async {
        loop {
            let records = consumer.poll(Duration::from_millis(50)).await.unwrap();
            if records.iter().any(|record| record.offset == 0) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), begins_again)
        .await
        .unwrap();
    assert!(broker.state().committed.is_empty());
}

#[tokio::test]
async fn a_coordinator_that_moved_is_looked_for() {
    let broker = broker_with(1, 10).await;
    broker.fail(
        ApiKey::OffsetCommit,
        [Some(Fault::Error(ErrorCode::NotCoordinator))],
    );
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    read(&mut consumer, 7).await;
    consumer.commit().await.unwrap();
    assert_eq!(broker.state().committed[&0], 7);
    // A heartbeat may have looked for it at the same time.
    assert!(broker.state().seen[&ApiKey::FindCoordinator] >= 2);
}

#[tokio::test]
async fn a_group_that_refuses_for_good_ends_the_poll_with_its_reason() {
    let broker = broker_with(1, 1).await;
    broker.fail(
        ApiKey::JoinGroup,
        [None, Some(Fault::Error(ErrorCode::InconsistentGroupProtocol))],
    );
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    let error = loop {
        if let Err(error) = consumer.poll(Duration::from_secs(5)).await {
            break error;
        }
    };
    assert_eq!(error.code(), Some(ErrorCode::InconsistentGroupProtocol));
    let again = consumer.poll(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(again.code(), error.code(), "the reason stays");
}

#[tokio::test]
async fn a_subscription_changed_during_a_join_is_the_one_that_counts() {
    let broker = broker_with(1, 10).await;
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["other".to_owned()]).await.unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    assert_eq!(read(&mut consumer, 10).await, numbers(0..10));
    assert_eq!(consumer.assignment(), all(1));
}

#[tokio::test]
async fn subscribing_takes_a_group() {
    let broker = FakeBroker::start(1).await;
    let mut consumer = Consumer::new(broker.client(), config(None)).unwrap();
    let error = consumer.subscribe(&["t".to_owned()]).await.unwrap_err();
    assert!(error.to_string().contains("set group.id"), "{error}");
}

#[tokio::test]
async fn a_commit_does_not_wait_behind_a_fetch() {
    let broker = broker_with(1, 3).await;
    let silent = std::iter::repeat_n(Some(Fault::Silence), 10);
    broker.fail(ApiKey::Fetch, [None].into_iter().chain(silent));
    let mut consumer = Consumer::new(broker.client(), config(Some("g"))).unwrap();
    consumer.subscribe(&["t".to_owned()]).await.unwrap();
    read(&mut consumer, 3).await;
    // The next fetch stays at the broker.
    assert!(consumer.poll(Duration::from_millis(20)).await.unwrap().is_empty());
    let connections = broker.state().seen[&ApiKey::ApiVersions];
    consumer.commit().await.unwrap();
    assert_eq!(broker.state().committed[&0], 3);
    assert_eq!(
        broker.state().seen[&ApiKey::ApiVersions],
        connections,
        "no connection was given up"
    );
}

//! Producing while things break: every record once, in order, or an error.

use std::time::Duration;

use client::{Acks, ClientError, Producer, ProducerConfig, ProducerRecord, Sent};
use model::ErrorCode;
use wire::ApiKey;

use crate::fake_broker::{FakeBroker, Fault};

fn small_batches() -> ProducerConfig {
    ProducerConfig {
        batch_size: 400,
        linger: Duration::from_millis(1),
        ..ProducerConfig::default()
    }
}

async fn send_all(producer: &Producer, count: usize, partitions: usize) -> Vec<Sent> {
    let mut sent = Vec::new();
    for n in 0..count {
        let record = ProducerRecord {
            partition: Some((n % partitions) as i32),
            ..ProducerRecord::new("t", n.to_string())
        };
        sent.push(producer.send(record).await.unwrap());
    }
    sent
}

/// Every record is in its partition once, and in the order it was sent.
fn assert_complete(broker: &FakeBroker, count: usize, partitions: usize) {
    for partition in 0..partitions {
        let expected: Vec<String> = (partition..count)
            .step_by(partitions)
            .map(|n| n.to_string())
            .collect();
        assert_eq!(broker.values(partition as i32), expected, "partition {partition}");
    }
}

#[tokio::test]
async fn records_arrive_once_and_in_order_while_things_break() {
    let broker = FakeBroker::start(3).await;
    let faults = [
        None,
        Some(Fault::CloseBefore),
        None,
        Some(Fault::Error(ErrorCode::NotLeaderOrFollower)),
        None,
        None,
        Some(Fault::CloseAfter),
        Some(Fault::CloseAfter),
        Some(Fault::Error(ErrorCode::NotEnoughReplicas)),
        None,
        Some(Fault::CloseBefore),
    ];
    broker.fail(ApiKey::Produce, faults.into_iter().cycle().take(200));
    broker.fail(
        ApiKey::InitProducerId,
        [Some(Fault::Error(ErrorCode::CoordinatorLoadInProgress))],
    );
    let producer = Producer::new(broker.client(), small_batches());
    let sent = send_all(&producer, 3000, 3).await;
    producer.flush().await;
    for sent in sent {
        sent.await.unwrap();
    }
    assert_complete(&broker, 3000, 3);
}

#[tokio::test]
async fn each_delivery_knows_its_offset() {
    let broker = FakeBroker::start(1).await;
    let producer = Producer::new(broker.client(), small_batches());
    for (n, sent) in send_all(&producer, 50, 1).await.into_iter().enumerate() {
        assert_eq!(sent.await.unwrap().offset, Some(n as i64));
    }
}

#[tokio::test]
async fn a_refused_batch_fails_and_those_behind_it_arrive() {
    let broker = FakeBroker::start(1).await;
    broker.fail(
        ApiKey::Produce,
        [None, Some(Fault::Error(ErrorCode::InvalidRecord))],
    );
    let producer = Producer::new(broker.client(), small_batches());
    let sent = send_all(&producer, 100, 1).await;
    let mut refused = Vec::new();
    for (n, sent) in sent.into_iter().enumerate() {
        match sent.await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.code(), Some(ErrorCode::InvalidRecord));
                refused.push(n.to_string());
            }
        }
    }
    assert!(!refused.is_empty() && refused.len() < 100, "{refused:?}");
    let expected: Vec<String> = (0..100)
        .map(|n| n.to_string())
        .filter(|n| !refused.contains(n))
        .collect();
    assert_eq!(broker.values(0), expected);
}

#[tokio::test]
async fn without_acknowledgements_nothing_is_waited_for() {
    let broker = FakeBroker::start(1).await;
    let config = ProducerConfig {
        acks: Acks::None,
        ..small_batches()
    };
    let producer = Producer::new(broker.client(), config);
    for sent in send_all(&producer, 20, 1).await {
        assert_eq!(sent.await.unwrap().offset, None);
    }
    // The broker answers requests of one connection in order: what came before is in the log.
    while broker.values(0).len() < 20 {
        tokio::task::yield_now().await;
    }
    assert_complete(&broker, 20, 1);
}

#[tokio::test]
async fn a_record_that_no_request_can_hold_is_refused_at_once() {
    let broker = FakeBroker::start(1).await;
    let producer = Producer::new(broker.client(), ProducerConfig::default());
    let error = producer
        .send(ProducerRecord::new("t", vec![0; 2 << 20]))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::RecordTooLarge { .. }), "{error}");
    let partition = ProducerRecord {
        partition: Some(4),
        ..ProducerRecord::new("t", "v")
    };
    let error = producer.send(partition).await.unwrap_err();
    assert!(error.to_string().contains("has no partition 4"), "{error}");
}

#[tokio::test]
async fn a_producer_waits_for_memory_and_goes_on() {
    let broker = FakeBroker::start(1).await;
    let config = ProducerConfig {
        buffer_memory: 500,
        ..small_batches()
    };
    let producer = Producer::new(broker.client(), config);
    send_all(&producer, 300, 1).await;
    producer.close().await;
    assert_complete(&broker, 300, 1);
}

//! The queue of batches, driven step by step.

use std::sync::Arc;

use model::ErrorCode;
use model::{ProducerEpoch, ProducerId};
use tokio::sync::Semaphore;
use wire::records::{Batch as WireBatch, DecompressionLimit};

use super::*;
use crate::error::BrokerError;

const LEADER: i32 = 1;

struct Fixture {
    accumulator: Accumulator,
    memory: Arc<Semaphore>,
    now: Instant,
}

type Answer = Sent;

impl Fixture {
    fn new(change: impl FnOnce(&mut ProducerConfig)) -> Fixture {
        let mut config = ProducerConfig {
            linger: Duration::from_millis(5),
            batch_size: 100,
            ..ProducerConfig::default()
        };
        change(&mut config);
        let mut accumulator = Accumulator::new(&config);
        accumulator.set_identity(identity(7));
        Fixture {
            accumulator,
            memory: Arc::new(Semaphore::new(1_000_000)),
            now: Instant::now(),
        }
    }

    fn append(&mut self, partition: i32, value: &str) -> Answer {
        let record = RecordView {
            value: Some(value.as_bytes()),
            timestamp: Some(1),
            ..RecordView::default()
        };
        let place = self.accumulator.place(&topic_partition(partition));
        let appended = self.accumulator.append(place, &record, 50).unwrap();
        appended.map_or_else(
            || {
                let memory = self.memory.clone().try_acquire_many_owned(100).unwrap();
                let new = self
                    .accumulator
                    .append_to_new(place, &record, 50, memory, self.now);
                new.unwrap()
            },
            |(sent, _)| sent,
        )
    }

    /// What is sent after `milliseconds` more.
    fn take(&mut self, milliseconds: u64) -> Vec<(TopicPartition, Batch)> {
        self.now += Duration::from_millis(milliseconds);
        let ready = self
            .accumulator
            .take_ready(self.now, false, |_| Some(LEADER), |_| true);
        ready.requests.into_values().flatten().collect()
    }

    fn take_one(&mut self) -> Batch {
        let mut taken = self.take(10);
        assert_eq!(taken.len(), 1);
        taken.remove(0).1
    }

    fn complete(&mut self, batch: Batch, outcome: Outcome) {
        let now = self.now;
        self.accumulator
            .complete(&topic_partition(0), batch, outcome, now);
    }
}

fn topic_partition(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn identity(id: i64) -> Identity {
    Identity {
        id: ProducerId(id),
        epoch: ProducerEpoch(0),
    }
}

fn error(code: ErrorCode) -> ClientError {
    ClientError::broker("test", BrokerError::from(code))
}

fn delivered(base_offset: i64) -> Outcome {
    Outcome::Delivered {
        base_offset: Some(base_offset),
        append_time: None,
    }
}

/// The producer id, the first sequence number and the values of a batch, as the broker reads them.
fn seen(batch: &mut Batch) -> (i64, i32, Vec<String>) {
    let encoded = WireBatch::parse(&batch.encode().unwrap()).unwrap();
    let records = encoded.records(DecompressionLimit::default()).unwrap();
    let values = records.map(|record| String::from_utf8(record.unwrap().value.unwrap().to_vec()).unwrap());
    let header = encoded.header();
    (header.producer_id.0, header.base_sequence, values.collect())
}

#[test]
fn a_batch_leaves_when_it_is_full_or_has_waited_its_linger() {
    let mut fixture = Fixture::new(|_| {});
    let _a = fixture.append(0, "a");
    assert!(fixture.take(0).is_empty());
    let _b = fixture.append(0, "b");
    assert_eq!(fixture.take(0).len(), 1, "100 bytes are a full batch");
    let _c = fixture.append(0, "c");
    assert!(fixture.take(4).is_empty());
    assert_eq!(fixture.take(1).len(), 1, "5 ms are over");
}

#[tokio::test]
async fn every_record_learns_its_own_offset() {
    let mut fixture = Fixture::new(|_| {});
    let (a, b) = (fixture.append(0, "a"), fixture.append(0, "b"));
    let batch = fixture.take_one();
    fixture.complete(batch, delivered(40));
    assert_eq!(a.await.unwrap().offset, Some(40));
    assert_eq!(b.await.unwrap().offset, Some(41));
    assert_eq!(fixture.memory.available_permits(), 1_000_000);
}

#[test]
fn batches_that_failed_go_again_in_order_under_their_numbers() {
    let mut fixture = Fixture::new(|_| {});
    let _answers: Vec<Answer> = ["a", "b", "c", "d", "e", "f"]
        .map(|value| fixture.append(0, value))
        .into();
    let [first, second] = [fixture.take_one(), fixture.take_one()];
    fixture.complete(first, Outcome::Retry(error(ErrorCode::NotLeaderOrFollower)));
    assert!(
        fixture.take(10).is_empty(),
        "nothing leaves while an answer is out"
    );
    fixture.complete(second, Outcome::Renew(error(ErrorCode::OutOfOrderSequenceNumber)));
    let again: Vec<_> = (0..3).map(|_| seen(&mut fixture.take_one())).collect();
    let expected = [(7, 0, ["a", "b"]), (7, 2, ["c", "d"]), (7, 4, ["e", "f"])];
    assert_eq!(
        again,
        expected.map(|(id, first, values)| (id, first, values.map(str::to_owned).to_vec()))
    );
}

#[tokio::test]
async fn a_refused_batch_leaves_its_numbers_to_the_next() {
    let mut fixture = Fixture::new(|_| {});
    let refused = fixture.append(0, "bad");
    let _answers: Vec<Answer> = ["x", "c", "d"].map(|value| fixture.append(0, value)).into();
    let [first, second] = [fixture.take_one(), fixture.take_one()];
    fixture.complete(first, Outcome::Refused(error(ErrorCode::InvalidRecord)));
    fixture.complete(second, Outcome::Renew(error(ErrorCode::OutOfOrderSequenceNumber)));
    assert_eq!(refused.await.unwrap_err().code(), Some(ErrorCode::InvalidRecord));
    assert_eq!(
        seen(&mut fixture.take_one()),
        (7, 0, vec!["c".to_owned(), "d".to_owned()])
    );
}

#[test]
fn a_batch_that_may_have_arrived_ends_the_numbering() {
    let mut fixture = Fixture::new(|config| config.delivery_timeout = Duration::from_millis(30));
    let _a = [fixture.append(0, "a"), fixture.append(0, "b")];
    let first = fixture.take_one();
    fixture.now += Duration::from_millis(40);
    let _b = [fixture.append(0, "c"), fixture.append(0, "d")];
    fixture.complete(first, Outcome::Retry(error(ErrorCode::NetworkException)));
    let ready = fixture
        .accumulator
        .take_ready(fixture.now, false, |_| Some(LEADER), |_| true);
    assert!(ready.needs_identity && ready.requests.is_empty());
    fixture.accumulator.set_identity(identity(8));
    assert_eq!(
        seen(&mut fixture.take_one()),
        (8, 0, vec!["c".to_owned(), "d".to_owned()])
    );
}

#[tokio::test]
async fn a_batch_out_of_retries_may_have_arrived_too() {
    let mut fixture = Fixture::new(|config| config.retries = 1);
    let lost = fixture.append(0, "a");
    for _ in 0..2 {
        let batch = fixture.take_one();
        fixture.complete(batch, Outcome::Retry(error(ErrorCode::NetworkException)));
    }
    assert!(lost.await.is_err());
    let _b = fixture.append(0, "b");
    fixture.accumulator.set_identity(identity(8));
    assert_eq!(seen(&mut fixture.take_one()), (8, 0, vec!["b".to_owned()]));
}

#[test]
fn a_broker_that_forgot_the_producer_gets_the_batch_under_a_new_id() {
    let mut fixture = Fixture::new(|_| {});
    let _a = fixture.append(0, "a");
    let first = fixture.take_one();
    fixture.complete(first, Outcome::Renew(error(ErrorCode::UnknownProducerId)));
    fixture.accumulator.set_identity(identity(9));
    assert_eq!(seen(&mut fixture.take_one()), (9, 0, vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_batch_too_large_is_sent_in_halves_that_keep_their_numbers() {
    let mut fixture = Fixture::new(|_| {});
    let answers = [fixture.append(0, "a"), fixture.append(0, "b")];
    let whole = fixture.take_one();
    fixture.complete(whole, Outcome::Split(error(ErrorCode::MessageTooLarge)));
    let [mut first, mut second] = [fixture.take_one(), fixture.take_one()];
    assert_eq!(seen(&mut first), (7, 0, vec!["a".to_owned()]));
    assert_eq!(seen(&mut second), (7, 1, vec!["b".to_owned()]));
    fixture.complete(first, delivered(0));
    assert_eq!(fixture.accumulator.oldest(), 0, "half of it is still out");
    fixture.complete(second, Outcome::Split(error(ErrorCode::MessageTooLarge)));
    assert_eq!(fixture.accumulator.oldest(), fixture.accumulator.next_batch());
    let [a, b] = answers;
    assert_eq!(a.await.unwrap().offset, Some(0));
    assert_eq!(b.await.unwrap_err().code(), Some(ErrorCode::MessageTooLarge));
}

#[tokio::test]
async fn a_record_that_waits_too_long_fails() {
    let mut fixture = Fixture::new(|config| config.delivery_timeout = Duration::from_millis(30));
    let answer = fixture.append(0, "a");
    let later = fixture.accumulator.expire(fixture.now).unwrap();
    assert_eq!(later, fixture.now + Duration::from_millis(30));
    assert_eq!(fixture.accumulator.expire(later), None);
    assert!(matches!(answer.await, Err(ClientError::TimedOut { .. })));
    assert_eq!(fixture.memory.available_permits(), 1_000_000);
}

#[test]
fn a_request_has_one_batch_of_a_partition_and_stays_within_its_size() {
    let mut fixture = Fixture::new(|config| config.max_request_size = 250);
    let _answers: Vec<Answer> = (0..16).map(|n| fixture.append(n % 4, "v")).collect();
    let mut partitions = Vec::new();
    for _ in 0..4 {
        let taken = fixture.take(10);
        assert_eq!(taken.len(), 2, "two batches of 100 bytes fit in 250");
        partitions.extend(taken.iter().map(|(partition, _)| partition.partition));
    }
    partitions.sort_unstable();
    assert_eq!(
        partitions,
        [0, 0, 1, 1, 2, 2, 3, 3],
        "each partition had its turn"
    );
}

#[test]
fn numbers_start_again_after_the_last_one() {
    let mut fixture = Fixture::new(|_| {});
    let _a = fixture.append(0, "a");
    fixture.take_one();
    fixture.accumulator.queues[0].next_sequence = (1 << 31) - 1;
    let _b = [
        fixture.append(0, "b"),
        fixture.append(0, "c"),
        fixture.append(0, "d"),
    ];
    assert_eq!(seen(&mut fixture.take_one()).1, i32::MAX);
    assert_eq!(seen(&mut fixture.take_one()).1, 1);
}

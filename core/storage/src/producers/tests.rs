//! Rules 21 to 31 on the state alone.

use model::ProducerEpoch;
use proptest::prelude::*;

use super::*;
use model::ErrorCode;

const ID: ProducerId = ProducerId(9);

fn data(epoch: i16, base_sequence: i32, first_offset: i64, count: i32) -> ProducerBatch {
    let last = (i64::from(base_sequence) + i64::from(count) - 1) & i64::from(i32::MAX);
    ProducerBatch {
        producer_id: ID,
        epoch: ProducerEpoch(epoch),
        base_sequence,
        last_sequence: last as i32,
        first_offset: Offset(first_offset),
        last_offset: Offset(first_offset + i64::from(count) - 1),
        timestamp: 1000,
        kind: BatchKind::Data,
    }
}

fn transactional(epoch: i16, base_sequence: i32, first_offset: i64) -> ProducerBatch {
    ProducerBatch {
        kind: BatchKind::Transactional,
        ..data(epoch, base_sequence, first_offset, 1)
    }
}

fn marker(epoch: i16, coordinator_epoch: i32, offset: i64, kind: ControlRecordType) -> ProducerBatch {
    let marker = EndTransactionMarker {
        kind,
        coordinator_epoch,
    };
    ProducerBatch {
        kind: BatchKind::Marker(marker),
        base_sequence: -1,
        ..data(epoch, 0, offset, 1)
    }
}

fn append(producers: &mut Producers, batch: ProducerBatch) -> Result<Vec<AbortedTransaction>, ErrorCode> {
    let judge = if matches!(batch.kind, BatchKind::Marker(_)) {
        Judge::Coordinator
    } else {
        Judge::Client
    };
    let mut pending = Pending::default();
    producers
        .judge(&mut pending, &batch, judge, DEDUPE_WINDOW)
        .map_err(|error| error.code())?;
    Ok(producers.commit(pending, 1000))
}

fn accepted(producers: &mut Producers, batch: ProducerBatch) -> Vec<AbortedTransaction> {
    append(producers, batch).unwrap()
}

#[test]
fn rule_21_the_last_five_batches_are_recognised_with_their_offsets() {
    let mut producers = Producers::default();
    for n in 0..6 {
        accepted(&mut producers, data(0, n * 10, i64::from(n) * 100, 10));
    }
    for n in 1..6 {
        let known = producers.duplicate_of(&data(0, n * 10, 9999, 10)).unwrap();
        assert_eq!(known.first_offset(), Offset(i64::from(n) * 100));
        assert_eq!(known.last_offset, Offset(i64::from(n) * 100 + 9));
    }
    assert_eq!(producers.duplicate_of(&data(0, 0, 9999, 10)), None);
    assert_eq!(
        append(&mut producers, data(0, 0, 9999, 10)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    assert_eq!(
        producers.duplicate_of(&data(0, 50, 9999, 9)),
        None,
        "another length is no repetition"
    );
    assert_eq!(
        producers.duplicate_of(&data(1, 50, 9999, 10)),
        None,
        "nor is another epoch"
    );
}

#[test]
fn rule_22_a_sequence_follows_the_last_and_wraps_to_zero() {
    let mut producers = Producers::default();
    accepted(&mut producers, data(0, 2_147_483_640, 0, 5));
    assert_eq!(
        append(&mut producers, data(0, 0, 5, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    accepted(&mut producers, data(0, 2_147_483_645, 5, 5));
    let wrapped = producers.duplicate_of(&data(0, 2_147_483_645, 77, 5)).unwrap();
    assert_eq!(
        (wrapped.first_sequence(), wrapped.last_sequence),
        (2_147_483_645, 1)
    );
    accepted(&mut producers, data(0, 2, 10, 1));
    let mut exactly = Producers::default();
    accepted(&mut exactly, data(0, i32::MAX, 0, 1));
    accepted(&mut exactly, data(0, 0, 1, 1));
}

#[test]
fn rule_23_a_new_epoch_begins_with_sequence_zero() {
    let mut producers = Producers::default();
    accepted(&mut producers, data(0, 0, 0, 3));
    assert_eq!(
        append(&mut producers, data(1, 3, 3, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    accepted(&mut producers, data(1, 0, 3, 1));
    assert_eq!(
        append(&mut producers, data(1, 3, 4, 1)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
}

#[test]
fn rule_24_an_older_epoch_is_fenced_by_a_leader_and_taken_from_a_log() {
    let mut producers = Producers::default();
    accepted(&mut producers, data(5, 0, 0, 1));
    assert_eq!(
        append(&mut producers, data(4, 1, 1, 1)),
        Err(ErrorCode::InvalidProducerEpoch)
    );
    producers.replay(&data(4, 1, 1, 1), DEDUPE_WINDOW, 0);
    assert_eq!(producers.active()[0].producer_epoch, ProducerEpoch(4));
}

#[test]
fn rule_25_an_unknown_producer_may_begin_anywhere() {
    accepted(&mut Producers::default(), data(3, 7, 0, 1));
}

#[test]
fn rule_26_a_batch_outside_the_open_transaction_is_refused() {
    let mut producers = Producers::default();
    accepted(&mut producers, transactional(0, 0, 0));
    assert_eq!(
        append(&mut producers, data(0, 1, 1, 1)),
        Err(ErrorCode::InvalidTxnState)
    );
    accepted(&mut producers, transactional(0, 1, 1));
}

#[test]
fn rule_28_the_coordinators_epoch_never_falls() {
    let mut producers = Producers::default();
    accepted(&mut producers, marker(0, 5, 0, ControlRecordType::Commit));
    let older = marker(0, 4, 1, ControlRecordType::Commit);
    assert_eq!(
        append(&mut producers, older),
        Err(ErrorCode::TransactionCoordinatorFenced)
    );
    accepted(&mut producers, marker(0, 5, 1, ControlRecordType::Commit));
}

#[test]
fn rule_29_an_abort_yields_its_range_and_the_stable_offset() {
    let mut producers = Producers::default();
    accepted(&mut producers, transactional(0, 0, 10));
    let mut other = transactional(0, 0, 11);
    other.producer_id = ProducerId(10);
    accepted(&mut producers, other);
    assert_eq!(producers.first_unstable_offset(Offset(100)), Some(Offset(10)));
    let aborted = accepted(&mut producers, marker(0, 0, 12, ControlRecordType::Abort));
    let expected = AbortedTransaction {
        producer_id: ID,
        first_offset: Offset(10),
        last_offset: Offset(12),
        last_stable_offset: Offset(11),
    };
    assert_eq!(aborted, [expected]);
    let mut end = marker(0, 0, 13, ControlRecordType::Commit);
    end.producer_id = ProducerId(10);
    assert_eq!(accepted(&mut producers, end), []);
    assert_eq!(producers.first_unstable_offset(Offset(14)), None);
}

#[test]
fn an_ended_transaction_is_unstable_until_its_marker_is_replicated() {
    let mut producers = Producers::default();
    accepted(&mut producers, transactional(0, 0, 3));
    accepted(&mut producers, marker(0, 0, 4, ControlRecordType::Commit));
    assert_eq!(producers.first_unstable_offset(Offset(4)), Some(Offset(3)));
    assert_eq!(producers.first_unstable_offset(Offset(5)), None);
    producers.replicated(Offset(4));
    assert_eq!(producers.first_unstable_offset(Offset(4)), Some(Offset(3)));
    producers.replicated(Offset(5));
    assert_eq!(producers.first_unstable_offset(Offset(4)), None);
}

#[test]
fn a_marker_with_a_new_epoch_starts_the_sequences_again() {
    let mut producers = Producers::default();
    accepted(&mut producers, transactional(0, 0, 0));
    accepted(&mut producers, marker(1, 0, 1, ControlRecordType::Commit));
    assert_eq!(
        append(&mut producers, transactional(0, 1, 2)),
        Err(ErrorCode::InvalidProducerEpoch)
    );
    assert_eq!(
        append(&mut producers, transactional(1, 1, 2)),
        Err(ErrorCode::OutOfOrderSequenceNumber)
    );
    accepted(&mut producers, transactional(1, 0, 2));
}

#[test]
fn rule_31_idle_producers_expire_but_not_with_an_open_transaction() {
    let mut producers = Producers::default();
    let mut old = data(0, 0, 0, 1);
    old.timestamp = 5;
    accepted(&mut producers, old);
    producers.expire(1000 + 499, 500);
    assert!(
        !producers.active().is_empty(),
        "heard of at 1000, though its records are dated 5"
    );
    producers.expire(1000 + 500, 500);
    assert!(producers.active().is_empty());
    accepted(&mut producers, transactional(0, 7, 1));
    producers.expire(i64::MAX, 500);
    assert!(!producers.active().is_empty());
}

#[test]
fn rule_30_a_damaged_snapshot_is_refused() {
    let mut producers = Producers::default();
    accepted(&mut producers, data(0, 0, 0, 1));
    let content = encode_snapshot(&producers).unwrap();
    assert_eq!(content.len(), 56);
    for at in 0..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= 4;
        assert!(decode_snapshot(&damaged).is_err(), "byte {at}");
        assert!(decode_snapshot(&content[..at]).is_err(), "cut at {at}");
    }
    assert_eq!(
        decode_snapshot(&encode_snapshot(&Producers::default()).unwrap()),
        Ok(Vec::new())
    );
}

proptest! {
    #[test]
    fn a_snapshot_reads_back_as_the_state_it_was_taken_of(steps in prop::collection::vec((0i64..3, 0u8..4, 1i32..5), 0..40)) {
        let mut producers = Producers::default();
        let mut next = [0i32; 3];
        let mut offset = 0;
        for (id, step, count) in steps {
            let index = id as usize;
            let mut batch = match step {
                0 => data(0, next[index], offset, count),
                1 => ProducerBatch { kind: BatchKind::Transactional, ..data(0, next[index], offset, count) },
                2 => marker(0, 0, offset, ControlRecordType::Commit),
                _ => marker(0, 0, offset, ControlRecordType::Abort),
            };
            batch.producer_id = ProducerId(id);
            if append(&mut producers, batch).is_ok() {
                offset = batch.last_offset.0 + 1;
                if batch.base_sequence >= 0 {
                    next[index] = batch.last_sequence + 1;
                }
            }
        }
        let content = encode_snapshot(&producers).unwrap();
        let read = Producers::from_snapshot(&decode_snapshot(&content).unwrap(), 1000, 1000);
        producers.ended.clear();
        prop_assert_eq!(read, producers);
    }
}

//! Fetched batches, as a broker would send them, and what a consumer gets of them.

use model::{Offset, ProducerEpoch, ProducerId};
use wire::records::{BatchBuilder, EndTransactionMarker, Producer};

use super::*;

const ABORTED: i64 = 7;
const COMMITTED: i64 = 8;

/// A batch of records at these offsets; of a transaction when a producer is named.
fn batch(offsets: &[i64], producer: Option<i64>) -> Bytes {
    let mut builder = BatchBuilder::new().with_base_offset(Offset(offsets[0]));
    if let Some(id) = producer {
        let producer = Producer {
            id: ProducerId(id),
            epoch: ProducerEpoch(0),
            base_sequence: 0,
        };
        builder = builder.with_producer(producer).transactional();
    }
    for offset in offsets {
        let value = offset.to_string();
        builder
            .append_at(Offset(*offset), 1000 + offset, None, Some(value.as_bytes()), &[])
            .unwrap();
    }
    builder.build().unwrap()
}

fn marker(offset: i64, producer: i64, kind: ControlRecordType) -> Bytes {
    let marker = EndTransactionMarker {
        kind,
        coordinator_epoch: 0,
    };
    let builder = BatchBuilder::end_transaction(marker, ProducerId(producer), ProducerEpoch(0), 1).unwrap();
    let mut bytes = builder.build().unwrap().to_vec();
    // The base offset lies outside of the checksum.
    bytes[..8].copy_from_slice(&offset.to_be_bytes());
    bytes.into()
}

fn fetched(position: i64, batches: &[Bytes]) -> Fetched {
    let bytes = Bytes::from(batches.concat());
    Fetched::new(
        TopicPartition::new("t", 0),
        1,
        position,
        &bytes,
        &ConsumerConfig::default(),
    )
}

/// The next record alone.
fn next_record(fetched: &mut Fetched) -> Result<Option<ConsumerRecord>, ClientError> {
    let mut records = Vec::new();
    fetched.read_into(&mut records, 1)?;
    Ok(records.pop())
}

/// The offsets of the records, then the position.
fn read(mut fetched: Fetched) -> (Vec<i64>, i64) {
    let mut offsets = Vec::new();
    while let Some(record) = next_record(&mut fetched).unwrap() {
        assert_eq!(
            record.value.as_deref(),
            Some(record.offset.to_string().as_bytes())
        );
        offsets.push(record.offset);
    }
    (offsets, fetched.next_offset())
}

fn transactions() -> [Bytes; 5] {
    [
        batch(&[0, 1], Some(ABORTED)),
        batch(&[2, 3], Some(COMMITTED)),
        marker(4, ABORTED, ControlRecordType::Abort),
        marker(5, COMMITTED, ControlRecordType::Commit),
        batch(&[6], Some(ABORTED)),
    ]
}

#[test]
fn records_before_the_position_are_left_out() {
    let batches = [batch(&[10, 11, 12], None), batch(&[13], None)];
    assert_eq!(read(fetched(11, &batches)), (vec![11, 12, 13], 14));
}

#[test]
fn the_position_goes_past_what_compaction_removed() {
    let mut first = BatchBuilder::new().with_base_offset(Offset(5));
    first.append_at(Offset(5), 1, None, Some(b"5"), &[]).unwrap();
    let mut bytes = first.build().unwrap().to_vec();
    // The last offset stays although its record is gone: the header says so, under a new checksum.
    bytes[23..27].copy_from_slice(&9i32.to_be_bytes());
    let crc = crc32c_of(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    let mut fetched = fetched(6, &[bytes.into()]);
    assert_eq!(next_record(&mut fetched).unwrap(), None);
    assert_eq!(fetched.next_offset(), 15);
}

/// CRC-32C, bit by bit.
fn crc32c_of(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 * (crc & 1))
        })
    })
}

#[test]
fn a_batch_cut_off_by_the_answer_is_left_for_the_next() {
    let last = batch(&[1, 2], None);
    let batches = [batch(&[0], None), last.slice(..last.len() - 3)];
    assert_eq!(read(fetched(0, &batches)), (vec![0], 1));
}

#[test]
fn a_batch_that_was_changed_on_the_way_is_an_error_that_names_the_place() {
    let mut bytes = batch(&[3], None).to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    let mut damaged = fetched(2, &[batch(&[2], None), bytes.into(), batch(&[4], None)]);
    assert_eq!(next_record(&mut damaged).unwrap().unwrap().offset, 2);
    next_record(&mut damaged).unwrap_err();
    // Asking again does not lead past it.
    let text = next_record(&mut damaged).unwrap_err().to_string();
    assert!(text.contains("t-0 cannot be read at offset 3"), "{text}");
}

#[test]
fn read_uncommitted_shows_everything_but_markers() {
    assert_eq!(read(fetched(0, &transactions())), (vec![0, 1, 2, 3, 6], 7));
}

#[test]
fn read_committed_leaves_aborted_transactions_out_until_their_marker() {
    let aborted = vec![AbortedTransaction {
        producer_id: ABORTED,
        first_offset: 0,
    }];
    let fetched = fetched(0, &transactions()).without(aborted);
    // The batch at 6 belongs to a later transaction of the same producer.
    assert_eq!(read(fetched), (vec![2, 3, 6], 7));
}

#[test]
fn the_next_fetch_goes_on_behind_the_last_whole_batch() {
    let last = batch(&[4, 5], None);
    let batches = [batch(&[1, 2, 3], None), last.slice(..last.len() - 1)];
    assert_eq!(fetched(2, &batches).end(), 4);
    assert_eq!(fetched(2, &[]).end(), 2);
}

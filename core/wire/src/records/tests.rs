//! Properties, and what bad input must come to (rows of the bad-input list named at each test).

use bytes::Bytes;
use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use proptest::prelude::*;

use super::cursor::put_varint;
use super::*;

fn limit() -> DecompressionLimit {
    DecompressionLimit::default()
}

fn sample() -> BatchBuilder {
    let mut builder = BatchBuilder::new();
    let header = HeaderRef {
        key: b"h",
        value: Some(b"v"),
    };
    builder
        .append(
            1_000,
            Some(b"key"),
            Some(b"value"),
            &[
                header,
                HeaderRef {
                    key: b"h",
                    value: None,
                },
            ],
        )
        .unwrap();
    builder.append(1_005, None, None, &[]).unwrap();
    builder
}

fn sample_bytes() -> Vec<u8> {
    sample().build().unwrap().to_vec()
}

fn parse(bytes: &[u8]) -> Result<Batch, BatchError> {
    Batch::parse(&Bytes::copy_from_slice(bytes))
}

/// A batch of `count` records around a payload of our choosing, with a right checksum.
fn with_payload(payload: &[u8], count: i32) -> Batch {
    let mut header = *parse(&sample_bytes()).unwrap().header();
    header.batch_length = i32::try_from(49 + payload.len()).unwrap();
    header.record_count = count;
    header.last_offset_delta = count - 1;
    let mut bytes = [header.to_bytes().as_slice(), payload].concat();
    seal(&mut bytes);
    parse(&bytes).unwrap()
}

/// Gives a batch the checksum of its bytes.
fn seal(bytes: &mut [u8]) {
    let crc = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
}

fn first_error(batch: &Batch) -> RecordError {
    batch
        .records(limit())
        .and_then(|mut records| records.find_map(Result::err).map_or(Ok(()), Err))
        .unwrap_err()
}

/// A record: its length, then `body`.
fn record(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, i32::try_from(body.len()).unwrap());
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn row_25_a_wrong_checksum_is_found_wherever_a_bit_flips() {
    let bytes = sample_bytes();
    for at in 17..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 0x10;
        let checked = parse(&broken).and_then(|batch| batch.verify_crc());
        assert!(
            matches!(checked, Err(BatchError::Checksum { .. })),
            "byte {at}: {checked:?}"
        );
    }
    assert_eq!(parse(&bytes).unwrap().verify_crc(), Ok(()));
}

#[test]
fn row_25_a_length_below_the_header_or_past_the_end_is_refused() {
    let with_length = |length: i32| {
        let mut bytes = sample_bytes();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        parse(&bytes).map(|_| ())
    };
    for length in [i32::MIN, -1, 0, 48] {
        assert_eq!(with_length(length), Err(BatchError::LengthTooSmall(length)));
    }
    assert!(matches!(with_length(i32::MAX), Err(BatchError::Truncated { .. })));
    let exact = i32::try_from(sample_bytes().len() - 12).unwrap();
    assert_eq!(with_length(exact), Ok(()));
    assert!(matches!(
        with_length(exact + 1),
        Err(BatchError::Truncated { .. })
    ));
}

#[test]
fn row_24_other_magics_are_no_batches() {
    for magic in [-1i8, 0, 1, 3] {
        let mut bytes = sample_bytes();
        bytes[16] = magic.cast_unsigned();
        assert!(matches!(parse(&bytes), Err(BatchError::Magic(found)) if found == magic));
    }
}

#[test]
fn row_26_the_count_must_be_positive_and_match_the_offsets() {
    let check = |count, last_offset_delta| {
        let mut header = *parse(&sample_bytes()).unwrap().header();
        header.record_count = count;
        header.last_offset_delta = last_offset_delta;
        header.check_count().is_ok()
    };
    assert!(check(2, 1));
    for (count, delta) in [
        (0, -1),
        (-1, -2),
        (2, 2),
        (3, 1),
        (1, i32::MAX),
        (i32::MIN, i32::MAX),
        (i32::MAX, 0),
    ] {
        assert!(!check(count, delta), "{count} records over {delta}");
    }
}

#[test]
fn row_28_lengths_and_counts_inside_records_stay_inside_the_batch() {
    let malformed = |payload: &[u8]| match first_error(&with_payload(payload, 1)) {
        RecordError::Malformed { index: 0, what } => what,
        other => panic!("{other}"),
    };
    // Negative length; then a record that claims more than there is.
    assert_eq!(malformed(&[0x01]), "length");
    let longer = first_error(&with_payload(&[0x7e, 0, 0], 1));
    assert_eq!(longer, RecordError::Truncated { index: 0, count: 1 });
    // attributes, timestamp delta, offset delta, key, value, header count: each broken in turn.
    assert_eq!(malformed(&record(&[])), "attributes");
    assert_eq!(malformed(&record(&[0])), "timestamp delta");
    assert_eq!(malformed(&record(&[0, 0])), "offset delta");
    assert_eq!(malformed(&record(&[0, 0, 0, 0x03])), "key");
    assert_eq!(malformed(&record(&[0, 0, 0, 1, 0x08, b'x'])), "value");
    assert_eq!(malformed(&record(&[0, 0, 0, 1, 1])), "header count");
    assert_eq!(malformed(&record(&[0, 0, 0, 1, 1, 0x01])), "header count");
    assert_eq!(malformed(&record(&[0, 0, 0, 1, 1, 0x04, 0, 0])), "header count");
    assert_eq!(malformed(&record(&[0, 0, 0, 1, 1, 0x02, 0x01, 0x01])), "header");
    assert_eq!(malformed(&record(&[0, 0, 0, 1, 1, 0x02, 0x7e, 0x01])), "header");
    assert_eq!(
        malformed(&record(&[0, 0, 0, 1, 1, 0, 9])),
        "bytes after the last header"
    );
}

#[test]
fn records_must_fill_their_batch_exactly() {
    let whole = record(&[0, 0, 0, 1, 1, 0]);
    let two = [whole.clone(), whole.clone()].concat();
    assert_eq!(
        first_error(&with_payload(&two, 1)),
        RecordError::TrailingBytes(whole.len())
    );
    assert_eq!(
        first_error(&with_payload(&two, 3)),
        RecordError::Truncated { index: 2, count: 3 }
    );
    assert_eq!(
        with_payload(&two, 2)
            .records(limit())
            .unwrap()
            .filter(Result::is_ok)
            .count(),
        2
    );
}

#[test]
fn a_count_of_records_never_sizes_anything() {
    let batch = with_payload(&record(&[0, 0, 0, 1, 1, 0]), i32::MAX);
    let records: Vec<_> = batch.records(limit()).unwrap().collect();
    assert_eq!(records.len(), 2);
    assert!(records[1].is_err());
}

#[test]
fn row_33_a_timestamp_or_offset_delta_that_overflows_is_an_error() {
    let mut header = *sample_batch().header();
    header.base_timestamp = i64::MAX;
    let rest = sample_batch().stored_records();
    let batch = parse(&[header.to_bytes().as_slice(), &rest].concat()).unwrap();
    assert_eq!(first_error(&batch), RecordError::Timestamp { index: 1 });
    assert_eq!(
        batch.largest_timestamp(&rest),
        Err(RecordError::Timestamp { index: 1 })
    );
    header.base_timestamp = 0;
    header.base_offset = Offset(i64::MAX);
    let batch = parse(&[header.to_bytes().as_slice(), &rest].concat()).unwrap();
    assert_eq!(first_error(&batch), RecordError::Offset { index: 1 });
    assert_eq!(header.next_offset(), Offset(i64::MAX));
}

fn sample_batch() -> Batch {
    parse(&sample_bytes()).unwrap()
}

#[test]
fn row_32_codec_ids_without_a_codec_are_named() {
    for id in 5..=7i8 {
        let mut bytes = sample_bytes();
        bytes[22] = id.cast_unsigned();
        seal(&mut bytes);
        let error = first_error(&parse(&bytes).unwrap());
        assert_eq!(error, RecordError::Codec(CodecError::UnknownCodec(id)));
    }
}

#[test]
fn a_record_set_ends_at_the_first_thing_that_is_no_batch() {
    let one = sample_bytes();
    let mut set = [one.clone(), one.clone()].concat();
    let walk = |set: &[u8]| {
        let mut walk = batches(&Bytes::copy_from_slice(set));
        let whole = walk.by_ref().take_while(Result::is_ok).count();
        (whole, walk.next().is_none())
    };
    assert_eq!(walk(&set), (2, true));
    set.truncate(one.len() + 30);
    assert_eq!(walk(&set), (1, true));
    let last = batches(&Bytes::from(set)).last().unwrap();
    assert!(matches!(last, Err(BatchError::Truncated { available: 30, .. })));
    assert_eq!(walk(&[one.as_slice(), &[0; 100]].concat()), (1, true));
}

#[test]
fn a_prefix_replaces_what_the_checksum_does_not_cover() {
    let batch = sample_batch();
    let prefix = BatchPrefix::new(&batch, Offset(77), LeaderEpoch(5), NewTimestamps::Keep);
    assert_eq!(prefix.as_bytes().len(), 21);
    let stored = parse(&[prefix.as_bytes(), &batch.bytes()[21..]].concat()).unwrap();
    assert_eq!(stored.verify_crc(), Ok(()));
    let expected = BatchHeader {
        base_offset: Offset(77),
        leader_epoch: LeaderEpoch(5),
        ..*batch.header()
    };
    assert_eq!(stored.header(), &expected);
}

#[test]
fn a_prefix_with_new_timestamps_gets_a_new_checksum() {
    let batch = sample_batch();
    let stored = |timestamps| {
        let prefix = BatchPrefix::new(&batch, Offset(3), LeaderEpoch(1), timestamps);
        let stored = parse(&[prefix.as_bytes(), &batch.bytes()[prefix.as_bytes().len()..]].concat()).unwrap();
        assert_eq!(stored.verify_crc(), Ok(()));
        let times: Vec<i64> = stored
            .records(limit())
            .unwrap()
            .map(|record| record.unwrap().timestamp)
            .collect();
        (
            stored.header().max_timestamp,
            stored.header().attributes.timestamp_type(),
            times,
        )
    };
    let appended = (9_999, TimestampType::LogAppendTime, vec![9_999, 9_999]);
    assert_eq!(stored(NewTimestamps::LogAppend(9_999)), appended);
    let corrected = (1_005, TimestampType::CreateTime, vec![1_000, 1_005]);
    assert_eq!(stored(NewTimestamps::Max(1_005)), corrected);
}

#[test]
fn the_largest_timestamp_is_that_of_the_records_not_of_the_last_one() {
    let mut builder = BatchBuilder::new();
    for timestamp in [50, 90, 20] {
        builder.append(timestamp, None, Some(b"x"), &[]).unwrap();
    }
    let batch = Batch::parse(&builder.build().unwrap()).unwrap();
    assert_eq!(batch.header().max_timestamp, 90);
    assert_eq!(batch.largest_timestamp(&batch.stored_records()), Ok(Some(90)));
}

#[test]
fn a_batch_keeps_the_gaps_between_offsets() {
    let mut builder = BatchBuilder::new().with_base_offset(Offset(100));
    builder.append_at(Offset(103), 1, None, None, &[]).unwrap();
    builder.append_at(Offset(110), 1, None, None, &[]).unwrap();
    for refused in [Offset(110), Offset(99), Offset(100 + (1 << 31))] {
        let error = builder.append_at(refused, 1, None, None, &[]);
        assert_eq!(
            error,
            Err(BuildError::Offset {
                offset: refused,
                base: Offset(100)
            })
        );
    }
    let batch = Batch::parse(&builder.build().unwrap()).unwrap();
    assert_eq!(
        (batch.header().base_offset, batch.header().last_offset()),
        (Offset(100), Offset(110))
    );
    let offsets: Vec<Offset> = batch
        .records(limit())
        .unwrap()
        .map(|record| record.unwrap().offset)
        .collect();
    assert_eq!(offsets, [Offset(103), Offset(110)]);
    assert_eq!(BatchBuilder::new().build(), Err(BuildError::Empty));
}

#[test]
fn case_20_sequence_numbers_wrap_to_zero_inside_a_batch() {
    let producer = Producer {
        id: ProducerId(1),
        epoch: ProducerEpoch(0),
        base_sequence: i32::MAX - 1,
    };
    let mut builder = BatchBuilder::new().with_producer(producer);
    for _ in 0..4 {
        builder.append(1, None, None, &[]).unwrap();
    }
    let batch = Batch::parse(&builder.build().unwrap()).unwrap();
    assert_eq!(batch.header().last_sequence(), 1);
    let sequences: Vec<i32> = batch
        .records(limit())
        .unwrap()
        .map(|record| record.unwrap().sequence)
        .collect();
    assert_eq!(sequences, [i32::MAX - 1, i32::MAX, 0, 1]);
}

#[test]
fn a_marker_reads_back_and_other_kinds_are_told_apart() {
    for kind in [ControlRecordType::Commit, ControlRecordType::Abort] {
        let marker = EndTransactionMarker {
            kind,
            coordinator_epoch: 12,
        };
        assert_eq!(
            EndTransactionMarker::parse(&kind.key(), &marker.value()),
            Some(marker)
        );
        assert_eq!(EndTransactionMarker::parse(&kind.key(), &[0, 0, 1]), None);
    }
    assert_eq!(
        EndTransactionMarker::parse(&ControlRecordType::LeaderChange.key(), &[0; 6]),
        None
    );
    for kind in ControlRecordType::ALL {
        assert_eq!(ControlRecordType::from_key(&kind.key()), Some(kind));
    }
    for unknown in [&[0, 0, 0, 7][..], &[0, 0, 0], &[0xff, 0xff, 0, 1], &[]] {
        assert_eq!(ControlRecordType::from_key(unknown), None);
    }
}

type Sample = (
    i64,
    Option<Vec<u8>>,
    Option<Vec<u8>>,
    Vec<(Vec<u8>, Option<Vec<u8>>)>,
);

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let headers = prop::collection::vec((bytes(), prop::option::of(bytes())), 0..3);
    let one = (
        -1_000_000_000_000i64..1_000_000_000_000,
        prop::option::of(bytes()),
        prop::option::of(bytes()),
        headers,
    );
    prop::collection::vec(one, 1..30)
}

fn build(samples: &[Sample], codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new().with_compression(Compression::of(codec));
    for (timestamp, key, value, headers) in samples {
        let headers: Vec<HeaderRef<'_>> = headers
            .iter()
            .map(|(key, value)| HeaderRef {
                key,
                value: value.as_deref(),
            })
            .collect();
        builder
            .append(*timestamp, key.as_deref(), value.as_deref(), &headers)
            .unwrap();
    }
    let foretold = builder.size();
    let batch = builder.build().unwrap();
    if codec == Codec::None {
        assert_eq!(batch.len(), foretold);
    }
    batch
}

proptest! {
    #[test]
    fn what_is_built_reads_back(samples in samples(), codec in prop::sample::select(&Codec::ALL[..])) {
        let bytes = build(&samples, codec);
        let batch = Batch::parse(&bytes).unwrap();
        prop_assert_eq!(batch.verify_crc(), Ok(()));
        prop_assert_eq!(batch.header().check_count(), Ok(()));
        prop_assert_eq!(&BatchHeader::parse(&batch.header().to_bytes()).unwrap(), batch.header());
        let read: Vec<Record> = batch.records(limit()).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), samples.len());
        for (index, (record, (timestamp, key, value, headers))) in read.iter().zip(&samples).enumerate() {
            prop_assert_eq!(record.offset.0, i64::try_from(index).unwrap());
            prop_assert_eq!(record.timestamp, *timestamp);
            prop_assert_eq!(record.key.as_deref(), key.as_deref());
            prop_assert_eq!(record.value.as_deref(), value.as_deref());
            prop_assert_eq!(record.headers.len(), headers.len());
            for (read, (key, value)) in record.headers.iter().zip(headers) {
                prop_assert_eq!(&read.key, key);
                prop_assert_eq!(read.value.as_deref(), value.as_deref());
            }
        }
        prop_assert_eq!(batch.header().max_timestamp, samples.iter().map(|sample| sample.0).max().unwrap());
    }

    #[test]
    fn no_bytes_make_the_iterators_panic_or_run_on(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let bytes = Bytes::from(bytes);
        for entry in entries(&bytes).flatten() {
            let _ = entry.verify_crc();
            let _ = entry.records(limit());
        }
        prop_assert!(batches(&bytes).count() <= bytes.len());
        prop_assert!(RecordRefs::new(&bytes, i32::MAX).count() <= bytes.len() + 1);
    }

    #[test]
    fn a_damaged_batch_never_panics(
        samples in samples(),
        codec in prop::sample::select(&Codec::ALL[..]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = build(&samples, codec).to_vec();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for entry in entries(&Bytes::from(bytes)).flatten() {
            let _ = entry.records(limit());
        }
    }

    #[test]
    fn the_quick_way_through_records_finds_what_the_whole_one_does(
        samples in samples(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let batch = Batch::parse(&build(&samples, Codec::None)).unwrap();
        let mut payload = batch.payload(limit()).unwrap().to_vec();
        for (at, value) in damage {
            let at = at.index(payload.len());
            payload[at] = value;
        }
        let told = |record: Result<RecordRef<'_>, RecordError>| format!("{:?}", record.map(|record| {
            (record.attributes, record.offset_delta, record.timestamp_delta, record.key, record.value, record.headers.len())
        }));
        let quick = RecordRefs::new(&payload, batch.header().record_count);
        let whole = RecordRefs::new(&payload, batch.header().record_count).without_quick_way();
        prop_assert!(quick.map(told).eq(whole.map(told)));
    }
}

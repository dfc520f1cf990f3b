//! Produce.

use std::time::Duration;

use model::{Offset, Uuid};
use wire::records::{Codec, Compression, TimestampType};

use super::*;

#[test]
fn a_batch_is_appended_and_read_back_as_it_came() {
    let fixture = orders(&[]);
    let sent = batch(3);
    let response = send(&fixture, sent.clone());
    assert_eq!((code(&response), response.base_offset), (ErrorCode::None, 0));
    assert_eq!((response.log_append_time_ms, response.log_start_offset), (-1, 0));
    let fetched = first(ask(&fixture, &fetch_request("orders", 0)));
    assert_eq!(
        (
            fetched.error_code,
            fetched.high_watermark,
            fetched.last_stable_offset
        ),
        (0, 3, 3)
    );
    assert_eq!(
        bytes_of(&fetched)[21..],
        sent[21..],
        "only what the checksum does not cover is set by the leader"
    );
}

#[test]
fn every_version_of_produce_and_fetch_is_answered() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    for version in 3..=13 {
        let mut request = request("orders", 0, Some(batch(1)), -1);
        request.topic_data[0].topic_id = id;
        let response = answer(produce(fixture.replicas(), version, request));
        let base_offset = response.responses[0].partition_responses[0].base_offset;
        assert_eq!(base_offset, i64::from(version) - 3, "version {version}");
        assert!(response.to_bytes(version).is_ok());
    }
    for version in 4..=18 {
        let mut request = fetch_request("orders", 0);
        request.topics[0].topic_id = id;
        let response = answer(fetch(fixture.replicas(), version, &request));
        assert_eq!(
            response.responses[0].partitions[0].high_watermark, 11,
            "version {version}"
        );
        assert!(response.to_bytes(version).is_ok());
    }
}

#[test]
fn row_22_acks_that_mean_nothing_are_refused_for_every_partition() {
    let fixture = orders(&[]);
    for acks in [2, -2, i16::MAX, i16::MIN] {
        let response = only(answer(produce(
            fixture.replicas(),
            9,
            request("orders", 0, Some(batch(1)), acks),
        )));
        assert_eq!(code(&response), ErrorCode::InvalidRequiredAcks, "acks={acks}");
    }
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_23_acks_0_has_no_answer_and_an_error_closes_the_connection() {
    let fixture = orders(&[]);
    let sound = produce(fixture.replicas(), 9, request("orders", 0, Some(batch(1)), 0));
    assert!(matches!(sound, Reply::None));
    assert_eq!(end_of(&fixture), 1);
    let unknown = produce(fixture.replicas(), 9, request("unknown", 0, Some(batch(1)), 0));
    assert!(matches!(unknown, Reply::Close(_)));
}

#[test]
fn row_24_two_batches_or_an_old_format_are_no_batch() {
    let fixture = orders(&[]);
    let two = [batch(1), batch(1)].concat();
    assert_eq!(code(&send(&fixture, two.into())), ErrorCode::InvalidRecord);
    for magic in [0u8, 1, 3] {
        let mut old = batch(1).to_vec();
        old[16] = magic;
        assert_eq!(
            code(&send(&fixture, old.into())),
            ErrorCode::InvalidRecord,
            "magic {magic}"
        );
    }
    let none = only(answer(produce(
        fixture.replicas(),
        9,
        request("orders", 0, None, -1),
    )));
    assert_eq!(code(&none), ErrorCode::InvalidRecord);
    assert_eq!(code(&send(&fixture, Bytes::new())), ErrorCode::InvalidRecord);
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_25_a_damaged_batch_is_corrupt() {
    let fixture = orders(&[]);
    let sound = batch(2);
    let damaged = |at: usize, value: u8| {
        let mut bytes = sound.to_vec();
        bytes[at] = value;
        code(&send(&fixture, bytes.into()))
    };
    assert_eq!(damaged(sound.len() - 1, 0xee), ErrorCode::CorruptMessage);
    assert_eq!(damaged(17, 0xee), ErrorCode::CorruptMessage);
    assert_eq!(
        damaged(11, 48),
        ErrorCode::CorruptMessage,
        "a length below the header"
    );
    assert_eq!(
        damaged(8, 0x7f),
        ErrorCode::CorruptMessage,
        "a length past the end"
    );
    assert_eq!(damaged(8, 0xff), ErrorCode::CorruptMessage, "a negative length");
    assert_eq!(
        code(&send(&fixture, sound.slice(..40))),
        ErrorCode::CorruptMessage
    );
    assert_eq!(
        code(&send(&fixture, Bytes::from_static(b"x"))),
        ErrorCode::CorruptMessage
    );
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_26_counts_that_do_not_match_are_invalid() {
    let fixture = orders(&[]);
    for (count, last_offset_delta) in [(0i32, -1i32), (-1, -2), (2, 0), (1, 1), (i32::MAX, i32::MAX - 1)] {
        let forged = forge(&batch(2), |bytes| {
            bytes[57..61].copy_from_slice(&count.to_be_bytes());
            bytes[23..27].copy_from_slice(&last_offset_delta.to_be_bytes());
        });
        let response = send(&fixture, forged);
        assert_eq!(
            code(&response),
            ErrorCode::InvalidRecord,
            "{count} records, delta {last_offset_delta}"
        );
    }
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_27_offset_deltas_that_do_not_count_up_are_invalid_and_the_record_is_named() {
    let fixture = orders(&[]);
    for codec in [Codec::None, Codec::Lz4] {
        let mut builder = BatchBuilder::new().with_compression(Compression::of(codec));
        builder.append(now_ms(), None, Some(b"a"), &[]).unwrap();
        builder
            .append_at(Offset(2), now_ms(), None, Some(b"b"), &[])
            .unwrap();
        // Header and count are made to agree: only the record itself is wrong.
        let forged = forge(&builder.build().unwrap(), |bytes| {
            bytes[23..27].copy_from_slice(&1i32.to_be_bytes())
        });
        let response = send(&fixture, forged);
        assert_eq!(code(&response), ErrorCode::InvalidRecord, "{codec:?}");
        assert_eq!(
            response
                .record_errors
                .iter()
                .map(|error| error.batch_index)
                .collect::<Vec<_>>(),
            [1]
        );
    }
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_28_records_that_reach_past_their_batch_are_invalid() {
    let fixture = orders(&[]);
    for first_byte in [0x01u8, 0x7f, 0x7e] {
        let forged = forge(&batch(1), |bytes| bytes[61] = first_byte);
        let refused = code(&send(&fixture, forged));
        assert!(
            matches!(refused, ErrorCode::InvalidRecord | ErrorCode::CorruptMessage),
            "{refused:?}"
        );
    }
    let header_count = forge(&batch(1), |bytes| *bytes.last_mut().unwrap() = 0x7e);
    assert_eq!(code(&send(&fixture, header_count)), ErrorCode::InvalidRecord);
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_29_a_client_may_not_write_control_batches() {
    let fixture = orders(&[]);
    let control = forge(&batch(1), |bytes| bytes[22] |= 0x20);
    assert_eq!(code(&send(&fixture, control)), ErrorCode::InvalidRecord);
}

#[test]
fn row_30_a_compression_bomb_is_invalid() {
    let fixture = orders(&[("max.message.bytes", "10000000")]);
    for codec in [Codec::Gzip, Codec::Zstd] {
        let mut builder = BatchBuilder::new().with_compression(Compression::of(codec));
        builder
            .append(now_ms(), None, Some(&vec![0; 20 << 20]), &[])
            .unwrap();
        let response = send(&fixture, builder.build().unwrap());
        assert_eq!(code(&response), ErrorCode::InvalidRecord, "{codec:?}");
    }
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_31_compressed_data_that_is_broken_is_corrupt() {
    let fixture = orders(&[]);
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let sound = build(BatchBuilder::new().with_compression(Compression::of(codec)), 5);
        assert_eq!(code(&send(&fixture, sound.clone())), ErrorCode::None, "{codec:?}");
        let broken = forge(&sound, |bytes| bytes[61..].fill(0x55));
        assert_eq!(
            code(&send(&fixture, broken)),
            ErrorCode::CorruptMessage,
            "{codec:?}"
        );
    }
}

#[test]
fn row_32_codecs_that_do_not_exist_are_unsupported_and_zstd_needs_version_7() {
    let fixture = orders(&[]);
    for codec in 5..=7u8 {
        let forged = forge(&batch(1), |bytes| bytes[22] |= codec);
        assert_eq!(
            code(&send(&fixture, forged)),
            ErrorCode::UnsupportedCompressionType,
            "codec {codec}"
        );
    }
    let zstd = build(
        BatchBuilder::new().with_compression(Compression::of(Codec::Zstd)),
        1,
    );
    assert_eq!(
        code(&send_at(&fixture, 6, zstd.clone())),
        ErrorCode::UnsupportedCompressionType
    );
    assert_eq!(code(&send_at(&fixture, 7, zstd)), ErrorCode::None);
}

#[test]
fn row_33_timestamps_far_off_are_invalid_and_never_wrap() {
    let fixture = orders(&[]);
    for timestamp in [now_ms() + 7_200_000, i64::MAX] {
        let mut builder = BatchBuilder::new();
        builder.append(timestamp, None, Some(b"x"), &[]).unwrap();
        let response = send(&fixture, builder.build().unwrap());
        assert_eq!(code(&response), ErrorCode::InvalidTimestamp, "{timestamp}");
    }
    let overflow = forge(&batch(2), |bytes| {
        bytes[27..35].copy_from_slice(&i64::MAX.to_be_bytes())
    });
    assert!(matches!(
        code(&send(&fixture, overflow)),
        ErrorCode::InvalidTimestamp
    ));
    assert_eq!(end_of(&fixture), 0);
}

#[test]
fn row_35_partitions_that_do_not_exist_are_unknown() {
    let fixture = orders(&[]);
    for partition in [-1, 1, i32::MAX, i32::MIN] {
        let response = only(answer(produce(
            fixture.replicas(),
            9,
            request("orders", partition, Some(batch(1)), 1),
        )));
        assert_eq!(code(&response), ErrorCode::UnknownTopicOrPartition);
        let asked = FetchRequest {
            topics: vec![fetch_topic("orders", &[(partition, 0)])],
            ..fetch_request("orders", 0)
        };
        assert_eq!(
            first(ask(&fixture, &asked)).error_code,
            ErrorCode::UnknownTopicOrPartition as i16
        );
        let offsets = ListOffsetsPartition {
            partition_index: partition,
            timestamp: -1,
            ..Default::default()
        };
        let found = ask_offsets(&fixture, 5, "orders", vec![offsets]).remove(0);
        assert_eq!(found.error_code, ErrorCode::UnknownTopicOrPartition as i16);
    }
    let mut by_id = request("orders", 0, Some(batch(1)), 1);
    by_id.topic_data[0].topic_id = Uuid([77; 16]);
    assert_eq!(
        code(&only(answer(produce(fixture.replicas(), 13, by_id)))),
        ErrorCode::UnknownTopicId
    );
}

#[test]
fn row_36_clients_may_not_write_internal_topics_whatever_they_call_themselves() {
    let mut fixture = Fixture::new();
    fixture.topic("__consumer_offsets", 1, &[]);
    let request = request("__consumer_offsets", 0, Some(batch(1)), -1);
    assert_eq!(
        code(&only(answer(produce(fixture.replicas(), 9, request)))),
        ErrorCode::InvalidTopicException
    );
}

#[test]
fn case_20_sequences_wrap_from_the_largest_number_to_0() {
    let fixture = orders(&[]);
    for (base_sequence, count, offset) in [(2_147_483_640, 6, 0), (2_147_483_646, 4, 6), (2, 1, 10)] {
        let response = send(&fixture, idempotent(0, base_sequence, count));
        assert_eq!((code(&response), response.base_offset), (ErrorCode::None, offset));
    }
    assert_eq!(
        code(&send(&fixture, idempotent(0, -5, 1))),
        ErrorCode::InvalidRecord
    );
}

#[test]
fn case_21_the_last_five_batches_of_a_producer_are_known_again() {
    let fixture = orders(&[]);
    for sequence in 0..6 {
        assert_eq!(
            send(&fixture, idempotent(0, sequence, 1)).base_offset,
            i64::from(sequence)
        );
    }
    for sequence in 1..6 {
        let again = send(&fixture, idempotent(0, sequence, 1));
        assert_eq!(
            (code(&again), again.base_offset),
            (ErrorCode::None, i64::from(sequence))
        );
    }
    assert_eq!(
        code(&send(&fixture, idempotent(0, 0, 1))),
        ErrorCode::OutOfOrderSequenceNumber,
        "the sixth is not"
    );
    assert_eq!(
        code(&send(&fixture, idempotent(0, 7, 1))),
        ErrorCode::OutOfOrderSequenceNumber,
        "a gap"
    );
    assert_eq!(
        code(&send(&fixture, idempotent(1, 3, 1))),
        ErrorCode::OutOfOrderSequenceNumber,
        "a new epoch begins at 0"
    );
    assert_eq!(code(&send(&fixture, idempotent(1, 0, 1))), ErrorCode::None);
    assert_eq!(
        code(&send(&fixture, idempotent(0, 6, 1))),
        ErrorCode::InvalidProducerEpoch,
        "the old one is fenced"
    );
    assert_eq!(end_of(&fixture), 7);
}

#[test]
fn case_21_a_producer_is_known_again_after_a_restart() {
    let mut fixture = orders(&[]);
    for sequence in 0..3 {
        send(&fixture, idempotent(0, sequence, 1));
    }
    for clean in [true, false] {
        if clean {
            fixture.close()
        } else {
            fixture.kill()
        }
        fixture.open().unwrap();
        assert_eq!(send(&fixture, idempotent(0, 2, 1)).base_offset, 2);
        assert_eq!(
            code(&send(&fixture, idempotent(0, 9, 1))),
            ErrorCode::OutOfOrderSequenceNumber
        );
    }
    assert_eq!(end_of(&fixture), 3);
}

#[test]
fn case_22_a_producer_that_was_forgotten_goes_on_where_it_was() {
    let mut fixture = Fixture::with(&[("producer.id.expiration.ms", "1")]);
    fixture.topic("orders", 1, &[]);
    send(&fixture, idempotent(0, 0, 1));
    std::thread::sleep(Duration::from_millis(5));
    let orders = fixture.replicas().partition("orders", 0).unwrap();
    orders.expire_producers(now_ms());
    assert_eq!(code(&send(&fixture, idempotent(0, 7, 1))), ErrorCode::None);
}

#[test]
fn case_24_append_time_is_stamped_told_and_found() {
    let fixture = orders(&[("message.timestamp.type", "LogAppendTime")]);
    let before = now_ms();
    let mut builder = BatchBuilder::new();
    for timestamp in [5, 6, 7] {
        builder.append(timestamp, None, Some(b"x"), &[]).unwrap();
    }
    let response = send(&fixture, builder.build().unwrap());
    let stamped = response.log_append_time_ms;
    assert!(stamped >= before && stamped <= now_ms());
    let fetched = bytes_of(&first(ask(&fixture, &fetch_request("orders", 0))));
    let batch = batches(&fetched).next().unwrap().unwrap();
    assert_eq!(batch.verify_crc(), Ok(()));
    assert_eq!(
        batch.header().attributes.timestamp_type(),
        TimestampType::LogAppendTime
    );
    assert_eq!(batch.header().max_timestamp, stamped);
    assert_eq!(
        (
            find(&fixture, 1, stamped).offset,
            find(&fixture, 1, stamped + 1).offset
        ),
        (0, -1)
    );
}

#[test]
fn case_25_what_a_topic_does_not_allow_is_refused_with_its_code() {
    let fixture = orders(&[("max.message.bytes", "500")]);
    let mut large = BatchBuilder::new();
    large
        .append(now_ms(), Some(b"key"), Some(&[7; 1_000]), &[])
        .unwrap();
    assert_eq!(
        code(&send(&fixture, large.build().unwrap())),
        ErrorCode::MessageTooLarge
    );
    let mut compacted = Fixture::new();
    compacted.topic("orders", 1, &[("cleanup.policy", "compact")]);
    let mut keyless = BatchBuilder::new();
    keyless.append(now_ms(), Some(b"key"), Some(b"x"), &[]).unwrap();
    keyless.append(now_ms(), None, Some(b"x"), &[]).unwrap();
    let response = send(&compacted, keyless.build().unwrap());
    assert_eq!(code(&response), ErrorCode::InvalidRecord);
    assert_eq!(
        response
            .record_errors
            .iter()
            .map(|error| error.batch_index)
            .collect::<Vec<_>>(),
        [1]
    );
    assert!(response.error_message.is_some());
    assert_eq!(end_of(&compacted), 0, "one bad record refuses its whole batch");
    let transactional = BatchBuilder::new().transactional().with_producer(Producer {
        id: ProducerId(1),
        epoch: ProducerEpoch(0),
        base_sequence: 0,
    });
    let response = send(&fixture, build(transactional, 1));
    assert_eq!(code(&response), ErrorCode::TransactionalIdAuthorizationFailed);
}

#[test]
fn a_request_over_many_partitions_is_answered_when_the_last_one_is_durable() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 6, &[]);
    let data = (0..7).map(|index| PartitionProduceData {
        index,
        records: Some(batch(2).into()),
    });
    let mut request = request("orders", 0, None, -1);
    request.topic_data[0].partition_data = data.collect();
    let response = answer(produce(fixture.replicas(), 9, request));
    let partitions = &response.responses[0].partition_responses;
    let codes: Vec<i16> = partitions.iter().map(|partition| partition.error_code).collect();
    assert_eq!(
        codes,
        [0, 0, 0, 0, 0, 0, ErrorCode::UnknownTopicOrPartition as i16]
    );
    for index in 0..6 {
        let partition = fixture.replicas().partition("orders", index).unwrap();
        assert_eq!(partition.high_watermark(), Some(Offset(2)));
    }
}

#[test]
fn rule_57_a_produce_whose_time_is_up_is_told_so_and_what_was_appended_stays() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    // The watermark stands still.
    fixture.replicas().partition("orders", 0).unwrap().never_sync();
    let mut late = request("orders", 0, Some(batch(1)), -1);
    late.timeout_ms = 30;
    let response = only(answer(produce(fixture.replicas(), 9, late)));
    assert_eq!(
        (code(&response), response.base_offset),
        (ErrorCode::RequestTimedOut, -1)
    );
    assert_eq!(end_of(&fixture), 1);
    let waiting = produce(fixture.replicas(), 9, request("orders", 0, Some(batch(1)), -1));
    fixture.lead(id, 0, -1);
    assert_eq!(code(&only(answer(waiting))), ErrorCode::NotLeaderOrFollower);
}

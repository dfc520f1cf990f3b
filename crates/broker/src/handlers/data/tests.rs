//! Records and offsets as clients see them: cases from the field and bad input, each by name.

use std::time::Duration;

use bytes::Bytes;
use model::{ErrorCode, Offset, ProducerEpoch, ProducerId, Uuid};
use wire::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, PartitionData, ReplicaState,
};
use wire::messages::init_producer_id::InitProducerIdRequest;
use wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};
use wire::messages::offset_for_leader_epoch::{
    OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use wire::records::{BatchBuilder, Codec, Compression, Producer, TimestampType, batches};
use wire::{Message, Records};

use super::fetch::fetch;
use super::list_offsets::list_offsets;
use super::offset_for_leader_epoch::offset_for_leader_epoch;
use super::produce::produce;
use crate::dispatch::{Reply, now_ms};
use crate::replicas::fixture::{Fixture, answer};

const NEWEST_PRODUCE: i16 = 12;
const NEWEST_FETCH: i16 = 12;

/// A broker with the topic `orders` of one partition.
fn orders(settings: &[(&str, &str)]) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 1, settings);
    fixture
}

fn batch(count: usize) -> Bytes {
    build(BatchBuilder::new(), count)
}

fn build(mut builder: BatchBuilder, count: usize) -> Bytes {
    for index in 0..count {
        builder
            .append(
                now_ms(),
                Some(b"key"),
                Some(format!("value {index}").as_bytes()),
                &[],
            )
            .unwrap();
    }
    builder.build().unwrap()
}

fn idempotent(epoch: i16, base_sequence: i32, count: usize) -> Bytes {
    let producer = Producer {
        id: ProducerId(9),
        epoch: ProducerEpoch(epoch),
        base_sequence,
    };
    build(BatchBuilder::new().with_producer(producer), count)
}

fn request(topic: &str, partition: i32, records: Option<Bytes>, acks: i16) -> ProduceRequest {
    let data = PartitionProduceData {
        index: partition,
        records: records.map(Records::from),
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

fn only(response: ProduceResponse) -> PartitionProduceResponse {
    response
        .responses
        .into_iter()
        .next()
        .unwrap()
        .partition_responses
        .into_iter()
        .next()
        .unwrap()
}

/// What producing to `orders` comes to, with acks=all.
fn send(fixture: &Fixture, records: Bytes) -> PartitionProduceResponse {
    send_at(fixture, NEWEST_PRODUCE, records)
}

fn send_at(fixture: &Fixture, version: i16, records: Bytes) -> PartitionProduceResponse {
    only(answer(produce(
        fixture.replicas(),
        version,
        request("orders", 0, Some(records), -1),
    )))
}

fn code(response: &PartitionProduceResponse) -> ErrorCode {
    ErrorCode::from_code(response.error_code).unwrap()
}

/// Changes a batch behind its checksum, and makes that right again.
fn forge(batch: &Bytes, change: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = batch.to_vec();
    change(&mut bytes);
    let crc = crc32c_of(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

/// CRC-32C, bit by bit.
fn crc32c_of(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}

fn end_of(fixture: &Fixture) -> i64 {
    fixture
        .replicas()
        .partition("orders", 0)
        .unwrap()
        .bounds()
        .unwrap()
        .1
        .0
}

fn fetch_request(topic: &str, offset: i64) -> FetchRequest {
    FetchRequest {
        max_wait_ms: 0,
        min_bytes: 1,
        topics: vec![fetch_topic(topic, &[(0, offset)])],
        ..FetchRequest::default()
    }
}

fn fetch_topic(topic: &str, partitions: &[(i32, i64)]) -> FetchTopic {
    let partitions = partitions.iter().map(|(partition, fetch_offset)| FetchPartition {
        partition: *partition,
        fetch_offset: *fetch_offset,
        partition_max_bytes: 1 << 20,
        ..FetchPartition::default()
    });
    FetchTopic {
        topic: topic.into(),
        partitions: partitions.collect(),
        ..FetchTopic::default()
    }
}

fn ask(fixture: &Fixture, request: &FetchRequest) -> FetchResponse {
    answer(fetch(fixture.replicas(), NEWEST_FETCH, request))
}

fn partitions(response: FetchResponse) -> Vec<PartitionData> {
    response
        .responses
        .into_iter()
        .flat_map(|topic| topic.partitions)
        .collect()
}

fn first(response: FetchResponse) -> PartitionData {
    partitions(response).into_iter().next().unwrap()
}

fn bytes_of(data: &PartitionData) -> Bytes {
    data.records.as_ref().unwrap().to_bytes().unwrap()
}

fn count_of(data: &PartitionData) -> i32 {
    batches(&bytes_of(data))
        .map(|batch| batch.unwrap().header().record_count)
        .sum()
}

fn find(fixture: &Fixture, version: i16, timestamp: i64) -> ListOffsetsPartitionResponse {
    let asked = ListOffsetsPartition {
        partition_index: 0,
        timestamp,
        ..ListOffsetsPartition::default()
    };
    ask_offsets(fixture, version, "orders", vec![asked]).remove(0)
}

fn ask_offsets(
    fixture: &Fixture,
    version: i16,
    topic: &str,
    partitions: Vec<ListOffsetsPartition>,
) -> Vec<ListOffsetsPartitionResponse> {
    let request = ListOffsetsRequest {
        replica_id: -1,
        topics: vec![ListOffsetsTopic {
            name: topic.into(),
            partitions,
        }],
        ..ListOffsetsRequest::default()
    };
    let response = answer(list_offsets(&fixture.replicas().topics(), version, request));
    response
        .topics
        .into_iter()
        .flat_map(|topic| topic.partitions)
        .collect()
}

// Produce

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

// Fetch

#[test]
fn case_27_a_fetch_inside_a_batch_gets_the_batch() {
    let fixture = orders(&[]);
    send(&fixture, batch(2));
    send(&fixture, batch(2));
    let spans = |offset| {
        let data = first(ask(&fixture, &fetch_request("orders", offset)));
        let headers = batches(&bytes_of(&data)).map(|batch| batch.unwrap().header().base_offset.0);
        headers.collect::<Vec<_>>()
    };
    assert_eq!((spans(1), spans(3), spans(4)), (vec![0, 2], vec![2], vec![]));
}

/// A session over `orders` and the two partitions of `quiet`.
struct FetchSession<'a> {
    fixture: &'a Fixture,
    id: i32,
}

impl<'a> FetchSession<'a> {
    fn open(fixture: &'a Fixture) -> (FetchSession<'a>, Vec<PartitionData>) {
        let open = FetchRequest {
            session_epoch: 0,
            topics: vec![
                fetch_topic("orders", &[(0, 0)]),
                fetch_topic("quiet", &[(0, 0), (1, 0)]),
            ],
            ..fetch_request("orders", 0)
        };
        let opened = ask(fixture, &open);
        (
            FetchSession {
                fixture,
                id: opened.session_id,
            },
            partitions(opened),
        )
    }

    fn round(&self, epoch: i32, topics: Vec<FetchTopic>, max_wait_ms: i32) -> FetchRequest {
        FetchRequest {
            session_id: self.id,
            session_epoch: epoch,
            topics,
            max_wait_ms,
            min_bytes: 1,
            ..FetchRequest::default()
        }
    }

    /// An answer without a wait.
    fn ask(&self, epoch: i32, topics: Vec<FetchTopic>) -> FetchResponse {
        ask(self.fixture, &self.round(epoch, topics, 0))
    }
}

fn with_quiet_topic() -> Fixture {
    let mut fixture = orders(&[]);
    fixture.topic("quiet", 2, &[]);
    send(&fixture, batch(1));
    fixture
}

#[test]
fn case_28_a_session_answers_what_changed_and_an_idle_round_waits() {
    let fixture = with_quiet_topic();
    let (session, opened) = FetchSession::open(&fixture);
    assert!(session.id > 0);
    assert_eq!(opened.len(), 3, "the first answer names everything");
    let again = partitions(session.ask(1, vec![]));
    assert_eq!(
        (again.len(), count_of(&again[0])),
        (1, 1),
        "the client did not move on"
    );
    let began = std::time::Instant::now();
    let idle = ask(
        &fixture,
        &session.round(2, vec![fetch_topic("orders", &[(0, 1)])], 150),
    );
    assert!(began.elapsed() >= Duration::from_millis(140));
    assert_eq!(
        (idle.error_code, idle.session_id, partitions(idle).len()),
        (0, session.id, 0)
    );
    let waiting = fetch(
        fixture.replicas(),
        NEWEST_FETCH,
        &session.round(3, vec![], 20_000),
    );
    only(answer(produce(
        fixture.replicas(),
        9,
        request("quiet", 1, Some(batch(4)), 1),
    )));
    let woken = partitions(answer(waiting));
    assert_eq!(
        woken
            .iter()
            .map(|data| (data.partition_index, count_of(data)))
            .collect::<Vec<_>>(),
        [(1, 4)]
    );
}

#[test]
fn case_28_what_is_forgotten_is_not_told_of() {
    let fixture = with_quiet_topic();
    let (session, _) = FetchSession::open(&fixture);
    let forgotten = ForgottenTopic {
        topic: "orders".into(),
        partitions: vec![0],
        ..ForgottenTopic::default()
    };
    let round = FetchRequest {
        forgotten_topics_data: vec![forgotten],
        ..session.round(1, vec![], 0)
    };
    assert_eq!(partitions(ask(&fixture, &round)).len(), 0);
    send(&fixture, batch(1));
    assert_eq!(partitions(session.ask(2, vec![])).len(), 0);
}

#[test]
fn case_28_a_wrong_round_an_unknown_session_and_a_closed_one_are_told_apart() {
    let fixture = with_quiet_topic();
    let (session, _) = FetchSession::open(&fixture);
    assert_eq!(session.ask(2, vec![]).error_code, 71, "a round too early");
    assert_eq!(session.ask(1, vec![]).error_code, 0);
    assert_eq!(session.ask(1, vec![]).error_code, 71, "a round that was already");
    let unknown = FetchSession {
        fixture: &fixture,
        id: session.id ^ 1,
    };
    let refused = unknown.ask(2, vec![]);
    assert_eq!(
        (refused.error_code, refused.session_id, refused.responses.len()),
        (70, 0, 0)
    );
    let closing = session.ask(-1, vec![]);
    assert_eq!((closing.error_code, closing.session_id), (0, 0));
    assert_eq!(session.ask(2, vec![]).error_code, 70, "it was closed");
}

#[test]
fn a_session_without_partitions_ends() {
    let fixture = orders(&[]);
    let open = FetchRequest {
        session_epoch: 0,
        ..fetch_request("orders", 0)
    };
    let session_id = ask(&fixture, &open).session_id;
    let forgotten = ForgottenTopic {
        topic: "orders".into(),
        partitions: vec![0],
        ..ForgottenTopic::default()
    };
    let last = FetchRequest {
        session_id,
        session_epoch: 1,
        forgotten_topics_data: vec![forgotten],
        max_wait_ms: 60_000,
        min_bytes: 1,
        ..FetchRequest::default()
    };
    let response = ask(&fixture, &last);
    assert_eq!(
        (response.error_code, response.session_id, response.responses.len()),
        (0, 0, 0)
    );
    assert_eq!(
        ask(
            &fixture,
            &FetchRequest {
                session_epoch: 2,
                ..last
            }
        )
        .error_code,
        70
    );
}

#[test]
fn a_session_that_found_no_place_is_none() {
    let mut fixture = Fixture::with(&[("max.incremental.fetch.session.cache.slots", "1")]);
    fixture.topic("orders", 1, &[]);
    let open = FetchRequest {
        session_epoch: 0,
        ..fetch_request("orders", 0)
    };
    assert!(ask(&fixture, &open).session_id > 0);
    let second = ask(&fixture, &open);
    assert_eq!((second.session_id, partitions(second).len()), (0, 1));
}

#[test]
fn partitions_take_turns_under_a_small_limit() {
    let mut fixture = Fixture::new();
    fixture.topic("orders", 3, &[]);
    for index in 0..3 {
        only(answer(produce(
            fixture.replicas(),
            9,
            request("orders", index, Some(batch(50)), -1),
        )));
    }
    let open = FetchRequest {
        session_epoch: 0,
        max_bytes: 10,
        topics: vec![fetch_topic("orders", &[(0, 0), (1, 0), (2, 0)])],
        ..fetch_request("orders", 0)
    };
    let with_records = |response: FetchResponse| {
        let told = partitions(response);
        let with = told.iter().filter(|data| !bytes_of(data).is_empty());
        with.map(|data| data.partition_index).collect::<Vec<_>>()
    };
    let opened = ask(&fixture, &open);
    let session_id = opened.session_id;
    let mut order = with_records(opened);
    for epoch in 1..5 {
        let round = FetchRequest {
            session_id,
            session_epoch: epoch,
            max_bytes: 10,
            min_bytes: 1,
            ..FetchRequest::default()
        };
        order.extend(with_records(ask(&fixture, &round)));
    }
    assert_eq!(
        order,
        [0, 1, 2, 0, 1],
        "a first batch larger than the limit is returned whole, one at a time"
    );
}

#[test]
fn case_29_an_empty_fetch_waits_and_data_ends_the_wait() {
    let fixture = orders(&[]);
    let began = std::time::Instant::now();
    let empty = FetchRequest {
        max_wait_ms: 100,
        ..fetch_request("orders", 0)
    };
    assert_eq!(count_of(&first(ask(&fixture, &empty))), 0);
    assert!(began.elapsed() >= Duration::from_millis(95));
    let waiting = fetch(
        fixture.replicas(),
        NEWEST_FETCH,
        &FetchRequest {
            max_wait_ms: 60_000,
            ..empty
        },
    );
    send(&fixture, batch(2));
    assert_eq!(count_of(&first(answer(waiting))), 2);
}

#[test]
fn a_fetch_waits_for_min_bytes_and_counts_them_over_appends() {
    let fixture = orders(&[]);
    let one = i32::try_from(batch(1).len()).unwrap();
    let patient = FetchRequest {
        max_wait_ms: 60_000,
        min_bytes: 3 * one,
        ..fetch_request("orders", 0)
    };
    let Reply::Later(mut waiting) = fetch(fixture.replicas(), NEWEST_FETCH, &patient) else {
        panic!()
    };
    for _ in 0..2 {
        send(&fixture, batch(1));
        assert!(waiting.try_recv().is_err(), "not enough yet");
    }
    send(&fixture, batch(1));
    assert_eq!(count_of(&first(waiting.blocking_recv().unwrap())), 3);
}

#[test]
fn a_fetch_that_waits_is_answered_when_its_partition_goes_away() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    let empty = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("orders", 0)
    };
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    fixture.lead(id, 0, -1);
    assert_eq!(
        first(answer(waiting)).error_code,
        ErrorCode::NotLeaderOrFollower as i16
    );
    fixture.lead(id, 0, 1);
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    fixture.delete_topic(id);
    assert_eq!(
        first(answer(waiting)).error_code,
        ErrorCode::UnknownTopicOrPartition as i16
    );
}

#[test]
fn a_stop_answers_the_fetches_that_wait() {
    let mut fixture = orders(&[]);
    let empty = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("orders", 0)
    };
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    fixture.replicas().begin_stop();
    assert_eq!(first(answer(waiting)).error_code, 0);
    let late = fetch(fixture.replicas(), NEWEST_FETCH, &empty);
    assert_eq!(
        first(answer(late)).error_code,
        0,
        "and those that come late do not wait"
    );
    fixture.close();
}

#[test]
fn case_30_outside_of_the_log_is_out_of_range_with_offsets_unknown() {
    let fixture = orders(&[]);
    send(&fixture, batch(2));
    for offset in [-1, 3, i64::MAX] {
        let data = first(ask(&fixture, &fetch_request("orders", offset)));
        assert_eq!(data.error_code, ErrorCode::OffsetOutOfRange as i16);
        assert_eq!(
            (
                data.high_watermark,
                data.last_stable_offset,
                data.log_start_offset
            ),
            (-1, -1, -1)
        );
        assert!(
            data.records.is_some_and(|records| records.is_empty()),
            "empty, never null"
        );
    }
    let end = first(ask(&fixture, &fetch_request("orders", 2)));
    assert_eq!((end.error_code, count_of(&end), end.high_watermark), (0, 0, 2));
}

#[test]
fn case_7_fields_without_a_meaning_have_their_neutral_values() {
    let fixture = orders(&[]);
    send(&fixture, batch(1));
    let data = first(ask(&fixture, &fetch_request("orders", 0)));
    assert_eq!(
        (data.preferred_read_replica, data.aborted_transactions),
        (-1, None)
    );
    let committed = FetchRequest {
        isolation_level: 1,
        ..fetch_request("orders", 0)
    };
    assert_eq!(
        first(ask(&fixture, &committed)).aborted_transactions,
        Some(Vec::new())
    );
}

#[test]
fn row_37_sizes_and_waits_out_of_all_proportion_are_clamped() {
    let fixture = orders(&[]);
    send(&fixture, batch(1));
    for bytes in [0, -1, i32::MIN, i32::MAX] {
        let mut request = FetchRequest {
            max_bytes: bytes,
            min_bytes: bytes,
            ..fetch_request("orders", 0)
        };
        request.topics[0].partitions[0].partition_max_bytes = bytes;
        let data = first(ask(&fixture, &request));
        assert_eq!((data.error_code, data.high_watermark), (0, 1));
    }
    for max_wait_ms in [i32::MIN, -1] {
        let request = FetchRequest {
            max_wait_ms,
            ..fetch_request("orders", 1)
        };
        assert_eq!(count_of(&first(ask(&fixture, &request))), 0);
    }
    let forever = FetchRequest {
        max_wait_ms: i32::MAX,
        ..fetch_request("orders", 1)
    };
    let waiting = fetch(fixture.replicas(), NEWEST_FETCH, &forever);
    send(&fixture, batch(1));
    assert_eq!(count_of(&first(answer(waiting))), 1);
}

#[test]
fn row_38_naming_a_broker_in_a_fetch_gives_nothing() {
    let fixture = orders(&[]);
    send(&fixture, batch(1));
    let old = FetchRequest {
        replica_id: 1,
        ..fetch_request("orders", 0)
    };
    let new = FetchRequest {
        replica_state: ReplicaState {
            replica_id: 1,
            replica_epoch: 1,
        },
        ..fetch_request("orders", 0)
    };
    for (version, request) in [(12, old), (17, new)] {
        let response = answer(fetch(fixture.replicas(), version, &request));
        let data = first(response);
        assert_eq!(data.error_code, ErrorCode::ClusterAuthorizationFailed as i16);
        assert!(bytes_of(&data).is_empty());
    }
}

#[test]
fn unknown_topics_have_the_code_of_how_they_were_named() {
    let fixture = orders(&[]);
    let by_name = first(ask(&fixture, &fetch_request("unknown", 0)));
    assert_eq!(by_name.error_code, ErrorCode::UnknownTopicOrPartition as i16);
    let mut by_id = fetch_request("", 0);
    by_id.topics[0].topic_id = Uuid([77; 16]);
    let by_id = first(answer(fetch(fixture.replicas(), 13, &by_id)));
    assert_eq!(by_id.error_code, ErrorCode::UnknownTopicId as i16);
}

#[test]
fn a_session_does_not_mix_names_and_ids() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    let mut open = FetchRequest {
        session_epoch: 0,
        ..fetch_request("orders", 0)
    };
    open.topics[0].topic_id = id;
    let session_id = answer(fetch(fixture.replicas(), 13, &open)).session_id;
    let round = FetchRequest {
        session_id,
        session_epoch: 1,
        ..FetchRequest::default()
    };
    assert_eq!(answer(fetch(fixture.replicas(), 12, &round)).error_code, 106);
}

#[test]
fn what_is_older_than_this_process_is_read_by_a_request_handler() {
    let mut fixture = orders(&[]);
    send(&fixture, batch(3));
    fixture.close();
    fixture.open().unwrap();
    let cold = fetch(fixture.replicas(), NEWEST_FETCH, &fetch_request("orders", 0));
    assert!(matches!(cold, Reply::Blocking(_)));
    assert_eq!(count_of(&first(answer(cold))), 3);
    send(&fixture, batch(1));
    let warm = fetch(fixture.replicas(), NEWEST_FETCH, &fetch_request("orders", 3));
    assert!(matches!(warm, Reply::Later(_)));
    assert_eq!(count_of(&first(answer(warm))), 1);
}

// ListOffsets, OffsetForLeaderEpoch, InitProducerId

#[test]
fn case_34_named_offsets_need_the_version_that_brought_them() {
    let fixture = orders(&[]);
    send(&fixture, batch(2));
    for (timestamp, first_version, offset) in [
        (-1, 1, 2),
        (-2, 1, 0),
        (-3, 7, 0),
        (-4, 8, 0),
        (-5, 9, -1),
        (-6, 11, -1),
    ] {
        for version in 1..=11 {
            let found = find(&fixture, version, timestamp);
            let expected = if version < first_version {
                (35, -1)
            } else {
                (0, offset)
            };
            assert!(
                (found.error_code, found.offset) == expected || timestamp == -3 && found.offset >= 0,
                "{timestamp} at version {version}: {found:?}"
            );
        }
    }
    assert_eq!(find(&fixture, 11, -7).error_code, 35);
    assert_eq!(find(&fixture, 11, i64::MIN).error_code, 35);
    let late = find(&fixture, 11, now_ms() + 1_000_000);
    assert_eq!((late.error_code, late.offset, late.timestamp), (0, -1, -1));
}

#[test]
fn a_partition_asked_for_twice_is_an_invalid_request_for_it() {
    let fixture = orders(&[]);
    let asked = || ListOffsetsPartition {
        partition_index: 0,
        timestamp: -1,
        ..ListOffsetsPartition::default()
    };
    let found = ask_offsets(&fixture, 5, "orders", vec![asked(), asked()]);
    assert!(
        found
            .iter()
            .all(|found| found.error_code == ErrorCode::InvalidRequest as i16)
    );
    let unknown = ask_offsets(&fixture, 5, "unknown", vec![asked()]).remove(0);
    assert_eq!(unknown.error_code, ErrorCode::UnknownTopicOrPartition as i16);
}

#[test]
fn only_what_has_to_be_read_goes_to_a_request_handler() {
    let fixture = orders(&[]);
    let reply = |timestamp| {
        let asked = ListOffsetsPartition {
            timestamp,
            ..ListOffsetsPartition::default()
        };
        let topics = vec![ListOffsetsTopic {
            name: "orders".into(),
            partitions: vec![asked],
        }];
        let request = ListOffsetsRequest {
            replica_id: -1,
            topics,
            ..ListOffsetsRequest::default()
        };
        list_offsets(&fixture.replicas().topics(), 7, request)
    };
    assert!(matches!(reply(-1), Reply::Now(_)) && matches!(reply(-2), Reply::Now(_)));
    assert!(matches!(reply(-3), Reply::Blocking(_)) && matches!(reply(5), Reply::Blocking(_)));
}

#[test]
fn the_end_of_an_epoch_is_told_to_who_knows_the_current_one() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    send(&fixture, batch(2));
    fixture.lead(id, 0, -1);
    fixture.lead(id, 0, 1);
    send(&fixture, batch(1));
    let ask = |topic: &str, current, epoch| {
        let partition = OffsetForLeaderPartition {
            partition: 0,
            current_leader_epoch: current,
            leader_epoch: epoch,
        };
        let topics = vec![OffsetForLeaderTopic {
            topic: topic.into(),
            partitions: vec![partition],
        }];
        let request = OffsetForLeaderEpochRequest {
            topics,
            ..OffsetForLeaderEpochRequest::default()
        };
        let mut response = offset_for_leader_epoch(&fixture.replicas().topics(), &request);
        let end = response.topics.remove(0).partitions.remove(0);
        (end.error_code, end.leader_epoch, end.end_offset)
    };
    assert_eq!(ask("orders", -1, 0), (0, 0, 2));
    assert_eq!(ask("orders", 2, 2), (0, 2, 3));
    assert_eq!(ask("orders", 2, 1), (0, 0, 2));
    assert_eq!(ask("orders", 2, 9), (0, -1, -1));
    assert_eq!(ask("orders", 1, 0), (ErrorCode::FencedLeaderEpoch as i16, -1, -1));
    assert_eq!(
        ask("orders", 3, 0),
        (ErrorCode::UnknownLeaderEpoch as i16, -1, -1)
    );
    assert_eq!(
        ask("unknown", 3, 0),
        (ErrorCode::UnknownTopicOrPartition as i16, -1, -1)
    );
}

#[test]
fn who_fetches_with_a_strayed_epoch_is_told_where_to_go_back_to() {
    let mut fixture = Fixture::new();
    let id = fixture.topic("orders", 1, &[]);
    send(&fixture, batch(2));
    fixture.lead(id, 0, -1);
    fixture.lead(id, 0, 1);
    send(&fixture, batch(2));
    let mut request = FetchRequest {
        max_wait_ms: 60_000,
        ..fetch_request("orders", 3)
    };
    request.topics[0].partitions[0].last_fetched_epoch = 0;
    let data = first(ask(&fixture, &request));
    assert_eq!(
        (data.diverging_epoch.epoch, data.diverging_epoch.end_offset),
        (0, 2)
    );
    assert_eq!(count_of(&data), 0);
}

#[test]
fn an_idempotent_producer_gets_an_id_and_a_transactional_one_a_clear_refusal() {
    use super::init_producer_id::refused;
    let request = |transactional_id: Option<&str>, producer_id, producer_epoch| InitProducerIdRequest {
        transactional_id: transactional_id.map(Into::into),
        producer_id,
        producer_epoch,
        ..InitProducerIdRequest::default()
    };
    assert_eq!(refused(&request(None, -1, -1)), None);
    assert_eq!(refused(&request(None, 5, 0)), None, "KIP-360");
    assert_eq!(refused(&request(None, 5, -1)), Some(ErrorCode::InvalidRequest));
    assert_eq!(refused(&request(None, -1, 5)), Some(ErrorCode::InvalidRequest));
    assert_eq!(
        refused(&request(Some(""), -1, -1)),
        Some(ErrorCode::InvalidRequest)
    );
    assert_eq!(
        refused(&request(Some("orders"), -1, -1)),
        Some(ErrorCode::UnsupportedVersion)
    );
}

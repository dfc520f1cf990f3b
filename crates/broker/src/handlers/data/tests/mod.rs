//! Records and offsets as clients see them: cases from the field and bad input, each by name. Here is what the tests of
//! each API share.

use bytes::Bytes;
use model::{ErrorCode, ProducerEpoch, ProducerId};
use wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData};
use wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
};
use wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use wire::records::{BatchBuilder, Producer, batches};
use wire::{Message, Records};

use super::fetch::fetch;
use super::list_offsets::list_offsets;
use super::offset_for_leader_epoch::offset_for_leader_epoch;
use super::produce::produce;
use crate::dispatch::{Reply, now_ms};
use crate::replicas::fixture::{Fixture, answer};

mod fetch;
mod init_producer_id;
mod list_offsets;
mod offset_for_leader_epoch;
mod produce;

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

//! The answers of Fetch.

use model::{ErrorCode, Uuid};
use replication::Fetched;
use wire::Records;
use wire::messages::fetch::{
    AbortedTransaction, EpochEndOffset, FetchRequest, FetchResponse, FetchTopic, FetchableTopicResponse,
    PartitionData,
};

use crate::replicas::{FetchAnswer, PartitionAnswer, PartitionError, TopicKey};

/// The partitions of a topic that follow one another stand together.
pub(super) fn response(answer: FetchAnswer) -> FetchResponse {
    let mut topics: Vec<FetchableTopicResponse> = Vec::new();
    for PartitionAnswer { key, result } in answer.partitions {
        let (name, id) = match &key.topic {
            TopicKey::Name(name) => (&**name, Uuid::ZERO),
            TopicKey::Id(id) => ("", *id),
        };
        let data = partition_data(key.partition, result);
        match topics.last_mut() {
            Some(topic) if *topic.topic == *name && topic.topic_id == id => topic.partitions.push(data),
            _ => topics.push(FetchableTopicResponse {
                topic_id: id,
                topic: name.into(),
                partitions: vec![data],
            }),
        }
    }
    FetchResponse {
        error_code: answer.error.map_or(0, |error| error.code() as i16),
        session_id: answer.session_id,
        responses: topics,
        ..FetchResponse::default()
    }
}

fn partition_data(index: i32, result: Result<Fetched, PartitionError>) -> PartitionData {
    match result {
        Ok(fetched) => found(index, fetched),
        Err(error) => failed(index, error.code()),
    }
}

fn found(index: i32, fetched: Fetched) -> PartitionData {
    let aborted = fetched.aborted.map(|aborted| {
        let transactions = aborted.iter().map(|aborted| AbortedTransaction {
            producer_id: aborted.producer_id.0,
            first_offset: aborted.first_offset.0,
        });
        transactions.collect()
    });
    let diverging = fetched.diverging.map(|end| EpochEndOffset {
        epoch: end.leader_epoch.0,
        end_offset: end.end_offset.0,
    });
    PartitionData {
        partition_index: index,
        high_watermark: fetched.seen.high_watermark.0,
        last_stable_offset: fetched.seen.last_stable_offset.0,
        log_start_offset: fetched.seen.log_start_offset.0,
        aborted_transactions: aborted,
        records: Some(fetched.records),
        diverging_epoch: diverging.unwrap_or_default(),
        ..PartitionData::default()
    }
}

/// Offsets are unknown where there is an error; the records are empty, for clients that cannot read null.
fn failed(index: i32, code: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: index,
        error_code: code as i16,
        high_watermark: -1,
        aborted_transactions: None,
        records: Some(Records::empty()),
        ..PartitionData::default()
    }
}

pub(super) fn refuse_all(request: &FetchRequest, code: ErrorCode) -> FetchResponse {
    let topic = |topic: &FetchTopic| FetchableTopicResponse {
        topic_id: topic.topic_id,
        topic: topic.topic.clone(),
        partitions: topic
            .partitions
            .iter()
            .map(|asked| failed(asked.partition, code))
            .collect(),
    };
    FetchResponse {
        responses: request.topics.iter().map(topic).collect(),
        ..FetchResponse::default()
    }
}

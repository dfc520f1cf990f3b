//! Produce requests from batches, and what their answers say of each batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ErrorCode, TopicPartition, Uuid};
use wire::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
};
use wire::{Records, Str};

use crate::config::ProducerConfig;
use crate::error::{BrokerError, ClientError};
use crate::metadata::Metadata;
use crate::producer::accumulator::Outcome;
use crate::producer::batch::Batch;

/// A request with the batches in it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) request: ProduceRequest,
    pub(crate) batches: Vec<(TopicPartition, Batch)>,
    /// The ids by which the answer may name topics.
    ids: BTreeMap<Uuid, Arc<str>>,
    /// Whether every topic has an id: from version 13 on they are named by nothing else.
    pub(crate) has_ids: bool,
}

/// Encodes batches into one request; those that have no form on the wire come back with the reason.
pub(crate) fn prepare(
    batches: Vec<(TopicPartition, Batch)>,
    config: &ProducerConfig,
    timeout_ms: i32,
    metadata: &Metadata,
) -> (Prepared, Vec<(TopicPartition, Batch, ClientError)>) {
    let mut topics: BTreeMap<Arc<str>, Vec<PartitionProduceData>> = BTreeMap::new();
    let mut sent = Vec::new();
    let mut unsendable = Vec::new();
    for (partition, mut batch) in batches {
        match batch.encode() {
            Ok(bytes) => {
                topics
                    .entry(partition.topic.clone())
                    .or_default()
                    .push(PartitionProduceData {
                        index: partition.partition,
                        records: Some(Records::from(bytes)),
                    });
                sent.push((partition, batch));
            }
            Err(error) => {
                let error =
                    ClientError::refused(format!("the records for {partition} cannot be sent: {error}"));
                unsendable.push((partition, batch, error));
            }
        }
    }
    let id = |name: &str| metadata.topic(name).map(|topic| topic.id).unwrap_or_default();
    let ids: BTreeMap<Uuid, Arc<str>> = topics.keys().map(|name| (id(name), name.clone())).collect();
    let topic = |(name, partition_data): (Arc<str>, _)| TopicProduceData {
        topic_id: id(&name),
        name: Str::from(&*name),
        partition_data,
    };
    let request = ProduceRequest {
        transactional_id: None,
        acks: config.acks.code(),
        timeout_ms,
        topic_data: topics.into_iter().map(topic).collect(),
    };
    let prepared = Prepared {
        request,
        batches: sent,
        has_ids: ids.keys().all(|id| !id.is_zero()),
        ids,
    };
    (prepared, unsendable)
}

/// The outcomes of all batches of a request, from its answer.
pub(crate) fn outcomes(
    prepared: Prepared,
    response: ProduceResponse,
) -> Vec<(TopicPartition, Batch, Outcome)> {
    let mut answers: BTreeMap<TopicPartition, PartitionProduceResponse> = BTreeMap::new();
    for topic in response.responses {
        let name = match prepared.ids.get(&topic.topic_id) {
            Some(name) if !topic.topic_id.is_zero() => name.clone(),
            _ => Arc::from(&*topic.name),
        };
        for partition in topic.partition_responses {
            answers.insert(TopicPartition::new(name.clone(), partition.index), partition);
        }
    }
    let outcome = |(partition, batch): (TopicPartition, Batch)| {
        let outcome = match answers.get(&partition) {
            Some(answer) => read_answer(&partition, answer),
            None => Outcome::Retry(ClientError::Malformed {
                api: "Produce",
                reason: format!("no answer for {partition}").into(),
            }),
        };
        (partition, batch, outcome)
    };
    prepared.batches.into_iter().map(outcome).collect()
}

fn read_answer(partition: &TopicPartition, answer: &PartitionProduceResponse) -> Outcome {
    let message = answer.error_message.as_deref().or_else(|| {
        let first = answer.record_errors.first()?;
        first.batch_index_error_message.as_deref()
    });
    let Some(error) = BrokerError::from_code(answer.error_code, message) else {
        return Outcome::Delivered {
            base_offset: (answer.base_offset >= 0).then_some(answer.base_offset),
            append_time: (answer.log_append_time_ms >= 0).then_some(answer.log_append_time_ms),
        };
    };
    let code = error.code;
    let error = ClientError::broker(format!("producing to {partition}"), error);
    match code {
        // The broker has it from an earlier try, and does not know any more where.
        ErrorCode::DuplicateSequenceNumber => Outcome::Delivered {
            base_offset: None,
            append_time: None,
        },
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => Outcome::Split(error),
        ErrorCode::OutOfOrderSequenceNumber
        | ErrorCode::UnknownProducerId
        | ErrorCode::InvalidProducerEpoch => Outcome::Renew(error),
        ErrorCode::UnknownServerError => Outcome::Lost(error),
        _ if code.is_retriable() => Outcome::Retry(error),
        _ => Outcome::Refused(error),
    }
}

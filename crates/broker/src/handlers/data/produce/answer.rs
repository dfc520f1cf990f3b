//! The answers of Produce.

use model::ErrorCode;
use replication::{Accepted, AppendRefused, ProduceOutcome};
use wire::messages::produce::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceResponse,
};

use crate::replicas::SlotEnd;

/// Where the records went.
pub(super) fn appended(index: i32, accepted: &Accepted) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        base_offset: accepted.appended.first_offset.0,
        log_append_time_ms: accepted.appended.log_append_time_ms.unwrap_or(-1),
        log_start_offset: accepted.log_start_offset.0,
        ..PartitionProduceResponse::default()
    }
}

pub(super) fn failed(index: i32, code: ErrorCode) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        error_code: code as i16,
        base_offset: -1,
        ..PartitionProduceResponse::default()
    }
}

pub(super) fn not_appended(index: i32, refused: &AppendRefused) -> PartitionProduceResponse {
    let faults = match refused {
        AppendRefused::Log(error) => error.record_faults(),
        AppendRefused::Leader(_) | AppendRefused::NotEnoughReplicas { .. } => &[],
    };
    let fault = |fault: &storage::RecordFault| BatchIndexAndErrorMessage {
        batch_index: fault.index,
        batch_index_error_message: Some(fault.message.as_str().into()),
    };
    PartitionProduceResponse {
        record_errors: faults.iter().map(fault).collect(),
        error_message: Some(refused.to_string().into()),
        ..failed(index, refused.code())
    }
}

pub(super) fn has_error(response: &ProduceResponse) -> bool {
    let mut partitions = response
        .responses
        .iter()
        .flat_map(|topic| &topic.partition_responses);
    partitions.any(|partition| partition.error_code != 0)
}

/// The answer with what became of the partitions that waited.
pub(super) fn with_ends(mut response: ProduceResponse, ends: Vec<(usize, SlotEnd)>) -> ProduceResponse {
    let mut partitions: Vec<&mut PartitionProduceResponse> = response
        .responses
        .iter_mut()
        .flat_map(|topic| &mut topic.partition_responses)
        .collect();
    for (slot, end) in ends {
        let code = match end {
            SlotEnd::Ended(ProduceOutcome::Replicated) => continue,
            SlotEnd::Ended(ProduceOutcome::NotEnoughReplicas) => ErrorCode::NotEnoughReplicasAfterAppend,
            SlotEnd::Ended(ProduceOutcome::NotLeader) => ErrorCode::NotLeaderOrFollower,
            SlotEnd::Ended(ProduceOutcome::Offline) => ErrorCode::KafkaStorageError,
            SlotEnd::TimedOut => ErrorCode::RequestTimedOut,
        };
        if let Some(partition) = partitions.get_mut(slot) {
            **partition = failed(partition.index, code);
        }
    }
    response
}

pub(super) fn refuse_all(request: &ProduceRequest, code: ErrorCode) -> ProduceResponse {
    let topics = request.topic_data.iter().map(|topic| TopicProduceResponse {
        topic_id: topic.topic_id,
        name: topic.name.clone(),
        partition_responses: topic
            .partition_data
            .iter()
            .map(|data| failed(data.index, code))
            .collect(),
    });
    ProduceResponse {
        responses: topics.collect(),
        ..ProduceResponse::default()
    }
}

//! `OffsetCommit`: offsets of a group are kept. The answer comes when they are committed.
//!
//! - v2 to v4: a retention of the client's own. v6: leader epochs. v7 (KIP-345): static members.
//! - v9 (KIP-848): an unknown group is GROUP_ID_NOT_FOUND; before, ILLEGAL_GENERATION.
//! - v10 (KIP-848): topics by id; an unknown one is UNKNOWN_TOPIC_ID for its partitions.
//!
//! Partitions that do not exist are refused one by one, the others are kept.

use std::sync::Arc;

use coordinator::{Answer, CommitOffsets, GroupError, OffsetToCommit};
use metadata::Image;
use model::ErrorCode;
use wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};

use super::{MISMATCH, ask, code, own, own_some};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct OffsetCommit;

impl Handler for OffsetCommit {
    type Request = OffsetCommitRequest;
    const SPEC: ApiSpec = ApiSpec::of::<OffsetCommitRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: OffsetCommitRequest,
    ) -> Reply<OffsetCommitResponse> {
        let version = context.api_version;
        let image = node.metadata.image();
        let mut offsets = Vec::new();
        let judged: Vec<_> = request
            .topics
            .iter()
            .map(|topic| judge_topic(&image, version, topic, &mut offsets))
            .collect();
        if offsets.is_empty() {
            return Reply::Now(respond(judged, |_| ErrorCode::None));
        }
        let commit = CommitOffsets {
            group: own(&request.group_id),
            generation: request.generation_id_or_member_epoch,
            member: own(&request.member_id),
            instance: own_some(&request.group_instance_id),
            // -1 asks for the broker's retention.
            retention_ms: Some(request.retention_time_ms).filter(|retention| *retention != -1),
            offsets,
        };
        ask(
            node,
            &request.group_id,
            move |shard, now, waiter| shard.commit(now, commit, waiter),
            move |answer| match answer {
                Ok(Answer::Commit(Ok(results))) => respond(judged, |place| match results.get(place) {
                    Some(Ok(())) => ErrorCode::None,
                    Some(Err(coordinator::MetadataTooLarge)) => ErrorCode::OffsetMetadataTooLarge,
                    None => MISMATCH,
                }),
                Ok(Answer::Commit(Err(GroupError::GroupNotFound))) if version < 9 => {
                    respond(judged, |_| ErrorCode::IllegalGeneration)
                }
                Ok(Answer::Commit(Err(error))) => respond(judged, |_| code(error)),
                Ok(_) => respond(judged, |_| MISMATCH),
                Err(error) => respond(judged, |_| error),
            },
        )
    }
}

/// A topic of the answer whose partitions are judged: refused, or the number of an offset given to the group.
type Judged = (OffsetCommitResponseTopic, Vec<(i32, Result<usize, ErrorCode>)>);

fn judge_topic(
    image: &Image,
    version: i16,
    topic: &OffsetCommitRequestTopic,
    offsets: &mut Vec<OffsetToCommit>,
) -> Judged {
    let by_id = version >= 10;
    let found = if by_id {
        image.topics.by_id(topic.topic_id)
    } else {
        image.topics.by_name(&topic.name)
    };
    let unknown = if by_id {
        ErrorCode::UnknownTopicId
    } else {
        ErrorCode::UnknownTopicOrPartition
    };
    let judge = |asked: &OffsetCommitRequestPartition| {
        let topic = found.ok_or(unknown)?;
        topic
            .partition(asked.partition_index)
            .ok_or(ErrorCode::UnknownTopicOrPartition)?;
        offsets.push(OffsetToCommit {
            topic: Arc::clone(&topic.name),
            topic_id: topic.id,
            partition: asked.partition_index,
            offset: asked.committed_offset,
            leader_epoch: Some(asked.committed_leader_epoch).filter(|epoch| *epoch >= 0),
            metadata: asked.committed_metadata.as_deref().unwrap_or_default().into(),
        });
        Ok(offsets.len() - 1)
    };
    let mut judge = judge;
    let partitions = topic
        .partitions
        .iter()
        .map(|asked| (asked.partition_index, judge(asked)))
        .collect();
    let answer = OffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: Vec::new(),
    };
    (answer, partitions)
}

/// The answer, with what became of each offset that was given to the group.
fn respond(judged: Vec<Judged>, committed: impl Fn(usize) -> ErrorCode) -> OffsetCommitResponse {
    let topics = judged.into_iter().map(|(mut topic, partitions)| {
        let partitions = partitions.into_iter().map(|(partition_index, judgement)| {
            let error_code = judgement.map_or_else(|error| error, &committed).code();
            OffsetCommitResponsePartition {
                partition_index,
                error_code,
            }
        });
        topic.partitions = partitions.collect();
        topic
    });
    OffsetCommitResponse {
        topics: topics.collect(),
        ..OffsetCommitResponse::default()
    }
}

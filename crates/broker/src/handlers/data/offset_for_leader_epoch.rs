//! OffsetForLeaderEpoch (key 23): where a leader epoch ends, for clients and followers that look whether their log has
//! strayed (KIP-101, KIP-320).

use std::sync::Arc;

use model::{ErrorCode, LeaderEpoch};
use storage::EpochEnd;
use wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
};

use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};
use crate::replicas::{Hosted, Topics};

/// See the module.
pub struct OffsetForLeaderEpoch;

impl Handler for OffsetForLeaderEpoch {
    type Request = OffsetForLeaderEpochRequest;

    const SPEC: ApiSpec = ApiSpec::of::<OffsetForLeaderEpochRequest>();

    fn handle(
        node: &Arc<Node>,
        _context: &RequestContext,
        request: OffsetForLeaderEpochRequest,
    ) -> Reply<OffsetForLeaderEpochResponse> {
        Reply::Now(offset_for_leader_epoch(&node.replicas.topics(), &request))
    }
}

pub(super) fn offset_for_leader_epoch(
    topics: &Topics,
    request: &OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let answers = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter();
        OffsetForLeaderTopicResult {
            topic: topic.topic.clone(),
            partitions: partitions
                .map(|asked| answer(asked, find(topics, &topic.topic, asked)))
                .collect(),
        }
    });
    OffsetForLeaderEpochResponse {
        topics: answers.collect(),
        ..OffsetForLeaderEpochResponse::default()
    }
}

fn find(
    topics: &Topics,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> Result<Option<EpochEnd>, ErrorCode> {
    let hosted = topics
        .by_name(topic)
        .and_then(|topic| topic.partitions.get(&asked.partition));
    let partition = match hosted.ok_or(ErrorCode::UnknownTopicOrPartition)? {
        Hosted::Online(partition) => partition,
        Hosted::Offline => return Err(ErrorCode::KafkaStorageError),
    };
    let current = Some(LeaderEpoch(asked.current_leader_epoch)).filter(|epoch| epoch.0 >= 0);
    let end = partition.epoch_end(LeaderEpoch(asked.leader_epoch), current);
    end.map_err(|refusal| refusal.code())
}

/// -1 and -1 where nothing is known of the epoch.
fn answer(asked: &OffsetForLeaderPartition, end: Result<Option<EpochEnd>, ErrorCode>) -> EpochEndOffset {
    let code = end.err().unwrap_or(ErrorCode::None);
    let end = end.ok().flatten();
    EpochEndOffset {
        error_code: code as i16,
        partition: asked.partition,
        leader_epoch: end.map_or(-1, |end| end.leader_epoch.0),
        end_offset: end.map_or(-1, |end| end.end_offset.0),
    }
}

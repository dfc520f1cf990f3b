//! ListOffsets (key 2): finds offsets by time, and the first and the last.
//!
//! Versions: 2 has isolation levels; 4 the leader epoch the client knows (KIP-320); each of the later named offsets came
//! with a version: 7 the largest time (KIP-734), 8 the earliest local (KIP-405), 9 the latest tiered (KIP-1005), 11 the
//! earliest that waits to be tiered (KIP-1023).

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{ErrorCode, LeaderEpoch};
use replication::{FoundOffset, Isolation, OffsetQuery, OffsetsRefused};
use wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};

use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};
use crate::replicas::{Hosted, HostedPartition, Topics, sync_now};

/// `isolation_level` of those who read committed records only.
const READ_COMMITTED: i8 = 1;
/// The first version whose clients know that an offset may not be available yet.
const NOT_AVAILABLE_VERSION: i16 = 5;

/// See the module.
pub struct ListOffsets;

impl Handler for ListOffsets {
    type Request = ListOffsetsRequest;

    const SPEC: ApiSpec = ApiSpec::of::<ListOffsetsRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: ListOffsetsRequest,
    ) -> Reply<ListOffsetsResponse> {
        list_offsets(&node.replicas.topics(), context.api_version, request)
    }
}

pub(super) fn list_offsets(
    topics: &Arc<Topics>,
    version: i16,
    request: ListOffsetsRequest,
) -> Reply<ListOffsetsResponse> {
    let mut asked = request.topics.iter().flat_map(|topic| &topic.partitions);
    let reads = asked.any(|asked| query_of(asked, version).is_some_and(OffsetQuery::reads_records));
    let owing = owing(topics, version, &request);
    if reads || !owing.is_empty() {
        let topics = topics.clone();
        return Reply::blocking(move || {
            // The end of a partition is never told to be before what was acknowledged.
            sync_now(&owing);
            answer(&topics, version, &request)
        });
    }
    Reply::Now(answer(topics, version, &request))
}

/// The partitions asked for their end whose watermark is behind what was acknowledged.
fn owing(topics: &Topics, version: i16, request: &ListOffsetsRequest) -> Vec<Arc<HostedPartition>> {
    let looks_at_end =
        |asked: &&ListOffsetsPartition| query_of(asked, version).is_some_and(OffsetQuery::looks_at_end);
    let asked = request.topics.iter().flat_map(|topic| {
        let hosted = topics.by_name(&topic.name);
        let partitions = topic.partitions.iter().filter(looks_at_end);
        partitions.filter_map(move |asked| hosted?.partitions.get(&asked.partition_index))
    });
    let online = asked.filter_map(|hosted| match hosted {
        Hosted::Online(partition) if partition.owes_sync() => Some(partition.clone()),
        _ => None,
    });
    online.collect()
}

/// What a partition is asked for, if that version may ask it.
fn query_of(asked: &ListOffsetsPartition, version: i16) -> Option<OffsetQuery> {
    let query = OffsetQuery::from_timestamp(asked.timestamp)?;
    let first_version = match query {
        OffsetQuery::Latest | OffsetQuery::Earliest | OffsetQuery::Time(_) => 1,
        OffsetQuery::MaxTimestamp => 7,
        OffsetQuery::EarliestLocal => 8,
        OffsetQuery::LatestTiered => 9,
        OffsetQuery::EarliestPendingUpload => 11,
    };
    (version >= first_version).then_some(query)
}

fn answer(topics: &Topics, version: i16, request: &ListOffsetsRequest) -> ListOffsetsResponse {
    let isolation = match (request.replica_id, request.isolation_level) {
        (-1, READ_COMMITTED) => Isolation::ReadCommitted,
        (-1, _) => Isolation::ReadUncommitted,
        // Brokers and debugging tools see the whole log.
        _ => Isolation::LogEnd,
    };
    let twice = asked_twice(request);
    let answers = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let found = if twice.contains(&(&*topic.name, asked.partition_index)) {
                Err(ErrorCode::InvalidRequest)
            } else {
                find(topics, &topic.name, asked, isolation, version)
            };
            partition_response(asked.partition_index, found)
        });
        ListOffsetsTopicResponse {
            name: topic.name.clone(),
            partitions: partitions.collect(),
        }
    });
    ListOffsetsResponse {
        topics: answers.collect(),
        ..ListOffsetsResponse::default()
    }
}

/// The partitions that a request names more than once.
fn asked_twice(request: &ListOffsetsRequest) -> BTreeSet<(&str, i32)> {
    let mut seen = BTreeSet::new();
    let asked = request.topics.iter().flat_map(|topic| {
        topic
            .partitions
            .iter()
            .map(move |asked| (&*topic.name, asked.partition_index))
    });
    asked.filter(|asked| !seen.insert(*asked)).collect()
}

fn find(
    topics: &Topics,
    topic: &str,
    asked: &ListOffsetsPartition,
    isolation: Isolation,
    version: i16,
) -> Result<FoundOffset, ErrorCode> {
    let query = query_of(asked, version).ok_or(ErrorCode::UnsupportedVersion)?;
    let hosted = topics
        .by_name(topic)
        .and_then(|topic| topic.partitions.get(&asked.partition_index));
    let partition = match hosted.ok_or(ErrorCode::UnknownTopicOrPartition)? {
        Hosted::Online(partition) => partition,
        Hosted::Offline => return Err(ErrorCode::KafkaStorageError),
    };
    let current_leader_epoch = Some(LeaderEpoch(asked.current_leader_epoch)).filter(|epoch| epoch.0 >= 0);
    partition
        .find_offset(query, isolation, current_leader_epoch)
        .map_err(|refused| match refused {
            OffsetsRefused::NotAvailable if version < NOT_AVAILABLE_VERSION => ErrorCode::LeaderNotAvailable,
            refused => refused.code(),
        })
}

fn partition_response(index: i32, found: Result<FoundOffset, ErrorCode>) -> ListOffsetsPartitionResponse {
    let (code, found) = match found {
        Ok(found) => (ErrorCode::None, found),
        Err(code) => (code, FoundOffset::NONE),
    };
    ListOffsetsPartitionResponse {
        partition_index: index,
        error_code: code as i16,
        timestamp: found.timestamp,
        offset: found.offset.0,
        leader_epoch: found.leader_epoch.0,
    }
}

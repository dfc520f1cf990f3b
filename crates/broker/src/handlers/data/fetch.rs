//! Fetch (key 1): reads batches from partitions, waiting for them where there are none yet.
//!
//! Versions: 4 is the first with isolation levels (KIP-98); 7 has sessions (KIP-227); 9 the leader epoch the client
//! knows (KIP-320); 12 the epoch of its last record, and what is flexible; 13 names topics by id (KIP-516); 15 moves
//! the replica's id into a tagged field (KIP-903).
//!
//! Where we differ from Apache Kafka: a wait is at most five minutes; nobody but a broker may fetch as one (and no
//! broker fetches here yet).

mod answer;

use std::sync::{Arc, Weak};

use model::{ErrorCode, LeaderEpoch, Offset, Uuid};
use replication::{Isolation, PartitionFetch, SessionRequest, TopicNaming};
use tokio::sync::oneshot;
use wire::Str;
use wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse};

use answer::{refuse_all, response};

use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};
use crate::replicas::{FetchKey, FetchLimits, FetchParts, Prepared, Replicas, Round, TopicKey};

/// The first version that names topics by id.
const TOPIC_ID_VERSION: i16 = 13;
/// The first version with the replica's id in a tagged field.
const REPLICA_STATE_VERSION: i16 = 15;
/// The longest wait (bad input 37).
const MAX_WAIT_MS: i64 = 300_000;
/// `isolation_level` of those who read committed records only.
const READ_COMMITTED: i8 = 1;

/// See the module.
pub struct Fetch;

impl Handler for Fetch {
    type Request = FetchRequest;

    const SPEC: ApiSpec = ApiSpec::of::<FetchRequest>().pipelined().not_on_controller();

    fn handle(node: &Arc<Node>, context: &RequestContext, request: FetchRequest) -> Reply<FetchResponse> {
        fetch(&node.replicas, context.api_version, &request)
    }
}

pub(super) fn fetch(replicas: &Arc<Replicas>, version: i16, request: &FetchRequest) -> Reply<FetchResponse> {
    let replica_id = match version {
        REPLICA_STATE_VERSION.. => request.replica_state.replica_id,
        _ => request.replica_id,
    };
    if replica_id >= 0 {
        // Naming a broker gives nothing: that takes its rights on the cluster (CVE-2018-1288, bad input 38).
        return Reply::Now(refuse_all(request, ErrorCode::ClusterAuthorizationFailed));
    }
    let parts = parts(request, version, replicas.fetch_max_bytes());
    let (sender, receiver) = oneshot::channel();
    let reply = Box::new(move |answer| drop(sender.send(response(answer))));
    match replicas.prepare_fetch(parts, reply) {
        Prepared::Answered => Reply::Later(receiver),
        Prepared::Warm(round) => start(&round, receiver),
        Prepared::Cold(round) => Reply::Blocking(Box::new(move || start(&round, receiver))),
    }
}

fn start(round: &Arc<Round>, receiver: oneshot::Receiver<FetchResponse>) -> Reply<FetchResponse> {
    let parked: Weak<Round> = Arc::downgrade(round);
    round.start();
    Reply::Parked(receiver, parked)
}

fn parts(request: &FetchRequest, version: i16, max_bytes: i32) -> FetchParts {
    let naming = match version {
        TOPIC_ID_VERSION.. => TopicNaming::ById,
        _ => TopicNaming::ByName,
    };
    let key = |topic: &Str, id: Uuid| match naming {
        TopicNaming::ById => TopicKey::Id(id),
        TopicNaming::ByName => TopicKey::Name(Arc::from(&**topic)),
    };
    let mut partitions = Vec::new();
    for topic in &request.topics {
        let topic_key = key(&topic.topic, topic.topic_id);
        for asked in &topic.partitions {
            let key = FetchKey {
                topic: topic_key.clone(),
                partition: asked.partition,
            };
            partitions.push((key, partition_fetch(asked)));
        }
    }
    let mut forgotten = Vec::new();
    for topic in &request.forgotten_topics_data {
        let topic_key = key(&topic.topic, topic.topic_id);
        let keys = topic.partitions.iter();
        forgotten.extend(keys.map(|partition| FetchKey {
            topic: topic_key.clone(),
            partition: *partition,
        }));
    }
    let max_bytes = request.max_bytes.min(max_bytes).max(0);
    FetchParts {
        session: SessionRequest::new(request.session_id, request.session_epoch),
        naming,
        partitions,
        forgotten,
        limits: FetchLimits {
            max_wait_ms: i64::from(request.max_wait_ms).clamp(0, MAX_WAIT_MS),
            min_bytes: u64::try_from(request.min_bytes.min(max_bytes)).unwrap_or(0),
            max_bytes: usize::try_from(max_bytes).unwrap_or(0),
            isolation: match request.isolation_level {
                READ_COMMITTED => Isolation::ReadCommitted,
                _ => Isolation::ReadUncommitted,
            },
        },
    }
}

fn partition_fetch(asked: &FetchPartition) -> PartitionFetch {
    let epoch = |epoch: i32| Some(LeaderEpoch(epoch)).filter(|epoch| epoch.0 >= 0);
    PartitionFetch {
        offset: Offset(asked.fetch_offset),
        max_bytes: usize::try_from(asked.partition_max_bytes).unwrap_or(0),
        current_leader_epoch: epoch(asked.current_leader_epoch),
        last_fetched_epoch: epoch(asked.last_fetched_epoch),
    }
}

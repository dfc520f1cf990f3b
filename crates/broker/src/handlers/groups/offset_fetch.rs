//! `OffsetFetch`: the committed offsets of a group, or of several.
//!
//! - v1: errors stand at partitions. v2: an error of the whole; null topics ask for all. v5: leader epochs.
//! - v7 (KIP-447): only stable offsets, if asked. v8 (KIP-709): several groups. v9 (KIP-848): the member that asks.
//! - v10 (KIP-848): topics by id; an unknown one is UNKNOWN_TOPIC_ID for its partitions.
//!
//! A partition without an offset is no error: the offset is -1. Nor is an unknown group.

use std::sync::Arc;

use coordinator::{
    Answer, FetchOffsets, FetchedOffset, FetchedTopic, GroupError, Stability, TopicToFetch, UnstableOffset,
    WriteError,
};
use metadata::Image;
use model::ErrorCode;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use wire::Str;
use wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponse,
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};

use super::{MISMATCH, code, own, own_some, text};
use crate::coordinators::Waiter;
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct OffsetFetch;

impl Handler for OffsetFetch {
    type Request = OffsetFetchRequest;
    const SPEC: ApiSpec = ApiSpec::of::<OffsetFetchRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: OffsetFetchRequest,
    ) -> Reply<OffsetFetchResponse> {
        let version = context.api_version;
        let stability = if request.require_stable {
            Stability::Required
        } else {
            Stability::Any
        };
        let groups = if version >= 8 {
            request.groups
        } else {
            vec![single_group(request)]
        };
        let (sender, receiver) = oneshot::channel();
        let gathering = Arc::new(Gathering {
            version,
            state: Mutex::new((groups.len(), vec![None; groups.len()], Some(sender))),
        });
        let image = node.metadata.image();
        for (place, group) in groups.into_iter().enumerate() {
            fetch_group(node, &image, stability, group, (place, &gathering));
        }
        gathering.respond_if_complete();
        Reply::Later(receiver)
    }
}

/// Before v8 the request is about one group.
fn single_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup {
    let topics = request.topics.map(|topics| {
        let topics = topics.into_iter().map(|topic| OffsetFetchRequestTopics {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            ..OffsetFetchRequestTopics::default()
        });
        topics.collect()
    });
    OffsetFetchRequestGroup {
        group_id: request.group_id,
        topics,
        ..OffsetFetchRequestGroup::default()
    }
}

fn fetch_group(
    node: &Arc<Node>,
    image: &Arc<Image>,
    stability: Stability,
    group: OffsetFetchRequestGroup,
    (place, gathering): (usize, &Arc<Gathering>),
) {
    let by_id = gathering.version >= 10;
    let mut unknown = Vec::new();
    let topics = group.topics.as_ref().map(|topics| {
        let known = topics
            .iter()
            .filter_map(|topic| name_topic(image, by_id, topic, &mut unknown));
        known.collect::<Vec<_>>()
    });
    let request = FetchOffsets {
        group: own(&group.group_id),
        member: own_some(&group.member_id),
        topics,
        stability,
    };
    let id = group.group_id.clone();
    let answered = Answered {
        image: Arc::clone(image),
        by_id,
        all: group.topics.is_none(),
        unknown,
    };
    let slot = Arc::clone(gathering);
    let asked = group.clone();
    let waiter = Waiter::new(move |answer| {
        let response = match answer {
            Answer::Fetch(Ok(topics)) => answered.respond(asked.group_id.clone(), topics),
            Answer::Fetch(Err(error)) => refused(slot.version, &asked, fetch_code(error)),
            _ => refused(slot.version, &asked, MISMATCH),
        };
        slot.put(place, response);
        slot.respond_if_complete();
    });
    if let Err(unavailable) = node.groups.decide(&id, |shard, _| shard.fetch(request, waiter)) {
        gathering.put(place, refused(gathering.version, &group, unavailable.code()));
    }
}

/// The topic as groups know it: by name. Unknown ids are put aside, for the answer.
fn name_topic(
    image: &Image,
    by_id: bool,
    topic: &OffsetFetchRequestTopics,
    unknown: &mut Vec<OffsetFetchResponseTopics>,
) -> Option<TopicToFetch> {
    let name = if by_id {
        image
            .topics
            .by_id(topic.topic_id)
            .map(|found| Arc::clone(&found.name))
    } else {
        Some(own(&topic.name))
    };
    let Some(name) = name else {
        unknown.push(refused_topic(topic, ErrorCode::UnknownTopicId));
        return None;
    };
    Some(TopicToFetch {
        topic: name,
        topic_id: topic.topic_id,
        partitions: topic.partition_indexes.clone(),
    })
}

/// What is needed to make a response of a group's answer.
struct Answered {
    image: Arc<Image>,
    by_id: bool,
    /// Whether all topics were asked for: those that are gone have no id to be shown by.
    all: bool,
    unknown: Vec<OffsetFetchResponseTopics>,
}

impl Answered {
    fn respond(self, group_id: Str, topics: Vec<FetchedTopic>) -> OffsetFetchResponseGroup {
        let named = topics.iter().filter_map(|topic| {
            let topic_id = match (self.by_id && self.all).then(|| self.image.topics.by_name(&topic.topic)) {
                Some(found) => found?.id,
                None => topic.topic_id,
            };
            Some(OffsetFetchResponseTopics {
                name: text(&topic.topic),
                topic_id,
                partitions: topic.partitions.iter().map(given).collect(),
            })
        });
        let topics = named.chain(self.unknown.iter().cloned()).collect();
        OffsetFetchResponseGroup {
            group_id,
            topics,
            ..OffsetFetchResponseGroup::default()
        }
    }
}

fn given(fetched: &FetchedOffset) -> OffsetFetchResponsePartitions {
    let none = OffsetFetchResponsePartitions {
        partition_index: fetched.partition,
        committed_offset: -1,
        ..OffsetFetchResponsePartitions::default()
    };
    match &fetched.result {
        Ok(Some(given)) => OffsetFetchResponsePartitions {
            committed_offset: given.offset,
            committed_leader_epoch: given.leader_epoch.unwrap_or(-1),
            metadata: Some(Str::from(&*given.metadata)),
            ..none
        },
        Ok(None) => none,
        Err(UnstableOffset) => OffsetFetchResponsePartitions {
            error_code: ErrorCode::UnstableOffsetCommit.code(),
            ..none
        },
    }
}

/// Older consumers know no COORDINATOR_NOT_AVAILABLE here; NOT_COORDINATOR makes all of them look again.
fn fetch_code(error: GroupError) -> ErrorCode {
    match error {
        GroupError::Write(WriteError::TimedOut | WriteError::NotEnoughReplicas) => ErrorCode::NotCoordinator,
        other => code(other),
    }
}

/// An error of the whole group; in v1, which has no place for it, of each of its partitions.
fn refused(version: i16, group: &OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup {
    let topics = group.topics.iter().flatten().filter(|_| version < 2);
    OffsetFetchResponseGroup {
        group_id: group.group_id.clone(),
        topics: topics.map(|topic| refused_topic(topic, error)).collect(),
        error_code: error.code(),
    }
}

fn refused_topic(topic: &OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics {
    let partitions = topic
        .partition_indexes
        .iter()
        .map(|&partition_index| OffsetFetchResponsePartitions {
            partition_index,
            committed_offset: -1,
            error_code: error.code(),
            ..OffsetFetchResponsePartitions::default()
        });
    OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: partitions.collect(),
    }
}

type Gathered = (
    usize,
    Vec<Option<OffsetFetchResponseGroup>>,
    Option<oneshot::Sender<OffsetFetchResponse>>,
);

/// The groups of one request, which may lie on several shards and be answered at different times.
struct Gathering {
    version: i16,
    /// How many are missing, the answers, and where they go.
    state: Mutex<Gathered>,
}

impl Gathering {
    fn put(&self, place: usize, group: OffsetFetchResponseGroup) {
        let mut state = self.state.lock();
        if let Some(slot @ None) = state.1.get_mut(place) {
            *slot = Some(group);
            state.0 -= 1;
        }
    }

    fn respond_if_complete(&self) {
        let mut state = self.state.lock();
        if state.0 > 0 {
            return;
        }
        let Some(sender) = state.2.take() else { return };
        let groups = std::mem::take(&mut state.1).into_iter().flatten().collect();
        drop(state);
        // A connection that is gone waits for nothing.
        let _ = sender.send(response(self.version, groups));
    }
}

fn response(version: i16, mut groups: Vec<OffsetFetchResponseGroup>) -> OffsetFetchResponse {
    if version >= 8 {
        return OffsetFetchResponse {
            groups,
            ..OffsetFetchResponse::default()
        };
    }
    let group = groups.pop().unwrap_or_default();
    let topics = group.topics.into_iter().map(|topic| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic
            .partitions
            .into_iter()
            .map(|partition| OffsetFetchResponsePartition {
                partition_index: partition.partition_index,
                committed_offset: partition.committed_offset,
                committed_leader_epoch: partition.committed_leader_epoch,
                metadata: partition.metadata,
                error_code: partition.error_code,
            })
            .collect(),
    });
    OffsetFetchResponse {
        topics: topics.collect(),
        error_code: group.error_code,
        ..OffsetFetchResponse::default()
    }
}

//! Groups: list, delete, and the offsets they committed. [`super::group_description`] describes one.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ErrorCode, TopicPartition, Uuid};
use wire::Str;
use wire::messages::delete_groups::DeleteGroupsRequest;
use wire::messages::list_groups::ListGroupsRequest;
use wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use wire::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse,
};

use crate::client::{Client, Use, WhenMissing};
use crate::error::{BrokerError, ClientError};

/// A group as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// Its id.
    pub id: String,
    /// What its members are: `consumer`, `connect`, ...; empty for a group that only commits.
    pub protocol_type: String,
    /// Its state, such as `Stable`; empty where the broker does not tell.
    pub state: String,
    /// Its type: `classic`, `consumer`, `share`, `streams`; empty where the broker does not tell.
    pub group_type: String,
}

/// An offset that a group committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset to go on from.
    pub offset: i64,
    /// The epoch of the leader that wrote the record before it; -1 when unknown.
    pub leader_epoch: i32,
    /// What the committer wrote beside it.
    pub metadata: String,
}

/// Who commits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committer {
    pub(crate) generation: i32,
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
}

impl Committer {
    /// Not a member: allowed while the group has none.
    fn outsider() -> Committer {
        Committer {
            generation: -1,
            ..Committer::default()
        }
    }
}

impl Client {
    /// The groups of all brokers, by id. Only those in one of the states, of one of the types, where any are named.
    pub async fn list_groups(
        &self,
        states: &[String],
        types: &[String],
    ) -> Result<Vec<ListedGroup>, ClientError> {
        let text = |filter: &[String]| filter.iter().map(|word| Str::from(word.as_str())).collect();
        let request = ListGroupsRequest {
            states_filter: text(states),
            types_filter: text(types),
        };
        let mut groups = BTreeMap::new();
        for broker in self.brokers().await?.into_keys() {
            let listed = self
                .retry("listing groups", || async {
                    let connection = self.to_broker(broker, Use::Calls).await?;
                    let response = connection.call(&request, self.config().request_timeout).await?;
                    match BrokerError::from_code(response.error_code, None) {
                        Some(error) => Err(ClientError::broker("listing groups", error)),
                        None => Ok(response.groups),
                    }
                })
                .await?;
            groups.extend(listed.into_iter().map(|group| {
                let listed = ListedGroup {
                    id: group.group_id.to_string(),
                    protocol_type: group.protocol_type.to_string(),
                    state: group.group_state.to_string(),
                    group_type: group.group_type.to_string(),
                };
                (listed.id.clone(), listed)
            }));
        }
        Ok(groups.into_values().collect())
    }

    /// Deletes a group that has no members.
    pub async fn delete_group(&self, group: &str) -> Result<(), ClientError> {
        let request = DeleteGroupsRequest {
            groups_names: vec![group.into()],
        };
        let what = format!("deleting group `{group}`");
        self.retry(&what, || async {
            self.call_coordinator(group, &request, |response| {
                let code = response.results.first().map_or(0, |result| result.error_code);
                checked(&what, code)
            })
            .await
            .map(|_| ())
        })
        .await
    }

    /// The offsets a group committed. Those of transactions that are still open do not count.
    pub async fn committed_offsets(
        &self,
        group: &str,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        self.fetch_offsets(group, None).await
    }

    /// The offsets a group committed: all, or of partitions to read on from; those wait for open transactions (KIP-447).
    /// Partitions without one are left out.
    pub(crate) async fn fetch_offsets(
        &self,
        group: &str,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
        let by_topic = partitions.map(by_topic);
        let what = format!("fetching the offsets of group `{group}`");
        self.retry(&what, || async {
            let ids = self.topic_ids(by_topic.iter().flat_map(BTreeMap::keys)).await?;
            let request = offset_fetch_request(group, by_topic.as_ref(), &ids);
            let connection = self.to_coordinator(group).await?;
            let mut version = connection.version::<OffsetFetchRequest>()?;
            // Version 10 names topics by id in the answer; ids of deleted topics would say nothing.
            if by_topic.is_none() || ids.values().any(|id| id.is_zero()) {
                version = version.min(9);
            }
            let answered = connection
                .call_at(&request, version, self.config().request_timeout)
                .await;
            let found = answered.and_then(|response| read_offsets(&what, response, &ids));
            if let Err(error) = &found {
                self.note_coordinator_error(group, error);
            }
            found
        })
        .await
    }

    /// Sets the offsets of a group that has no members; makes the group where there is none.
    pub async fn alter_offsets(
        &self,
        group: &str,
        offsets: &BTreeMap<TopicPartition, CommittedOffset>,
    ) -> Result<BTreeMap<TopicPartition, Result<(), BrokerError>>, ClientError> {
        self.retry("setting offsets", || async {
            self.commit_offsets(group, &Committer::outsider(), offsets).await
        })
        .await
    }

    /// Sends one commit. An error of the whole group fails the call; one of a partition is in the answer.
    pub(crate) async fn commit_offsets(
        &self,
        group: &str,
        committer: &Committer,
        offsets: &BTreeMap<TopicPartition, CommittedOffset>,
    ) -> Result<BTreeMap<TopicPartition, Result<(), BrokerError>>, ClientError> {
        let mut topics: BTreeMap<Arc<str>, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
        for (partition, committed) in offsets {
            let entry = OffsetCommitRequestPartition {
                partition_index: partition.partition,
                committed_offset: committed.offset,
                committed_leader_epoch: committed.leader_epoch,
                committed_metadata: Some(committed.metadata.as_str().into()),
            };
            topics.entry(partition.topic.clone()).or_default().push(entry);
        }
        let ids = self.topic_ids(topics.keys()).await?;
        let topic = |(name, partitions): (Arc<str>, _)| OffsetCommitRequestTopic {
            topic_id: ids.get(&name).copied().unwrap_or_default(),
            name: Str::from(&*name),
            partitions,
        };
        let request = OffsetCommitRequest {
            group_id: group.into(),
            generation_id_or_member_epoch: committer.generation,
            member_id: committer.member_id.as_str().into(),
            group_instance_id: committer.instance_id.as_deref().map(Str::from),
            topics: topics.into_iter().map(topic).collect(),
            ..OffsetCommitRequest::default()
        };
        let connection = self.to_coordinator(group).await?;
        let mut version = connection.version::<OffsetCommitRequest>()?;
        if ids.values().any(|id| id.is_zero()) {
            version = version.min(9);
        }
        let answered = connection
            .call_at(&request, version, self.config().request_timeout)
            .await;
        let outcome = answered.and_then(|response| read_commit(group, response, &ids));
        if let Err(error) = &outcome {
            self.note_coordinator_error(group, error);
        }
        outcome
    }

    /// Deletes offsets of a group that is not subscribed to their topics.
    pub async fn delete_offsets(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, Result<(), BrokerError>>, ClientError> {
        let topic = |(name, indexes): (Arc<str>, Vec<i32>)| OffsetDeleteRequestTopic {
            name: Str::from(&*name),
            partitions: indexes
                .into_iter()
                .map(|partition_index| OffsetDeleteRequestPartition { partition_index })
                .collect(),
        };
        let request = OffsetDeleteRequest {
            group_id: group.into(),
            topics: by_topic(partitions).into_iter().map(topic).collect(),
        };
        let what = format!("deleting offsets of group `{group}`");
        let response = self
            .retry(&what, || async {
                self.call_coordinator(group, &request, |response| checked(&what, response.error_code))
                    .await
            })
            .await?;
        let outcomes = response.topics.into_iter().flat_map(|topic| {
            let name: Arc<str> = Arc::from(&*topic.name);
            topic.partitions.into_iter().map(move |partition| {
                let outcome = BrokerError::check(partition.error_code, None);
                (
                    TopicPartition::new(name.clone(), partition.partition_index),
                    outcome,
                )
            })
        });
        Ok(outcomes.collect())
    }

    /// The ids of topics; zero for those that do not exist or have none.
    async fn topic_ids<'a>(
        &self,
        names: impl Iterator<Item = &'a Arc<str>>,
    ) -> Result<BTreeMap<Arc<str>, Uuid>, ClientError> {
        let names: Vec<&Arc<str>> = names.collect();
        if names.iter().any(|name| self.metadata().topic(name).is_none()) {
            self.refresh_topics(&names, WhenMissing::Fail).await?;
        }
        let metadata = self.metadata();
        let id = |name: &&Arc<str>| {
            let id = metadata.topic(name).map(|topic| topic.id).unwrap_or_default();
            (Arc::clone(*name), id)
        };
        Ok(names.iter().map(id).collect())
    }
}

fn checked(what: &str, code: i16) -> Result<(), ClientError> {
    BrokerError::check(code, None).map_err(|error| ClientError::broker(what, error))
}

/// The indexes of partitions, by topic.
pub(crate) fn by_topic(partitions: &[TopicPartition]) -> BTreeMap<Arc<str>, Vec<i32>> {
    let mut topics: BTreeMap<Arc<str>, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics
            .entry(partition.topic.clone())
            .or_default()
            .push(partition.partition);
    }
    topics
}

/// The topic's name: from the answer, or by its id where the answer has only that.
fn name_of(name: &str, id: Uuid, ids: &BTreeMap<Arc<str>, Uuid>) -> Option<Arc<str>> {
    if id.is_zero() {
        return Some(name.into());
    }
    ids.iter()
        .find(|(_, known)| **known == id)
        .map(|(name, _)| name.clone())
}

fn offset_fetch_request(
    group: &str,
    topics: Option<&BTreeMap<Arc<str>, Vec<i32>>>,
    ids: &BTreeMap<Arc<str>, Uuid>,
) -> OffsetFetchRequest {
    let in_group = |(name, indexes): (&Arc<str>, &Vec<i32>)| OffsetFetchRequestTopics {
        topic_id: ids.get(name).copied().unwrap_or_default(),
        name: Str::from(&**name),
        partition_indexes: indexes.clone(),
    };
    let alone = |(name, indexes): (&Arc<str>, &Vec<i32>)| OffsetFetchRequestTopic {
        name: Str::from(&**name),
        partition_indexes: indexes.clone(),
    };
    OffsetFetchRequest {
        groups: vec![OffsetFetchRequestGroup {
            group_id: group.into(),
            topics: topics.map(|topics| topics.iter().map(in_group).collect()),
            ..OffsetFetchRequestGroup::default()
        }],
        group_id: group.into(),
        topics: topics.map(|topics| topics.iter().map(alone).collect()),
        require_stable: topics.is_some(),
    }
}

fn read_offsets(
    what: &str,
    response: OffsetFetchResponse,
    ids: &BTreeMap<Arc<str>, Uuid>,
) -> Result<BTreeMap<TopicPartition, CommittedOffset>, ClientError> {
    checked(what, response.error_code)?;
    let mut found = BTreeMap::new();
    let mut take = |name: &Arc<str>, index, code, committed: CommittedOffset| {
        checked(what, code)?;
        if committed.offset >= 0 {
            found.insert(TopicPartition::new(name.clone(), index), committed);
        }
        Ok::<(), ClientError>(())
    };
    // Up to version 7 the answer is about one group.
    for topic in response.topics {
        let name: Arc<str> = Arc::from(&*topic.name);
        for partition in topic.partitions {
            let committed = CommittedOffset {
                offset: partition.committed_offset,
                leader_epoch: partition.committed_leader_epoch,
                metadata: partition
                    .metadata
                    .map(|text| text.to_string())
                    .unwrap_or_default(),
            };
            take(&name, partition.partition_index, partition.error_code, committed)?;
        }
    }
    for group in response.groups {
        checked(what, group.error_code)?;
        for topic in group.topics {
            let Some(name) = name_of(&topic.name, topic.topic_id, ids) else {
                continue;
            };
            for partition in topic.partitions {
                let committed = CommittedOffset {
                    offset: partition.committed_offset,
                    leader_epoch: partition.committed_leader_epoch,
                    metadata: partition
                        .metadata
                        .map(|text| text.to_string())
                        .unwrap_or_default(),
                };
                take(&name, partition.partition_index, partition.error_code, committed)?;
            }
        }
    }
    Ok(found)
}

/// Errors that concern a partition alone. Every other one concerns the member or the coordinator.
fn is_of_partition(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::OffsetMetadataTooLarge
            | ErrorCode::TopicAuthorizationFailed
            | ErrorCode::InvalidCommitOffsetSize
    )
}

fn read_commit(
    group: &str,
    response: OffsetCommitResponse,
    ids: &BTreeMap<Arc<str>, Uuid>,
) -> Result<BTreeMap<TopicPartition, Result<(), BrokerError>>, ClientError> {
    let mut outcomes = BTreeMap::new();
    for topic in response.topics {
        let Some(name) = name_of(&topic.name, topic.topic_id, ids) else {
            continue;
        };
        for partition in topic.partitions {
            let outcome = BrokerError::check(partition.error_code, None);
            if let Err(error) = &outcome
                && !is_of_partition(error.code)
            {
                return Err(ClientError::broker(
                    format!("committing offsets of group `{group}`"),
                    error.clone(),
                ));
            }
            outcomes.insert(
                TopicPartition::new(name.clone(), partition.partition_index),
                outcome,
            );
        }
    }
    Ok(outcomes)
}

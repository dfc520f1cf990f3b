//! Offsets of partitions: the first, the last, the first at or after a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ErrorCode, TopicPartition};
use parking_lot::Mutex;
use wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};

use crate::client::{Client, Use, WhenMissing};
use crate::config::IsolationLevel;
use crate::error::{BrokerError, ClientError};

/// Which offset to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first one there is.
    Earliest,
    /// The one the next record will get.
    Latest,
    /// The one of the record with the largest timestamp.
    MaxTimestamp,
    /// The first whose record has at least this timestamp.
    Timestamp(i64),
}

impl OffsetSpec {
    fn code(self) -> i64 {
        match self {
            OffsetSpec::Latest => -1,
            OffsetSpec::Earliest => -2,
            OffsetSpec::MaxTimestamp => -3,
            OffsetSpec::Timestamp(timestamp) => timestamp,
        }
    }
}

/// An offset that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundOffset {
    /// The offset; `None` where no record has such a timestamp.
    pub offset: Option<i64>,
    /// The record's timestamp; -1 when it was not asked for by time.
    pub timestamp: i64,
    /// The epoch of the leader that wrote the record; -1 when the broker does not tell.
    pub leader_epoch: i32,
}

/// What was found of each partition.
pub type FoundOffsets = BTreeMap<TopicPartition, Result<FoundOffset, BrokerError>>;

impl Client {
    /// Finds an offset in each partition. Leaders that moved are asked again; what stays wrong is in the answer.
    pub async fn list_offsets(
        &self,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
    ) -> Result<FoundOffsets, ClientError> {
        let found = Mutex::new(FoundOffsets::new());
        let outcome = self
            .retry("listing offsets", || {
                self.list_missing_offsets(wanted, isolation, &found)
            })
            .await;
        match outcome {
            // Some partitions stayed without an answer; the others have theirs.
            Err(ClientError::Broker { .. }) | Ok(()) => Ok(found.into_inner()),
            Err(error) => Err(error),
        }
    }

    /// Asks for what has no answer yet, or one that may pass.
    async fn list_missing_offsets(
        &self,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
        found: &Mutex<FoundOffsets>,
    ) -> Result<(), ClientError> {
        let mut known = found.lock().clone();
        let missing: Vec<(TopicPartition, OffsetSpec)> = wanted
            .iter()
            .filter(|(partition, _)| !is_settled(&known, partition))
            .map(|(partition, spec)| (partition.clone(), *spec))
            .collect();
        let moved: Vec<&Arc<str>> = known
            .iter()
            .filter(|(_, outcome)| outcome.is_err())
            .map(|(partition, _)| &partition.topic)
            .collect();
        if !moved.is_empty() {
            self.refresh_topics(&moved, WhenMissing::Fail).await?;
        }
        for (leader, partitions) in self.by_leader(&missing, &mut known).await? {
            self.list_offsets_at(leader, &partitions, isolation, &mut known)
                .await?;
        }
        let unsettled = known.values().find_map(|outcome| {
            let error = outcome.as_ref().err()?;
            may_pass(error).then(|| error.clone())
        });
        *found.lock() = known;
        unsettled.map_or(Ok(()), |error| Err(ClientError::broker("listing offsets", error)))
    }

    /// Sorts partitions by the leader to ask; those that have none, or do not exist, get their error at once.
    async fn by_leader(
        &self,
        wanted: &[(TopicPartition, OffsetSpec)],
        found: &mut FoundOffsets,
    ) -> Result<BTreeMap<i32, Vec<(TopicPartition, OffsetSpec)>>, ClientError> {
        let unknown: Vec<&Arc<str>> = wanted
            .iter()
            .map(|(partition, _)| &partition.topic)
            .filter(|topic| !self.metadata().topics.contains_key(*topic))
            .collect();
        if !unknown.is_empty() {
            self.refresh_topics(&unknown, WhenMissing::Fail).await?;
        }
        let metadata = self.metadata();
        let mut by_leader: BTreeMap<i32, Vec<(TopicPartition, OffsetSpec)>> = BTreeMap::new();
        for (partition, spec) in wanted {
            match metadata.leader(&partition.topic, partition.partition) {
                Some(leader) => by_leader
                    .entry(leader)
                    .or_default()
                    .push((partition.clone(), *spec)),
                None => {
                    let known = metadata
                        .topic(&partition.topic)
                        .and_then(|t| t.partition(partition.partition));
                    let code = match known {
                        Some(_) => ErrorCode::LeaderNotAvailable,
                        None => ErrorCode::UnknownTopicOrPartition,
                    };
                    found.insert(partition.clone(), Err(code.into()));
                }
            }
        }
        Ok(by_leader)
    }

    async fn list_offsets_at(
        &self,
        leader: i32,
        partitions: &[(TopicPartition, OffsetSpec)],
        isolation: IsolationLevel,
        found: &mut FoundOffsets,
    ) -> Result<(), ClientError> {
        let mut topics: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
        for (partition, spec) in partitions {
            let wanted = ListOffsetsPartition {
                partition_index: partition.partition,
                current_leader_epoch: -1,
                timestamp: spec.code(),
            };
            topics.entry(&partition.topic).or_default().push(wanted);
        }
        let topic = |(name, partitions): (&str, _)| ListOffsetsTopic {
            name: name.into(),
            partitions,
        };
        let request = ListOffsetsRequest {
            replica_id: -1,
            isolation_level: isolation.code(),
            topics: topics.into_iter().map(topic).collect(),
            timeout_ms: self.timeout_ms(),
        };
        let connection = self.to_broker(leader, Use::Calls).await?;
        let response = connection.call(&request, self.config().request_timeout).await?;
        for topic in response.topics {
            let name: Arc<str> = Arc::from(&*topic.name);
            for partition in topic.partitions {
                let outcome = BrokerError::check(partition.error_code, None).map(|()| FoundOffset {
                    offset: (partition.offset >= 0).then_some(partition.offset),
                    timestamp: partition.timestamp,
                    leader_epoch: partition.leader_epoch,
                });
                found.insert(
                    TopicPartition::new(name.clone(), partition.partition_index),
                    outcome,
                );
            }
        }
        Ok(())
    }
}

/// Whether a partition has an answer that asking again would not change.
fn is_settled(found: &FoundOffsets, partition: &TopicPartition) -> bool {
    match found.get(partition) {
        Some(Ok(_)) => true,
        Some(Err(error)) => !may_pass(error),
        None => false,
    }
}

/// Whether asking again may help. A topic that does not exist is not waited for.
fn may_pass(error: &BrokerError) -> bool {
    let is_missing = matches!(
        error.code,
        ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId
    );
    error.code.is_retriable() && !is_missing
}

//! Topics: create, delete, describe, more partitions.

use std::collections::BTreeMap;

use model::{ErrorCode, Uuid};
use wire::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic,
};
use wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use wire::messages::describe_topic_partitions::{
    DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponseTopic, TopicRequest,
};

use crate::admin::Outcomes;
use crate::client::{Client, WhenMissing};
use crate::error::{BrokerError, ClientError};

/// A topic to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; the broker's default when absent.
    pub partitions: Option<i32>,
    /// How many copies of each; the broker's default when absent.
    pub replication_factor: Option<i16>,
    /// The brokers of each partition, instead of the two numbers.
    pub assignments: BTreeMap<i32, Vec<i32>>,
    /// Settings that differ from the broker's.
    pub configs: Vec<(String, String)>,
}

/// A topic and the state of its partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: Uuid,
    /// Whether it is one of the broker's own.
    pub is_internal: bool,
    /// Its partitions, by ascending index.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition: who has it, and who could lead it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its index.
    pub index: i32,
    /// The leader; `None` while there is none.
    pub leader: Option<i32>,
    /// The brokers that should have a copy.
    pub replicas: Vec<i32>,
    /// Those whose copy is up to date.
    pub isr: Vec<i32>,
    /// Those that may lead although they are out of sync (KIP-966); `None` where the broker does not tell.
    pub eligible_leaders: Option<Vec<i32>>,
    /// The last known of them; `None` where the broker does not tell.
    pub last_known_eligible_leaders: Option<Vec<i32>>,
}

impl Client {
    /// Makes topics. With `validate_only`, nothing is made, but the answer is the same.
    pub async fn create_topics(
        &self,
        topics: &[NewTopic],
        mode: CreateMode,
    ) -> Result<Outcomes<Uuid>, ClientError> {
        let request = CreateTopicsRequest {
            topics: topics.iter().map(creatable).collect(),
            timeout_ms: self.timeout_ms(),
            validate_only: mode == CreateMode::ValidateOnly,
        };
        self.retry("creating topics", || async {
            let connection = self.to_controller().await?;
            let response = connection.call(&request, self.config().request_timeout).await?;
            let outcomes = response.topics.into_iter().map(|topic| {
                let outcome = BrokerError::check(topic.error_code, topic.error_message.as_deref());
                (topic.name.to_string(), outcome.map(|()| topic.topic_id))
            });
            unless_moved("creating topics", outcomes.collect())
        })
        .await
    }

    /// Deletes topics by name.
    pub async fn delete_topics(&self, names: &[String]) -> Result<Outcomes<()>, ClientError> {
        let request = DeleteTopicsRequest {
            topics: names
                .iter()
                .map(|name| DeleteTopicState {
                    name: Some(name.as_str().into()),
                    ..DeleteTopicState::default()
                })
                .collect(),
            topic_names: names.iter().map(|name| name.as_str().into()).collect(),
            timeout_ms: self.timeout_ms(),
        };
        self.retry("deleting topics", || async {
            let connection = self.to_controller().await?;
            let response = connection.call(&request, self.config().request_timeout).await?;
            let outcomes = response.responses.into_iter().map(|topic| {
                let name = topic.name.map(|name| name.to_string()).unwrap_or_default();
                (
                    name,
                    BrokerError::check(topic.error_code, topic.error_message.as_deref()),
                )
            });
            unless_moved("deleting topics", outcomes.collect())
        })
        .await
    }

    /// Gives a topic more partitions, `count` in all; `assignments` names the brokers of each new one, if not empty.
    pub async fn create_partitions(
        &self,
        topic: &str,
        count: i32,
        assignments: &[Vec<i32>],
    ) -> Result<Outcomes<()>, ClientError> {
        let assigned = assignments.iter().map(|brokers| CreatePartitionsAssignment {
            broker_ids: brokers.clone(),
        });
        let request = CreatePartitionsRequest {
            topics: vec![CreatePartitionsTopic {
                name: topic.into(),
                count,
                assignments: (!assignments.is_empty()).then(|| assigned.collect()),
            }],
            timeout_ms: self.timeout_ms(),
            validate_only: false,
        };
        self.retry("creating partitions", || async {
            let connection = self.to_controller().await?;
            let response = connection.call(&request, self.config().request_timeout).await?;
            let outcomes = response.results.into_iter().map(|topic| {
                let outcome = BrokerError::check(topic.error_code, topic.error_message.as_deref());
                (topic.name.to_string(), outcome)
            });
            unless_moved("creating partitions", outcomes.collect())
        })
        .await
    }

    /// The names of all topics, in order.
    pub async fn list_topics(&self) -> Result<Vec<String>, ClientError> {
        let metadata = self.refresh_all().await?;
        Ok(metadata.topics().map(|topic| topic.name.to_string()).collect())
    }

    /// Describes topics, `page` partitions per answer. Brokers without that API tell no eligible leaders.
    pub async fn describe_topics(
        &self,
        names: &[String],
        page: i32,
    ) -> Result<Outcomes<TopicDescription>, ClientError> {
        self.retry("describing topics", || async {
            let connection = self.to_any().await?;
            match connection.version::<DescribeTopicPartitionsRequest>() {
                Ok(_) => self.describe_by_pages(names, page).await,
                Err(_) => self.describe_by_metadata(names).await,
            }
        })
        .await
    }

    async fn describe_by_pages(
        &self,
        names: &[String],
        page: i32,
    ) -> Result<Outcomes<TopicDescription>, ClientError> {
        let mut found: Outcomes<TopicDescription> = Vec::new();
        let mut request = DescribeTopicPartitionsRequest {
            topics: names
                .iter()
                .map(|name| TopicRequest {
                    name: name.as_str().into(),
                })
                .collect(),
            response_partition_limit: page,
            cursor: None,
        };
        loop {
            let connection = self.to_any().await?;
            let response = connection.call(&request, self.config().request_timeout).await?;
            for topic in response.topics {
                let name = topic.name.as_ref().map(ToString::to_string).unwrap_or_default();
                let described = BrokerError::check(topic.error_code, None).map(|()| described(&name, topic));
                match (found.last_mut(), described) {
                    // A topic that goes on from the page before.
                    (Some((last, Ok(known))), Ok(more)) if *last == name => {
                        known.partitions.extend(more.partitions)
                    }
                    (_, described) => found.push((name, described)),
                }
            }
            match response.next_cursor {
                Some(cursor) if Some(&cursor) != request.cursor.as_ref() => {
                    request.topics.retain(|topic| topic.name >= cursor.topic_name);
                    request.cursor = Some(cursor);
                }
                Some(_) => {
                    return Err(ClientError::refused(
                        "the broker answers the same page again and again",
                    ));
                }
                None => return Ok(found),
            }
        }
    }

    async fn describe_by_metadata(
        &self,
        names: &[String],
    ) -> Result<Outcomes<TopicDescription>, ClientError> {
        self.refresh_topics(names, WhenMissing::Fail).await?;
        let metadata = self.metadata();
        let describe = |name: &String| match metadata.topics.get(name.as_str()).map(|entry| &entry.topic) {
            Some(Ok(topic)) => Ok(TopicDescription {
                name: name.clone(),
                id: topic.id,
                is_internal: topic.is_internal,
                partitions: topic
                    .partitions
                    .iter()
                    .map(|partition| PartitionDescription {
                        index: partition.index,
                        leader: partition.leader,
                        replicas: partition.replicas.clone(),
                        isr: partition.isr.clone(),
                        eligible_leaders: None,
                        last_known_eligible_leaders: None,
                    })
                    .collect(),
            }),
            Some(Err(error)) => Err(error.clone()),
            None => Err(ErrorCode::UnknownTopicOrPartition.into()),
        };
        Ok(names.iter().map(|name| (name.clone(), describe(name))).collect())
    }

    /// The time a broker may take for an administrative request.
    pub(crate) fn timeout_ms(&self) -> i32 {
        i32::try_from(self.config().request_timeout.as_millis()).unwrap_or(i32::MAX)
    }
}

/// Whether a call that makes something makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// It does.
    Create,
    /// It only says whether it would.
    ValidateOnly,
}

/// Answers that name another controller are no answers.
fn unless_moved<T>(what: &str, outcomes: Outcomes<T>) -> Result<Outcomes<T>, ClientError> {
    let moved = outcomes.iter().find_map(|(_, outcome)| {
        let error = outcome.as_ref().err()?;
        (error.code == ErrorCode::NotController).then(|| error.clone())
    });
    match moved {
        Some(error) => Err(ClientError::broker(what, error)),
        None => Ok(outcomes),
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let is_assigned = !topic.assignments.is_empty();
    let assignment = |(partition, brokers): (&i32, &Vec<i32>)| CreatableReplicaAssignment {
        partition_index: *partition,
        broker_ids: brokers.clone(),
    };
    let config = |(name, value): &(String, String)| CreatableTopicConfig {
        name: name.as_str().into(),
        value: Some(value.as_str().into()),
    };
    CreatableTopic {
        name: topic.name.as_str().into(),
        num_partitions: if is_assigned {
            -1
        } else {
            topic.partitions.unwrap_or(-1)
        },
        replication_factor: if is_assigned {
            -1
        } else {
            topic.replication_factor.unwrap_or(-1)
        },
        assignments: topic.assignments.iter().map(assignment).collect(),
        configs: topic.configs.iter().map(config).collect(),
    }
}

fn described(name: &str, topic: DescribeTopicPartitionsResponseTopic) -> TopicDescription {
    let mut partitions: Vec<PartitionDescription> = topic
        .partitions
        .into_iter()
        .map(|partition| PartitionDescription {
            index: partition.partition_index,
            leader: (partition.leader_id >= 0).then_some(partition.leader_id),
            replicas: partition.replica_nodes,
            isr: partition.isr_nodes,
            eligible_leaders: Some(partition.eligible_leader_replicas.unwrap_or_default()),
            last_known_eligible_leaders: Some(partition.last_known_elr.unwrap_or_default()),
        })
        .collect();
    partitions.sort_by_key(|partition| partition.index);
    TopicDescription {
        name: name.to_owned(),
        id: topic.topic_id,
        is_internal: topic.is_internal,
        partitions,
    }
}

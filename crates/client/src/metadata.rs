//! What a client knows of the cluster: brokers, topics, leaders. Kept until it is old or turns out to be wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::Uuid;
use tokio::time::Instant;
use wire::messages::metadata::{MetadataResponse, MetadataResponseTopic};

use crate::error::BrokerError;

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: i32,
    /// The host clients reach it at.
    pub host: String,
    /// The port clients reach it at.
    pub port: i32,
    /// Its rack.
    pub rack: Option<String>,
}

impl Broker {
    /// `host:port`, an IPv6 address in brackets.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// A partition, and who leads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its index.
    pub index: i32,
    /// The leader; `None` while there is none.
    pub leader: Option<i32>,
    /// The leader's epoch; -1 when the broker does not tell.
    pub leader_epoch: i32,
    /// The brokers that should have a copy.
    pub replicas: Vec<i32>,
    /// Those whose copy is up to date.
    pub isr: Vec<i32>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id; zero when the broker does not tell.
    pub id: Uuid,
    /// Whether it is one of the broker's own.
    pub is_internal: bool,
    /// Its partitions, by ascending index.
    pub partitions: Vec<Partition>,
}

impl Topic {
    /// The partition of an index.
    pub fn partition(&self, index: i32) -> Option<&Partition> {
        let place = self
            .partitions
            .binary_search_by_key(&index, |partition| partition.index);
        self.partitions.get(place.ok()?)
    }
}

/// A topic in the cache, or why it is not there, and since when.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) topic: Result<Arc<Topic>, BrokerError>,
    pub(crate) learned: Instant,
}

/// The cluster as last heard of.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// A broker that takes administrative requests.
    pub controller: Option<i32>,
    /// The brokers by id.
    pub brokers: BTreeMap<i32, Broker>,
    pub(crate) topics: BTreeMap<Arc<str>, Entry>,
}

impl Metadata {
    /// A topic that is known to exist.
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)?.topic.as_ref().ok()
    }

    /// The topics known to exist.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.values().filter_map(|entry| entry.topic.as_ref().ok())
    }

    /// The leader of a partition.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        self.topic(topic)?.partition(partition)?.leader
    }

    /// This with what a broker answered: brokers anew, the topics it speaks of replaced.
    pub(crate) fn updated(&self, response: &MetadataResponse, now: Instant) -> Metadata {
        let brokers = response.brokers.iter().map(|broker| {
            let known = Broker {
                id: broker.node_id,
                host: broker.host.to_string(),
                port: broker.port,
                rack: broker.rack.as_ref().map(ToString::to_string),
            };
            (broker.node_id, known)
        });
        let mut topics = self.topics.clone();
        for answered in &response.topics {
            let Some(name) = &answered.name else {
                continue;
            };
            let entry = Entry {
                topic: read_topic(name, answered).map(Arc::new),
                learned: now,
            };
            topics.insert(Arc::from(&**name), entry);
        }
        Metadata {
            cluster_id: response.cluster_id.as_ref().map(ToString::to_string),
            controller: (response.controller_id >= 0).then_some(response.controller_id),
            brokers: brokers.collect(),
            topics,
        }
    }
}

fn read_topic(name: &str, answered: &MetadataResponseTopic) -> Result<Topic, BrokerError> {
    BrokerError::check(answered.error_code, None)?;
    let mut partitions: Vec<Partition> = answered
        .partitions
        .iter()
        .map(|partition| Partition {
            index: partition.partition_index,
            leader: (partition.leader_id >= 0).then_some(partition.leader_id),
            leader_epoch: partition.leader_epoch,
            replicas: partition.replica_nodes.clone(),
            isr: partition.isr_nodes.clone(),
        })
        .collect();
    partitions.sort_by_key(|partition| partition.index);
    Ok(Topic {
        name: name.into(),
        id: answered.topic_id,
        is_internal: answered.is_internal,
        partitions,
    })
}

#[cfg(test)]
mod tests {
    use model::ErrorCode;
    use wire::messages::metadata::{MetadataResponseBroker, MetadataResponsePartition};

    use super::*;

    #[test]
    fn an_answer_about_one_topic_leaves_the_others_and_replaces_the_brokers() {
        let answer = |broker: i32, topic: &str, error: ErrorCode| MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id: broker,
                host: "::1".into(),
                port: 9092,
                rack: None,
            }],
            topics: vec![MetadataResponseTopic {
                name: Some(topic.into()),
                error_code: error.code(),
                partitions: vec![MetadataResponsePartition {
                    leader_id: broker,
                    ..MetadataResponsePartition::default()
                }],
                ..MetadataResponseTopic::default()
            }],
            ..MetadataResponse::default()
        };
        let now = Instant::now();
        let first = Metadata::default().updated(&answer(1, "a", ErrorCode::None), now);
        let second = first.updated(&answer(2, "b", ErrorCode::UnknownTopicOrPartition), now);
        assert_eq!(second.leader("a", 0), Some(1));
        assert!(second.topic("b").is_none());
        assert_eq!(second.brokers.keys().copied().collect::<Vec<_>>(), [2]);
        assert_eq!(second.brokers[&2].address(), "[::1]:9092");
    }
}

//! The image: everything the metadata log says, at one point of it.
//!
//! Immutable once published and cheap to clone: a clone shares every section, and applying a record copies the part of a
//! section that it touches. Only [`Image::apply`] changes an image.

mod access;
mod cluster;
mod configs;
mod features;
mod partition;
mod topics;

use std::sync::Arc;

use model::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, Uuid};
use wire::internal::metadata_log::ProducerIdsRecord;

pub use access::{
    Acl, Acls, ClientQuotas, DelegationToken, DelegationTokens, QuotaEntity, ScramCredential,
    ScramCredentials,
};
pub use cluster::{Broker, Cluster, Controller, Endpoint, LevelRange, SupportedFeatures};
pub use configs::{ConfigKind, Configs, Settings};
pub use features::{
    ELR_VERSION, FEATURES, Feature, Features, KRAFT_VERSION, METADATA_VERSION, METADATA_VERSION_MAX,
    METADATA_VERSION_MIN, METADATA_VERSIONS, supported_features,
};
pub use partition::{
    DIRECTORY_LOST, DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, LeaderRecovery, NO_LEADER_CHANGE, Partition,
    PartitionError,
};
pub use topics::{Topic, Topics};

use crate::delta::Delta;
use crate::record::MetadataRecord;

/// Why a record cannot be applied: the log contradicts itself, and no image of it can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// A topic was made twice.
    #[error("topic {name} is made, but is there already")]
    TopicExists {
        /// Its name.
        name: Arc<str>,
    },
    /// A record about a topic that is not there.
    #[error("no topic has the id {id}")]
    UnknownTopic {
        /// The id.
        id: Uuid,
    },
    /// A record about a topic that is not there.
    #[error("no topic is named {name}")]
    UnknownTopicName {
        /// The name.
        name: Arc<str>,
    },
    /// A record about a partition that is not there.
    #[error("topic {topic} has no partition {partition}")]
    UnknownPartition {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
    },
    /// A partition's record that contradicts itself.
    #[error("partition {partition} of topic {topic_id}: {error}")]
    Partition {
        /// The topic.
        topic_id: Uuid,
        /// The partition.
        partition: i32,
        /// What is wrong.
        error: PartitionError,
    },
    /// A record about another incarnation of a broker.
    #[error("no broker {id} is registered with epoch {epoch}")]
    UnknownBroker {
        /// The broker.
        id: BrokerId,
        /// The epoch.
        epoch: BrokerEpoch,
    },
    /// A rule of access was removed that is not there.
    #[error("no acl has the id {id}")]
    UnknownAcl {
        /// The id.
        id: Uuid,
    },
    /// Begin and end of a transaction do not alternate.
    #[error("{0} out of place: transactions of the metadata log begin and end in turns")]
    Transaction(&'static str),
}

impl ApplyError {
    fn partition(topic_id: Uuid, partition: i32, error: PartitionError) -> ApplyError {
        ApplyError::Partition {
            topic_id,
            partition,
            error,
        }
    }
}

/// A point of the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The offset of the last record that counts; -1 before the first.
    pub offset: Offset,
    /// The epoch of the leader that wrote it.
    pub epoch: LeaderEpoch,
    /// When it was written, in milliseconds since 1970.
    pub timestamp_ms: i64,
}

impl Default for LogPosition {
    fn default() -> LogPosition {
        LogPosition {
            offset: Offset::NONE,
            epoch: LeaderEpoch(0),
            timestamp_ms: 0,
        }
    }
}

/// Everything the metadata log says, at one point of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Up to where the log is in it.
    pub position: LogPosition,
    /// The levels of features.
    pub features: Arc<Features>,
    /// The nodes.
    pub cluster: Arc<Cluster>,
    /// The topics.
    pub topics: Arc<Topics>,
    /// The settings of resources.
    pub configs: Arc<Configs>,
    /// The quotas of clients.
    pub quotas: Arc<ClientQuotas>,
    /// The rules of access.
    pub acls: Arc<Acls>,
    /// The credentials of users.
    pub scram: Arc<ScramCredentials>,
    /// The delegation tokens.
    pub delegation_tokens: Arc<DelegationTokens>,
    /// The first producer id that nobody was given yet.
    pub next_producer_id: i64,
}

impl Image {
    /// Whether the log has not said anything that counts.
    pub fn is_empty(&self) -> bool {
        *self
            == Image {
                position: self.position,
                ..Image::default()
            }
    }

    /// Applies a record and notes in `delta` what it changed. After an error the image is of no use.
    ///
    /// Records of transactions are the business of [`crate::Replay`] and an error here.
    pub fn apply(&mut self, record: &MetadataRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        use MetadataRecord as R;
        let cluster = &mut self.cluster;
        let topics = &mut self.topics;
        match record {
            R::RegisterBroker(record) => Arc::make_mut(cluster).register(record, delta),
            R::UnregisterBroker(record) => Arc::make_mut(cluster).unregister(record, delta)?,
            R::FenceBroker(record) => Arc::make_mut(cluster).fence(record, delta)?,
            R::UnfenceBroker(record) => Arc::make_mut(cluster).unfence(record, delta)?,
            R::BrokerRegistrationChange(record) => Arc::make_mut(cluster).change(record, delta)?,
            R::RegisterController(record) => Arc::make_mut(cluster).register_controller(record, delta),
            R::Topic(record) => Arc::make_mut(topics).create(record, delta)?,
            R::Partition(record) => Arc::make_mut(topics).create_partition(record, delta)?,
            R::PartitionChange(record) => Arc::make_mut(topics).change_partition(record, delta)?,
            R::ClearElr(record) => Arc::make_mut(topics).clear_elr(record, delta)?,
            R::RemoveTopic(record) => {
                let topic = Arc::make_mut(topics).remove(record, delta)?;
                Arc::make_mut(&mut self.configs).forget_topic(&topic.name, delta);
            }
            R::Config(record) => Arc::make_mut(&mut self.configs).set(record, delta),
            R::FeatureLevel(record) => Arc::make_mut(&mut self.features).set(record, delta),
            R::ClientQuota(record) => Arc::make_mut(&mut self.quotas).set(record, delta),
            R::ProducerIds(record) => {
                self.next_producer_id = record.next_producer_id;
                delta.producer_ids = true;
            }
            R::AccessControlEntry(record) => Arc::make_mut(&mut self.acls).add(record, delta),
            R::RemoveAccessControlEntry(record) => Arc::make_mut(&mut self.acls).remove(record, delta)?,
            R::UserScramCredential(record) => Arc::make_mut(&mut self.scram).set(record, delta),
            R::RemoveUserScramCredential(record) => Arc::make_mut(&mut self.scram).remove(record, delta),
            R::DelegationToken(record) => Arc::make_mut(&mut self.delegation_tokens).set(record, delta),
            R::RemoveDelegationToken(record) => {
                Arc::make_mut(&mut self.delegation_tokens).remove(record, delta)
            }
            // Apache Kafka reads the state of a migration from ZooKeeper over since 4.0.
            R::NoOp(_) | R::ZkMigrationState(_) => {}
            R::BeginTransaction(_) | R::EndTransaction(_) | R::AbortTransaction(_) => {
                return Err(ApplyError::Transaction(record.name()));
            }
        }
        Ok(())
    }

    /// The records that make this image out of an empty one, in the order Apache Kafka writes a snapshot.
    pub fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        self.features.write(out);
        self.cluster.write(out);
        self.topics.write(out);
        self.configs.write(out);
        self.quotas.write(out);
        if self.next_producer_id != 0 {
            out(MetadataRecord::ProducerIds(ProducerIdsRecord {
                broker_id: -1,
                broker_epoch: -1,
                next_producer_id: self.next_producer_id,
            }));
        }
        self.acls.write(out);
        self.scram.write(out);
        self.delegation_tokens.write(out);
    }
}

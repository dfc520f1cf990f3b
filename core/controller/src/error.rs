//! Why a command on topics is refused, with the code and the text a client sees.

use std::sync::Arc;

use model::{BrokerId, ErrorCode, TopicNameError, Uuid};

/// Why a topic is not created, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// The name is not one a topic can have.
    #[error("Topic name is invalid: {0}")]
    Name(#[from] TopicNameError),
    /// Metrics could not tell the two topics apart.
    #[error("Topic '{name}' collides with existing topic: {other}")]
    Collision {
        /// The new name.
        name: Arc<str>,
        /// The name that is there.
        other: Arc<str>,
    },
    /// The topic of the cluster's own log.
    #[error("Creation of internal topic {0} is prohibited.")]
    Prohibited(Arc<str>),
    /// There is such a topic.
    #[error("Topic '{0}' already exists.")]
    Exists(Arc<str>),
    /// There is no topic of that name.
    #[error("This server does not host this topic-partition.")]
    UnknownName,
    /// There is no topic with that id.
    #[error("This server does not host this topic ID.")]
    UnknownId(Uuid),
    /// The request contradicts itself.
    #[error("{0}")]
    Request(&'static str),
    /// A setting that a topic cannot have.
    #[error("{0}")]
    Config(String),
    /// A number of replicas that cannot be had.
    #[error("{0}")]
    ReplicationFactor(String),
    /// A number of partitions that cannot be had.
    #[error("{0}")]
    Partitions(String),
    /// An assignment of replicas that cannot be had.
    #[error("{0}")]
    Assignment(String),
    /// More partitions than this cluster takes.
    #[error("{0}")]
    Limit(String),
}

impl TopicError {
    /// The code in a response.
    pub fn code(&self) -> ErrorCode {
        match self {
            TopicError::Name(_) | TopicError::Collision { .. } => ErrorCode::InvalidTopicException,
            TopicError::Prohibited(_) | TopicError::Request(_) => ErrorCode::InvalidRequest,
            TopicError::Exists(_) => ErrorCode::TopicAlreadyExists,
            TopicError::UnknownName => ErrorCode::UnknownTopicOrPartition,
            TopicError::UnknownId(_) => ErrorCode::UnknownTopicId,
            TopicError::Config(_) => ErrorCode::InvalidConfig,
            TopicError::ReplicationFactor(_) => ErrorCode::InvalidReplicationFactor,
            TopicError::Partitions(_) => ErrorCode::InvalidPartitions,
            TopicError::Assignment(_) => ErrorCode::InvalidReplicaAssignment,
            TopicError::Limit(_) => ErrorCode::PolicyViolation,
        }
    }

    pub(crate) fn all_inactive(replication_factor: usize) -> TopicError {
        TopicError::ReplicationFactor(format!(
            "Unable to replicate the partition {replication_factor} time(s): All brokers are currently fenced or in \
             controlled shutdown."
        ))
    }

    pub(crate) fn inactive_assignment(partition: i32) -> TopicError {
        TopicError::Assignment(format!(
            "All brokers specified in the manual partition assignment for partition {partition} are fenced or in \
             controlled shutdown."
        ))
    }

    pub(crate) fn unknown_broker(broker: BrokerId) -> TopicError {
        TopicError::Assignment(format!(
            "The manual partition assignment includes broker {broker}, but no such broker is registered."
        ))
    }
}

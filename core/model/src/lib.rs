//! The words of the house: ids, offsets, epochs, topic names, error codes, configuration keys.
//!
//! Nothing here does I/O, and nothing here depends on another crate of ours.

pub mod config;
mod error_code;
mod ids;
mod java_hash;
mod latin1;
mod topic;
mod uuid;

pub use error_code::ErrorCode;
pub use ids::{BrokerEpoch, BrokerId, LeaderEpoch, Offset, ProducerEpoch, ProducerId};
pub use java_hash::{java_string_hash, partition_for_id};
pub use latin1::escape_latin1;
pub use topic::{
    CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_GROUP_STATE, TOPIC_NAME_MAX, TRANSACTION_STATE, TopicNameError,
    TopicPartition, is_internal, names_collide, validate_topic_name,
};
pub use uuid::{ParseUuidError, Uuid};

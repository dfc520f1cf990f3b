//! The messages of `AlterPartition`, API key 56.

use model::Uuid;
use wire_derive::{Fields, Message};

/// Asks to change a partition's in-sync replicas (KIP-497).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterPartition, versions = "2-3", flexible = "2+")]
pub struct AlterPartitionRequest {
    pub broker_id: i32,
    #[wire(default = -1)]
    pub broker_epoch: i64,
    pub topics: Vec<AlterPartitionRequestTopicData>,
}

/// An element of [`AlterPartitionRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterPartitionRequestTopicData {
    pub topic_id: Uuid,
    pub partitions: Vec<AlterPartitionRequestPartitionData>,
}

/// An element of [`AlterPartitionRequestTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterPartitionRequestPartitionData {
    pub partition_index: i32,
    pub leader_epoch: i32,
    #[wire(versions = "2")]
    pub new_isr: Vec<i32>,
    #[wire(versions = "3+")]
    pub new_isr_with_epochs: Vec<BrokerState>,
    pub leader_recovery_state: i8,
    pub partition_epoch: i32,
}

/// An element of [`AlterPartitionRequestPartitionData::new_isr_with_epochs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BrokerState {
    pub broker_id: i32,
    #[wire(default = -1)]
    pub broker_epoch: i64,
}

/// Answers [`AlterPartitionRequest`]: the partition's new state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "2-3", flexible = "2+")]
pub struct AlterPartitionResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub topics: Vec<AlterPartitionResponseTopicData>,
}

/// An element of [`AlterPartitionResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterPartitionResponseTopicData {
    pub topic_id: Uuid,
    pub partitions: Vec<AlterPartitionResponsePartitionData>,
}

/// An element of [`AlterPartitionResponseTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterPartitionResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub isr: Vec<i32>,
    pub leader_recovery_state: i8,
    pub partition_epoch: i32,
}

//! The messages of `AlterPartitionReassignments`, API key 45.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to move partitions to other brokers, or stop moving them.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterPartitionReassignments, versions = "0-1", flexible = "0+")]
pub struct AlterPartitionReassignmentsRequest {
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    #[wire(versions = "1+", default = true)]
    pub allow_replication_factor_change: bool,
    pub topics: Vec<ReassignableTopic>,
}

/// An element of [`AlterPartitionReassignmentsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReassignableTopic {
    pub name: Str,
    pub partitions: Vec<ReassignablePartition>,
}

/// An element of [`ReassignableTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReassignablePartition {
    pub partition_index: i32,
    pub replicas: Option<Vec<i32>>,
}

/// Answers [`AlterPartitionReassignmentsRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct AlterPartitionReassignmentsResponse {
    pub throttle_time_ms: i32,
    #[wire(versions = "1+", default = true)]
    pub allow_replication_factor_change: bool,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub responses: Vec<ReassignableTopicResponse>,
}

/// An element of [`AlterPartitionReassignmentsResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReassignableTopicResponse {
    pub name: Str,
    pub partitions: Vec<ReassignablePartitionResponse>,
}

/// An element of [`ReassignableTopicResponse::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReassignablePartitionResponse {
    pub partition_index: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

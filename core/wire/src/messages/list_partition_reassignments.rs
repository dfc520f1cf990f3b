//! The messages of `ListPartitionReassignments`, API key 46.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know which partitions are moving.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ListPartitionReassignments, versions = "0", flexible = "0+")]
pub struct ListPartitionReassignmentsRequest {
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
}

/// An element of [`ListPartitionReassignmentsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ListPartitionReassignmentsTopics {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

/// Answers [`ListPartitionReassignmentsRequest`]: the partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct ListPartitionReassignmentsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub topics: Vec<OngoingTopicReassignment>,
}

/// An element of [`ListPartitionReassignmentsResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OngoingTopicReassignment {
    pub name: Str,
    pub partitions: Vec<OngoingPartitionReassignment>,
}

/// An element of [`OngoingTopicReassignment::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OngoingPartitionReassignment {
    pub partition_index: i32,
    pub replicas: Vec<i32>,
    pub adding_replicas: Vec<i32>,
    pub removing_replicas: Vec<i32>,
}

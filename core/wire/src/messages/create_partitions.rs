//! The messages of `CreatePartitions`, API key 37.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to give topics more partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = CreatePartitions, versions = "0-3", flexible = "2+")]
pub struct CreatePartitionsRequest {
    pub topics: Vec<CreatePartitionsTopic>,
    pub timeout_ms: i32,
    pub validate_only: bool,
}

/// An element of [`CreatePartitionsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatePartitionsTopic {
    pub name: Str,
    pub count: i32,
    #[wire(default = Some(Vec::new()))]
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

/// An element of [`CreatePartitionsTopic::assignments`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatePartitionsAssignment {
    pub broker_ids: Vec<i32>,
}

/// Answers [`CreatePartitionsRequest`]: the outcome for each topic.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-3", flexible = "2+")]
pub struct CreatePartitionsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<CreatePartitionsTopicResult>,
}

/// An element of [`CreatePartitionsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatePartitionsTopicResult {
    pub name: Str,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

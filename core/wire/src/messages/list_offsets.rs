//! The messages of `ListOffsets`, API key 2.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to find an offset by time, or the earliest or latest.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ListOffsets, versions = "1-11", flexible = "6+")]
pub struct ListOffsetsRequest {
    pub replica_id: i32,
    #[wire(versions = "2+")]
    pub isolation_level: i8,
    pub topics: Vec<ListOffsetsTopic>,
    #[wire(versions = "10+")]
    pub timeout_ms: i32,
}

/// An element of [`ListOffsetsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ListOffsetsTopic {
    pub name: Str,
    pub partitions: Vec<ListOffsetsPartition>,
}

/// An element of [`ListOffsetsTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ListOffsetsPartition {
    pub partition_index: i32,
    #[wire(versions = "4+", default = -1)]
    pub current_leader_epoch: i32,
    pub timestamp: i64,
}

/// Answers [`ListOffsetsRequest`]: the offset found in each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-11", flexible = "6+")]
pub struct ListOffsetsResponse {
    #[wire(versions = "2+")]
    pub throttle_time_ms: i32,
    pub topics: Vec<ListOffsetsTopicResponse>,
}

/// An element of [`ListOffsetsResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ListOffsetsTopicResponse {
    pub name: Str,
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

/// An element of [`ListOffsetsTopicResponse::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ListOffsetsPartitionResponse {
    pub partition_index: i32,
    pub error_code: i16,
    #[wire(default = -1)]
    pub timestamp: i64,
    #[wire(default = -1)]
    pub offset: i64,
    #[wire(versions = "4+", default = -1)]
    pub leader_epoch: i32,
}

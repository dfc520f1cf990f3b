//! The messages of `OffsetDelete`, API key 47.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete a group's offsets.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = OffsetDelete, versions = "0")]
pub struct OffsetDeleteRequest {
    pub group_id: Str,
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

/// An element of [`OffsetDeleteRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetDeleteRequestTopic {
    pub name: Str,
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

/// An element of [`OffsetDeleteRequestTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetDeleteRequestPartition {
    pub partition_index: i32,
}

/// Answers [`OffsetDeleteRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0")]
pub struct OffsetDeleteResponse {
    pub error_code: i16,
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

/// An element of [`OffsetDeleteResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetDeleteResponseTopic {
    pub name: Str,
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

/// An element of [`OffsetDeleteResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetDeleteResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
}

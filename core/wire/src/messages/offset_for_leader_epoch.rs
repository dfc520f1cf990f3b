//! The messages of `OffsetForLeaderEpoch`, API key 23.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know where leader epochs end in partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = OffsetForLeaderEpoch, versions = "2-4", flexible = "4+")]
pub struct OffsetForLeaderEpochRequest {
    #[wire(versions = "3+", default = -2)]
    pub replica_id: i32,
    pub topics: Vec<OffsetForLeaderTopic>,
}

/// An element of [`OffsetForLeaderEpochRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetForLeaderTopic {
    pub topic: Str,
    pub partitions: Vec<OffsetForLeaderPartition>,
}

/// An element of [`OffsetForLeaderTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetForLeaderPartition {
    pub partition: i32,
    #[wire(default = -1)]
    pub current_leader_epoch: i32,
    pub leader_epoch: i32,
}

/// Answers [`OffsetForLeaderEpochRequest`]: the end of each epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "2-4", flexible = "4+")]
pub struct OffsetForLeaderEpochResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

/// An element of [`OffsetForLeaderEpochResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetForLeaderTopicResult {
    pub topic: Str,
    pub partitions: Vec<EpochEndOffset>,
}

/// An element of [`OffsetForLeaderTopicResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EpochEndOffset {
    pub error_code: i16,
    pub partition: i32,
    #[wire(default = -1)]
    pub leader_epoch: i32,
    #[wire(default = -1)]
    pub end_offset: i64,
}

//! The messages of `ReadShareGroupState`, API key 84.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to read the state of share partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ReadShareGroupState, versions = "0", flexible = "0+")]
pub struct ReadShareGroupStateRequest {
    pub group_id: Str,
    pub topics: Vec<ReadStateData>,
}

/// An element of [`ReadShareGroupStateRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReadStateData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`ReadStateData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition: i32,
    pub leader_epoch: i32,
}

/// Answers [`ReadShareGroupStateRequest`]: the state of each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct ReadShareGroupStateResponse {
    pub results: Vec<ReadStateResult>,
}

/// An element of [`ReadShareGroupStateResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReadStateResult {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionResult>,
}

/// An element of [`ReadStateResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResult {
    pub partition: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub state_epoch: i32,
    pub start_offset: i64,
    pub state_batches: Vec<StateBatch>,
}

/// An element of [`PartitionResult::state_batches`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct StateBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_state: i8,
    pub delivery_count: i16,
}

//! The messages of `WriteShareGroupState`, API key 85.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to store the state of share partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = WriteShareGroupState, versions = "0-1", flexible = "0+")]
pub struct WriteShareGroupStateRequest {
    pub group_id: Str,
    pub topics: Vec<WriteStateData>,
}

/// An element of [`WriteShareGroupStateRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WriteStateData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`WriteStateData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition: i32,
    pub state_epoch: i32,
    pub leader_epoch: i32,
    pub start_offset: i64,
    #[wire(versions = "1+", default = -1)]
    pub delivery_complete_count: i32,
    pub state_batches: Vec<StateBatch>,
}

/// An element of [`PartitionData::state_batches`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct StateBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_state: i8,
    pub delivery_count: i16,
}

/// Answers [`WriteShareGroupStateRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct WriteShareGroupStateResponse {
    pub results: Vec<WriteStateResult>,
}

/// An element of [`WriteShareGroupStateResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct WriteStateResult {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionResult>,
}

/// An element of [`WriteStateResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResult {
    pub partition: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

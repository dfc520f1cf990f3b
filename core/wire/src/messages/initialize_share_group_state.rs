//! The messages of `InitializeShareGroupState`, API key 83.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to begin the state of share partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = InitializeShareGroupState, versions = "0", flexible = "0+")]
pub struct InitializeShareGroupStateRequest {
    pub group_id: Str,
    pub topics: Vec<InitializeStateData>,
}

/// An element of [`InitializeShareGroupStateRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct InitializeStateData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`InitializeStateData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition: i32,
    pub state_epoch: i32,
    pub start_offset: i64,
}

/// Answers [`InitializeShareGroupStateRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct InitializeShareGroupStateResponse {
    pub results: Vec<InitializeStateResult>,
}

/// An element of [`InitializeShareGroupStateResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct InitializeStateResult {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionResult>,
}

/// An element of [`InitializeStateResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResult {
    pub partition: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

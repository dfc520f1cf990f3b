//! The messages of `DeleteShareGroupState`, API key 86.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete the state of share partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DeleteShareGroupState, versions = "0", flexible = "0+")]
pub struct DeleteShareGroupStateRequest {
    pub group_id: Str,
    pub topics: Vec<DeleteStateData>,
}

/// An element of [`DeleteShareGroupStateRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteStateData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`DeleteStateData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition: i32,
}

/// Answers [`DeleteShareGroupStateRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DeleteShareGroupStateResponse {
    pub results: Vec<DeleteStateResult>,
}

/// An element of [`DeleteShareGroupStateResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteStateResult {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionResult>,
}

/// An element of [`DeleteStateResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResult {
    pub partition: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

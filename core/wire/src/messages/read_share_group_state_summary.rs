//! The messages of `ReadShareGroupStateSummary`, API key 87.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to read where share partitions stand, without their batches.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ReadShareGroupStateSummary, versions = "0-1", flexible = "0+")]
pub struct ReadShareGroupStateSummaryRequest {
    pub group_id: Str,
    pub topics: Vec<ReadStateSummaryData>,
}

/// An element of [`ReadShareGroupStateSummaryRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReadStateSummaryData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`ReadStateSummaryData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition: i32,
    pub leader_epoch: i32,
}

/// Answers [`ReadShareGroupStateSummaryRequest`]: where each partition stands.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct ReadShareGroupStateSummaryResponse {
    pub results: Vec<ReadStateSummaryResult>,
}

/// An element of [`ReadShareGroupStateSummaryResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReadStateSummaryResult {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionResult>,
}

/// An element of [`ReadStateSummaryResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResult {
    pub partition: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub state_epoch: i32,
    pub leader_epoch: i32,
    pub start_offset: i64,
    #[wire(versions = "1+", default = -1)]
    pub delivery_complete_count: i32,
}

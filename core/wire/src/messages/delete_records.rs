//! The messages of `DeleteRecords`, API key 21.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete the records of partitions below an offset.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DeleteRecords, versions = "0-2", flexible = "2+")]
pub struct DeleteRecordsRequest {
    pub topics: Vec<DeleteRecordsTopic>,
    pub timeout_ms: i32,
}

/// An element of [`DeleteRecordsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteRecordsTopic {
    pub name: Str,
    pub partitions: Vec<DeleteRecordsPartition>,
}

/// An element of [`DeleteRecordsTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteRecordsPartition {
    pub partition_index: i32,
    pub offset: i64,
}

/// Answers [`DeleteRecordsRequest`]: each partition's new low watermark.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "2+")]
pub struct DeleteRecordsResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<DeleteRecordsTopicResult>,
}

/// An element of [`DeleteRecordsResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteRecordsTopicResult {
    pub name: Str,
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

/// An element of [`DeleteRecordsTopicResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteRecordsPartitionResult {
    pub partition_index: i32,
    pub low_watermark: i64,
    pub error_code: i16,
}

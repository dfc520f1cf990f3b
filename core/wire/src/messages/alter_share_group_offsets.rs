//! The messages of `AlterShareGroupOffsets`, API key 91.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to change how far a share group has consumed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterShareGroupOffsets, versions = "0", flexible = "0+")]
pub struct AlterShareGroupOffsetsRequest {
    pub group_id: Str,
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
}

/// An element of [`AlterShareGroupOffsetsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterShareGroupOffsetsRequestTopic {
    pub topic_name: Str,
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
}

/// An element of [`AlterShareGroupOffsetsRequestTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterShareGroupOffsetsRequestPartition {
    pub partition_index: i32,
    pub start_offset: i64,
}

/// Answers [`AlterShareGroupOffsetsRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct AlterShareGroupOffsetsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub responses: Vec<AlterShareGroupOffsetsResponseTopic>,
}

/// An element of [`AlterShareGroupOffsetsResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterShareGroupOffsetsResponseTopic {
    pub topic_name: Str,
    pub topic_id: Uuid,
    pub partitions: Vec<AlterShareGroupOffsetsResponsePartition>,
}

/// An element of [`AlterShareGroupOffsetsResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterShareGroupOffsetsResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

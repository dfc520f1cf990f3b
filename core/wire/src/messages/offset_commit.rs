//! The messages of `OffsetCommit`, API key 8.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to store how far a group has consumed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = OffsetCommit, versions = "2-10", flexible = "8+")]
pub struct OffsetCommitRequest {
    pub group_id: Str,
    #[wire(default = -1)]
    pub generation_id_or_member_epoch: i32,
    pub member_id: Str,
    #[wire(versions = "7+")]
    pub group_instance_id: Option<Str>,
    #[wire(versions = "2-4", default = -1)]
    pub retention_time_ms: i64,
    pub topics: Vec<OffsetCommitRequestTopic>,
}

/// An element of [`OffsetCommitRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetCommitRequestTopic {
    #[wire(versions = "2-9")]
    pub name: Str,
    #[wire(versions = "10+")]
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

/// An element of [`OffsetCommitRequestTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetCommitRequestPartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    #[wire(versions = "6+", default = -1)]
    pub committed_leader_epoch: i32,
    #[wire(default = Some(Str::new()))]
    pub committed_metadata: Option<Str>,
}

/// Answers [`OffsetCommitRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "2-10", flexible = "8+")]
pub struct OffsetCommitResponse {
    #[wire(versions = "3+")]
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetCommitResponseTopic>,
}

/// An element of [`OffsetCommitResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetCommitResponseTopic {
    #[wire(versions = "2-9")]
    pub name: Str,
    #[wire(versions = "10+")]
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

/// An element of [`OffsetCommitResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetCommitResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
}

//! The messages of `TxnOffsetCommit`, API key 28.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to store a group's offsets within a transaction.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = TxnOffsetCommit, versions = "0-5", flexible = "3+")]
pub struct TxnOffsetCommitRequest {
    pub transactional_id: Str,
    pub group_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    #[wire(versions = "3+", default = -1)]
    pub generation_id: i32,
    #[wire(versions = "3+")]
    pub member_id: Str,
    #[wire(versions = "3+")]
    pub group_instance_id: Option<Str>,
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

/// An element of [`TxnOffsetCommitRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitRequestTopic {
    pub name: Str,
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

/// An element of [`TxnOffsetCommitRequestTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitRequestPartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    #[wire(versions = "2+", default = -1)]
    pub committed_leader_epoch: i32,
    #[wire(default = Some(Str::new()))]
    pub committed_metadata: Option<Str>,
}

/// Answers [`TxnOffsetCommitRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-5", flexible = "3+")]
pub struct TxnOffsetCommitResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

/// An element of [`TxnOffsetCommitResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitResponseTopic {
    pub name: Str,
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

/// An element of [`TxnOffsetCommitResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TxnOffsetCommitResponsePartition {
    pub partition_index: i32,
    pub error_code: i16,
}

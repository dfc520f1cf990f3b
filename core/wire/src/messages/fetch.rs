//! The messages of `Fetch`, API key 1.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::{Records, Str};

/// Asks to read record batches of partitions from offsets on; followers replicate with it, too.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = Fetch, versions = "4-18", flexible = "12+")]
pub struct FetchRequest {
    #[wire(versions = "12+", tag = 0)]
    pub cluster_id: Option<Str>,
    #[wire(versions = "4-14", default = -1)]
    pub replica_id: i32,
    #[wire(versions = "15+", tag = 1)]
    pub replica_state: ReplicaState,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    pub isolation_level: i8,
    #[wire(versions = "7+")]
    pub session_id: i32,
    #[wire(versions = "7+", default = -1)]
    pub session_epoch: i32,
    pub topics: Vec<FetchTopic>,
    #[wire(versions = "7+")]
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    #[wire(versions = "11+")]
    pub rack_id: Str,
}

/// The value of [`FetchRequest::replica_state`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReplicaState {
    #[wire(default = -1)]
    pub replica_id: i32,
    #[wire(default = -1)]
    pub replica_epoch: i64,
}

/// An element of [`FetchRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchTopic {
    #[wire(versions = "4-12")]
    pub topic: Str,
    #[wire(versions = "13+")]
    pub topic_id: Uuid,
    pub partitions: Vec<FetchPartition>,
}

/// An element of [`FetchTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchPartition {
    pub partition: i32,
    #[wire(versions = "9+", default = -1)]
    pub current_leader_epoch: i32,
    pub fetch_offset: i64,
    #[wire(versions = "12+", default = -1)]
    pub last_fetched_epoch: i32,
    #[wire(versions = "5+", default = -1)]
    pub log_start_offset: i64,
    pub partition_max_bytes: i32,
    #[wire(versions = "17+", tag = 0)]
    pub replica_directory_id: Uuid,
    #[wire(versions = "18+", tag = 1, default = i64::MAX)]
    pub high_watermark: i64,
}

/// An element of [`FetchRequest::forgotten_topics_data`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ForgottenTopic {
    #[wire(versions = "7-12")]
    pub topic: Str,
    #[wire(versions = "13+")]
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

/// Answers [`FetchRequest`]: the batches, and how far each partition is.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "4-18", flexible = "12+")]
pub struct FetchResponse {
    pub throttle_time_ms: i32,
    #[wire(versions = "7+")]
    pub error_code: i16,
    #[wire(versions = "7+")]
    pub session_id: i32,
    pub responses: Vec<FetchableTopicResponse>,
    #[wire(versions = "16+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`FetchResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchableTopicResponse {
    #[wire(versions = "4-12")]
    pub topic: Str,
    #[wire(versions = "13+")]
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`FetchableTopicResponse::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub high_watermark: i64,
    #[wire(default = -1)]
    pub last_stable_offset: i64,
    #[wire(versions = "5+", default = -1)]
    pub log_start_offset: i64,
    #[wire(versions = "12+", tag = 0)]
    pub diverging_epoch: EpochEndOffset,
    #[wire(versions = "12+", tag = 1)]
    pub current_leader: LeaderIdAndEpoch,
    #[wire(versions = "12+", tag = 2)]
    pub snapshot_id: SnapshotId,
    #[wire(default = Some(Vec::new()))]
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    #[wire(versions = "11+", default = -1)]
    pub preferred_read_replica: i32,
    pub records: Option<Records>,
}

/// The value of [`PartitionData::diverging_epoch`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EpochEndOffset {
    #[wire(default = -1)]
    pub epoch: i32,
    #[wire(default = -1)]
    pub end_offset: i64,
}

/// The value of [`PartitionData::current_leader`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    #[wire(default = -1)]
    pub leader_id: i32,
    #[wire(default = -1)]
    pub leader_epoch: i32,
}

/// The value of [`PartitionData::snapshot_id`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct SnapshotId {
    #[wire(default = -1)]
    pub end_offset: i64,
    #[wire(default = -1)]
    pub epoch: i32,
}

/// An element of [`PartitionData::aborted_transactions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AbortedTransaction {
    pub producer_id: i64,
    pub first_offset: i64,
}

/// An element of [`FetchResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

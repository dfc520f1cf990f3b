//! The messages of `FetchSnapshot`, API key 59.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::{Records, Str};

/// Asks to read a piece of a snapshot of the metadata log.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = FetchSnapshot, versions = "0-1", flexible = "0+")]
pub struct FetchSnapshotRequest {
    #[wire(tag = 0)]
    pub cluster_id: Option<Str>,
    #[wire(default = -1)]
    pub replica_id: i32,
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    pub topics: Vec<FetchSnapshotRequestTopicSnapshot>,
}

/// An element of [`FetchSnapshotRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchSnapshotRequestTopicSnapshot {
    pub name: Str,
    pub partitions: Vec<FetchSnapshotRequestPartitionSnapshot>,
}

/// An element of [`FetchSnapshotRequestTopicSnapshot::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchSnapshotRequestPartitionSnapshot {
    pub partition: i32,
    pub current_leader_epoch: i32,
    pub snapshot_id: SnapshotId,
    pub position: i64,
    #[wire(versions = "1+", tag = 0)]
    pub replica_directory_id: Uuid,
}

/// The value of [`FetchSnapshotRequestPartitionSnapshot::snapshot_id`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct SnapshotId {
    pub end_offset: i64,
    pub epoch: i32,
}

/// Answers [`FetchSnapshotRequest`]: the piece.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct FetchSnapshotResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub topics: Vec<FetchSnapshotResponseTopicSnapshot>,
    #[wire(versions = "1+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`FetchSnapshotResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchSnapshotResponseTopicSnapshot {
    pub name: Str,
    pub partitions: Vec<FetchSnapshotResponsePartitionSnapshot>,
}

/// An element of [`FetchSnapshotResponseTopicSnapshot::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchSnapshotResponsePartitionSnapshot {
    pub index: i32,
    pub error_code: i16,
    pub snapshot_id: SnapshotId,
    #[wire(tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
    pub size: i64,
    pub position: i64,
    pub unaligned_records: Records,
}

/// The value of [`FetchSnapshotResponsePartitionSnapshot::current_leader`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
}

/// An element of [`FetchSnapshotResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: u16,
}

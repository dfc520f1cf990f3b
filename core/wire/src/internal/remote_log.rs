//! Records of `__remote_log_metadata` (KIP-405).

use bytes::Bytes;
use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// A segment copied to remote storage.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0", flexible = "0+")]
pub struct RemoteLogSegmentMetadataRecord {
    pub remote_log_segment_id: RemoteLogSegmentIdEntry,
    pub start_offset: i64,
    pub end_offset: i64,
    pub broker_id: i32,
    pub max_timestamp_ms: i64,
    pub event_timestamp_ms: i64,
    pub segment_leader_epochs: Vec<SegmentLeaderEpochEntry>,
    pub segment_size_in_bytes: i32,
    pub custom_metadata: Option<Bytes>,
    pub remote_log_segment_state: i8,
    #[wire(tag = 0)]
    pub txn_index_empty: bool,
}

/// The value of [`RemoteLogSegmentMetadataRecord::remote_log_segment_id`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct RemoteLogSegmentIdEntry {
    pub topic_id_partition: TopicIdPartitionEntry,
    pub id: Uuid,
}

/// The value of [`RemoteLogSegmentIdEntry::topic_id_partition`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicIdPartitionEntry {
    pub name: Str,
    pub id: Uuid,
    pub partition: i32,
}

/// An element of [`RemoteLogSegmentMetadataRecord::segment_leader_epochs`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct SegmentLeaderEpochEntry {
    pub leader_epoch: i32,
    pub offset: i64,
}

/// A change of a remote segment's state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 1, versions = "0", flexible = "0+")]
pub struct RemoteLogSegmentMetadataUpdateRecord {
    pub remote_log_segment_id: RemoteLogSegmentIdEntry,
    pub broker_id: i32,
    pub event_timestamp_ms: i64,
    pub custom_metadata: Option<Bytes>,
    pub remote_log_segment_state: i8,
}

/// A partition whose remote segments are deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 2, versions = "0", flexible = "0+")]
pub struct RemotePartitionDeleteMetadataRecord {
    pub topic_id_partition: TopicIdPartitionEntry,
    pub broker_id: i32,
    pub event_timestamp_ms: i64,
    pub remote_partition_delete_state: i8,
}

/// A remote segment in a broker's snapshot of this topic.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 3, versions = "0", flexible = "0+")]
pub struct RemoteLogSegmentMetadataSnapshotRecord {
    pub segment_id: Uuid,
    pub start_offset: i64,
    pub end_offset: i64,
    pub broker_id: i32,
    pub max_timestamp_ms: i64,
    pub event_timestamp_ms: i64,
    pub segment_leader_epochs: Vec<SegmentLeaderEpochEntry>,
    pub segment_size_in_bytes: i32,
    pub custom_metadata: Option<Bytes>,
    pub remote_log_segment_state: i8,
    #[wire(tag = 0)]
    pub txn_index_empty: bool,
}

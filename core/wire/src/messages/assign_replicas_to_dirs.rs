//! The messages of `AssignReplicasToDirs`, API key 73.

use model::Uuid;
use wire_derive::{Fields, Message};

/// Asks to record which log directories replicas lie in (KIP-858).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AssignReplicasToDirs, versions = "0", flexible = "0+")]
pub struct AssignReplicasToDirsRequest {
    pub broker_id: i32,
    #[wire(default = -1)]
    pub broker_epoch: i64,
    pub directories: Vec<AssignReplicasToDirsRequestDirectoryData>,
}

/// An element of [`AssignReplicasToDirsRequest::directories`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AssignReplicasToDirsRequestDirectoryData {
    pub id: Uuid,
    pub topics: Vec<AssignReplicasToDirsRequestTopicData>,
}

/// An element of [`AssignReplicasToDirsRequestDirectoryData::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AssignReplicasToDirsRequestTopicData {
    pub topic_id: Uuid,
    pub partitions: Vec<AssignReplicasToDirsRequestPartitionData>,
}

/// An element of [`AssignReplicasToDirsRequestTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AssignReplicasToDirsRequestPartitionData {
    pub partition_index: i32,
}

/// Answers [`AssignReplicasToDirsRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct AssignReplicasToDirsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub directories: Vec<AssignReplicasToDirsResponseDirectoryData>,
}

/// An element of [`AssignReplicasToDirsResponse::directories`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AssignReplicasToDirsResponseDirectoryData {
    pub id: Uuid,
    pub topics: Vec<AssignReplicasToDirsResponseTopicData>,
}

/// An element of [`AssignReplicasToDirsResponseDirectoryData::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AssignReplicasToDirsResponseTopicData {
    pub topic_id: Uuid,
    pub partitions: Vec<AssignReplicasToDirsResponsePartitionData>,
}

/// An element of [`AssignReplicasToDirsResponseTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AssignReplicasToDirsResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
}

//! The messages of `AlterReplicaLogDirs`, API key 34.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to move replicas between the log directories of a broker.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterReplicaLogDirs, versions = "1-2", flexible = "2+")]
pub struct AlterReplicaLogDirsRequest {
    pub dirs: Vec<AlterReplicaLogDir>,
}

/// An element of [`AlterReplicaLogDirsRequest::dirs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterReplicaLogDir {
    pub path: Str,
    pub topics: Vec<AlterReplicaLogDirTopic>,
}

/// An element of [`AlterReplicaLogDir::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterReplicaLogDirTopic {
    pub name: Str,
    pub partitions: Vec<i32>,
}

/// Answers [`AlterReplicaLogDirsRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-2", flexible = "2+")]
pub struct AlterReplicaLogDirsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<AlterReplicaLogDirTopicResult>,
}

/// An element of [`AlterReplicaLogDirsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterReplicaLogDirTopicResult {
    pub topic_name: Str,
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
}

/// An element of [`AlterReplicaLogDirTopicResult::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterReplicaLogDirPartitionResult {
    pub partition_index: i32,
    pub error_code: i16,
}

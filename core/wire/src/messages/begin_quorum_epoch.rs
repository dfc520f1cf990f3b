//! The messages of `BeginQuorumEpoch`, API key 53.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to follow a new leader of a quorum (KRaft).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = BeginQuorumEpoch, versions = "0-1", flexible = "1+")]
pub struct BeginQuorumEpochRequest {
    pub cluster_id: Option<Str>,
    #[wire(versions = "1+", default = -1)]
    pub voter_id: i32,
    pub topics: Vec<BeginQuorumEpochRequestTopicData>,
    #[wire(versions = "1+")]
    pub leader_endpoints: Vec<LeaderEndpoint>,
}

/// An element of [`BeginQuorumEpochRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BeginQuorumEpochRequestTopicData {
    pub topic_name: Str,
    pub partitions: Vec<BeginQuorumEpochRequestPartitionData>,
}

/// An element of [`BeginQuorumEpochRequestTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BeginQuorumEpochRequestPartitionData {
    pub partition_index: i32,
    #[wire(versions = "1+")]
    pub voter_directory_id: Uuid,
    pub leader_id: i32,
    pub leader_epoch: i32,
}

/// An element of [`BeginQuorumEpochRequest::leader_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderEndpoint {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

/// Answers [`BeginQuorumEpochRequest`]: the leader each voter knows.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "1+")]
pub struct BeginQuorumEpochResponse {
    pub error_code: i16,
    pub topics: Vec<BeginQuorumEpochResponseTopicData>,
    #[wire(versions = "1+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`BeginQuorumEpochResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BeginQuorumEpochResponseTopicData {
    pub topic_name: Str,
    pub partitions: Vec<BeginQuorumEpochResponsePartitionData>,
}

/// An element of [`BeginQuorumEpochResponseTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BeginQuorumEpochResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub leader_id: i32,
    pub leader_epoch: i32,
}

/// An element of [`BeginQuorumEpochResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: u16,
}

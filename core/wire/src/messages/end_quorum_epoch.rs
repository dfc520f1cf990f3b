//! The messages of `EndQuorumEpoch`, API key 54.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to elect a new leader, the present one resigning (KRaft).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = EndQuorumEpoch, versions = "0-1", flexible = "1+")]
pub struct EndQuorumEpochRequest {
    pub cluster_id: Option<Str>,
    pub topics: Vec<EndQuorumEpochRequestTopicData>,
    #[wire(versions = "1+")]
    pub leader_endpoints: Vec<LeaderEndpoint>,
}

/// An element of [`EndQuorumEpochRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EndQuorumEpochRequestTopicData {
    pub topic_name: Str,
    pub partitions: Vec<EndQuorumEpochRequestPartitionData>,
}

/// An element of [`EndQuorumEpochRequestTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EndQuorumEpochRequestPartitionData {
    pub partition_index: i32,
    pub leader_id: i32,
    pub leader_epoch: i32,
    #[wire(versions = "0")]
    pub preferred_successors: Vec<i32>,
    #[wire(versions = "1+")]
    pub preferred_candidates: Vec<ReplicaInfo>,
}

/// An element of [`EndQuorumEpochRequestPartitionData::preferred_candidates`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReplicaInfo {
    pub candidate_id: i32,
    pub candidate_directory_id: Uuid,
}

/// An element of [`EndQuorumEpochRequest::leader_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderEndpoint {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

/// Answers [`EndQuorumEpochRequest`]: the leader each voter knows.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "1+")]
pub struct EndQuorumEpochResponse {
    pub error_code: i16,
    pub topics: Vec<EndQuorumEpochResponseTopicData>,
    #[wire(versions = "1+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`EndQuorumEpochResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EndQuorumEpochResponseTopicData {
    pub topic_name: Str,
    pub partitions: Vec<EndQuorumEpochResponsePartitionData>,
}

/// An element of [`EndQuorumEpochResponseTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EndQuorumEpochResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub leader_id: i32,
    pub leader_epoch: i32,
}

/// An element of [`EndQuorumEpochResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: u16,
}

//! The messages of `Vote`, API key 52.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to vote for a candidate of a quorum (KRaft).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = Vote, versions = "0-2", flexible = "0+")]
pub struct VoteRequest {
    pub cluster_id: Option<Str>,
    #[wire(versions = "1+", default = -1)]
    pub voter_id: i32,
    pub topics: Vec<VoteRequestTopicData>,
}

/// An element of [`VoteRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct VoteRequestTopicData {
    pub topic_name: Str,
    pub partitions: Vec<VoteRequestPartitionData>,
}

/// An element of [`VoteRequestTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct VoteRequestPartitionData {
    pub partition_index: i32,
    pub replica_epoch: i32,
    pub replica_id: i32,
    #[wire(versions = "1+")]
    pub replica_directory_id: Uuid,
    #[wire(versions = "1+")]
    pub voter_directory_id: Uuid,
    pub last_offset_epoch: i32,
    pub last_offset: i64,
    #[wire(versions = "2+")]
    pub pre_vote: bool,
}

/// Answers [`VoteRequest`]: the votes.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "0+")]
pub struct VoteResponse {
    pub error_code: i16,
    pub topics: Vec<VoteResponseTopicData>,
    #[wire(versions = "1+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`VoteResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct VoteResponseTopicData {
    pub topic_name: Str,
    pub partitions: Vec<VoteResponsePartitionData>,
}

/// An element of [`VoteResponseTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct VoteResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub vote_granted: bool,
}

/// An element of [`VoteResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: u16,
}

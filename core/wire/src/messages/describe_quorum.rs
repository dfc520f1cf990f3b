//! The messages of `DescribeQuorum`, API key 55.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see a quorum's leader, voters and observers.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeQuorum, versions = "0-2", flexible = "0+")]
pub struct DescribeQuorumRequest {
    pub topics: Vec<DescribeQuorumRequestTopicData>,
}

/// An element of [`DescribeQuorumRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeQuorumRequestTopicData {
    pub topic_name: Str,
    pub partitions: Vec<DescribeQuorumRequestPartitionData>,
}

/// An element of [`DescribeQuorumRequestTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeQuorumRequestPartitionData {
    pub partition_index: i32,
}

/// Answers [`DescribeQuorumRequest`]: the quorum's state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "0+")]
pub struct DescribeQuorumResponse {
    pub error_code: i16,
    #[wire(versions = "2+", default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub topics: Vec<DescribeQuorumResponseTopicData>,
    #[wire(versions = "2+")]
    pub nodes: Vec<Node>,
}

/// An element of [`DescribeQuorumResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeQuorumResponseTopicData {
    pub topic_name: Str,
    pub partitions: Vec<DescribeQuorumResponsePartitionData>,
}

/// An element of [`DescribeQuorumResponseTopicData::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeQuorumResponsePartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    #[wire(versions = "2+", default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub high_watermark: i64,
    pub current_voters: Vec<ReplicaState>,
    pub observers: Vec<ReplicaState>,
}

/// An element of [`DescribeQuorumResponsePartitionData::current_voters`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReplicaState {
    pub replica_id: i32,
    #[wire(versions = "2+")]
    pub replica_directory_id: Uuid,
    pub log_end_offset: i64,
    #[wire(versions = "1+", default = -1)]
    pub last_fetch_timestamp: i64,
    #[wire(versions = "1+", default = -1)]
    pub last_caught_up_timestamp: i64,
}

/// An element of [`DescribeQuorumResponse::nodes`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Node {
    pub node_id: i32,
    pub listeners: Vec<Listener>,
}

/// An element of [`Node::listeners`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

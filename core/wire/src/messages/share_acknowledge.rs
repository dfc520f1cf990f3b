//! The messages of `ShareAcknowledge`, API key 79.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to acknowledge records of a share group (KIP-932).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ShareAcknowledge, versions = "1-2", flexible = "1+")]
pub struct ShareAcknowledgeRequest {
    pub group_id: Option<Str>,
    #[wire(default = Some(Str::new()))]
    pub member_id: Option<Str>,
    pub share_session_epoch: i32,
    #[wire(versions = "2+")]
    pub is_renew_ack: bool,
    pub topics: Vec<AcknowledgeTopic>,
}

/// An element of [`ShareAcknowledgeRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AcknowledgeTopic {
    pub topic_id: Uuid,
    pub partitions: Vec<AcknowledgePartition>,
}

/// An element of [`AcknowledgeTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AcknowledgePartition {
    pub partition_index: i32,
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

/// An element of [`AcknowledgePartition::acknowledgement_batches`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AcknowledgementBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub acknowledge_types: Vec<i8>,
}

/// Answers [`ShareAcknowledgeRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-2", flexible = "1+")]
pub struct ShareAcknowledgeResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    #[wire(versions = "2+")]
    pub acquisition_lock_timeout_ms: i32,
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`ShareAcknowledgeResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ShareAcknowledgeTopicResponse {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`ShareAcknowledgeTopicResponse::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub current_leader: LeaderIdAndEpoch,
}

/// The value of [`PartitionData::current_leader`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
}

/// An element of [`ShareAcknowledgeResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

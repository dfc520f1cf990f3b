//! The messages of `Produce`, API key 0.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::{Records, Str};

/// Asks to append record batches to partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = Produce, versions = "3-13", flexible = "9+")]
pub struct ProduceRequest {
    pub transactional_id: Option<Str>,
    pub acks: i16,
    pub timeout_ms: i32,
    pub topic_data: Vec<TopicProduceData>,
}

/// An element of [`ProduceRequest::topic_data`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicProduceData {
    #[wire(versions = "3-12")]
    pub name: Str,
    #[wire(versions = "13+")]
    pub topic_id: Uuid,
    pub partition_data: Vec<PartitionProduceData>,
}

/// An element of [`TopicProduceData::partition_data`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionProduceData {
    pub index: i32,
    pub records: Option<Records>,
}

/// Answers [`ProduceRequest`]: where each partition's records went, or why not.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "3-13", flexible = "9+")]
pub struct ProduceResponse {
    pub responses: Vec<TopicProduceResponse>,
    pub throttle_time_ms: i32,
    #[wire(versions = "10+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`ProduceResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicProduceResponse {
    #[wire(versions = "3-12")]
    pub name: Str,
    #[wire(versions = "13+")]
    pub topic_id: Uuid,
    pub partition_responses: Vec<PartitionProduceResponse>,
}

/// An element of [`TopicProduceResponse::partition_responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionProduceResponse {
    pub index: i32,
    pub error_code: i16,
    pub base_offset: i64,
    #[wire(default = -1)]
    pub log_append_time_ms: i64,
    #[wire(versions = "5+", default = -1)]
    pub log_start_offset: i64,
    #[wire(versions = "8+")]
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    #[wire(versions = "8+")]
    pub error_message: Option<Str>,
    #[wire(versions = "10+", tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
}

/// An element of [`PartitionProduceResponse::record_errors`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct BatchIndexAndErrorMessage {
    pub batch_index: i32,
    pub batch_index_error_message: Option<Str>,
}

/// The value of [`PartitionProduceResponse::current_leader`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    #[wire(default = -1)]
    pub leader_id: i32,
    #[wire(default = -1)]
    pub leader_epoch: i32,
}

/// An element of [`ProduceResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

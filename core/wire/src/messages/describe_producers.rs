//! The messages of `DescribeProducers`, API key 61.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the producers of partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeProducers, versions = "0", flexible = "0+")]
pub struct DescribeProducersRequest {
    pub topics: Vec<TopicRequest>,
}

/// An element of [`DescribeProducersRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicRequest {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

/// Answers [`DescribeProducersRequest`]: the producers.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DescribeProducersResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<TopicResponse>,
}

/// An element of [`DescribeProducersResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicResponse {
    pub name: Str,
    pub partitions: Vec<PartitionResponse>,
}

/// An element of [`TopicResponse::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResponse {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub active_producers: Vec<ProducerState>,
}

/// An element of [`PartitionResponse::active_producers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ProducerState {
    pub producer_id: i64,
    pub producer_epoch: i32,
    #[wire(default = -1)]
    pub last_sequence: i32,
    #[wire(default = -1)]
    pub last_timestamp: i64,
    pub coordinator_epoch: i32,
    #[wire(default = -1)]
    pub current_txn_start_offset: i64,
}

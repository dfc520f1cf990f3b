//! The messages of `DescribeTopicPartitions`, API key 75.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see topics and their partitions, page by page (KIP-966).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeTopicPartitions, versions = "0", flexible = "0+")]
pub struct DescribeTopicPartitionsRequest {
    pub topics: Vec<TopicRequest>,
    #[wire(default = 2000)]
    pub response_partition_limit: i32,
    pub cursor: Option<Cursor>,
}

/// An element of [`DescribeTopicPartitionsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicRequest {
    pub name: Str,
}

/// The value of [`DescribeTopicPartitionsRequest::cursor`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Cursor {
    pub topic_name: Str,
    pub partition_index: i32,
}

/// Answers [`DescribeTopicPartitionsRequest`]: a page, and where the next one begins.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DescribeTopicPartitionsResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    pub next_cursor: Option<Cursor>,
}

/// An element of [`DescribeTopicPartitionsResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsResponseTopic {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub name: Option<Str>,
    pub topic_id: Uuid,
    pub is_internal: bool,
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    #[wire(default = i32::MIN)]
    pub topic_authorized_operations: i32,
}

/// An element of [`DescribeTopicPartitionsResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeTopicPartitionsResponsePartition {
    pub error_code: i16,
    pub partition_index: i32,
    pub leader_id: i32,
    #[wire(default = -1)]
    pub leader_epoch: i32,
    pub replica_nodes: Vec<i32>,
    pub isr_nodes: Vec<i32>,
    pub eligible_leader_replicas: Option<Vec<i32>>,
    pub last_known_elr: Option<Vec<i32>>,
    pub offline_replicas: Vec<i32>,
}

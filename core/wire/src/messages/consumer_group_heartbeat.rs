//! The messages of `ConsumerGroupHeartbeat`, API key 68.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to join, stay in or leave a consumer group (KIP-848).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ConsumerGroupHeartbeat, versions = "0-1", flexible = "0+")]
pub struct ConsumerGroupHeartbeatRequest {
    pub group_id: Str,
    pub member_id: Str,
    pub member_epoch: i32,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    pub subscribed_topic_names: Option<Vec<Str>>,
    #[wire(versions = "1+")]
    pub subscribed_topic_regex: Option<Str>,
    pub server_assignor: Option<Str>,
    pub topic_partitions: Option<Vec<TopicPartitions>>,
}

/// An element of [`ConsumerGroupHeartbeatRequest::topic_partitions`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

/// Answers [`ConsumerGroupHeartbeatRequest`]: the member's assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct ConsumerGroupHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub member_id: Option<Str>,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    pub assignment: Option<Assignment>,
}

/// The value of [`ConsumerGroupHeartbeatResponse::assignment`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Assignment {
    pub topic_partitions: Vec<TopicPartitions>,
}

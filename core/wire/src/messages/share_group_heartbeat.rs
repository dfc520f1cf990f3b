//! The messages of `ShareGroupHeartbeat`, API key 76.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to join, stay in or leave a share group (KIP-932).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ShareGroupHeartbeat, versions = "1", flexible = "1+")]
pub struct ShareGroupHeartbeatRequest {
    pub group_id: Str,
    pub member_id: Str,
    pub member_epoch: i32,
    pub rack_id: Option<Str>,
    pub subscribed_topic_names: Option<Vec<Str>>,
}

/// Answers [`ShareGroupHeartbeatRequest`]: the member's assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1", flexible = "1+")]
pub struct ShareGroupHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub member_id: Option<Str>,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    pub assignment: Option<Assignment>,
}

/// The value of [`ShareGroupHeartbeatResponse::assignment`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Assignment {
    pub topic_partitions: Vec<TopicPartitions>,
}

/// An element of [`Assignment::topic_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

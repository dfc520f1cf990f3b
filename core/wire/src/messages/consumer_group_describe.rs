//! The messages of `ConsumerGroupDescribe`, API key 69.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the state and the members of consumer groups (KIP-848).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ConsumerGroupDescribe, versions = "0-1", flexible = "0+")]
pub struct ConsumerGroupDescribeRequest {
    pub group_ids: Vec<Str>,
    pub include_authorized_operations: bool,
}

/// Answers [`ConsumerGroupDescribeRequest`]: the groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct ConsumerGroupDescribeResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
}

/// An element of [`ConsumerGroupDescribeResponse::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub group_id: Str,
    pub group_state: Str,
    pub group_epoch: i32,
    pub assignment_epoch: i32,
    pub assignor_name: Str,
    pub members: Vec<Member>,
    #[wire(default = i32::MIN)]
    pub authorized_operations: i32,
}

/// An element of [`DescribedGroup::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Member {
    pub member_id: Str,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub member_epoch: i32,
    pub client_id: Str,
    pub client_host: Str,
    pub subscribed_topic_names: Vec<Str>,
    pub subscribed_topic_regex: Option<Str>,
    pub assignment: Assignment,
    pub target_assignment: Assignment,
    #[wire(versions = "1+", default = -1)]
    pub member_type: i8,
}

/// The value of [`Member::assignment`] and [`Member::target_assignment`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Assignment {
    pub topic_partitions: Vec<TopicPartitions>,
}

/// An element of [`Assignment::topic_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub topic_name: Str,
    pub partitions: Vec<i32>,
}

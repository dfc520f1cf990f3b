//! The messages of `ShareGroupDescribe`, API key 77.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the state and the members of share groups (KIP-932).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ShareGroupDescribe, versions = "1", flexible = "1+")]
pub struct ShareGroupDescribeRequest {
    pub group_ids: Vec<Str>,
    pub include_authorized_operations: bool,
}

/// Answers [`ShareGroupDescribeRequest`]: the groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1", flexible = "1+")]
pub struct ShareGroupDescribeResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
}

/// An element of [`ShareGroupDescribeResponse::groups`].
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
    pub rack_id: Option<Str>,
    pub member_epoch: i32,
    pub client_id: Str,
    pub client_host: Str,
    pub subscribed_topic_names: Vec<Str>,
    pub assignment: Assignment,
}

/// The value of [`Member::assignment`].
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

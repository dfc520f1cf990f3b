//! Records of `__consumer_offsets`: share groups (KIP-932).

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a member.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 10, versions = "0")]
pub struct ShareGroupMemberMetadataKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member as it described itself.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 10, versions = "0", flexible = "0+")]
pub struct ShareGroupMemberMetadataValue {
    #[wire(default = Some(Str::new()))]
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub subscribed_topic_names: Vec<Str>,
}

/// Key of a group's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 11, versions = "0")]
pub struct ShareGroupMetadataKey {
    pub group_id: Str,
}

/// A group's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 11, versions = "0", flexible = "0+")]
pub struct ShareGroupMetadataValue {
    pub epoch: i32,
    pub metadata_hash: i64,
}

/// Key of the epoch of a target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 12, versions = "0")]
pub struct ShareGroupTargetAssignmentMetadataKey {
    pub group_id: Str,
}

/// The epoch of a target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 12, versions = "0", flexible = "0+")]
pub struct ShareGroupTargetAssignmentMetadataValue {
    pub assignment_epoch: i32,
    #[wire(tag = 0)]
    pub assignment_timestamp: i64,
}

/// Key of a member's target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 13, versions = "0")]
pub struct ShareGroupTargetAssignmentMemberKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member's target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 13, versions = "0", flexible = "0+")]
pub struct ShareGroupTargetAssignmentMemberValue {
    pub topic_partitions: Vec<TopicPartition>,
}

/// An element of [`ShareGroupTargetAssignmentMemberValue::topic_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartition {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

/// Key of a member's present assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 14, versions = "0")]
pub struct ShareGroupCurrentMemberAssignmentKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member's present assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 14, versions = "0", flexible = "0+")]
pub struct ShareGroupCurrentMemberAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    pub state: i8,
    pub assigned_partitions: Vec<TopicPartitions>,
}

/// An element of [`ShareGroupCurrentMemberAssignmentValue::assigned_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

/// Key of which partitions have share state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 15, versions = "0")]
pub struct ShareGroupStatePartitionMetadataKey {
    pub group_id: Str,
}

/// Which partitions have share state, or are about to gain or lose it.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 15, versions = "0", flexible = "0+")]
pub struct ShareGroupStatePartitionMetadataValue {
    pub initializing_topics: Vec<TopicPartitionsInfo>,
    pub initialized_topics: Vec<TopicPartitionsInfo>,
    pub deleting_topics: Vec<TopicInfo>,
}

/// An element of [`ShareGroupStatePartitionMetadataValue::initializing_topics`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitionsInfo {
    pub topic_id: Uuid,
    pub topic_name: Str,
    pub partitions: Vec<i32>,
}

/// An element of [`ShareGroupStatePartitionMetadataValue::deleting_topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicInfo {
    pub topic_id: Uuid,
    pub topic_name: Str,
}

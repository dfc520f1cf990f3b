//! Records of `__consumer_offsets`: consumer groups of the new protocol (KIP-848).

use bytes::Bytes;
use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a group's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 3, versions = "0")]
pub struct ConsumerGroupMetadataKey {
    pub group_id: Str,
}

/// A group's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 3, versions = "0", flexible = "0+")]
pub struct ConsumerGroupMetadataValue {
    pub epoch: i32,
    #[wire(tag = 0)]
    pub metadata_hash: i64,
}

/// Key of what a group knows of its topics; no longer written.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 4, versions = "0")]
pub struct ConsumerGroupPartitionMetadataKey {
    pub group_id: Str,
}

/// What a group knows of its topics; no longer written.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 4, versions = "0", flexible = "0+")]
pub struct ConsumerGroupPartitionMetadataValue {
    pub topics: Vec<TopicMetadata>,
}

/// An element of [`ConsumerGroupPartitionMetadataValue::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicMetadata {
    pub topic_id: Uuid,
    pub topic_name: Str,
    pub num_partitions: i32,
    pub partition_metadata: Vec<PartitionMetadata>,
}

/// An element of [`TopicMetadata::partition_metadata`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionMetadata {
    pub partition: i32,
    pub racks: Vec<Str>,
}

/// Key of a member.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 5, versions = "0")]
pub struct ConsumerGroupMemberMetadataKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member as it described itself.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 5, versions = "0", flexible = "0+")]
pub struct ConsumerGroupMemberMetadataValue {
    #[wire(default = Some(Str::new()))]
    pub instance_id: Option<Str>,
    #[wire(default = Some(Str::new()))]
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub subscribed_topic_names: Vec<Str>,
    #[wire(default = Some(Str::new()))]
    pub subscribed_topic_regex: Option<Str>,
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    #[wire(default = Some(Str::new()))]
    pub server_assignor: Option<Str>,
    #[wire(tag = 0, default = Some(ClassicMemberMetadata::default()))]
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
}

/// The value of [`ConsumerGroupMemberMetadataValue::classic_member_metadata`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ClassicMemberMetadata {
    pub session_timeout_ms: i32,
    pub supported_protocols: Vec<ClassicProtocol>,
}

/// An element of [`ClassicMemberMetadata::supported_protocols`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ClassicProtocol {
    pub name: Str,
    pub metadata: Bytes,
}

/// Key of the epoch of a target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 6, versions = "0")]
pub struct ConsumerGroupTargetAssignmentMetadataKey {
    pub group_id: Str,
}

/// The epoch of a target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 6, versions = "0", flexible = "0+")]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    pub assignment_epoch: i32,
    #[wire(tag = 0)]
    pub assignment_timestamp: i64,
}

/// Key of a member's target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 7, versions = "0")]
pub struct ConsumerGroupTargetAssignmentMemberKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member's target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 7, versions = "0", flexible = "0+")]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    pub topic_partitions: Vec<TopicPartition>,
}

/// An element of [`ConsumerGroupTargetAssignmentMemberValue::topic_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartition {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

/// Key of a member's present assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 8, versions = "0")]
pub struct ConsumerGroupCurrentMemberAssignmentKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member's present assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 8, versions = "0", flexible = "0+")]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    pub state: i8,
    pub assigned_partitions: Vec<TopicPartitions>,
    pub partitions_pending_revocation: Vec<TopicPartitions>,
}

/// An element of [`ConsumerGroupCurrentMemberAssignmentValue::assigned_partitions`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
    #[wire(tag = 0, default = Some(Vec::new()))]
    pub assignment_epochs: Option<Vec<i32>>,
}

/// Key of a subscribed regular expression.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 16, versions = "0")]
pub struct ConsumerGroupRegularExpressionKey {
    pub group_id: Str,
    pub regular_expression: Str,
}

/// The topics a subscribed regular expression matched.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 16, versions = "0", flexible = "0+")]
pub struct ConsumerGroupRegularExpressionValue {
    pub topics: Vec<Str>,
    pub version: i64,
    pub timestamp: i64,
}

//! Records of `__consumer_offsets`: streams groups (KIP-1071).

use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a group's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 17, versions = "0")]
pub struct StreamsGroupMetadataKey {
    pub group_id: Str,
}

/// A group's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 17, versions = "0", flexible = "0+")]
pub struct StreamsGroupMetadataValue {
    pub epoch: i32,
    pub metadata_hash: i64,
    #[wire(tag = 0, default = -1)]
    pub validated_topology_epoch: i32,
    #[wire(tag = 1, default = Some(Vec::new()))]
    pub last_assignment_configs: Option<Vec<LastAssignmentConfig>>,
}

/// An element of [`StreamsGroupMetadataValue::last_assignment_configs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LastAssignmentConfig {
    pub key: Str,
    pub value: Str,
}

/// Key of a member.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 19, versions = "0")]
pub struct StreamsGroupMemberMetadataKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member as it described itself.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 19, versions = "0", flexible = "0+")]
pub struct StreamsGroupMemberMetadataValue {
    #[wire(default = Some(Str::new()))]
    pub instance_id: Option<Str>,
    #[wire(default = Some(Str::new()))]
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    pub topology_epoch: i32,
    pub process_id: Str,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Vec<KeyValue>,
}

/// The value of [`StreamsGroupMemberMetadataValue::user_endpoint`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub host: Str,
    pub port: u16,
}

/// An element of [`StreamsGroupMemberMetadataValue::client_tags`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct KeyValue {
    pub key: Str,
    pub value: Str,
}

/// Key of the epoch of a target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 20, versions = "0")]
pub struct StreamsGroupTargetAssignmentMetadataKey {
    pub group_id: Str,
}

/// The epoch of a target assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 20, versions = "0", flexible = "0+")]
pub struct StreamsGroupTargetAssignmentMetadataValue {
    pub assignment_epoch: i32,
    #[wire(tag = 0)]
    pub assignment_timestamp: i64,
}

/// Key of a member's target tasks.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 21, versions = "0")]
pub struct StreamsGroupTargetAssignmentMemberKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member's target tasks.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 21, versions = "0", flexible = "0+")]
pub struct StreamsGroupTargetAssignmentMemberValue {
    pub active_tasks: Vec<StreamsGroupTargetAssignmentMemberValueTaskIds>,
    pub standby_tasks: Vec<StreamsGroupTargetAssignmentMemberValueTaskIds>,
    pub warmup_tasks: Vec<StreamsGroupTargetAssignmentMemberValueTaskIds>,
}

/// An element of [`StreamsGroupTargetAssignmentMemberValue::active_tasks`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct StreamsGroupTargetAssignmentMemberValueTaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
}

/// Key of a member's present tasks.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 22, versions = "0")]
pub struct StreamsGroupCurrentMemberAssignmentKey {
    pub group_id: Str,
    pub member_id: Str,
}

/// A member's present tasks.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 22, versions = "0", flexible = "0+")]
pub struct StreamsGroupCurrentMemberAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    pub state: i8,
    pub active_tasks: Vec<StreamsGroupCurrentMemberAssignmentValueTaskIds>,
    pub standby_tasks: Vec<StreamsGroupCurrentMemberAssignmentValueTaskIds>,
    pub warmup_tasks: Vec<StreamsGroupCurrentMemberAssignmentValueTaskIds>,
    pub active_tasks_pending_revocation: Vec<StreamsGroupCurrentMemberAssignmentValueTaskIds>,
    pub standby_tasks_pending_revocation: Vec<StreamsGroupCurrentMemberAssignmentValueTaskIds>,
    pub warmup_tasks_pending_revocation: Vec<StreamsGroupCurrentMemberAssignmentValueTaskIds>,
}

/// An element of [`StreamsGroupCurrentMemberAssignmentValue::active_tasks`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct StreamsGroupCurrentMemberAssignmentValueTaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
    #[wire(tag = 0, default = Some(Vec::new()))]
    pub assignment_epochs: Option<Vec<i32>>,
}

/// Key of a group's topology.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 23, versions = "0")]
pub struct StreamsGroupTopologyKey {
    pub group_id: Str,
}

/// A group's topology.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 23, versions = "0", flexible = "0+")]
pub struct StreamsGroupTopologyValue {
    pub epoch: i32,
    pub subtopologies: Vec<Subtopology>,
}

/// An element of [`StreamsGroupTopologyValue::subtopologies`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Subtopology {
    pub subtopology_id: Str,
    pub source_topics: Vec<Str>,
    pub source_topic_regex: Vec<Str>,
    pub state_changelog_topics: Vec<TopicInfo>,
    pub repartition_sink_topics: Vec<Str>,
    pub repartition_source_topics: Vec<TopicInfo>,
    pub copartition_groups: Vec<CopartitionGroup>,
}

/// An element of [`Subtopology::state_changelog_topics`] and [`Subtopology::repartition_source_topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicInfo {
    pub name: Str,
    pub partitions: i32,
    pub replication_factor: i16,
    pub topic_configs: Vec<TopicConfig>,
}

/// An element of [`TopicInfo::topic_configs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicConfig {
    pub key: Str,
    pub value: Str,
}

/// An element of [`Subtopology::copartition_groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CopartitionGroup {
    pub source_topics: Vec<i16>,
    pub source_topic_regex: Vec<i16>,
    pub repartition_source_topics: Vec<i16>,
}

//! The messages of `StreamsGroupDescribe`, API key 89.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the state and the members of streams groups (KIP-1071).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = StreamsGroupDescribe, versions = "0", flexible = "0+")]
pub struct StreamsGroupDescribeRequest {
    pub group_ids: Vec<Str>,
    pub include_authorized_operations: bool,
}

/// Answers [`StreamsGroupDescribeRequest`]: the groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct StreamsGroupDescribeResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
}

/// An element of [`StreamsGroupDescribeResponse::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub group_id: Str,
    pub group_state: Str,
    pub group_epoch: i32,
    pub assignment_epoch: i32,
    pub topology: Option<Topology>,
    pub members: Vec<Member>,
    #[wire(default = i32::MIN)]
    pub authorized_operations: i32,
}

/// The value of [`DescribedGroup::topology`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Topology {
    pub epoch: i32,
    pub subtopologies: Option<Vec<Subtopology>>,
}

/// An element of [`Topology::subtopologies`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Subtopology {
    pub subtopology_id: Str,
    pub source_topics: Vec<Str>,
    pub repartition_sink_topics: Vec<Str>,
    pub state_changelog_topics: Vec<TopicInfo>,
    pub repartition_source_topics: Vec<TopicInfo>,
}

/// An element of [`Subtopology::state_changelog_topics`] and [`Subtopology::repartition_source_topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicInfo {
    pub name: Str,
    pub partitions: i32,
    pub replication_factor: i16,
    pub topic_configs: Vec<KeyValue>,
}

/// An element of [`TopicInfo::topic_configs`] and [`Member::client_tags`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct KeyValue {
    pub key: Str,
    pub value: Str,
}

/// An element of [`DescribedGroup::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Member {
    pub member_id: Str,
    pub member_epoch: i32,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub topology_epoch: i32,
    pub process_id: Str,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Vec<KeyValue>,
    pub task_offsets: Vec<TaskOffset>,
    pub task_end_offsets: Vec<TaskOffset>,
    pub assignment: Assignment,
    pub target_assignment: Assignment,
    pub is_classic: bool,
}

/// The value of [`Member::user_endpoint`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub host: Str,
    pub port: u16,
}

/// An element of [`Member::task_offsets`] and [`Member::task_end_offsets`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TaskOffset {
    pub subtopology_id: Str,
    pub partition: i32,
    pub offset: i64,
}

/// The value of [`Member::assignment`] and [`Member::target_assignment`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Assignment {
    pub active_tasks: Vec<TaskIds>,
    pub standby_tasks: Vec<TaskIds>,
    pub warmup_tasks: Vec<TaskIds>,
}

/// An element of [`Assignment::active_tasks`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
}

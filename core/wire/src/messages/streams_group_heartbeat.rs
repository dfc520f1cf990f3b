//! The messages of `StreamsGroupHeartbeat`, API key 88.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to join, stay in or leave a streams group (KIP-1071).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = StreamsGroupHeartbeat, versions = "0", flexible = "0+")]
pub struct StreamsGroupHeartbeatRequest {
    pub group_id: Str,
    pub member_id: Str,
    pub member_epoch: i32,
    pub endpoint_information_epoch: i32,
    pub instance_id: Option<Str>,
    pub rack_id: Option<Str>,
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    pub topology: Option<Topology>,
    pub active_tasks: Option<Vec<TaskIds>>,
    pub standby_tasks: Option<Vec<TaskIds>>,
    pub warmup_tasks: Option<Vec<TaskIds>>,
    pub process_id: Option<Str>,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Option<Vec<KeyValue>>,
    pub task_offsets: Option<Vec<TaskOffset>>,
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    pub shutdown_application: bool,
}

/// The value of [`StreamsGroupHeartbeatRequest::topology`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Topology {
    pub epoch: i32,
    pub subtopologies: Vec<Subtopology>,
}

/// An element of [`Topology::subtopologies`].
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
    pub topic_configs: Vec<KeyValue>,
}

/// An element of [`TopicInfo::topic_configs`] and [`StreamsGroupHeartbeatRequest::client_tags`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct KeyValue {
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

/// An element of [`StreamsGroupHeartbeatRequest::active_tasks`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TaskIds {
    pub subtopology_id: Str,
    pub partitions: Vec<i32>,
}

/// The value of [`StreamsGroupHeartbeatRequest::user_endpoint`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub host: Str,
    pub port: u16,
}

/// An element of [`StreamsGroupHeartbeatRequest::task_offsets`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TaskOffset {
    pub subtopology_id: Str,
    pub partition: i32,
    pub offset: i64,
}

/// Answers [`StreamsGroupHeartbeatRequest`]: the member's tasks.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct StreamsGroupHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub member_id: Str,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    pub acceptable_recovery_lag: i32,
    pub task_offset_interval_ms: i32,
    #[wire(default = Some(Vec::new()))]
    pub status: Option<Vec<Status>>,
    pub active_tasks: Option<Vec<TaskIds>>,
    pub standby_tasks: Option<Vec<TaskIds>>,
    pub warmup_tasks: Option<Vec<TaskIds>>,
    pub endpoint_information_epoch: i32,
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
}

/// An element of [`StreamsGroupHeartbeatResponse::status`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Status {
    pub status_code: i8,
    pub status_detail: Str,
}

/// An element of [`StreamsGroupHeartbeatResponse::partitions_by_user_endpoint`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EndpointToPartitions {
    pub user_endpoint: Endpoint,
    pub active_partitions: Vec<TopicPartition>,
    pub standby_partitions: Vec<TopicPartition>,
}

/// An element of [`EndpointToPartitions::active_partitions`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartition {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

//! What instances of a streams application tell each other in the classic protocol.

use bytes::Bytes;
use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// The tasks and the state an instance has.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-11")]
pub struct SubscriptionInfoData {
    pub version: i32,
    #[wire(versions = "3+", default = -1)]
    pub latest_supported_version: i32,
    pub process_id: Uuid,
    #[wire(versions = "1-6")]
    pub prev_tasks: Vec<TaskId>,
    #[wire(versions = "1-6")]
    pub standby_tasks: Vec<TaskId>,
    #[wire(versions = "2+")]
    pub user_end_point: Bytes,
    #[wire(versions = "7+")]
    pub task_offset_sums: Vec<TaskOffsetSum>,
    #[wire(versions = "8+")]
    pub unique_field: i8,
    #[wire(versions = "9+")]
    pub error_code: i32,
    #[wire(versions = "11+")]
    pub client_tags: Vec<ClientTag>,
}

/// An element of [`SubscriptionInfoData::prev_tasks`] and [`SubscriptionInfoData::standby_tasks`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TaskId {
    pub topic_group_id: i32,
    pub partition: i32,
}

/// An element of [`SubscriptionInfoData::task_offset_sums`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TaskOffsetSum {
    pub topic_group_id: i32,
    #[wire(versions = "10+")]
    pub partition: i32,
    #[wire(versions = "10+")]
    pub offset_sum: i64,
    #[wire(versions = "10+", default = Some(Str::new()))]
    pub named_topology: Option<Str>,
    #[wire(versions = "7-9")]
    pub partition_to_offset_sum: Vec<PartitionToOffsetSum>,
}

/// An element of [`TaskOffsetSum::partition_to_offset_sum`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionToOffsetSum {
    pub partition: i32,
    pub offset_sum: i64,
}

/// An element of [`SubscriptionInfoData::client_tags`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ClientTag {
    pub key: Bytes,
    pub value: Bytes,
}

//! The messages of `OffsetFetch`, API key 9.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know how far groups have consumed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = OffsetFetch, versions = "1-10", flexible = "6+")]
pub struct OffsetFetchRequest {
    #[wire(versions = "1-7")]
    pub group_id: Str,
    #[wire(versions = "1-7", nullable = "2-7", default = Some(Vec::new()))]
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    #[wire(versions = "8+")]
    pub groups: Vec<OffsetFetchRequestGroup>,
    #[wire(versions = "7+")]
    pub require_stable: bool,
}

/// An element of [`OffsetFetchRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchRequestTopic {
    pub name: Str,
    pub partition_indexes: Vec<i32>,
}

/// An element of [`OffsetFetchRequest::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchRequestGroup {
    pub group_id: Str,
    #[wire(versions = "9+")]
    pub member_id: Option<Str>,
    #[wire(versions = "9+", default = -1)]
    pub member_epoch: i32,
    #[wire(default = Some(Vec::new()))]
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

/// An element of [`OffsetFetchRequestGroup::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchRequestTopics {
    #[wire(versions = "8-9")]
    pub name: Str,
    #[wire(versions = "10+")]
    pub topic_id: Uuid,
    pub partition_indexes: Vec<i32>,
}

/// Answers [`OffsetFetchRequest`]: the offsets committed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-10", flexible = "6+")]
pub struct OffsetFetchResponse {
    #[wire(versions = "3+")]
    pub throttle_time_ms: i32,
    #[wire(versions = "1-7")]
    pub topics: Vec<OffsetFetchResponseTopic>,
    #[wire(versions = "2-7")]
    pub error_code: i16,
    #[wire(versions = "8+")]
    pub groups: Vec<OffsetFetchResponseGroup>,
}

/// An element of [`OffsetFetchResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchResponseTopic {
    pub name: Str,
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

/// An element of [`OffsetFetchResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchResponsePartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    #[wire(versions = "5-7", default = -1)]
    pub committed_leader_epoch: i32,
    #[wire(default = Some(Str::new()))]
    pub metadata: Option<Str>,
    pub error_code: i16,
}

/// An element of [`OffsetFetchResponse::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchResponseGroup {
    pub group_id: Str,
    pub topics: Vec<OffsetFetchResponseTopics>,
    pub error_code: i16,
}

/// An element of [`OffsetFetchResponseGroup::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchResponseTopics {
    #[wire(versions = "8-9")]
    pub name: Str,
    #[wire(versions = "10+")]
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

/// An element of [`OffsetFetchResponseTopics::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OffsetFetchResponsePartitions {
    pub partition_index: i32,
    pub committed_offset: i64,
    #[wire(default = -1)]
    pub committed_leader_epoch: i32,
    #[wire(default = Some(Str::new()))]
    pub metadata: Option<Str>,
    pub error_code: i16,
}

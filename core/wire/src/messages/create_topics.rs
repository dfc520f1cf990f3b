//! The messages of `CreateTopics`, API key 19.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to create topics.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = CreateTopics, versions = "2-7", flexible = "5+")]
pub struct CreateTopicsRequest {
    pub topics: Vec<CreatableTopic>,
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    pub validate_only: bool,
}

/// An element of [`CreateTopicsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatableTopic {
    pub name: Str,
    pub num_partitions: i32,
    pub replication_factor: i16,
    pub assignments: Vec<CreatableReplicaAssignment>,
    pub configs: Vec<CreatableTopicConfig>,
}

/// An element of [`CreatableTopic::assignments`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatableReplicaAssignment {
    pub partition_index: i32,
    pub broker_ids: Vec<i32>,
}

/// An element of [`CreatableTopic::configs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatableTopicConfig {
    pub name: Str,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
}

/// Answers [`CreateTopicsRequest`]: the outcome for each topic.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "2-7", flexible = "5+")]
pub struct CreateTopicsResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<CreatableTopicResult>,
}

/// An element of [`CreateTopicsResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatableTopicResult {
    pub name: Str,
    #[wire(versions = "7+")]
    pub topic_id: Uuid,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    #[wire(versions = "5+", tag = 0)]
    pub topic_config_error_code: i16,
    #[wire(versions = "5+", default = -1)]
    pub num_partitions: i32,
    #[wire(versions = "5+", default = -1)]
    pub replication_factor: i16,
    #[wire(versions = "5+", default = Some(Vec::new()))]
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

/// An element of [`CreatableTopicResult::configs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatableTopicConfigs {
    pub name: Str,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
    pub read_only: bool,
    #[wire(default = -1)]
    pub config_source: i8,
    pub is_sensitive: bool,
}

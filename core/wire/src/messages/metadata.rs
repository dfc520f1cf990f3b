//! The messages of `Metadata`, API key 3.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know brokers, topics and the leaders of partitions; may create topics.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = Metadata, versions = "0-13", flexible = "9+")]
pub struct MetadataRequest {
    #[wire(nullable = "1+", default = Some(Vec::new()))]
    pub topics: Option<Vec<MetadataRequestTopic>>,
    #[wire(versions = "4+", default = true)]
    pub allow_auto_topic_creation: bool,
    #[wire(versions = "8-10")]
    pub include_cluster_authorized_operations: bool,
    #[wire(versions = "8+")]
    pub include_topic_authorized_operations: bool,
}

/// An element of [`MetadataRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MetadataRequestTopic {
    #[wire(versions = "10+")]
    pub topic_id: Uuid,
    #[wire(nullable = "10+", default = Some(Str::new()))]
    pub name: Option<Str>,
}

/// Answers [`MetadataRequest`]: the cluster as the broker knows it.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-13", flexible = "9+")]
pub struct MetadataResponse {
    #[wire(versions = "3+")]
    pub throttle_time_ms: i32,
    pub brokers: Vec<MetadataResponseBroker>,
    #[wire(versions = "2+")]
    pub cluster_id: Option<Str>,
    #[wire(versions = "1+", default = -1)]
    pub controller_id: i32,
    pub topics: Vec<MetadataResponseTopic>,
    #[wire(versions = "8-10", default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    #[wire(versions = "13+")]
    pub error_code: i16,
}

/// An element of [`MetadataResponse::brokers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MetadataResponseBroker {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    #[wire(versions = "1+")]
    pub rack: Option<Str>,
}

/// An element of [`MetadataResponse::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MetadataResponseTopic {
    pub error_code: i16,
    #[wire(nullable = "12+", default = Some(Str::new()))]
    pub name: Option<Str>,
    #[wire(versions = "10+")]
    pub topic_id: Uuid,
    #[wire(versions = "1+")]
    pub is_internal: bool,
    pub partitions: Vec<MetadataResponsePartition>,
    #[wire(versions = "8+", default = i32::MIN)]
    pub topic_authorized_operations: i32,
}

/// An element of [`MetadataResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MetadataResponsePartition {
    pub error_code: i16,
    pub partition_index: i32,
    pub leader_id: i32,
    #[wire(versions = "7+", default = -1)]
    pub leader_epoch: i32,
    pub replica_nodes: Vec<i32>,
    pub isr_nodes: Vec<i32>,
    #[wire(versions = "5+")]
    pub offline_replicas: Vec<i32>,
}

//! The messages of `ElectLeaders`, API key 43.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to elect leaders of partitions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ElectLeaders, versions = "0-2", flexible = "2+")]
pub struct ElectLeadersRequest {
    #[wire(versions = "1+")]
    pub election_type: i8,
    #[wire(default = Some(Vec::new()))]
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
}

/// An element of [`ElectLeadersRequest::topic_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartitions {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

/// Answers [`ElectLeadersRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "2+")]
pub struct ElectLeadersResponse {
    pub throttle_time_ms: i32,
    #[wire(versions = "1+")]
    pub error_code: i16,
    pub replica_election_results: Vec<ReplicaElectionResult>,
}

/// An element of [`ElectLeadersResponse::replica_election_results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ReplicaElectionResult {
    pub topic: Str,
    pub partition_result: Vec<PartitionResult>,
}

/// An element of [`ReplicaElectionResult::partition_result`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionResult {
    pub partition_id: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

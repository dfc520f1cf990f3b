//! The messages of `ShareFetch`, API key 78.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::{Records, Str};

/// Asks to acquire records of a share group, and acknowledge earlier ones (KIP-932).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ShareFetch, versions = "1-2", flexible = "1+")]
pub struct ShareFetchRequest {
    pub group_id: Option<Str>,
    #[wire(default = Some(Str::new()))]
    pub member_id: Option<Str>,
    pub share_session_epoch: i32,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    pub max_records: i32,
    pub batch_size: i32,
    #[wire(versions = "2+")]
    pub share_acquire_mode: i8,
    #[wire(versions = "2+")]
    pub is_renew_ack: bool,
    pub topics: Vec<FetchTopic>,
    pub forgotten_topics_data: Vec<ForgottenTopic>,
}

/// An element of [`ShareFetchRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchTopic {
    pub topic_id: Uuid,
    pub partitions: Vec<FetchPartition>,
}

/// An element of [`FetchTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FetchPartition {
    pub partition_index: i32,
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
}

/// An element of [`FetchPartition::acknowledgement_batches`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AcknowledgementBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub acknowledge_types: Vec<i8>,
}

/// An element of [`ShareFetchRequest::forgotten_topics_data`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ForgottenTopic {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
}

/// Answers [`ShareFetchRequest`]: the records acquired.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-2", flexible = "1+")]
pub struct ShareFetchResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub acquisition_lock_timeout_ms: i32,
    pub responses: Vec<ShareFetchableTopicResponse>,
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// An element of [`ShareFetchResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ShareFetchableTopicResponse {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
}

/// An element of [`ShareFetchableTopicResponse::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub acknowledge_error_code: i16,
    pub acknowledge_error_message: Option<Str>,
    pub current_leader: LeaderIdAndEpoch,
    pub records: Records,
    pub acquired_records: Vec<AcquiredRecords>,
}

/// The value of [`PartitionData::current_leader`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
}

/// An element of [`PartitionData::acquired_records`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AcquiredRecords {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_count: i16,
}

/// An element of [`ShareFetchResponse::node_endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub rack: Option<Str>,
}

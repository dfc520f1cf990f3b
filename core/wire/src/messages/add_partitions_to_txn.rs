//! The messages of `AddPartitionsToTxn`, API key 24.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to make partitions part of a transaction.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AddPartitionsToTxn, versions = "0-5", flexible = "3+")]
pub struct AddPartitionsToTxnRequest {
    #[wire(versions = "4+")]
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    #[wire(versions = "0-3")]
    pub v3_and_below_transactional_id: Str,
    #[wire(versions = "0-3")]
    pub v3_and_below_producer_id: i64,
    #[wire(versions = "0-3")]
    pub v3_and_below_producer_epoch: i16,
    #[wire(versions = "0-3")]
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

/// An element of [`AddPartitionsToTxnRequest::transactions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AddPartitionsToTxnTransaction {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub verify_only: bool,
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

/// An element of [`AddPartitionsToTxnTransaction::topics`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AddPartitionsToTxnTopic {
    pub name: Str,
    pub partitions: Vec<i32>,
}

/// Answers [`AddPartitionsToTxnRequest`]: the outcome for each partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-5", flexible = "3+")]
pub struct AddPartitionsToTxnResponse {
    pub throttle_time_ms: i32,
    #[wire(versions = "4+")]
    pub error_code: i16,
    #[wire(versions = "4+")]
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    #[wire(versions = "0-3")]
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

/// An element of [`AddPartitionsToTxnResponse::results_by_transaction`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AddPartitionsToTxnResult {
    pub transactional_id: Str,
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

/// An element of [`AddPartitionsToTxnResult::topic_results`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AddPartitionsToTxnTopicResult {
    pub name: Str,
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

/// An element of [`AddPartitionsToTxnTopicResult::results_by_partition`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AddPartitionsToTxnPartitionResult {
    pub partition_index: i32,
    pub partition_error_code: i16,
}

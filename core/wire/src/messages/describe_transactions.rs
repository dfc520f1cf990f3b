//! The messages of `DescribeTransactions`, API key 65.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the state of transactions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeTransactions, versions = "0", flexible = "0+")]
pub struct DescribeTransactionsRequest {
    pub transactional_ids: Vec<Str>,
}

/// Answers [`DescribeTransactionsRequest`]: the transactions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DescribeTransactionsResponse {
    pub throttle_time_ms: i32,
    pub transaction_states: Vec<TransactionState>,
}

/// An element of [`DescribeTransactionsResponse::transaction_states`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TransactionState {
    pub error_code: i16,
    pub transactional_id: Str,
    pub transaction_state: Str,
    pub transaction_timeout_ms: i32,
    pub transaction_start_time_ms: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub topics: Vec<TopicData>,
}

/// An element of [`TransactionState::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicData {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

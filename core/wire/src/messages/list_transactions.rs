//! The messages of `ListTransactions`, API key 66.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know the transactions a broker coordinates.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ListTransactions, versions = "0-2", flexible = "0+")]
pub struct ListTransactionsRequest {
    pub state_filters: Vec<Str>,
    pub producer_id_filters: Vec<i64>,
    #[wire(versions = "1+", default = -1)]
    pub duration_filter: i64,
    #[wire(versions = "2+")]
    pub transactional_id_pattern: Option<Str>,
}

/// Answers [`ListTransactionsRequest`]: the transactions.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "0+")]
pub struct ListTransactionsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub unknown_state_filters: Vec<Str>,
    pub transaction_states: Vec<TransactionState>,
}

/// An element of [`ListTransactionsResponse::transaction_states`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TransactionState {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub transaction_state: Str,
}

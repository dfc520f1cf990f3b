//! Records of `__transaction_state`.

use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a transactional id's state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0")]
pub struct TransactionLogKey {
    pub transactional_id: Str,
}

/// A transactional id's state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0-1", flexible = "1+")]
pub struct TransactionLogValue {
    pub producer_id: i64,
    #[wire(versions = "1+", tag = 0, default = -1)]
    pub previous_producer_id: i64,
    #[wire(versions = "1+", tag = 1, default = -1)]
    pub next_producer_id: i64,
    pub producer_epoch: i16,
    #[wire(versions = "1+", tag = 3, default = -1)]
    pub next_producer_epoch: i16,
    pub transaction_timeout_ms: i32,
    pub transaction_status: i8,
    #[wire(default = Some(Vec::new()))]
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    pub transaction_last_update_timestamp_ms: i64,
    pub transaction_start_timestamp_ms: i64,
    #[wire(versions = "1+", tag = 2)]
    pub client_transaction_version: i16,
}

/// An element of [`TransactionLogValue::transaction_partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct PartitionsSchema {
    pub topic: Str,
    pub partition_ids: Vec<i32>,
}

//! The messages of `AddOffsetsToTxn`, API key 25.

use wire_derive::Message;

use crate::Str;

/// Asks to make a group's offsets part of a transaction.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AddOffsetsToTxn, versions = "0-4", flexible = "3+")]
pub struct AddOffsetsToTxnRequest {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub group_id: Str,
}

/// Answers [`AddOffsetsToTxnRequest`]: the outcome.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-4", flexible = "3+")]
pub struct AddOffsetsToTxnResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
}

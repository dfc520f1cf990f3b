//! The messages of `EndTxn`, API key 26.

use wire_derive::Message;

use crate::Str;

/// Asks to commit or abort a transaction.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = EndTxn, versions = "0-5", flexible = "3+")]
pub struct EndTxnRequest {
    pub transactional_id: Str,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub committed: bool,
}

/// Answers [`EndTxnRequest`]: the outcome, and the producer's next epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-5", flexible = "3+")]
pub struct EndTxnResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(versions = "5+", default = -1)]
    pub producer_id: i64,
    #[wire(versions = "5+", default = -1)]
    pub producer_epoch: i16,
}

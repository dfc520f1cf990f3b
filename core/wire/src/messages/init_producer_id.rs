//! The messages of `InitProducerId`, API key 22.

use wire_derive::Message;

use crate::Str;

/// Asks to give a producer its id and epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = InitProducerId, versions = "0-6", flexible = "2+")]
pub struct InitProducerIdRequest {
    #[wire(default = Some(Str::new()))]
    pub transactional_id: Option<Str>,
    pub transaction_timeout_ms: i32,
    #[wire(versions = "3+", default = -1)]
    pub producer_id: i64,
    #[wire(versions = "3+", default = -1)]
    pub producer_epoch: i16,
    #[wire(versions = "6+")]
    pub enable2_pc: bool,
    #[wire(versions = "6+")]
    pub keep_prepared_txn: bool,
}

/// Answers [`InitProducerIdRequest`]: the id and the epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-6", flexible = "2+")]
pub struct InitProducerIdResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = -1)]
    pub producer_id: i64,
    pub producer_epoch: i16,
    #[wire(versions = "6+", default = -1)]
    pub ongoing_txn_producer_id: i64,
    #[wire(versions = "6+", default = -1)]
    pub ongoing_txn_producer_epoch: i16,
}

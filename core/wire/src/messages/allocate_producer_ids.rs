//! The messages of `AllocateProducerIds`, API key 67.

use wire_derive::Message;

/// Asks to get a block of producer ids.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AllocateProducerIds, versions = "0", flexible = "0+")]
pub struct AllocateProducerIdsRequest {
    pub broker_id: i32,
    #[wire(default = -1)]
    pub broker_epoch: i64,
}

/// Answers [`AllocateProducerIdsRequest`]: the block.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct AllocateProducerIdsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub producer_id_start: i64,
    pub producer_id_len: i32,
}

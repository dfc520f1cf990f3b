//! The messages of `UnregisterBroker`, API key 64.

use wire_derive::Message;

use crate::Str;

/// Asks to forget a broker.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = UnregisterBroker, versions = "0", flexible = "0+")]
pub struct UnregisterBrokerRequest {
    pub broker_id: i32,
}

/// Answers [`UnregisterBrokerRequest`]: the outcome.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct UnregisterBrokerResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

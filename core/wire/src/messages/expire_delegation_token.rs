//! The messages of `ExpireDelegationToken`, API key 40.

use bytes::Bytes;
use wire_derive::Message;

/// Asks to let a delegation token expire.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ExpireDelegationToken, versions = "1-2", flexible = "2+")]
pub struct ExpireDelegationTokenRequest {
    pub hmac: Bytes,
    pub expiry_time_period_ms: i64,
}

/// Answers [`ExpireDelegationTokenRequest`]: when it expires.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-2", flexible = "2+")]
pub struct ExpireDelegationTokenResponse {
    pub error_code: i16,
    pub expiry_timestamp_ms: i64,
    pub throttle_time_ms: i32,
}

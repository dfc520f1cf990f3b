//! The messages of `RenewDelegationToken`, API key 39.

use bytes::Bytes;
use wire_derive::Message;

/// Asks to let a delegation token live longer.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = RenewDelegationToken, versions = "1-2", flexible = "2+")]
pub struct RenewDelegationTokenRequest {
    pub hmac: Bytes,
    pub renew_period_ms: i64,
}

/// Answers [`RenewDelegationTokenRequest`]: when it expires.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-2", flexible = "2+")]
pub struct RenewDelegationTokenResponse {
    pub error_code: i16,
    pub expiry_timestamp_ms: i64,
    pub throttle_time_ms: i32,
}

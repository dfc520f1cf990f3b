//! The messages of `CreateDelegationToken`, API key 38.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to create a delegation token.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = CreateDelegationToken, versions = "1-3", flexible = "2+")]
pub struct CreateDelegationTokenRequest {
    #[wire(versions = "3+", default = Some(Str::new()))]
    pub owner_principal_type: Option<Str>,
    #[wire(versions = "3+", default = Some(Str::new()))]
    pub owner_principal_name: Option<Str>,
    pub renewers: Vec<CreatableRenewers>,
    pub max_lifetime_ms: i64,
}

/// An element of [`CreateDelegationTokenRequest::renewers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CreatableRenewers {
    pub principal_type: Str,
    pub principal_name: Str,
}

/// Answers [`CreateDelegationTokenRequest`]: the token.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-3", flexible = "2+")]
pub struct CreateDelegationTokenResponse {
    pub error_code: i16,
    pub principal_type: Str,
    pub principal_name: Str,
    #[wire(versions = "3+")]
    pub token_requester_principal_type: Str,
    #[wire(versions = "3+")]
    pub token_requester_principal_name: Str,
    pub issue_timestamp_ms: i64,
    pub expiry_timestamp_ms: i64,
    pub max_timestamp_ms: i64,
    pub token_id: Str,
    pub hmac: Bytes,
    pub throttle_time_ms: i32,
}

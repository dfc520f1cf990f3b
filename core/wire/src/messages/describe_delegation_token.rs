//! The messages of `DescribeDelegationToken`, API key 41.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see delegation tokens.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeDelegationToken, versions = "1-3", flexible = "2+")]
pub struct DescribeDelegationTokenRequest {
    #[wire(default = Some(Vec::new()))]
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
}

/// An element of [`DescribeDelegationTokenRequest::owners`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeDelegationTokenOwner {
    pub principal_type: Str,
    pub principal_name: Str,
}

/// Answers [`DescribeDelegationTokenRequest`]: the tokens.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-3", flexible = "2+")]
pub struct DescribeDelegationTokenResponse {
    pub error_code: i16,
    pub tokens: Vec<DescribedDelegationToken>,
    pub throttle_time_ms: i32,
}

/// An element of [`DescribeDelegationTokenResponse::tokens`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribedDelegationToken {
    pub principal_type: Str,
    pub principal_name: Str,
    #[wire(versions = "3+")]
    pub token_requester_principal_type: Str,
    #[wire(versions = "3+")]
    pub token_requester_principal_name: Str,
    pub issue_timestamp: i64,
    pub expiry_timestamp: i64,
    pub max_timestamp: i64,
    pub token_id: Str,
    pub hmac: Bytes,
    pub renewers: Vec<DescribedDelegationTokenRenewer>,
}

/// An element of [`DescribedDelegationToken::renewers`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribedDelegationTokenRenewer {
    pub principal_type: Str,
    pub principal_name: Str,
}

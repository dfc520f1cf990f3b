//! The messages of `DescribeUserScramCredentials`, API key 50.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see which SCRAM credentials users have.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeUserScramCredentials, versions = "0", flexible = "0+")]
pub struct DescribeUserScramCredentialsRequest {
    #[wire(default = Some(Vec::new()))]
    pub users: Option<Vec<UserName>>,
}

/// An element of [`DescribeUserScramCredentialsRequest::users`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct UserName {
    pub name: Str,
}

/// Answers [`DescribeUserScramCredentialsRequest`]: the credentials without their secrets.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DescribeUserScramCredentialsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub results: Vec<DescribeUserScramCredentialsResult>,
}

/// An element of [`DescribeUserScramCredentialsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeUserScramCredentialsResult {
    pub user: Str,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub credential_infos: Vec<CredentialInfo>,
}

/// An element of [`DescribeUserScramCredentialsResult::credential_infos`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CredentialInfo {
    pub mechanism: i8,
    pub iterations: i32,
}

//! The messages of `AlterUserScramCredentials`, API key 51.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to change users' SCRAM credentials.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterUserScramCredentials, versions = "0", flexible = "0+")]
pub struct AlterUserScramCredentialsRequest {
    pub deletions: Vec<ScramCredentialDeletion>,
    pub upsertions: Vec<ScramCredentialUpsertion>,
}

/// An element of [`AlterUserScramCredentialsRequest::deletions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ScramCredentialDeletion {
    pub name: Str,
    pub mechanism: i8,
}

/// An element of [`AlterUserScramCredentialsRequest::upsertions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ScramCredentialUpsertion {
    pub name: Str,
    pub mechanism: i8,
    pub iterations: i32,
    pub salt: Bytes,
    pub salted_password: Bytes,
}

/// Answers [`AlterUserScramCredentialsRequest`]: the outcome for each user.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct AlterUserScramCredentialsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<AlterUserScramCredentialsResult>,
}

/// An element of [`AlterUserScramCredentialsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterUserScramCredentialsResult {
    pub user: Str,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

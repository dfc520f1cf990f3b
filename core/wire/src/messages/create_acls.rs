//! The messages of `CreateAcls`, API key 30.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to create ACLs.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = CreateAcls, versions = "1-3", flexible = "2+")]
pub struct CreateAclsRequest {
    pub creations: Vec<AclCreation>,
}

/// An element of [`CreateAclsRequest::creations`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AclCreation {
    pub resource_type: i8,
    pub resource_name: Str,
    #[wire(default = 3)]
    pub resource_pattern_type: i8,
    pub principal: Str,
    pub host: Str,
    pub operation: i8,
    pub permission_type: i8,
}

/// Answers [`CreateAclsRequest`]: the outcome for each.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-3", flexible = "2+")]
pub struct CreateAclsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<AclCreationResult>,
}

/// An element of [`CreateAclsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AclCreationResult {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

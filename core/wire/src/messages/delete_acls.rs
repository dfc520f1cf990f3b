//! The messages of `DeleteAcls`, API key 31.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete the ACLs that filters match.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DeleteAcls, versions = "1-3", flexible = "2+")]
pub struct DeleteAclsRequest {
    pub filters: Vec<DeleteAclsFilter>,
}

/// An element of [`DeleteAclsRequest::filters`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteAclsFilter {
    pub resource_type_filter: i8,
    #[wire(default = Some(Str::new()))]
    pub resource_name_filter: Option<Str>,
    #[wire(default = 3)]
    pub pattern_type_filter: i8,
    #[wire(default = Some(Str::new()))]
    pub principal_filter: Option<Str>,
    #[wire(default = Some(Str::new()))]
    pub host_filter: Option<Str>,
    pub operation: i8,
    pub permission_type: i8,
}

/// Answers [`DeleteAclsRequest`]: what was deleted.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-3", flexible = "2+")]
pub struct DeleteAclsResponse {
    pub throttle_time_ms: i32,
    pub filter_results: Vec<DeleteAclsFilterResult>,
}

/// An element of [`DeleteAclsResponse::filter_results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteAclsFilterResult {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
}

/// An element of [`DeleteAclsFilterResult::matching_acls`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteAclsMatchingAcl {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub resource_type: i8,
    pub resource_name: Str,
    #[wire(default = 3)]
    pub pattern_type: i8,
    pub principal: Str,
    pub host: Str,
    pub operation: i8,
    pub permission_type: i8,
}

//! The messages of `DescribeAcls`, API key 29.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the ACLs a filter matches.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeAcls, versions = "1-3", flexible = "2+")]
pub struct DescribeAclsRequest {
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

/// Answers [`DescribeAclsRequest`]: the ACLs.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-3", flexible = "2+")]
pub struct DescribeAclsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub resources: Vec<DescribeAclsResource>,
}

/// An element of [`DescribeAclsResponse::resources`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeAclsResource {
    pub resource_type: i8,
    pub resource_name: Str,
    #[wire(default = 3)]
    pub pattern_type: i8,
    pub acls: Vec<AclDescription>,
}

/// An element of [`DescribeAclsResource::acls`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AclDescription {
    pub principal: Str,
    pub host: Str,
    pub operation: i8,
    pub permission_type: i8,
}

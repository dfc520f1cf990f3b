//! The messages of `DescribeGroups`, API key 15.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the state and the members of classic groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeGroups, versions = "0-6", flexible = "5+")]
pub struct DescribeGroupsRequest {
    pub groups: Vec<Str>,
    #[wire(versions = "3+")]
    pub include_authorized_operations: bool,
}

/// Answers [`DescribeGroupsRequest`]: the groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-6", flexible = "5+")]
pub struct DescribeGroupsResponse {
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
}

/// An element of [`DescribeGroupsResponse::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    pub error_code: i16,
    #[wire(versions = "6+")]
    pub error_message: Option<Str>,
    pub group_id: Str,
    pub group_state: Str,
    pub protocol_type: Str,
    pub protocol_data: Str,
    pub members: Vec<DescribedGroupMember>,
    #[wire(versions = "3+", default = i32::MIN)]
    pub authorized_operations: i32,
}

/// An element of [`DescribedGroup::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribedGroupMember {
    pub member_id: Str,
    #[wire(versions = "4+")]
    pub group_instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    pub member_metadata: Bytes,
    pub member_assignment: Bytes,
}

//! The messages of `ListGroups`, API key 16.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know the groups a broker coordinates.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ListGroups, versions = "0-5", flexible = "3+")]
pub struct ListGroupsRequest {
    #[wire(versions = "4+")]
    pub states_filter: Vec<Str>,
    #[wire(versions = "5+")]
    pub types_filter: Vec<Str>,
}

/// Answers [`ListGroupsRequest`]: the groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-5", flexible = "3+")]
pub struct ListGroupsResponse {
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub groups: Vec<ListedGroup>,
}

/// An element of [`ListGroupsResponse::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ListedGroup {
    pub group_id: Str,
    pub protocol_type: Str,
    #[wire(versions = "4+")]
    pub group_state: Str,
    #[wire(versions = "5+")]
    pub group_type: Str,
}

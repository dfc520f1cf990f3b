//! The messages of `DeleteGroups`, API key 42.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete groups.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DeleteGroups, versions = "0-2", flexible = "2+")]
pub struct DeleteGroupsRequest {
    pub groups_names: Vec<Str>,
}

/// Answers [`DeleteGroupsRequest`]: the outcome for each group.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "2+")]
pub struct DeleteGroupsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<DeletableGroupResult>,
}

/// An element of [`DeleteGroupsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeletableGroupResult {
    pub group_id: Str,
    pub error_code: i16,
}

//! The messages of `SyncGroup`, API key 14.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know a member's assignment; the leader hands in everybody's.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = SyncGroup, versions = "0-5", flexible = "4+")]
pub struct SyncGroupRequest {
    pub group_id: Str,
    pub generation_id: i32,
    pub member_id: Str,
    #[wire(versions = "3+")]
    pub group_instance_id: Option<Str>,
    #[wire(versions = "5+")]
    pub protocol_type: Option<Str>,
    #[wire(versions = "5+")]
    pub protocol_name: Option<Str>,
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

/// An element of [`SyncGroupRequest::assignments`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct SyncGroupRequestAssignment {
    pub member_id: Str,
    pub assignment: Bytes,
}

/// Answers [`SyncGroupRequest`]: the assignment.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-5", flexible = "4+")]
pub struct SyncGroupResponse {
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(versions = "5+")]
    pub protocol_type: Option<Str>,
    #[wire(versions = "5+")]
    pub protocol_name: Option<Str>,
    pub assignment: Bytes,
}

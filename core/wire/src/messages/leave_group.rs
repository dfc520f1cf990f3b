//! The messages of `LeaveGroup`, API key 13.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to remove members from a classic group.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = LeaveGroup, versions = "0-5", flexible = "4+")]
pub struct LeaveGroupRequest {
    pub group_id: Str,
    #[wire(versions = "0-2")]
    pub member_id: Str,
    #[wire(versions = "3+")]
    pub members: Vec<MemberIdentity>,
}

/// An element of [`LeaveGroupRequest::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MemberIdentity {
    pub member_id: Str,
    pub group_instance_id: Option<Str>,
    #[wire(versions = "5+")]
    pub reason: Option<Str>,
}

/// Answers [`LeaveGroupRequest`]: the outcome for each member.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-5", flexible = "4+")]
pub struct LeaveGroupResponse {
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(versions = "3+")]
    pub members: Vec<MemberResponse>,
}

/// An element of [`LeaveGroupResponse::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MemberResponse {
    pub member_id: Str,
    #[wire(default = Some(Str::new()))]
    pub group_instance_id: Option<Str>,
    pub error_code: i16,
}

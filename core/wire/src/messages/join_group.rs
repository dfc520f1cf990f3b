//! The messages of `JoinGroup`, API key 11.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to become a member of a classic group, or stay one through a rebalance.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = JoinGroup, versions = "0-9", flexible = "6+")]
pub struct JoinGroupRequest {
    pub group_id: Str,
    pub session_timeout_ms: i32,
    #[wire(versions = "1+", default = -1)]
    pub rebalance_timeout_ms: i32,
    pub member_id: Str,
    #[wire(versions = "5+")]
    pub group_instance_id: Option<Str>,
    pub protocol_type: Str,
    pub protocols: Vec<JoinGroupRequestProtocol>,
    #[wire(versions = "8+")]
    pub reason: Option<Str>,
}

/// An element of [`JoinGroupRequest::protocols`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct JoinGroupRequestProtocol {
    pub name: Str,
    pub metadata: Bytes,
}

/// Answers [`JoinGroupRequest`]: the generation joined; its leader learns all members.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-9", flexible = "6+")]
pub struct JoinGroupResponse {
    #[wire(versions = "2+")]
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = -1)]
    pub generation_id: i32,
    #[wire(versions = "7+")]
    pub protocol_type: Option<Str>,
    #[wire(nullable = "7+", default = Some(Str::new()))]
    pub protocol_name: Option<Str>,
    pub leader: Str,
    #[wire(versions = "9+")]
    pub skip_assignment: bool,
    pub member_id: Str,
    pub members: Vec<JoinGroupResponseMember>,
}

/// An element of [`JoinGroupResponse::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct JoinGroupResponseMember {
    pub member_id: Str,
    #[wire(versions = "5+")]
    pub group_instance_id: Option<Str>,
    pub metadata: Bytes,
}

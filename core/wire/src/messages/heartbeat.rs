//! The messages of `Heartbeat`, API key 12.

use wire_derive::Message;

use crate::Str;

/// Asks to keep a member of a classic group alive.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = Heartbeat, versions = "0-4", flexible = "4+")]
pub struct HeartbeatRequest {
    pub group_id: Str,
    pub generation_id: i32,
    pub member_id: Str,
    #[wire(versions = "3+")]
    pub group_instance_id: Option<Str>,
}

/// Answers [`HeartbeatRequest`]: whether the group rebalances.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-4", flexible = "4+")]
pub struct HeartbeatResponse {
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    pub error_code: i16,
}

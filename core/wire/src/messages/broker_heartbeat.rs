//! The messages of `BrokerHeartbeat`, API key 63.

use model::Uuid;
use wire_derive::Message;

/// Asks to keep a broker's registration alive.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = BrokerHeartbeat, versions = "0-2", flexible = "0+")]
pub struct BrokerHeartbeatRequest {
    pub broker_id: i32,
    #[wire(default = -1)]
    pub broker_epoch: i64,
    pub current_metadata_offset: i64,
    pub want_fence: bool,
    pub want_shut_down: bool,
    #[wire(versions = "1+", tag = 0)]
    pub offline_log_dirs: Vec<Uuid>,
    #[wire(versions = "2+", tag = 1)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

/// Answers [`BrokerHeartbeatRequest`]: what the controller wants of the broker.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "0+")]
pub struct BrokerHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub is_caught_up: bool,
    #[wire(default = true)]
    pub is_fenced: bool,
    pub should_shut_down: bool,
}

//! The messages of `RemoveRaftVoter`, API key 81.

use model::Uuid;
use wire_derive::Message;

use crate::Str;

/// Asks to remove a voter from the quorum (KIP-853).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = RemoveRaftVoter, versions = "0", flexible = "0+")]
pub struct RemoveRaftVoterRequest {
    #[wire(default = Some(Str::new()))]
    pub cluster_id: Option<Str>,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
}

/// Answers [`RemoveRaftVoterRequest`]: the outcome.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct RemoveRaftVoterResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

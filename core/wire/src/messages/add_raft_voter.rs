//! The messages of `AddRaftVoter`, API key 80.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to add a voter to the quorum (KIP-853).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AddRaftVoter, versions = "0-1", flexible = "0+")]
pub struct AddRaftVoterRequest {
    #[wire(default = Some(Str::new()))]
    pub cluster_id: Option<Str>,
    pub timeout_ms: i32,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub listeners: Vec<Listener>,
    #[wire(versions = "1+", default = true)]
    pub ack_when_committed: bool,
}

/// An element of [`AddRaftVoterRequest::listeners`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

/// Answers [`AddRaftVoterRequest`]: the outcome.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct AddRaftVoterResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

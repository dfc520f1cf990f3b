//! The messages of `UpdateRaftVoter`, API key 82.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to change a voter's endpoints and versions (KIP-853).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = UpdateRaftVoter, versions = "0", flexible = "0+")]
pub struct UpdateRaftVoterRequest {
    #[wire(default = Some(Str::new()))]
    pub cluster_id: Option<Str>,
    pub current_leader_epoch: i32,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub listeners: Vec<Listener>,
    pub kraft_version_feature: KRaftVersionFeature,
}

/// An element of [`UpdateRaftVoterRequest::listeners`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

/// The value of [`UpdateRaftVoterRequest::kraft_version_feature`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct KRaftVersionFeature {
    pub min_supported_version: i16,
    pub max_supported_version: i16,
}

/// Answers [`UpdateRaftVoterRequest`]: the outcome, and the leader.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct UpdateRaftVoterResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(tag = 0)]
    pub current_leader: CurrentLeader,
}

/// The value of [`UpdateRaftVoterResponse::current_leader`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct CurrentLeader {
    #[wire(default = -1)]
    pub leader_id: i32,
    #[wire(default = -1)]
    pub leader_epoch: i32,
    pub host: Str,
    pub port: i32,
}

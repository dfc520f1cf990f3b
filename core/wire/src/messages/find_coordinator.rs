//! The messages of `FindCoordinator`, API key 10.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know which broker coordinates a group, a transaction or shared state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = FindCoordinator, versions = "0-6", flexible = "3+")]
pub struct FindCoordinatorRequest {
    #[wire(versions = "0-3")]
    pub key: Str,
    #[wire(versions = "1+")]
    pub key_type: i8,
    #[wire(versions = "4+")]
    pub coordinator_keys: Vec<Str>,
}

/// Answers [`FindCoordinatorRequest`]: the coordinators.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-6", flexible = "3+")]
pub struct FindCoordinatorResponse {
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    #[wire(versions = "0-3")]
    pub error_code: i16,
    #[wire(versions = "1-3", default = Some(Str::new()))]
    pub error_message: Option<Str>,
    #[wire(versions = "0-3")]
    pub node_id: i32,
    #[wire(versions = "0-3")]
    pub host: Str,
    #[wire(versions = "0-3")]
    pub port: i32,
    #[wire(versions = "4+")]
    pub coordinators: Vec<Coordinator>,
}

/// An element of [`FindCoordinatorResponse::coordinators`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Coordinator {
    pub key: Str,
    pub node_id: i32,
    pub host: Str,
    pub port: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

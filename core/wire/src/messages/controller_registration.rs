//! The messages of `ControllerRegistration`, API key 70.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to make a controller known to the active one.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ControllerRegistration, versions = "0", flexible = "0+")]
pub struct ControllerRegistrationRequest {
    pub controller_id: i32,
    pub incarnation_id: Uuid,
    pub zk_migration_ready: bool,
    pub listeners: Vec<Listener>,
    pub features: Vec<Feature>,
}

/// An element of [`ControllerRegistrationRequest::listeners`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
    pub security_protocol: i16,
}

/// An element of [`ControllerRegistrationRequest::features`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Feature {
    pub name: Str,
    pub min_supported_version: i16,
    pub max_supported_version: i16,
}

/// Answers [`ControllerRegistrationRequest`]: the outcome.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct ControllerRegistrationResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

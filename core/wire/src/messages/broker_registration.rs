//! The messages of `BrokerRegistration`, API key 62.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to make a broker known to the controller.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = BrokerRegistration, versions = "0-4", flexible = "0+")]
pub struct BrokerRegistrationRequest {
    pub broker_id: i32,
    pub cluster_id: Str,
    pub incarnation_id: Uuid,
    pub listeners: Vec<Listener>,
    pub features: Vec<Feature>,
    #[wire(default = Some(Str::new()))]
    pub rack: Option<Str>,
    #[wire(versions = "1+")]
    pub is_migrating_zk_broker: bool,
    #[wire(versions = "2+")]
    pub log_dirs: Vec<Uuid>,
    #[wire(versions = "3+", default = -1)]
    pub previous_broker_epoch: i64,
}

/// An element of [`BrokerRegistrationRequest::listeners`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Listener {
    pub name: Str,
    pub host: Str,
    pub port: u16,
    pub security_protocol: i16,
}

/// An element of [`BrokerRegistrationRequest::features`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Feature {
    pub name: Str,
    pub min_supported_version: i16,
    pub max_supported_version: i16,
}

/// Answers [`BrokerRegistrationRequest`]: the broker's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-4", flexible = "0+")]
pub struct BrokerRegistrationResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = -1)]
    pub broker_epoch: i64,
}

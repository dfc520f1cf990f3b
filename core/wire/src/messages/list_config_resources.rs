//! The messages of `ListConfigResources`, API key 74.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know the resources that have a configuration.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ListConfigResources, versions = "0-1", flexible = "0+")]
pub struct ListConfigResourcesRequest {
    #[wire(versions = "1+")]
    pub resource_types: Vec<i8>,
}

/// Answers [`ListConfigResourcesRequest`]: the resources.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct ListConfigResourcesResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub config_resources: Vec<ConfigResource>,
}

/// An element of [`ListConfigResourcesResponse::config_resources`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ConfigResource {
    pub resource_name: Str,
    #[wire(versions = "1+", default = 16)]
    pub resource_type: i8,
}

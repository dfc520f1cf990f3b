//! The messages of `AlterConfigs`, API key 33.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to replace the configuration of resources.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterConfigs, versions = "0-2", flexible = "2+")]
pub struct AlterConfigsRequest {
    pub resources: Vec<AlterConfigsResource>,
    pub validate_only: bool,
}

/// An element of [`AlterConfigsRequest::resources`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterConfigsResource {
    pub resource_type: i8,
    pub resource_name: Str,
    pub configs: Vec<AlterableConfig>,
}

/// An element of [`AlterConfigsResource::configs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterableConfig {
    pub name: Str,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
}

/// Answers [`AlterConfigsRequest`]: the outcome for each resource.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "2+")]
pub struct AlterConfigsResponse {
    pub throttle_time_ms: i32,
    pub responses: Vec<AlterConfigsResourceResponse>,
}

/// An element of [`AlterConfigsResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterConfigsResourceResponse {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub resource_type: i8,
    pub resource_name: Str,
}

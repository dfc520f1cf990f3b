//! The messages of `IncrementalAlterConfigs`, API key 44.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to change single configuration entries of resources.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = IncrementalAlterConfigs, versions = "0-1", flexible = "1+")]
pub struct IncrementalAlterConfigsRequest {
    pub resources: Vec<AlterConfigsResource>,
    pub validate_only: bool,
}

/// An element of [`IncrementalAlterConfigsRequest::resources`].
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
    pub config_operation: i8,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
}

/// Answers [`IncrementalAlterConfigsRequest`]: the outcome for each resource.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "1+")]
pub struct IncrementalAlterConfigsResponse {
    pub throttle_time_ms: i32,
    pub responses: Vec<AlterConfigsResourceResponse>,
}

/// An element of [`IncrementalAlterConfigsResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterConfigsResourceResponse {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub resource_type: i8,
    pub resource_name: Str,
}

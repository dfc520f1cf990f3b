//! The messages of `DescribeConfigs`, API key 32.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see the configuration of topics, brokers and other resources.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeConfigs, versions = "1-4", flexible = "4+")]
pub struct DescribeConfigsRequest {
    pub resources: Vec<DescribeConfigsResource>,
    pub include_synonyms: bool,
    #[wire(versions = "3+")]
    pub include_documentation: bool,
}

/// An element of [`DescribeConfigsRequest::resources`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeConfigsResource {
    pub resource_type: i8,
    pub resource_name: Str,
    #[wire(default = Some(Vec::new()))]
    pub configuration_keys: Option<Vec<Str>>,
}

/// Answers [`DescribeConfigsRequest`]: the configuration entries, and where each comes from.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-4", flexible = "4+")]
pub struct DescribeConfigsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<DescribeConfigsResult>,
}

/// An element of [`DescribeConfigsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeConfigsResult {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub resource_type: i8,
    pub resource_name: Str,
    pub configs: Vec<DescribeConfigsResourceResult>,
}

/// An element of [`DescribeConfigsResult::configs`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeConfigsResourceResult {
    pub name: Str,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
    pub read_only: bool,
    #[wire(default = -1)]
    pub config_source: i8,
    pub is_sensitive: bool,
    pub synonyms: Vec<DescribeConfigsSynonym>,
    #[wire(versions = "3+")]
    pub config_type: i8,
    #[wire(versions = "3+", default = Some(Str::new()))]
    pub documentation: Option<Str>,
}

/// An element of [`DescribeConfigsResourceResult::synonyms`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeConfigsSynonym {
    pub name: Str,
    #[wire(default = Some(Str::new()))]
    pub value: Option<Str>,
    pub source: i8,
}

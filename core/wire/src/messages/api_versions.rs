//! The messages of `ApiVersions`, API key 18.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know which versions of which APIs are served.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = ApiVersions, versions = "0-4", flexible = "3+")]
pub struct ApiVersionsRequest {
    #[wire(versions = "3+")]
    pub client_software_name: Str,
    #[wire(versions = "3+")]
    pub client_software_version: Str,
}

/// Answers [`ApiVersionsRequest`]: the versions and the cluster's features.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-4", flexible = "3+")]
pub struct ApiVersionsResponse {
    pub error_code: i16,
    pub api_keys: Vec<ApiVersion>,
    #[wire(versions = "1+")]
    pub throttle_time_ms: i32,
    #[wire(versions = "3+", tag = 0)]
    pub supported_features: Vec<SupportedFeatureKey>,
    #[wire(versions = "3+", tag = 1, default = -1)]
    pub finalized_features_epoch: i64,
    #[wire(versions = "3+", tag = 2)]
    pub finalized_features: Vec<FinalizedFeatureKey>,
    #[wire(versions = "3+", tag = 3)]
    pub zk_migration_ready: bool,
}

/// An element of [`ApiVersionsResponse::api_keys`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ApiVersion {
    pub api_key: i16,
    pub min_version: i16,
    pub max_version: i16,
}

/// An element of [`ApiVersionsResponse::supported_features`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct SupportedFeatureKey {
    pub name: Str,
    pub min_version: i16,
    pub max_version: i16,
}

/// An element of [`ApiVersionsResponse::finalized_features`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FinalizedFeatureKey {
    pub name: Str,
    pub max_version_level: i16,
    pub min_version_level: i16,
}

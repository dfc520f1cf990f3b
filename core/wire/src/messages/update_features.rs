//! The messages of `UpdateFeatures`, API key 57.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to change the cluster's finalized features (KIP-584).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = UpdateFeatures, versions = "0-2", flexible = "0+")]
pub struct UpdateFeaturesRequest {
    #[wire(default = 60_000)]
    pub timeout_ms: i32,
    pub feature_updates: Vec<FeatureUpdateKey>,
    #[wire(versions = "1+")]
    pub validate_only: bool,
}

/// An element of [`UpdateFeaturesRequest::feature_updates`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct FeatureUpdateKey {
    pub feature: Str,
    pub max_version_level: i16,
    #[wire(versions = "0")]
    pub allow_downgrade: bool,
    #[wire(versions = "1+", default = 1)]
    pub upgrade_type: i8,
}

/// Answers [`UpdateFeaturesRequest`]: the outcome for each feature.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "0+")]
pub struct UpdateFeaturesResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    #[wire(versions = "0-1")]
    pub results: Vec<UpdatableFeatureResult>,
}

/// An element of [`UpdateFeaturesResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct UpdatableFeatureResult {
    pub feature: Str,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
}

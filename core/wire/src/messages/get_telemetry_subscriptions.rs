//! The messages of `GetTelemetrySubscriptions`, API key 71.

use model::Uuid;
use wire_derive::Message;

use crate::Str;

/// Asks to know which metrics a client shall push (KIP-714).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = GetTelemetrySubscriptions, versions = "0", flexible = "0+")]
pub struct GetTelemetrySubscriptionsRequest {
    pub client_instance_id: Uuid,
}

/// Answers [`GetTelemetrySubscriptionsRequest`]: the metrics.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct GetTelemetrySubscriptionsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub client_instance_id: Uuid,
    pub subscription_id: i32,
    pub accepted_compression_types: Vec<i8>,
    pub push_interval_ms: i32,
    pub telemetry_max_bytes: i32,
    pub delta_temporality: bool,
    pub requested_metrics: Vec<Str>,
}

//! The messages of `PushTelemetry`, API key 72.

use bytes::Bytes;
use model::Uuid;
use wire_derive::Message;

/// Asks to take a client's metrics (KIP-714).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = PushTelemetry, versions = "0", flexible = "0+")]
pub struct PushTelemetryRequest {
    pub client_instance_id: Uuid,
    pub subscription_id: i32,
    pub terminating: bool,
    pub compression_type: i8,
    pub metrics: Bytes,
}

/// Answers [`PushTelemetryRequest`]: the outcome.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct PushTelemetryResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
}

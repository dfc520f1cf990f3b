//! The messages of `SaslAuthenticate`, API key 36.

use bytes::Bytes;
use wire_derive::Message;

use crate::Str;

/// Asks to take the next step of a SASL exchange.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = SaslAuthenticate, versions = "0-2", flexible = "2+")]
pub struct SaslAuthenticateRequest {
    pub auth_bytes: Bytes,
}

/// Answers [`SaslAuthenticateRequest`]: the broker's next step.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-2", flexible = "2+")]
pub struct SaslAuthenticateResponse {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub auth_bytes: Bytes,
    #[wire(versions = "1+")]
    pub session_lifetime_ms: i64,
}

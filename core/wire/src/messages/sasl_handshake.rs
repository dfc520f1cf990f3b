//! The messages of `SaslHandshake`, API key 17.

use wire_derive::Message;

use crate::Str;

/// Asks to choose a SASL mechanism.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = SaslHandshake, versions = "0-1")]
pub struct SaslHandshakeRequest {
    pub mechanism: Str,
}

/// Answers [`SaslHandshakeRequest`]: the mechanisms there are.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1")]
pub struct SaslHandshakeResponse {
    pub error_code: i16,
    pub mechanisms: Vec<Str>,
}

//! The messages of `Envelope`, API key 58.

use bytes::Bytes;
use wire_derive::Message;

/// Asks to handle another client's request, forwarded by a broker.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = Envelope, versions = "0", flexible = "0+")]
pub struct EnvelopeRequest {
    pub request_data: Bytes,
    #[wire(default = Some(Bytes::new()))]
    pub request_principal: Option<Bytes>,
    pub client_host_address: Bytes,
}

/// Answers [`EnvelopeRequest`]: the response to forward back.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct EnvelopeResponse {
    pub response_data: Option<Bytes>,
    pub error_code: i16,
}

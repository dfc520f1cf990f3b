//! What stands before a body: the headers of requests and responses.
//!
//! Which version of a header a message has follows from its API and its version; the client id keeps its 16-bit length
//! in the flexible header too (KIP-482).

use bytestring::ByteString;
use wire_derive::Message;

use crate::api::ApiKey;
use crate::error::{DecodeError, DecodeReason};
use crate::message::Message;
use crate::reader::Reader;

/// What stands before a request's body.
#[derive(Message, Clone, Debug, PartialEq, Eq)]
#[wire(versions = "1-2", flexible = "2+")]
pub struct RequestHeader {
    pub request_api_key: i16,
    pub request_api_version: i16,
    pub correlation_id: i32,
    #[wire(int16_length, default = Some(ByteString::new()))]
    pub client_id: Option<ByteString>,
}

/// What stands before a response's body.
#[derive(Message, Clone, Debug, PartialEq, Eq)]
#[wire(versions = "0-1", flexible = "1+")]
pub struct ResponseHeader {
    pub correlation_id: i32,
}

impl RequestHeader {
    /// The header's version for a request.
    pub fn version(api_key: ApiKey, api_version: i16) -> i16 {
        if api_key.is_flexible(api_version) { 2 } else { 1 }
    }

    /// Reads the header of a request of a known API. The request's version may be one that is not served: a request
    /// for ApiVersions is answered then, too.
    pub fn read_any(reader: &mut Reader) -> Result<(ApiKey, RequestHeader), DecodeError> {
        let [key_high, key_low, version_high, version_low] = reader.peek()?;
        let key = i16::from_be_bytes([key_high, key_low]);
        let api_version = i16::from_be_bytes([version_high, version_low]);
        let api_key = ApiKey::from_key(key).ok_or_else(|| {
            reader.error(DecodeReason::UnknownKey {
                kind: "api key",
                key: i32::from(key),
            })
        })?;
        let header = RequestHeader::decode(reader, RequestHeader::version(api_key, api_version))?;
        Ok((api_key, header))
    }
}

impl ResponseHeader {
    /// The header's version for a response. That of ApiVersions is always 0, so that a client that does not know the
    /// broker's versions yet can read it.
    pub fn version(api_key: ApiKey, api_version: i16) -> i16 {
        if api_key != ApiKey::ApiVersions && api_key.is_flexible(api_version) {
            1
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestHeader, ResponseHeader};
    use crate::api::ApiKey;

    #[test]
    fn headers_are_flexible_where_the_message_is() {
        assert_eq!(RequestHeader::version(ApiKey::Fetch, 11), 1);
        assert_eq!(RequestHeader::version(ApiKey::Fetch, 12), 2);
        assert_eq!(ResponseHeader::version(ApiKey::Fetch, 11), 0);
        assert_eq!(ResponseHeader::version(ApiKey::Fetch, 12), 1);
        assert_eq!(RequestHeader::version(ApiKey::SaslHandshake, 1), 1);
        assert_eq!(ResponseHeader::version(ApiKey::SaslHandshake, 1), 0);
    }

    #[test]
    fn the_answer_to_api_versions_has_a_plain_header_in_every_version() {
        assert_eq!(RequestHeader::version(ApiKey::ApiVersions, 4), 2);
        assert_eq!(ResponseHeader::version(ApiKey::ApiVersions, 4), 0);
    }
}

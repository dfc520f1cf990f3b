//! 128-bit ids in Kafka's form: topic ids, directory ids, incarnation ids.
//!
//! Printed as URL-safe base64 without padding (22 characters), unlike the usual hexadecimal form.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A 128-bit id, big-endian as on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

/// The text is not 22 characters of URL-safe base64.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an id: expected 22 characters of URL-safe base64, such as `gracchus storage random-uuid` prints"
)]
pub struct ParseUuidError(String);

impl Uuid {
    /// "No id" on the wire.
    pub const ZERO: Uuid = Uuid([0; 16]);
    /// The id of the topic `__cluster_metadata`.
    pub const METADATA_TOPIC: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

    /// Whether this is the zero id, "none" on the wire.
    pub fn is_zero(self) -> bool {
        self == Uuid::ZERO
    }

    /// A random (version 4) id from 16 random bytes. Its text never starts with `-`, so that it can be a command-line
    /// argument: `None` then, and the caller draws again.
    pub fn from_random_bytes(mut bytes: [u8; 16]) -> Option<Uuid> {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let id = Uuid(bytes);
        (!id.to_string().starts_with('-')).then_some(id)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Uuid, ParseUuidError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| ParseUuidError(text.to_owned()))?;
        bytes
            .try_into()
            .map(Uuid)
            .map_err(|_| ParseUuidError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn text_and_bytes_agree_with_kafka() {
        let id: Uuid = "Jtflsnh6DUEpc2Xx0hyhLw".parse().unwrap();
        assert_eq!(id.0[..4], [0x26, 0xd7, 0xe5, 0xb2]);
        assert_eq!(id.to_string(), "Jtflsnh6DUEpc2Xx0hyhLw");
        assert_eq!(Uuid::METADATA_TOPIC.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
    }

    #[test]
    fn a_text_of_another_length_is_refused() {
        assert!("".parse::<Uuid>().is_err());
        assert!("Jtflsnh6DUEpc2Xx0hyhL".parse::<Uuid>().is_err());
        assert!("Jtflsnh6DUEpc2Xx0hyhLwAA".parse::<Uuid>().is_err());
    }

    #[test]
    fn an_id_that_would_look_like_a_flag_is_drawn_again() {
        assert_eq!(Uuid::from_random_bytes([0xf8; 16]), None);
        assert!(Uuid::from_random_bytes([1; 16]).is_some());
    }
}

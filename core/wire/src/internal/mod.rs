//! What lies in logs and files rather than in requests: records of the internal topics and of the metadata log, control
//! records, snapshots; and what members of groups tell each other.
//!
//! Most of it stands behind two bytes: a record's type before a key, a version before a value.

use bytes::Bytes;

use crate::error::{DecodeError, DecodeReason, EncodeError};
use crate::message::{Keyed, Message};
use crate::reader::Reader;
use crate::writer::Writer;

pub mod consumer_groups;
pub mod consumer_protocol;
pub mod kinds;
pub mod metadata_log;
pub mod offsets;
pub mod principal;
pub mod raft;
pub mod remote_log;
pub mod share_groups;
pub mod share_state;
pub mod snapshot;
pub mod streams;
pub mod streams_groups;
pub mod transactions;

/// A message's bytes behind two bytes of version.
pub fn to_versioned_bytes<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    prefixed(message, version, version)
}

/// A record key's bytes behind two bytes of type.
pub fn to_key_bytes<K: Keyed>(key: &K) -> Result<Bytes, EncodeError> {
    prefixed(key, K::KEY, K::MIN_VERSION)
}

fn prefixed<M: Message>(message: &M, prefix: i16, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    writer.put(&prefix.to_be_bytes());
    message.encode(&mut writer, version)?;
    writer
        .into_bytes()
        .map_err(|error| EncodeError::Unreadable(error.kind()))
}

/// Reads two bytes of version and the message behind them.
pub fn from_versioned_bytes<M: Message>(bytes: Bytes) -> Result<(i16, M), DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = reader.read_i16()?;
    let message = M::decode(&mut reader, version)?;
    at_end(&reader)?;
    Ok((version, message))
}

/// Reads the two bytes of type that begin a record's key.
pub fn key_type(bytes: &Bytes) -> Result<i16, DecodeError> {
    Reader::new(bytes.clone()).read_i16()
}

/// Reads a record's key, which must be of type `K`.
pub fn from_key_bytes<K: Keyed>(bytes: Bytes) -> Result<K, DecodeError> {
    let mut reader = Reader::new(bytes);
    let key = reader.read_i16()?;
    if key != K::KEY {
        return Err(reader.error(DecodeReason::UnknownKey {
            kind: "record type",
            key: i32::from(key),
        }));
    }
    let message = K::decode(&mut reader, K::MIN_VERSION)?;
    at_end(&reader)?;
    Ok(message)
}

fn at_end(reader: &Reader) -> Result<(), DecodeError> {
    match reader.remaining() {
        0 => Ok(()),
        trailing => Err(reader.error(DecodeReason::TrailingBytes(trailing))),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::offsets::{GroupMetadataKey, OffsetCommitKey, OffsetCommitValue};
    use super::{from_key_bytes, from_versioned_bytes, key_type, to_key_bytes, to_versioned_bytes};
    use crate::error::DecodeReason;

    fn key() -> OffsetCommitKey {
        OffsetCommitKey {
            group: "g".into(),
            topic: "t".into(),
            partition: 3,
        }
    }

    #[test]
    fn a_key_stands_behind_its_type() {
        let bytes = to_key_bytes(&key()).unwrap();
        assert_eq!(bytes, &b"\0\x01\0\x01g\0\x01t\0\0\0\x03"[..]);
        assert_eq!(key_type(&bytes), Ok(1));
        assert_eq!(from_key_bytes(bytes.clone()), Ok(key()));
        let other = from_key_bytes::<GroupMetadataKey>(bytes).unwrap_err();
        assert!(matches!(other.reason, DecodeReason::UnknownKey { key: 1, .. }));
    }

    #[test]
    fn a_value_stands_behind_its_version() {
        let value = OffsetCommitValue {
            offset: 7,
            ..OffsetCommitValue::default()
        };
        for version in 0..=4 {
            let bytes = to_versioned_bytes(&value, version).unwrap();
            assert_eq!(from_versioned_bytes(bytes), Ok((version, value.clone())));
        }
        let newer = from_versioned_bytes::<OffsetCommitValue>(Bytes::from_static(b"\0\x05")).unwrap_err();
        assert!(matches!(
            newer.reason,
            DecodeReason::UnsupportedVersion { version: 5, .. }
        ));
        let mut longer = to_versioned_bytes(&value, 4).unwrap().to_vec();
        longer.push(0);
        let longer = from_versioned_bytes::<OffsetCommitValue>(longer.into()).unwrap_err();
        assert_eq!(longer.reason, DecodeReason::TrailingBytes(1));
    }
}

//! What all messages have in common, requests, responses and records of logs alike.

use bytes::Bytes;

use crate::api::ApiKey;
use crate::error::{DecodeError, DecodeReason, EncodeError};
use crate::field::{Field, Form};
use crate::reader::Reader;
use crate::value::Value;
use crate::writer::Writer;

/// A message: a struct that has a form on the wire in each of its versions. `#[derive(Message)]` implements it.
///
/// A field that a version does not have is left out by [`Message::encode`], whatever its value, and set to its default
/// by [`Message::decode`].
pub trait Message: Field + Default {
    /// Kafka's name, such as `FetchRequest`.
    const NAME: &'static str;
    /// The lowest version.
    const MIN_VERSION: i16;
    /// The highest version.
    const MAX_VERSION: i16;
    /// The first flexible version; `None` where all versions are plain.
    const FLEXIBLE_FROM: Option<i16>;

    /// The form of a version; `None` for a version this message does not have.
    fn form(version: i16) -> Option<Form> {
        let known = Self::MIN_VERSION <= version && version <= Self::MAX_VERSION;
        known.then(|| Form {
            version,
            flexible: Self::FLEXIBLE_FROM.is_some_and(|from| version >= from),
        })
    }

    /// Reads a message and leaves in `reader` what follows it.
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let form = Self::form(version).ok_or_else(|| {
            reader.error(DecodeReason::UnsupportedVersion {
                message: Self::NAME,
                version,
            })
        })?;
        Self::read(reader, form)
    }

    /// Reads a message that takes all of `bytes`.
    fn decode_all(bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let message = Self::decode(&mut reader, version)?;
        match reader.remaining() {
            0 => Ok(message),
            trailing => Err(reader.error(DecodeReason::TrailingBytes(trailing))),
        }
    }

    /// Writes this message.
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let form = Self::form(version).ok_or(EncodeError::UnsupportedVersion {
            message: Self::NAME,
            version,
        })?;
        self.write(writer, form)
    }

    /// This message's bytes, in one piece.
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        self.encode(&mut writer, version)?;
        writer
            .into_bytes()
            .map_err(|error| EncodeError::Unreadable(error.kind()))
    }

    /// The fields a version has, as data that describes itself; those of the highest version for one that is unknown.
    fn to_value(&self, version: i16) -> Value {
        let form = Self::form(version).or_else(|| Self::form(Self::MAX_VERSION));
        form.map_or(Value::Null, |form| self.value(form))
    }
}

/// The request of an API.
pub trait Request: Message {
    /// The API.
    const API_KEY: ApiKey;
    /// What answers it.
    type Response: Message;
}

/// A record of a log whose kind is told by a number: the type of a coordinator's record, or the api key of a record of
/// the metadata log.
pub trait Keyed: Message {
    /// The number.
    const KEY: i16;
}

//! The Kafka protocol: frames, headers, every message of every API at every version, record batches viewed in place,
//! the records of internal topics and of the metadata log.
//!
//! Nothing here does I/O, and no input may panic or size an allocation by a count it carries.

pub mod api;
mod error;
pub mod field;
pub mod header;
pub mod internal;
mod message;
pub mod messages;
mod reader;
pub mod records;
mod segment;
pub mod value;
mod writer;

pub use api::ApiKey;
/// A string: UTF-8 in a reference-counted slice, usually of a received frame.
pub use bytestring::ByteString as Str;
pub use error::{DecodeError, DecodeReason, EncodeError};
pub use message::{Keyed, Message, Request};
pub use reader::{ELEMENT_BUDGET, Reader, Tags};
pub use segment::{FileRange, FileSource, Records, Segment};
pub use value::Value;
pub use writer::Writer;

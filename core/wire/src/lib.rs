//! The Kafka protocol: frames, headers, every message of every API at every version, record batches viewed in place,
//! the records of internal topics and of the metadata log.
//!
//! Nothing here does I/O, and no input may panic or size an allocation by a count it carries.

mod segment;

pub use segment::{FileRange, FileSource, Records, Segment};

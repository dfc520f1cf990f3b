//! Record batches: viewed in place, checked, walked, built, and patched without touching the received bytes.
//!
//! The format of today is the batch, magic 2 ([`Batch`]); old logs may hold message sets, magic 0 and 1 ([`legacy`]).
//! A broker reads a batch's 61-byte header and its checksum, and walks records only where a rule needs it. Nothing
//! here allocates by a count it was given, and decompression is bounded by a [`DecompressionLimit`].

mod batch;
mod builder;
mod codec;
mod control;
mod cursor;
mod header;
pub mod legacy;
mod prefix;
mod record;

pub use batch::{Batch, Batches, Entries, Entry, batches, entries};
pub use builder::{BatchBuilder, BuildError, Producer};
pub use codec::{Codec, CodecError, Compression, DecompressionLimit, compress, decompress};
pub use control::{ControlRecordType, EndTransactionMarker};
pub use header::{
    Attributes, BATCH_HEADER_SIZE, BatchError, BatchHeader, ENTRY_PREFIX_SIZE, EntryPrefix, TimestampType,
};
pub use prefix::{BatchPrefix, NewTimestamps};
pub use record::{
    HeaderRef, HeaderRefs, RECORD_MIN_SIZE, Record, RecordError, RecordHeader, RecordIter, RecordRef,
    RecordRefs,
};

#[cfg(test)]
mod tests;

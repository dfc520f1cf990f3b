//! The file `.snapshot` beside a segment: the producers of a partition.

use wire_derive::{Fields, Message};

/// What a partition knows of its producers at an offset, behind two bytes of version.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1")]
pub struct ProducerSnapshot {
    pub crc: u32,
    pub producer_entries: Vec<ProducerEntry>,
}

/// An element of [`ProducerSnapshot::producer_entries`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ProducerEntry {
    pub producer_id: i64,
    pub epoch: i16,
    pub last_sequence: i32,
    pub last_offset: i64,
    pub offset_delta: i32,
    pub timestamp: i64,
    pub coordinator_epoch: i32,
    pub current_txn_first_offset: i64,
}

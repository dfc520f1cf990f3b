//! Records of `__share_group_state` (KIP-932).

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a share partition's whole state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0")]
pub struct ShareSnapshotKey {
    pub group_id: Str,
    pub topic_id: Uuid,
    pub partition: i32,
}

/// A share partition's whole state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0", flexible = "0+")]
pub struct ShareSnapshotValue {
    pub snapshot_epoch: i32,
    pub state_epoch: i32,
    pub leader_epoch: i32,
    pub start_offset: i64,
    #[wire(tag = 0, default = -1)]
    pub delivery_complete_count: i32,
    pub create_timestamp: i64,
    pub write_timestamp: i64,
    pub state_batches: Vec<StateBatch>,
}

/// An element of [`ShareSnapshotValue::state_batches`] and [`ShareUpdateValue::state_batches`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct StateBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_state: i8,
    pub delivery_count: i16,
}

/// Key of a change to a share partition's state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 1, versions = "0")]
pub struct ShareUpdateKey {
    pub group_id: Str,
    pub topic_id: Uuid,
    pub partition: i32,
}

/// A change to a share partition's state.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 1, versions = "0", flexible = "0+")]
pub struct ShareUpdateValue {
    pub snapshot_epoch: i32,
    pub leader_epoch: i32,
    pub start_offset: i64,
    #[wire(tag = 0, default = -1)]
    pub delivery_complete_count: i32,
    pub state_batches: Vec<StateBatch>,
}

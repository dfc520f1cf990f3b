//! Records of `__consumer_offsets`: committed offsets and classic groups.
//!
//! A key's first two bytes are its type ([`crate::Keyed::KEY`]), a value's its version.

use bytes::Bytes;
use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a committed offset in its oldest type.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0")]
pub struct LegacyOffsetCommitKey {
    pub group: Str,
    pub topic: Str,
    pub partition: i32,
}

/// A committed offset in its oldest type.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 0, versions = "0")]
pub struct LegacyOffsetCommitValue {
    pub offset: i64,
    pub metadata: Str,
    pub commit_timestamp: i64,
}

/// Key of a committed offset.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 1, versions = "0")]
pub struct OffsetCommitKey {
    pub group: Str,
    pub topic: Str,
    pub partition: i32,
}

/// A committed offset.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 1, versions = "0-4", flexible = "4+")]
pub struct OffsetCommitValue {
    pub offset: i64,
    #[wire(versions = "3+", default = -1)]
    pub leader_epoch: i32,
    pub metadata: Str,
    pub commit_timestamp: i64,
    #[wire(versions = "1", default = -1)]
    pub expire_timestamp: i64,
    #[wire(versions = "4+", tag = 0)]
    pub topic_id: Uuid,
}

/// Key of a classic group.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 2, versions = "0")]
pub struct GroupMetadataKey {
    pub group: Str,
}

/// A classic group: generation, leader and members.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(key = 2, versions = "0-4", flexible = "4+")]
pub struct GroupMetadataValue {
    pub protocol_type: Str,
    pub generation: i32,
    #[wire(default = Some(Str::new()))]
    pub protocol: Option<Str>,
    #[wire(default = Some(Str::new()))]
    pub leader: Option<Str>,
    #[wire(versions = "2+", default = -1)]
    pub current_state_timestamp: i64,
    pub members: Vec<MemberMetadata>,
}

/// An element of [`GroupMetadataValue::members`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct MemberMetadata {
    pub member_id: Str,
    #[wire(versions = "3+")]
    pub group_instance_id: Option<Str>,
    pub client_id: Str,
    pub client_host: Str,
    #[wire(versions = "1+", default = -1)]
    pub rebalance_timeout: i32,
    pub session_timeout: i32,
    pub subscription: Bytes,
    pub assignment: Bytes,
}

//! The records of `__consumer_offsets` in words of this crate, and from and to their bytes.
//!
//! A key starts with the number of its kind, a value with its version. Values are written as Apache Kafka 4.3.1 writes
//! them: groups at version 3, offsets at version 4 (version 1 where the client asked for a retention of its own).

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use model::Uuid;
use wire::internal::consumer_protocol::ConsumerProtocolSubscription;
use wire::internal::offsets::{
    GroupMetadataKey, GroupMetadataValue, LegacyOffsetCommitKey, MemberMetadata, OffsetCommitKey,
    OffsetCommitValue,
};
use wire::internal::{from_key_bytes, from_versioned_bytes, key_type, to_key_bytes, to_versioned_bytes};
use wire::{DecodeError, EncodeError, Keyed, Message, Reader, Str};

use crate::ledger::{ForeignFact, GroupType};

const GROUP_METADATA_VERSION: i16 = 3;
const OFFSET_VERSION: i16 = 4;
const OFFSET_WITH_EXPIRY_VERSION: i16 = 1;

/// A member of a classic group as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The member's id.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
    /// The client's `client.id`.
    pub client_id: Arc<str>,
    /// The client's address.
    pub client_host: Arc<str>,
    /// How long the group waits for it to rejoin.
    pub rebalance_timeout_ms: i32,
    /// How long it may be silent.
    pub session_timeout_ms: i32,
    /// What it said for the chosen protocol.
    pub subscription: Bytes,
    /// What it was given.
    pub assignment: Bytes,
}

/// A generation of a classic group as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMetadata {
    /// Such as `consumer`; `None` before the first member.
    pub protocol_type: Option<Arc<str>>,
    /// The generation.
    pub generation: i32,
    /// The chosen protocol; `None` without members.
    pub protocol: Option<Arc<str>>,
    /// The leader; `None` without members.
    pub leader: Option<Arc<str>>,
    /// Since when the group has been in this state, by the wall clock. `None` in records of old brokers.
    pub state_since_ms: Option<i64>,
    /// The members. None of them means the group is empty.
    pub members: Vec<GroupMember>,
}

/// A committed offset as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommit {
    /// The offset.
    pub offset: i64,
    /// The epoch of the record before it.
    pub leader_epoch: Option<i32>,
    /// The client's own words.
    pub metadata: Box<str>,
    /// When it was committed, by the wall clock.
    pub commit_timestamp_ms: i64,
    /// When it expires, where the client asked for a retention of its own.
    pub expire_timestamp_ms: Option<i64>,
    /// The topic's id; zero in records of old brokers.
    pub topic_id: Uuid,
}

/// One record of the partition. A value of `None` removes what the key names.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A classic group.
    Group {
        /// The group.
        group: Arc<str>,
        /// Its present generation.
        metadata: Option<GroupMetadata>,
    },
    /// A committed offset.
    Offset {
        /// The group.
        group: Arc<str>,
        /// The topic's name.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// The offset.
        commit: Option<OffsetCommit>,
    },
    /// Something of a group of another protocol: known by its key, and by as much of its value as its state needs.
    Foreign {
        /// The group.
        group: Arc<str>,
        /// The kind of group.
        group_type: GroupType,
        /// The whole key.
        key: Bytes,
        /// What the value says.
        fact: Option<ForeignFact>,
    },
}

/// Why bytes are no record that this crate can apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeRecordError {
    /// A kind of key, or a version, that a later Kafka may write. Whoever loads passes over it.
    #[error("record of unknown kind {kind} or version {version}")]
    Unknown {
        /// The number the key starts with.
        kind: i16,
        /// The version the value starts with, -1 where the kind is unknown already.
        version: i16,
    },
    /// A record without a key.
    #[error("record without a key")]
    NoKey,
    /// The bytes do not follow the format.
    #[error("malformed record: {0}")]
    Malformed(#[from] DecodeError),
}

/// A record's bytes: its key, and its value unless it is a tombstone.
pub type RecordBytes = (Bytes, Option<Bytes>);

impl Record {
    /// The record as it is written into the log.
    pub fn encode(&self) -> Result<RecordBytes, EncodeError> {
        match self {
            Record::Group { group, metadata } => {
                let key = GroupMetadataKey { group: text(group) };
                Ok((
                    to_key_bytes(&key)?,
                    metadata.as_ref().map(encode_group).transpose()?,
                ))
            }
            Record::Offset {
                group,
                topic,
                partition,
                commit,
            } => {
                let key = OffsetCommitKey {
                    group: text(group),
                    topic: text(topic),
                    partition: *partition,
                };
                Ok((
                    to_key_bytes(&key)?,
                    commit.as_ref().map(encode_offset).transpose()?,
                ))
            }
            // This crate only ever removes such records.
            Record::Foreign { key, .. } => Ok((key.clone(), None)),
        }
    }

    /// Reads a record of the log. What is kept is copied: the bytes may be a slice of a large buffer.
    pub fn decode(key: Option<&Bytes>, value: Option<&Bytes>) -> Result<Record, DecodeRecordError> {
        let key = key.ok_or(DecodeRecordError::NoKey)?;
        match key_type(key)? {
            kind @ LegacyOffsetCommitKey::KEY => {
                let LegacyOffsetCommitKey {
                    group,
                    topic,
                    partition,
                } = from_key_bytes(key.clone())?;
                decode_offset(
                    kind,
                    OffsetCommitKey {
                        group,
                        topic,
                        partition,
                    },
                    value,
                )
            }
            kind @ OffsetCommitKey::KEY => decode_offset(kind, from_key_bytes(key.clone())?, value),
            kind @ GroupMetadataKey::KEY => {
                let GroupMetadataKey { group } = from_key_bytes(key.clone())?;
                let metadata = value.map(|value| decode_group(kind, value)).transpose()?;
                Ok(Record::Group {
                    group: shared(&group),
                    metadata,
                })
            }
            kind => decode_foreign(kind, key, value),
        }
    }
}

fn text(text: &Arc<str>) -> Str {
    Str::from(&**text)
}

fn shared(text: &Str) -> Arc<str> {
    Arc::from(&**text)
}

/// -1 in a record means "not set".
fn set<N: PartialOrd + From<i8>>(number: N) -> Option<N> {
    (number >= N::from(0)).then_some(number)
}

fn encode_offset(commit: &OffsetCommit) -> Result<Bytes, EncodeError> {
    let value = OffsetCommitValue {
        offset: commit.offset,
        leader_epoch: commit.leader_epoch.unwrap_or(-1),
        metadata: Str::from(&*commit.metadata),
        commit_timestamp: commit.commit_timestamp_ms,
        expire_timestamp: commit.expire_timestamp_ms.unwrap_or(-1),
        topic_id: commit.topic_id,
    };
    let expires = commit.expire_timestamp_ms.is_some();
    to_versioned_bytes(
        &value,
        if expires {
            OFFSET_WITH_EXPIRY_VERSION
        } else {
            OFFSET_VERSION
        },
    )
}

fn decode_offset(
    kind: i16,
    key: OffsetCommitKey,
    value: Option<&Bytes>,
) -> Result<Record, DecodeRecordError> {
    let commit = value
        .map(|value| versioned::<OffsetCommitValue>(kind, value))
        .transpose()?;
    Ok(Record::Offset {
        group: shared(&key.group),
        topic: shared(&key.topic),
        partition: key.partition,
        commit: commit.map(|commit| OffsetCommit {
            offset: commit.offset,
            leader_epoch: set(commit.leader_epoch),
            metadata: (&*commit.metadata).into(),
            commit_timestamp_ms: commit.commit_timestamp,
            expire_timestamp_ms: set(commit.expire_timestamp),
            topic_id: commit.topic_id,
        }),
    })
}

fn encode_group(metadata: &GroupMetadata) -> Result<Bytes, EncodeError> {
    let members = metadata.members.iter().map(|member| MemberMetadata {
        member_id: text(&member.member),
        group_instance_id: member.instance.as_ref().map(text),
        client_id: text(&member.client_id),
        client_host: text(&member.client_host),
        rebalance_timeout: member.rebalance_timeout_ms,
        session_timeout: member.session_timeout_ms,
        subscription: member.subscription.clone(),
        assignment: member.assignment.clone(),
    });
    let value = GroupMetadataValue {
        protocol_type: metadata.protocol_type.as_ref().map(text).unwrap_or_default(),
        generation: metadata.generation,
        protocol: metadata.protocol.as_ref().map(text),
        leader: metadata.leader.as_ref().map(text),
        current_state_timestamp: metadata.state_since_ms.unwrap_or(-1),
        members: members.collect(),
    };
    to_versioned_bytes(&value, GROUP_METADATA_VERSION)
}

fn decode_group(kind: i16, value: &Bytes) -> Result<GroupMetadata, DecodeRecordError> {
    let value: GroupMetadataValue = versioned(kind, value)?;
    let members = value.members.iter().map(|member| GroupMember {
        member: shared(&member.member_id),
        instance: member.group_instance_id.as_ref().map(shared),
        client_id: shared(&member.client_id),
        client_host: shared(&member.client_host),
        // Records of old brokers have no time-out for rebalances: it was the session's.
        rebalance_timeout_ms: set(member.rebalance_timeout).unwrap_or(member.session_timeout),
        session_timeout_ms: member.session_timeout,
        subscription: Bytes::copy_from_slice(&member.subscription),
        assignment: Bytes::copy_from_slice(&member.assignment),
    });
    Ok(GroupMetadata {
        protocol_type: (!value.protocol_type.is_empty()).then(|| shared(&value.protocol_type)),
        generation: value.generation,
        protocol: value.protocol.as_ref().map(shared),
        leader: value.leader.as_ref().map(shared),
        state_since_ms: set(value.current_state_timestamp),
        members: members.collect(),
    })
}

/// Reads a value of a version that is known.
fn versioned<M: Message>(kind: i16, value: &Bytes) -> Result<M, DecodeRecordError> {
    let version = Reader::new(value.clone()).read_i16()?;
    if M::form(version).is_none() {
        return Err(DecodeRecordError::Unknown { kind, version });
    }
    Ok(from_versioned_bytes(value.clone())?.1)
}

/// A record of a group of another protocol. The numbers of its kinds are those of `wire::internal`; every such key
/// begins with the group's name, and every such value with the numbers that the group's state depends on.
fn decode_foreign(kind: i16, key: &Bytes, value: Option<&Bytes>) -> Result<Record, DecodeRecordError> {
    let group_type = match kind {
        3..=8 | 16 => GroupType::Consumer,
        10..=15 => GroupType::Share,
        17..=23 => GroupType::Streams,
        _ => return Err(DecodeRecordError::Unknown { kind, version: -1 }),
    };
    let mut reader = Reader::new(key.clone());
    reader.read_i16()?;
    let GroupMetadataKey { group } = GroupMetadataKey::decode(&mut reader, 0)?;
    Ok(Record::Foreign {
        group: shared(&group),
        group_type,
        key: Bytes::copy_from_slice(key),
        fact: value.map(|value| decode_fact(kind, value)).transpose()?,
    })
}

fn decode_fact(kind: i16, value: &Bytes) -> Result<ForeignFact, DecodeRecordError> {
    let mut reader = Reader::new(value.clone());
    let version = reader.read_i16()?;
    if version != 0 {
        return Err(DecodeRecordError::Unknown { kind, version });
    }
    Ok(match kind {
        3 | 11 | 17 => ForeignFact::GroupEpoch(reader.read_i32()?),
        6 | 12 | 20 => ForeignFact::TargetEpoch(reader.read_i32()?),
        5 | 10 | 19 => ForeignFact::Member,
        8 | 14 | 22 => {
            let epoch = reader.read_i32()?;
            let _previous_epoch = reader.read_i32()?;
            let settled = reader.read_i8()? == 0;
            ForeignFact::MemberAt {
                settled_epoch: settled.then_some(epoch),
            }
        }
        _ => ForeignFact::Other,
    })
}

/// The topics in a subscription of Kafka's consumers; `None` where it cannot be read. Every version begins like the
/// first.
pub(crate) fn subscribed_topics(subscription: &Bytes) -> Option<BTreeSet<Arc<str>>> {
    let mut reader = Reader::new(subscription.clone());
    reader.read_i16().ok()?;
    let subscription = ConsumerProtocolSubscription::decode(&mut reader, 0).ok()?;
    Some(subscription.topics.iter().map(shared).collect())
}

//! What clients ask of a group, and what it answers, in words of this crate. Handlers translate from and to the wire.

use std::sync::Arc;

use bytes::Bytes;
use model::Uuid;

use crate::error::GroupError;
use crate::ledger::GroupType;

/// One way of assigning that a member offers, with what the leader needs to know of the member. Opaque to the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Such as `range` or `cooperative-sticky`.
    pub name: Arc<str>,
    /// The member's subscription, in the protocol's own form.
    pub metadata: Bytes,
}

/// How a member without an id gets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newcomers {
    /// It is given an id and must join again with it, so that lost answers leave no ghosts (KIP-394).
    MustComeBack,
    /// It is admitted at once.
    Admitted,
}

/// Whether a returning static leader understands "keep the present assignment" (KIP-814).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejoins {
    /// It does: the answer lists the members and says to skip assigning.
    MaySkipAssignment,
    /// It does not: the answer names the old leader, so that the member takes itself for a follower.
    MustNotLead,
}

/// A member joins, or joins again.
#[derive(Clone, Debug)]
pub struct JoinGroup {
    /// The group.
    pub group: Arc<str>,
    /// Empty for a member that has no id yet.
    pub member: Arc<str>,
    /// The id a member without one is given; unique, from the host's entropy.
    pub new_member: Arc<str>,
    /// `group.instance.id` of a static member.
    pub instance: Option<Arc<str>>,
    /// The client's `client.id`.
    pub client_id: Arc<str>,
    /// The client's address, as `/127.0.0.1`.
    pub client_host: Arc<str>,
    /// How long the member may be silent.
    pub session_timeout_ms: i32,
    /// How long the group waits for the member to rejoin.
    pub rebalance_timeout_ms: i32,
    /// Such as `consumer` or `connect`.
    pub protocol_type: Arc<str>,
    /// What the member offers, best first.
    pub protocols: Vec<Protocol>,
    /// How members without an id get in.
    pub newcomers: Newcomers,
    /// What a returning static leader understands.
    pub rejoins: Rejoins,
}

/// A member that the leader is told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// The member's id.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
    /// What it said for the chosen protocol.
    pub metadata: Bytes,
}

/// The member is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The member's id.
    pub member: Arc<str>,
    /// The generation of which it is a member.
    pub generation: i32,
    /// The group's type of protocol.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol: Option<Arc<str>>,
    /// Who assigns.
    pub leader: Arc<str>,
    /// Whether the leader must leave the assignment as it is.
    pub skip_assignment: bool,
    /// Everybody, for the leader; nobody, for the others.
    pub members: Vec<JoinedMember>,
}

/// The member is not in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRefused {
    /// Why.
    pub error: GroupError,
    /// The id the answer carries: the new one with [`GroupError::MemberIdRequired`], else the member's or none.
    pub member: Arc<str>,
}

/// A member asks for its assignment; the leader brings everybody's.
#[derive(Clone, Debug)]
pub struct SyncGroup {
    /// The group.
    pub group: Arc<str>,
    /// The generation the member joined.
    pub generation: i32,
    /// The member.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
    /// The type of protocol the member believes in, if it says so.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol the member believes in, if it says so.
    pub protocol: Option<Arc<str>>,
    /// Member to assignment. Only the leader's counts.
    pub assignments: Vec<(Arc<str>, Bytes)>,
}

/// A member's share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The group's type of protocol.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol: Option<Arc<str>>,
    /// The member's assignment, as the leader wrote it. Empty for a member the leader left out.
    pub assignment: Bytes,
}

/// A member is alive.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: Arc<str>,
    /// The generation the member is at.
    pub generation: i32,
    /// The member.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
}

/// One of the members that leave.
#[derive(Clone, Debug)]
pub struct LeavingMember {
    /// The member's id; empty where an administrator removes a static member.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
}

/// Members leave.
#[derive(Clone, Debug)]
pub struct LeaveGroup {
    /// The group.
    pub group: Arc<str>,
    /// Who leaves.
    pub members: Vec<LeavingMember>,
}

/// What became of one member that wanted to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMember {
    /// As asked.
    pub member: Arc<str>,
    /// As asked.
    pub instance: Option<Arc<str>>,
    /// Whether it is out.
    pub result: Result<(), GroupError>,
}

/// An offset to keep.
#[derive(Clone, Debug)]
pub struct OffsetToCommit {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The topic's id, zero where unknown.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
    /// Any number: the group does not judge it.
    pub offset: i64,
    /// The epoch of the record before that offset.
    pub leader_epoch: Option<i32>,
    /// The client's own words.
    pub metadata: Box<str>,
}

/// A member, or somebody from outside an empty group, commits offsets.
#[derive(Clone, Debug)]
pub struct CommitOffsets {
    /// The group. May be empty here, for old clients without a group.
    pub group: Arc<str>,
    /// The member's generation; below zero from outside.
    pub generation: i32,
    /// The member; empty from outside.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
    /// A retention of its own, from old clients.
    pub retention_ms: Option<i64>,
    /// What to keep.
    pub offsets: Vec<OffsetToCommit>,
}

/// The metadata of one offset is longer than `offset.metadata.max.bytes` (rule 138).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("offset metadata is longer than offset.metadata.max.bytes")]
pub struct MetadataTooLarge;

/// Whether an offset that an open transaction may replace can be given (KIP-447).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// The last committed one, whatever is under way.
    Any,
    /// Only one that nothing under way can replace.
    Required,
}

/// Partitions of a topic whose offsets are asked for.
#[derive(Clone, Debug)]
pub struct TopicToFetch {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The topic's id, zero where the client did not say: offsets of an earlier topic of that name are not given.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
}

/// Somebody asks for committed offsets.
#[derive(Clone, Debug)]
pub struct FetchOffsets {
    /// The group.
    pub group: Arc<str>,
    /// The member that asks, where the client says so. Only groups of other protocols look at it.
    pub member: Option<Arc<str>>,
    /// The partitions; `None` for all that have offsets.
    pub topics: Option<Vec<TopicToFetch>>,
    /// Which offsets will do.
    pub stability: Stability,
}

/// An open transaction may replace this offset (rule 140).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a transaction holds an offset of this partition")]
pub struct UnstableOffset;

/// A committed offset as given to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenOffset {
    /// The offset.
    pub offset: i64,
    /// The epoch of the record before it.
    pub leader_epoch: Option<i32>,
    /// The client's own words.
    pub metadata: Box<str>,
}

/// What is committed for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedOffset {
    /// The partition.
    pub partition: i32,
    /// The offset; `None` where there is none.
    pub result: Result<Option<GivenOffset>, UnstableOffset>,
}

/// The committed offsets of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedTopic {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The topic's id as asked, or as stored; zero where unknown.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<FetchedOffset>,
}

/// Which groups to list. Empty lists let all pass.
#[derive(Clone, Debug, Default)]
pub struct GroupFilter {
    /// Names of states, in any case.
    pub states: Vec<String>,
    /// Names of types, in any case. A name nobody knows lets nothing pass.
    pub types: Vec<String>,
}

/// A group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// The group.
    pub group: Arc<str>,
    /// Such as `consumer`; empty for a group that only holds offsets.
    pub protocol_type: Arc<str>,
    /// The state's name.
    pub state: &'static str,
    /// The kind of group.
    pub group_type: GroupType,
}

/// A member as described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// The member's id.
    pub member: Arc<str>,
    /// Its `group.instance.id`.
    pub instance: Option<Arc<str>>,
    /// The client's `client.id`.
    pub client_id: Arc<str>,
    /// The client's address.
    pub client_host: Arc<str>,
    /// What it said for the chosen protocol; empty while the group rebalances.
    pub metadata: Bytes,
    /// Its assignment.
    pub assignment: Bytes,
}

/// A classic group as described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedGroup {
    /// The state's name.
    pub state: &'static str,
    /// Such as `consumer`.
    pub protocol_type: Arc<str>,
    /// The chosen protocol; empty unless the group is stable.
    pub protocol: Arc<str>,
    /// The members.
    pub members: Vec<DescribedMember>,
}

/// An answer to a request that came with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`JoinGroup`].
    Join(Result<Joined, JoinRefused>),
    /// To [`SyncGroup`].
    Sync(Result<Synced, GroupError>),
    /// To [`LeaveGroup`]: one entry a member, in order.
    Leave(Result<Vec<LeftMember>, GroupError>),
    /// To [`CommitOffsets`]: one entry an offset, in order.
    Commit(Result<Vec<Result<(), MetadataTooLarge>>, GroupError>),
    /// To [`FetchOffsets`].
    Fetch(Result<Vec<FetchedTopic>, GroupError>),
}

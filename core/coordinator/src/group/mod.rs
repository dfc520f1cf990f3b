//! A classic group that somebody is in, or is about to join: the rebalance in progress, parked requests, deadlines.
//! None of this is in the log; a coordinator that takes over starts from the last generation written there
//! ([`Group::restore`]) and gives everybody a fresh session (rule 144).
//!
//! The phases are Kafka's: Empty, then (PreparingRebalance, CompletingRebalance, Stable) in turns, until Empty again.
//! Methods here see one group, the time, the limits, and where to put answers and records; they cannot reach what is
//! committed.

mod join;
mod leave;
mod rebalance;
mod roster;
mod sync;
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

pub(crate) use join::Replaced;
use roster::{Member, Offer, Roster};
pub(crate) use sync::Assigned;

use crate::record::{GroupMember, GroupMetadata};
use crate::request::{DescribedGroup, DescribedMember, Protocol};
use crate::shard::Scene;
use crate::time::Now;

/// The type of protocol whose subscriptions Kafka's consumers write.
const CONSUMER: &str = "consumer";

/// Where the group is in its rebalance.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Nobody is in.
    Empty,
    /// Members join; their JoinGroups are parked.
    PreparingRebalance(Gathering),
    /// Members know each other and wait for the leader's assignment; their SyncGroups are parked.
    CompletingRebalance(Unsynced),
    /// Everybody has an assignment, or can fetch it.
    Stable(Unsynced),
}

/// How long members may still join.
#[derive(Debug)]
pub(crate) struct Gathering {
    /// By the steady clock.
    until: i64,
    /// Set while a new group waits for more members; it ends by time alone.
    initial: Option<InitialDelay>,
}

/// The initial delay grows while members arrive, up to the members' rebalance time-out (KIP-134).
#[derive(Debug)]
struct InitialDelay {
    delay_ms: i32,
    remaining_ms: i32,
    somebody_arrived: bool,
}

/// Who has not asked for its assignment yet (KIP-394's counterpart for SyncGroup).
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    members: BTreeSet<Arc<str>>,
    /// When those members count as gone, by the steady clock.
    until: Option<i64>,
    /// Whether the leader's assignment is on its way into the log.
    writing: bool,
}

/// A classic group in the room.
#[derive(Debug)]
pub(crate) struct Group<T> {
    pub(crate) id: Arc<str>,
    pub(crate) phase: Phase,
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<Arc<str>>,
    protocol: Option<Arc<str>>,
    leader: Option<Arc<str>>,
    /// Since when the group has been in its phase, by the wall clock.
    pub(crate) state_since_ms: Option<i64>,
    roster: Roster<T>,
    /// Ids given out, and when they lapse if nobody comes back with them.
    pending: BTreeMap<Arc<str>, i64>,
    /// When the group must be looked at, at the latest, by the steady clock.
    pub(crate) wake: Option<i64>,
}

impl<T> Group<T> {
    /// A group nobody has been in.
    pub(crate) fn new(id: Arc<str>, now: Now) -> Group<T> {
        Group {
            id,
            phase: Phase::Empty,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            state_since_ms: Some(now.wall_ms),
            roster: Roster::new(),
            pending: BTreeMap::new(),
            wake: None,
        }
    }

    /// A group as the log has it. Everybody's session starts now.
    pub(crate) fn restore(id: Arc<str>, metadata: &GroupMetadata, now: Now) -> Group<T> {
        let mut group = Group {
            generation: metadata.generation,
            protocol_type: metadata.protocol_type.clone(),
            protocol: metadata.protocol.clone(),
            leader: metadata.leader.clone(),
            state_since_ms: metadata.state_since_ms,
            ..Group::new(id, now)
        };
        for kept in &metadata.members {
            let name = metadata.protocol.clone().unwrap_or_default();
            let offer = Offer {
                protocols: vec![Protocol {
                    name,
                    metadata: kept.subscription.clone(),
                }],
                rebalance_timeout_ms: kept.rebalance_timeout_ms,
                session_timeout_ms: kept.session_timeout_ms,
                client_id: Arc::clone(&kept.client_id),
                client_host: Arc::clone(&kept.client_host),
            };
            let mut member = Member::new(kept.instance.clone(), offer);
            member.assignment = kept.assignment.clone();
            group.roster.insert(Arc::clone(&kept.member), member);
            group.expect(&kept.member, now);
        }
        if !group.roster.is_empty() {
            group.phase = Phase::Stable(Unsynced::default());
        }
        group
    }

    /// The phase's name, as Kafka spells it.
    pub(crate) fn state(&self) -> &'static str {
        match self.phase {
            Phase::Empty => "Empty",
            Phase::PreparingRebalance(_) => "PreparingRebalance",
            Phase::CompletingRebalance(_) => "CompletingRebalance",
            Phase::Stable(_) => "Stable",
        }
    }

    /// Whether nobody is in, and nobody was told to come back: the log then says all there is to say.
    pub(crate) fn is_deserted(&self) -> bool {
        matches!(self.phase, Phase::Empty) && self.pending.is_empty()
    }

    pub(crate) fn members(&self) -> usize {
        self.roster.len()
    }

    /// Checks who a request claims to be from.
    pub(crate) fn identify(&self, member: &str, instance: Option<&str>) -> Result<(), crate::GroupError> {
        self.roster.identify(member, instance)
    }

    /// The topics the members of a stable consumer group subscribe to; `None` where the group is no such group or a
    /// subscription cannot be read.
    pub(crate) fn subscribed_topics(&self) -> Option<BTreeSet<Arc<str>>> {
        let protocol = self.protocol.as_ref()?;
        if self.protocol_type.as_deref() != Some(CONSUMER) || !matches!(self.phase, Phase::Stable(_)) {
            return None;
        }
        let mut topics = BTreeSet::new();
        for (_, member) in self.roster.iter() {
            topics.extend(crate::record::subscribed_topics(&member.metadata(protocol))?);
        }
        Some(topics)
    }

    /// The group as DescribeGroups shows it: what members offer only while it is stable.
    pub(crate) fn describe(&self) -> DescribedGroup {
        let protocol = match &self.phase {
            Phase::Stable(_) => self.protocol.clone(),
            _ => None,
        };
        let members = self.roster.iter().map(|(id, member)| DescribedMember {
            member: Arc::clone(id),
            instance: member.instance.clone(),
            client_id: Arc::clone(&member.client_id),
            client_host: Arc::clone(&member.client_host),
            metadata: protocol
                .as_deref()
                .map(|protocol| member.metadata(protocol))
                .unwrap_or_default(),
            assignment: member.assignment.clone(),
        });
        DescribedGroup {
            state: self.state(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            members: members.collect(),
            protocol: protocol.unwrap_or_default(),
        }
    }

    /// The record of the present generation, with these assignments.
    fn metadata(&self, assignments: impl Fn(&str, &Member<T>) -> Bytes) -> GroupMetadata {
        let protocol = self.protocol.clone();
        let members = self.roster.iter().map(|(id, member)| GroupMember {
            member: Arc::clone(id),
            instance: member.instance.clone(),
            client_id: Arc::clone(&member.client_id),
            client_host: Arc::clone(&member.client_host),
            rebalance_timeout_ms: member.rebalance_timeout_ms,
            session_timeout_ms: member.session_timeout_ms,
            subscription: protocol
                .as_deref()
                .map(|protocol| member.metadata(protocol))
                .unwrap_or_default(),
            assignment: assignments(id, member),
        });
        GroupMetadata {
            protocol_type: self.protocol_type.clone(),
            generation: self.generation,
            leader: self.leader.clone(),
            state_since_ms: self.state_since_ms,
            members: members.collect(),
            protocol,
        }
    }

    /// Enters a phase.
    fn enter(&mut self, phase: Phase, now: Now) {
        let until = match &phase {
            Phase::Empty => None,
            Phase::PreparingRebalance(gathering) => Some(gathering.until),
            Phase::CompletingRebalance(unsynced) | Phase::Stable(unsynced) => unsynced.until,
        };
        self.phase = phase;
        self.state_since_ms = Some(now.wall_ms);
        if let Some(until) = until {
            self.wake_by(until);
        }
    }

    /// The group must be looked at by then.
    fn wake_by(&mut self, at: i64) {
        if self.wake.is_none_or(|wake| at < wake) {
            self.wake = Some(at);
        }
    }

    /// A member was heard of, or is given time anew: it must be heard of again within its session time-out.
    pub(crate) fn expect(&mut self, member: &str, now: Now) {
        if let Some(present) = self.roster.get_mut(member) {
            let at = now.after(present.session_timeout_ms);
            present.deadline = Some(at);
            self.wake_by(at);
        }
    }

    fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    fn unsynced_mut(&mut self) -> Option<&mut Unsynced> {
        match &mut self.phase {
            Phase::CompletingRebalance(unsynced) | Phase::Stable(unsynced) => Some(unsynced),
            Phase::Empty | Phase::PreparingRebalance(_) => None,
        }
    }

    /// Takes a member out. Its parked requests are answered: it may join again as a new member. If it led, the next
    /// rebalance finds another leader.
    fn dismiss(&mut self, scene: &mut Scene<'_, T>, member: &str) {
        self.pending.remove(member);
        let Some(removed) = self.roster.remove(member) else {
            return;
        };
        scene.refuse_join(removed.joining, crate::GroupError::UnknownMember, "");
        scene.answer_sync(removed.syncing, Err(crate::GroupError::UnknownMember));
        if let Some(unsynced) = self.unsynced_mut() {
            unsynced.members.remove(member);
        }
    }
}

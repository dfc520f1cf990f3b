//! Who is in a group. The counts that joins are judged by (who supports what, who waits, how many bytes) are kept here,
//! so that a join costs no walk over all members.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::GroupError;
use crate::request::{JoinedMember, Protocol};

/// A member. What the log does not keep (deadlines, parked answers, the protocols that were not chosen) starts anew
/// when the group is loaded.
#[derive(Debug)]
pub(crate) struct Member<T> {
    /// Its `group.instance.id`: set for a static member.
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) session_timeout_ms: i32,
    pub(crate) assignment: Bytes,
    /// When the member counts as gone, by the steady clock; `None` while it need not be heard of.
    pub(crate) deadline: Option<i64>,
    /// Whether it has not heard back since it joined: it cannot send heartbeats yet, so its join times out instead.
    pub(crate) newcomer: bool,
    /// Its parked SyncGroup.
    pub(crate) syncing: Option<T>,
    /// Its parked JoinGroup.
    joining: Option<T>,
    /// What it offers, best first.
    protocols: Vec<Protocol>,
}

/// What a member brings along when it joins.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) protocols: Vec<Protocol>,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) session_timeout_ms: i32,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
}

impl<T> Member<T> {
    pub(crate) fn new(instance: Option<Arc<str>>, offer: Offer) -> Member<T> {
        Member {
            instance,
            client_id: offer.client_id,
            client_host: offer.client_host,
            rebalance_timeout_ms: offer.rebalance_timeout_ms,
            session_timeout_ms: offer.session_timeout_ms,
            assignment: Bytes::new(),
            deadline: None,
            newcomer: false,
            syncing: None,
            joining: None,
            protocols: offer.protocols,
        }
    }

    /// Whether its JoinGroup is parked.
    pub(crate) fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    /// Whether silence is no fault of its own: its request is parked here.
    pub(crate) fn is_excused(&self) -> bool {
        !self.newcomer && (self.joining.is_some() || self.syncing.is_some())
    }

    /// Whether it offers exactly this.
    pub(crate) fn offers(&self, protocols: &[Protocol]) -> bool {
        self.protocols == protocols
    }

    /// The bytes of metadata it holds.
    pub(crate) fn metadata_bytes(&self) -> usize {
        metadata_bytes(&self.protocols)
    }

    /// What it said for a protocol; empty for one it does not offer.
    pub(crate) fn metadata(&self, protocol: &str) -> Bytes {
        self.protocols
            .iter()
            .find(|offered| &*offered.name == protocol)
            .map(|offered| offered.metadata.clone())
            .unwrap_or_default()
    }

    /// What it would bring along if it joined again unchanged.
    pub(crate) fn offer(&self) -> Offer {
        Offer {
            protocols: self.protocols.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            client_id: Arc::clone(&self.client_id),
            client_host: Arc::clone(&self.client_host),
        }
    }
}

/// The members of a group.
#[derive(Debug)]
pub(crate) struct Roster<T> {
    members: BTreeMap<Arc<str>, Member<T>>,
    /// `group.instance.id` to member id.
    instances: BTreeMap<Arc<str>, Arc<str>>,
    /// Protocol to the number of members that offer it.
    supported: BTreeMap<Arc<str>, usize>,
    metadata_bytes: usize,
    joining: usize,
}

/// The bytes of metadata that an offer holds in memory.
pub(crate) fn metadata_bytes(protocols: &[Protocol]) -> usize {
    protocols.iter().fold(0, |sum, protocol| {
        sum.saturating_add(protocol.name.len())
            .saturating_add(protocol.metadata.len())
    })
}

impl<T> Roster<T> {
    pub(crate) fn new() -> Roster<T> {
        Roster {
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            supported: BTreeMap::new(),
            metadata_bytes: 0,
            joining: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn contains(&self, member: &str) -> bool {
        self.members.contains_key(member)
    }

    pub(crate) fn get(&self, member: &str) -> Option<&Member<T>> {
        self.members.get(member)
    }

    pub(crate) fn get_mut(&mut self, member: &str) -> Option<&mut Member<T>> {
        self.members.get_mut(member)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Member<T>)> {
        self.members.iter()
    }

    /// The ids of those members of whom something is true.
    pub(crate) fn ids(&self, mut which: impl FnMut(&Member<T>) -> bool) -> Vec<Arc<str>> {
        let chosen = self.members.iter().filter(|(_, member)| which(member));
        chosen.map(|(id, _)| Arc::clone(id)).collect()
    }

    /// How many JoinGroups are parked.
    pub(crate) fn joining(&self) -> usize {
        self.joining
    }

    /// Bytes of metadata over all members.
    pub(crate) fn metadata_bytes(&self) -> usize {
        self.metadata_bytes
    }

    /// The member that goes by a `group.instance.id`.
    pub(crate) fn by_instance(&self, instance: &str) -> Option<&Arc<str>> {
        self.instances.get(instance)
    }

    /// Whether every member offers one of these. True of an empty group.
    pub(crate) fn all_offer_one_of(&self, protocols: &[Protocol]) -> bool {
        protocols
            .iter()
            .any(|protocol| self.supported.get(&protocol.name).copied().unwrap_or(0) == self.members.len())
    }

    /// Who a request claims to be from, checked (KIP-345: a static member's older incarnation is fenced).
    pub(crate) fn identify(&self, member: &str, instance: Option<&str>) -> Result<(), GroupError> {
        if let Some(instance) = instance {
            match self.instances.get(instance) {
                None => return Err(GroupError::UnknownMember),
                Some(present) if &**present != member => return Err(GroupError::FencedInstance),
                Some(_) => {}
            }
        }
        if self.contains(member) {
            Ok(())
        } else {
            Err(GroupError::UnknownMember)
        }
    }

    pub(crate) fn insert(&mut self, id: Arc<str>, member: Member<T>) {
        self.remove(&id);
        if let Some(instance) = &member.instance {
            self.instances.insert(Arc::clone(instance), Arc::clone(&id));
        }
        self.count(&member.protocols);
        self.joining += usize::from(member.is_joining());
        self.members.insert(id, member);
    }

    /// Takes a member out, with what of it is parked.
    pub(crate) fn remove(&mut self, id: &str) -> Option<RemovedMember<T>> {
        let mut member = self.members.remove(id)?;
        if let Some(instance) = &member.instance {
            self.instances.remove(instance);
        }
        self.discount(&member.protocols);
        let joining = member.joining.take();
        self.joining -= usize::from(joining.is_some());
        Some(RemovedMember {
            joining,
            syncing: member.syncing.take(),
            member,
        })
    }

    /// A member offers something else from now on.
    pub(crate) fn renew(&mut self, id: &str, offer: Offer) {
        let Some(mut member) = self.members.remove(id) else {
            return;
        };
        self.discount(&member.protocols);
        self.count(&offer.protocols);
        member.protocols = offer.protocols;
        member.rebalance_timeout_ms = offer.rebalance_timeout_ms;
        member.session_timeout_ms = offer.session_timeout_ms;
        member.client_id = offer.client_id;
        member.client_host = offer.client_host;
        self.members.insert(Arc::from(id), member);
    }

    /// Parks a JoinGroup. The one that was parked before comes back.
    pub(crate) fn park_join(&mut self, id: &str, token: T) -> Option<T> {
        let member = self.members.get_mut(id)?;
        let before = member.joining.replace(token);
        self.joining += usize::from(before.is_none());
        before
    }

    /// Takes the parked JoinGroup of a member.
    pub(crate) fn take_join(&mut self, id: &str) -> Option<T> {
        let token = self.members.get_mut(id)?.joining.take();
        self.joining -= usize::from(token.is_some());
        token
    }

    /// What the leader is told of everybody.
    pub(crate) fn joined_members(&self, protocol: &str) -> Vec<JoinedMember> {
        self.members
            .iter()
            .map(|(id, member)| JoinedMember {
                member: Arc::clone(id),
                instance: member.instance.clone(),
                metadata: member.metadata(protocol),
            })
            .collect()
    }

    /// The longest rebalance time-out of any member.
    pub(crate) fn rebalance_timeout_ms(&self) -> i32 {
        self.members
            .values()
            .map(|member| member.rebalance_timeout_ms)
            .max()
            .unwrap_or(0)
            .max(0)
    }

    /// The protocol most members like best, of those that all members offer. A tie goes to the name that sorts first.
    pub(crate) fn elect_protocol(&self) -> Option<Arc<str>> {
        let common = |protocol: &&Protocol| self.supported.get(&protocol.name) == Some(&self.members.len());
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some(favourite) = member.protocols.iter().find(common) {
                *votes.entry(&favourite.name).or_default() += 1;
            }
        }
        let mut best: Option<(&Arc<str>, usize)> = None;
        for (name, count) in votes {
            if best.is_none_or(|(_, most)| count > most) {
                best = Some((name, count));
            }
        }
        best.map(|(name, _)| Arc::clone(name))
    }

    fn count(&mut self, protocols: &[Protocol]) {
        for protocol in protocols {
            *self.supported.entry(Arc::clone(&protocol.name)).or_default() += 1;
        }
        self.metadata_bytes += metadata_bytes(protocols);
    }

    fn discount(&mut self, protocols: &[Protocol]) {
        for protocol in protocols {
            if let Some(count) = self.supported.get_mut(&protocol.name) {
                *count -= 1;
                if *count == 0 {
                    self.supported.remove(&protocol.name);
                }
            }
        }
        self.metadata_bytes -= metadata_bytes(protocols);
    }
}

/// A member that was taken out, and its parked requests, which must be answered.
#[must_use = "parked requests of a removed member must be answered"]
pub(crate) struct RemovedMember<T> {
    pub(crate) member: Member<T>,
    pub(crate) joining: Option<T>,
    pub(crate) syncing: Option<T>,
}

//! JoinGroup: who gets in, and as whom.

use std::sync::Arc;

use super::roster::{Member, Offer, metadata_bytes};
use super::{Group, Phase};
use crate::error::GroupError;
use crate::record::Record;
use crate::request::{JoinGroup, JoinRefused, Joined, Newcomers, Rejoins};
use crate::shard::{Completion, Scene};
use crate::time::Now;

/// A static member that came back under a new id while the group was stable: known once it is in the log.
#[derive(Debug)]
pub(crate) struct Replaced {
    generation: i32,
    old_member: Arc<str>,
    new_member: Arc<str>,
    old_offer: Offer,
    old_leader: Option<Arc<str>>,
    rejoins: Rejoins,
}

impl JoinGroup {
    fn offer(&self) -> Offer {
        Offer {
            protocols: self.protocols.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            client_id: Arc::clone(&self.client_id),
            client_host: Arc::clone(&self.client_host),
        }
    }
}

impl<T> Group<T> {
    /// Decides on a JoinGroup. The answer comes now, or when the rebalance is over.
    pub(crate) fn join(&mut self, scene: &mut Scene<'_, T>, request: JoinGroup, token: T) {
        if !self.has_room_for(scene, &request.member) {
            self.dismiss(scene, &request.member);
            scene.refuse_join(Some(token), GroupError::GroupFull, "");
            self.complete_join_if_all_joined(scene);
        } else if let Err(error) = self.judge_offer(scene, &request) {
            scene.refuse_join(Some(token), error, &request.member);
        } else if request.member.is_empty() {
            self.join_newcomer(scene, request, token);
        } else {
            self.join_known(scene, request, token);
        }
    }

    /// A full group takes no new members. While it gathers, those who already wait are the group: whoever comes last
    /// finds no place, also if it was a member before.
    fn has_room_for(&self, scene: &Scene<'_, T>, member: &str) -> bool {
        let limit = scene.config.max_members;
        match &self.phase {
            Phase::Empty => true,
            Phase::PreparingRebalance(_) => {
                self.roster.get(member).is_some_and(Member::is_joining) || self.roster.joining() < limit
            }
            Phase::CompletingRebalance(_) | Phase::Stable(_) => {
                self.roster.contains(member) || self.roster.len() < limit
            }
        }
    }

    /// A member must offer something everybody offers, and not more than the group may hold in memory.
    fn judge_offer(&self, scene: &Scene<'_, T>, request: &JoinGroup) -> Result<(), GroupError> {
        let fits = if matches!(self.phase, Phase::Empty) {
            !request.protocol_type.is_empty() && !request.protocols.is_empty()
        } else {
            self.protocol_type.as_ref() == Some(&request.protocol_type)
                && self.roster.all_offer_one_of(&request.protocols)
        };
        if !fits {
            return Err(GroupError::InconsistentProtocol);
        }
        let offered = metadata_bytes(&request.protocols);
        let total = self.metadata_bytes_besides(request).saturating_add(offered);
        let asks_for_an_id = request.member.is_empty() && request.instance.is_none();
        let too_many = asks_for_an_id && self.pending.len() >= scene.config.max_members;
        let too_much =
            offered > scene.config.max_member_metadata_bytes || total > scene.config.max_group_metadata_bytes;
        if too_many || too_much {
            Err(GroupError::GroupFull)
        } else {
            Ok(())
        }
    }

    /// What the group holds, without what the request replaces.
    fn metadata_bytes_besides(&self, request: &JoinGroup) -> usize {
        let former = match &request.instance {
            Some(instance) => self.roster.by_instance(instance),
            None => Some(&request.member),
        };
        let replaced = former.and_then(|former| self.roster.get(former));
        self.roster.metadata_bytes() - replaced.map_or(0, Member::metadata_bytes)
    }

    fn join_newcomer(&mut self, scene: &mut Scene<'_, T>, request: JoinGroup, token: T) {
        let id = Arc::clone(&request.new_member);
        let present = request
            .instance
            .as_ref()
            .and_then(|instance| self.roster.by_instance(instance));
        match (&request.instance, present.map(Arc::clone), request.newcomers) {
            (Some(_), Some(present), _) => self.replace_static(scene, request, present, token),
            (None, _, Newcomers::MustComeBack) => {
                let lapses = scene.now.after(request.session_timeout_ms);
                self.pending.insert(Arc::clone(&id), lapses);
                self.wake_by(lapses);
                scene.refuse_join(Some(token), GroupError::MemberIdRequired, &id);
            }
            _ => self.admit(scene, request, id, token),
        }
    }

    fn join_known(&mut self, scene: &mut Scene<'_, T>, request: JoinGroup, token: T) {
        let id = Arc::clone(&request.member);
        if request.instance.is_none() && self.pending.contains_key(&id) {
            return self.admit(scene, request, id, token);
        }
        if let Err(error) = self.identify(&id, request.instance.as_deref()) {
            return scene.refuse_join(Some(token), error, &id);
        }
        let unchanged = self
            .roster
            .get(&id)
            .is_some_and(|member| member.offers(&request.protocols));
        let must_rebalance = match &self.phase {
            // The answer got lost, or the member is a follower that only missed it: the generation stands.
            Phase::CompletingRebalance(_) => !unchanged,
            // A leader that joins again wants to assign anew, because something else than members changed.
            Phase::Stable(_) => !unchanged || self.is_leader(&id),
            Phase::PreparingRebalance(_) | Phase::Empty => true,
        };
        if must_rebalance {
            self.rejoin(scene, &id, request.offer(), token);
        } else {
            scene.answer_join(Some(token), self.joined(&id));
        }
    }

    /// A member that was not in the group before.
    fn admit(&mut self, scene: &mut Scene<'_, T>, request: JoinGroup, id: Arc<str>, token: T) {
        if let Phase::PreparingRebalance(gathering) = &mut self.phase
            && let Some(initial) = &mut gathering.initial
        {
            initial.somebody_arrived = true;
        }
        self.pending.remove(&id);
        if self.roster.is_empty() {
            self.protocol_type = Some(Arc::clone(&request.protocol_type));
        }
        let mut member = Member::new(request.instance.clone(), request.offer());
        let deadline = scene.now.after(scene.config.new_member_join_timeout_ms);
        member.newcomer = true;
        member.deadline = Some(deadline);
        self.roster.insert(Arc::clone(&id), member);
        self.roster.park_join(&id, token);
        self.wake_by(deadline);
        self.leader.get_or_insert(id);
        self.rebalance_or_complete(scene);
    }

    /// A member joins again, with what it has to say now.
    fn rejoin(&mut self, scene: &mut Scene<'_, T>, id: &str, offer: Offer, token: T) {
        self.roster.renew(id, offer);
        let superseded = self.roster.park_join(id, token);
        scene.refuse_join(superseded, GroupError::RebalanceInProgress, id);
        self.rebalance_or_complete(scene);
    }

    /// A static member came back without its id: it takes the place, and the assignment, of its former self, whose
    /// parked requests are fenced (rule 143).
    fn replace_static(&mut self, scene: &mut Scene<'_, T>, request: JoinGroup, old: Arc<str>, token: T) {
        let new = Arc::clone(&request.new_member);
        let Some(removed) = self.roster.remove(&old) else {
            return;
        };
        scene.refuse_join(removed.joining, GroupError::FencedInstance, &old);
        scene.answer_sync(removed.syncing, Err(GroupError::FencedInstance));
        let replaced = Replaced {
            generation: self.generation,
            old_member: Arc::clone(&old),
            new_member: Arc::clone(&new),
            old_offer: removed.member.offer(),
            old_leader: self.leader.clone(),
            rejoins: request.rejoins,
        };
        self.rename(removed.member, &old, &new, scene.now);
        self.roster.renew(&new, request.offer());
        self.expect(&new, scene.now);
        self.roster.park_join(&new, token);
        match &self.phase {
            Phase::Stable(_) if self.roster.elect_protocol() == self.protocol => {
                let metadata = self.metadata(|_, member| member.assignment.clone());
                let record = Record::Group {
                    group: Arc::clone(&self.id),
                    metadata: Some(metadata),
                };
                scene.write(&self.id, vec![record], Completion::Replaced(Box::new(replaced)));
            }
            // The leader may be assigning to the old id at this moment: everybody joins again.
            Phase::CompletingRebalance(_) | Phase::Stable(_) => self.prepare_rebalance(scene),
            Phase::PreparingRebalance(_) | Phase::Empty => self.complete_join_if_all_joined(scene),
        }
    }

    fn rename(&mut self, mut member: Member<T>, old: &str, new: &Arc<str>, now: Now) {
        member.newcomer = false;
        self.roster.insert(Arc::clone(new), member);
        self.expect(new, now);
        if self.is_leader(old) {
            self.leader = Some(Arc::clone(new));
        }
        if let Some(unsynced) = self.unsynced_mut() {
            unsynced.members.remove(old);
        }
    }

    /// The new id of a static member is in the log.
    pub(crate) fn static_member_written(&mut self, scene: &mut Scene<'_, T>, replaced: &Replaced) {
        if !self.is_stable_at(replaced.generation) {
            return; // It is parked in the rebalance that began meanwhile, and answered by that.
        }
        let id = &replaced.new_member;
        let mut joined = self.joined(id);
        match replaced.rejoins {
            Rejoins::MaySkipAssignment => joined.skip_assignment = self.is_leader(id),
            Rejoins::MustNotLead => {
                joined.leader = replaced.old_leader.clone().unwrap_or_default();
                joined.members.clear();
            }
        }
        let token = self.roster.take_join(id);
        scene.answer_join(token, joined);
    }

    /// The new id of a static member did not get into the log: its former self is back.
    pub(crate) fn static_member_not_written(
        &mut self,
        scene: &mut Scene<'_, T>,
        replaced: Replaced,
        error: GroupError,
    ) {
        if !self.is_stable_at(replaced.generation) {
            return;
        }
        let Some(removed) = self.roster.remove(&replaced.new_member) else {
            return;
        };
        scene.refuse_join(removed.joining, error, "");
        self.rename(
            removed.member,
            &replaced.new_member,
            &replaced.old_member,
            scene.now,
        );
        self.roster.renew(&replaced.old_member, replaced.old_offer);
    }

    fn is_stable_at(&self, generation: i32) -> bool {
        matches!(self.phase, Phase::Stable(_)) && self.generation == generation
    }

    /// What a member of the present generation is told.
    pub(super) fn joined(&self, id: &Arc<str>) -> Joined {
        let members = match &self.protocol {
            Some(protocol) if self.is_leader(id) => self.roster.joined_members(protocol),
            _ => Vec::new(),
        };
        Joined {
            member: Arc::clone(id),
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            skip_assignment: false,
            members,
        }
    }
}

impl<T> Scene<'_, T> {
    pub(super) fn answer_join(&mut self, token: Option<T>, joined: Joined) {
        self.answer(token, crate::Answer::Join(Ok(joined)));
    }

    pub(super) fn refuse_join(&mut self, token: Option<T>, error: GroupError, member: &str) {
        let refused = JoinRefused {
            error,
            member: Arc::from(member),
        };
        self.answer(token, crate::Answer::Join(Err(refused)));
    }
}

//! What happens to a group by time alone.

use std::sync::Arc;

use super::{Gathering, Group, Phase};
use crate::shard::{Happening, Scene};

impl<T> Group<T> {
    /// Does what is due, and sets when to look again.
    pub(crate) fn tick(&mut self, scene: &mut Scene<'_, T>) {
        let now = scene.now.steady_ms;
        if let Phase::PreparingRebalance(Gathering { until, .. }) = self.phase
            && until <= now
        {
            self.gathering_is_due(scene);
        }
        if self
            .unsynced_mut()
            .is_some_and(|unsynced| unsynced.until.is_some_and(|until| until <= now))
        {
            self.syncing_is_due(scene);
        }
        self.pending_are_due(scene);
        for id in self
            .roster
            .ids(|member| member.deadline.is_some_and(|deadline| deadline <= now))
        {
            self.session_is_due(scene, &id);
        }
        self.wake = self.next_deadline();
    }

    /// Members that joined but never asked for their assignment are out.
    fn syncing_is_due(&mut self, scene: &mut Scene<'_, T>) {
        let Some(unsynced) = self.unsynced_mut() else {
            return;
        };
        unsynced.until = None;
        let members = std::mem::take(&mut unsynced.members);
        if members.is_empty() {
            return;
        }
        for member in members {
            scene.tell(&self.id, self.generation, Happening::Expired(Arc::clone(&member)));
            self.dismiss(scene, &member);
        }
        self.prepare_rebalance(scene);
    }

    /// Ids that nobody came back with lapse; a rebalance may have waited for just them.
    fn pending_are_due(&mut self, scene: &mut Scene<'_, T>) {
        let now = scene.now.steady_ms;
        let before = self.pending.len();
        self.pending.retain(|_, lapses| *lapses > now);
        if self.pending.len() < before {
            self.complete_join_if_all_joined(scene);
        }
    }

    fn session_is_due(&mut self, scene: &mut Scene<'_, T>, id: &Arc<str>) {
        // An earlier removal in this tick may have rebalanced: look at the member as it is now.
        let Some(member) = self.roster.get_mut(id) else {
            return;
        };
        if member
            .deadline
            .is_none_or(|deadline| deadline > scene.now.steady_ms)
        {
            return;
        }
        member.deadline = None;
        if member.is_excused() {
            return; // It is expected again once its parked request is answered.
        }
        scene.tell(&self.id, self.generation, Happening::Expired(Arc::clone(id)));
        self.dismiss(scene, id);
        if !matches!(self.phase, Phase::Empty) {
            self.rebalance_or_complete(scene);
        }
    }

    fn next_deadline(&self) -> Option<i64> {
        let phase = match &self.phase {
            Phase::Empty => None,
            Phase::PreparingRebalance(gathering) => Some(gathering.until),
            Phase::CompletingRebalance(unsynced) | Phase::Stable(unsynced) => unsynced.until,
        };
        let members = self.roster.iter().filter_map(|(_, member)| member.deadline);
        phase
            .into_iter()
            .chain(members)
            .chain(self.pending.values().copied())
            .min()
    }
}

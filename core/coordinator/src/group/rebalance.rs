//! The rebalance: gathering members, and the step to the next generation.

use std::sync::Arc;

use bytes::Bytes;

use super::{Gathering, Group, InitialDelay, Phase, Unsynced};
use crate::error::GroupError;
use crate::record::Record;
use crate::shard::{Completion, Happening, Scene};

impl<T> Group<T> {
    /// Members changed: begins a rebalance, or ends the one that was waiting for exactly this.
    pub(super) fn rebalance_or_complete(&mut self, scene: &mut Scene<'_, T>) {
        match self.phase {
            Phase::PreparingRebalance(_) => self.complete_join_if_all_joined(scene),
            _ => self.prepare_rebalance(scene),
        }
    }

    /// Everybody must join again. A group that was empty waits a while for more members first.
    pub(crate) fn prepare_rebalance(&mut self, scene: &mut Scene<'_, T>) {
        if self.roster.is_empty() {
            return self.desert(scene); // Whoever was told to come back finds an empty group.
        }
        if matches!(self.phase, Phase::CompletingRebalance(_)) {
            self.answer_parked_syncs(scene, GroupError::RebalanceInProgress);
        }
        scene.tell(&self.id, self.generation, Happening::Rebalances);
        let rebalance_timeout_ms = self.roster.rebalance_timeout_ms();
        if matches!(self.phase, Phase::Empty) {
            let delay_ms = scene.config.initial_rebalance_delay_ms.max(0);
            let remaining_ms = rebalance_timeout_ms.saturating_sub(delay_ms).max(0);
            let initial = InitialDelay {
                delay_ms,
                remaining_ms,
                somebody_arrived: false,
            };
            let gathering = Gathering {
                until: scene.now.after(delay_ms),
                initial: Some(initial),
            };
            self.enter(Phase::PreparingRebalance(gathering), scene.now);
            if delay_ms == 0 {
                self.complete_join(scene);
            }
        } else {
            let gathering = Gathering {
                until: scene.now.after(rebalance_timeout_ms),
                initial: None,
            };
            self.enter(Phase::PreparingRebalance(gathering), scene.now);
            self.complete_join_if_all_joined(scene);
        }
    }

    /// Ends the gathering where nobody is missing. The initial delay ends by time alone.
    pub(super) fn complete_join_if_all_joined(&mut self, scene: &mut Scene<'_, T>) {
        let all_joined = self.roster.joining() == self.roster.len() && self.pending.is_empty();
        if let Phase::PreparingRebalance(Gathering { initial: None, .. }) = self.phase
            && all_joined
        {
            self.complete_join(scene);
        }
    }

    /// The gathering's time is up. The initial delay is extended while members keep arriving.
    pub(super) fn gathering_is_due(&mut self, scene: &mut Scene<'_, T>) {
        let Phase::PreparingRebalance(gathering) = &mut self.phase else {
            return;
        };
        if let Some(initial) = &mut gathering.initial
            && initial.somebody_arrived
            && initial.remaining_ms > 0
        {
            let delay_ms = scene
                .config
                .initial_rebalance_delay_ms
                .max(0)
                .min(initial.remaining_ms);
            initial.somebody_arrived = false;
            initial.remaining_ms = initial.remaining_ms.saturating_sub(initial.delay_ms).max(0);
            initial.delay_ms = delay_ms;
            gathering.until = scene.now.after(delay_ms);
            let until = gathering.until;
            self.wake_by(until);
        } else {
            self.complete_join(scene);
        }
    }

    /// The next generation, of those who joined. Static members stay without joining, until their session ends.
    fn complete_join(&mut self, scene: &mut Scene<'_, T>) {
        for absent in self
            .roster
            .ids(|member| !member.is_joining() && member.instance.is_none())
        {
            self.dismiss(scene, &absent);
        }
        if self.roster.is_empty() {
            return self.desert(scene);
        }
        if !self.elect_leader_who_joined() {
            let until = scene.now.after(self.roster.rebalance_timeout_ms());
            return self.enter(
                Phase::PreparingRebalance(Gathering { until, initial: None }),
                scene.now,
            );
        }
        self.next_generation();
        self.protocol = self.roster.elect_protocol();
        let until = scene.now.after(self.roster.rebalance_timeout_ms());
        let members = self.roster.ids(|_| true);
        scene.tell(&self.id, self.generation, Happening::Gathered(members.len()));
        let unsynced = Unsynced {
            members: members.iter().cloned().collect(),
            until: Some(until),
            writing: false,
        };
        self.enter(Phase::CompletingRebalance(unsynced), scene.now);
        for id in &members {
            if let Some(token) = self.roster.take_join(id) {
                scene.answer_join(Some(token), self.joined(id));
            }
            if let Some(member) = self.roster.get_mut(id) {
                member.newcomer = false;
            }
            self.expect(id, scene.now);
        }
    }

    /// The last member is gone; the log remembers since when.
    fn desert(&mut self, scene: &mut Scene<'_, T>) {
        self.next_generation();
        self.protocol = None;
        self.leader = None;
        self.enter(Phase::Empty, scene.now);
        scene.tell(&self.id, self.generation, Happening::Empty);
        let metadata = self.metadata(|_, _| Bytes::new());
        let record = Record::Group {
            group: Arc::clone(&self.id),
            metadata: Some(metadata),
        };
        scene.write(&self.id, vec![record], Completion::Deserted { answer: None });
    }

    /// The leader stays if it joined, else whoever joined takes over. False if nobody did.
    fn elect_leader_who_joined(&mut self) -> bool {
        let joined = |id: &Arc<str>| self.roster.get(id).is_some_and(|member| member.is_joining());
        if !self.leader.as_ref().is_some_and(joined) {
            let Some(successor) = self.roster.ids(|member| member.is_joining()).into_iter().next() else {
                return false;
            };
            self.leader = Some(successor);
        }
        true
    }

    fn next_generation(&mut self) {
        // A generation is never negative: that means "from outside the group".
        self.generation = self.generation.checked_add(1).unwrap_or(1).max(1);
    }
}

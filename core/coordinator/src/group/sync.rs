//! SyncGroup: the leader's assignment goes into the log, then to everybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::{Group, Phase, Unsynced};
use crate::error::GroupError;
use crate::record::Record;
use crate::request::{SyncGroup, Synced};
use crate::shard::{Completion, Happening, Scene};

/// The assignment of one generation, on its way into the log.
#[derive(Debug)]
pub(crate) struct Assigned {
    generation: i32,
    assignments: BTreeMap<Arc<str>, Bytes>,
}

impl<T> Group<T> {
    /// Decides on a SyncGroup. While the leader is awaited, it is parked.
    pub(crate) fn sync(&mut self, scene: &mut Scene<'_, T>, request: SyncGroup, token: T) {
        if let Err(error) = self.judge_sync(&request) {
            return scene.answer_sync(Some(token), Err(error));
        }
        let id = Arc::clone(&request.member);
        self.has_synced(&id);
        match &mut self.phase {
            Phase::CompletingRebalance(unsynced) => {
                let brings_assignment = self.leader.as_ref() == Some(&id) && !unsynced.writing;
                unsynced.writing |= brings_assignment;
                let superseded = self
                    .roster
                    .get_mut(&id)
                    .and_then(|member| member.syncing.replace(token));
                scene.answer_sync(superseded, Err(GroupError::RebalanceInProgress));
                if brings_assignment {
                    self.write_assignment(scene, request.assignments);
                }
            }
            Phase::Stable(_) => scene.answer_sync(Some(token), Ok(self.synced(&id))),
            Phase::PreparingRebalance(_) => {
                scene.answer_sync(Some(token), Err(GroupError::RebalanceInProgress))
            }
            Phase::Empty => scene.answer_sync(Some(token), Err(GroupError::UnknownMember)),
        }
    }

    fn judge_sync(&self, request: &SyncGroup) -> Result<(), GroupError> {
        self.identify(&request.member, request.instance.as_deref())?;
        if request.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        let differs = |claimed: &Option<Arc<str>>, actual: &Option<Arc<str>>| {
            claimed.is_some() && actual.is_some() && claimed != actual
        };
        if differs(&request.protocol_type, &self.protocol_type) || differs(&request.protocol, &self.protocol)
        {
            return Err(GroupError::InconsistentProtocol);
        }
        Ok(())
    }

    fn has_synced(&mut self, id: &str) {
        if let Some(unsynced) = self.unsynced_mut() {
            unsynced.members.remove(id);
            if unsynced.members.is_empty() {
                unsynced.until = None;
            }
        }
    }

    fn write_assignment(&mut self, scene: &mut Scene<'_, T>, assignments: Vec<(Arc<str>, Bytes)>) {
        let assignments: BTreeMap<_, _> = assignments.into_iter().collect();
        let metadata = self.metadata(|id, _| assignments.get(id).cloned().unwrap_or_default());
        let record = Record::Group {
            group: Arc::clone(&self.id),
            metadata: Some(metadata),
        };
        let assigned = Assigned {
            generation: self.generation,
            assignments,
        };
        scene.write(&self.id, vec![record], Completion::Assigned(assigned));
    }

    /// The assignment is in the log: the group is stable, unless it went on to rebalance meanwhile.
    pub(crate) fn assignment_written(&mut self, scene: &mut Scene<'_, T>, mut assigned: Assigned) {
        if !self.awaits(assigned.generation) {
            return;
        }
        if let Phase::CompletingRebalance(unsynced) = &mut self.phase {
            let unsynced = Unsynced {
                writing: false,
                ..std::mem::take(unsynced)
            };
            self.enter(Phase::Stable(unsynced), scene.now);
            scene.tell(&self.id, self.generation, Happening::Stable);
        }
        for id in self.roster.ids(|_| true) {
            let Some(member) = self.roster.get_mut(&id) else {
                continue;
            };
            member.assignment = assigned.assignments.remove(&id).unwrap_or_default();
            if let Some(token) = member.syncing.take() {
                scene.answer_sync(Some(token), Ok(self.synced(&id)));
                self.expect(&id, scene.now);
            }
        }
    }

    /// The assignment did not get into the log: everybody joins again.
    pub(crate) fn assignment_not_written(
        &mut self,
        scene: &mut Scene<'_, T>,
        assigned: &Assigned,
        error: GroupError,
    ) {
        if self.awaits(assigned.generation) {
            self.answer_parked_syncs(scene, error);
            self.prepare_rebalance(scene);
        }
    }

    /// The assignments of this generation are void: whoever waits for one is told why.
    pub(super) fn answer_parked_syncs(&mut self, scene: &mut Scene<'_, T>, error: GroupError) {
        for id in self.roster.ids(|_| true) {
            let Some(member) = self.roster.get_mut(&id) else {
                continue;
            };
            member.assignment = Bytes::new();
            if let Some(token) = member.syncing.take() {
                scene.answer_sync(Some(token), Err(error));
                self.expect(&id, scene.now);
            }
        }
    }

    fn awaits(&self, generation: i32) -> bool {
        matches!(self.phase, Phase::CompletingRebalance(_)) && self.generation == generation
    }

    fn synced(&self, id: &str) -> Synced {
        Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment: self
                .roster
                .get(id)
                .map(|member| member.assignment.clone())
                .unwrap_or_default(),
        }
    }
}

impl<T> Scene<'_, T> {
    pub(super) fn answer_sync(&mut self, token: Option<T>, result: Result<Synced, GroupError>) {
        self.answer(token, crate::Answer::Sync(result));
    }
}

//! Signs of life, and leaving.

use std::sync::Arc;

use super::{Group, Phase};
use crate::error::GroupError;
use crate::request::{Answer, CommitOffsets, Heartbeat, JoinRefused, LeavingMember, LeftMember};
use crate::shard::Scene;
use crate::time::Now;

impl<T> Group<T> {
    /// A member is alive. It learns of a rebalance by the answer.
    pub(crate) fn heartbeat(&mut self, now: Now, request: &Heartbeat) -> Result<(), GroupError> {
        self.identify(&request.member, request.instance.as_deref())?;
        if request.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        match self.phase {
            Phase::Empty => return Err(GroupError::UnknownMember),
            // Members may be heard of between JoinGroup and SyncGroup already.
            Phase::CompletingRebalance(_) | Phase::Stable(_) | Phase::PreparingRebalance(_) => {
                self.expect(&request.member, now);
            }
        }
        match self.phase {
            Phase::PreparingRebalance(_) => Err(GroupError::RebalanceInProgress),
            _ => Ok(()),
        }
    }

    /// Whether somebody may commit offsets. Of a member it is a sign of life.
    pub(crate) fn judge_commit(&mut self, now: Now, request: &CommitOffsets) -> Result<(), GroupError> {
        let empty = matches!(self.phase, Phase::Empty);
        if request.generation < 0 && empty {
            return Ok(());
        }
        if request.generation < 0 && request.member.is_empty() && request.instance.is_none() {
            return Err(GroupError::UnknownMember);
        }
        self.identify(&request.member, request.instance.as_deref())?;
        if request.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        if matches!(self.phase, Phase::CompletingRebalance(_)) {
            return Err(GroupError::RebalanceInProgress);
        }
        self.expect(&request.member, now);
        Ok(())
    }

    /// Members leave, or are removed by an administrator; the others rebalance once for all of them.
    pub(crate) fn leave(&mut self, scene: &mut Scene<'_, T>, members: Vec<LeavingMember>) -> Vec<LeftMember> {
        let members_before = self.roster.len();
        let left = members
            .into_iter()
            .map(|leaving| {
                let result = self.leave_one(scene, &leaving);
                LeftMember {
                    member: leaving.member,
                    instance: leaving.instance,
                    result,
                }
            })
            .collect();
        match self.phase {
            Phase::CompletingRebalance(_) | Phase::Stable(_) if self.roster.len() < members_before => {
                self.prepare_rebalance(scene);
            }
            _ => self.complete_join_if_all_joined(scene),
        }
        left
    }

    fn leave_one(&mut self, scene: &mut Scene<'_, T>, leaving: &LeavingMember) -> Result<(), GroupError> {
        let member = if leaving.member.is_empty() {
            let instance = leaving.instance.as_deref().ok_or(GroupError::UnknownMember)?;
            Arc::clone(
                self.roster
                    .by_instance(instance)
                    .ok_or(GroupError::UnknownMember)?,
            )
        } else {
            if !self.pending.contains_key(&leaving.member) {
                self.identify(&leaving.member, leaving.instance.as_deref())?;
            }
            Arc::clone(&leaving.member)
        };
        self.dismiss(scene, &member);
        Ok(())
    }

    /// The group ends here: whoever waits is told why.
    pub(crate) fn dissolve(&mut self, scene: &mut Scene<'_, T>, error: GroupError) {
        for id in self.roster.ids(|_| true) {
            if let Some(removed) = self.roster.remove(&id) {
                let refused = JoinRefused {
                    error,
                    member: Arc::clone(&id),
                };
                scene.answer(removed.joining, Answer::Join(Err(refused)));
                scene.answer(removed.syncing, Answer::Sync(Err(error)));
            }
        }
    }
}

//! The requests of members, brought to their group.

use std::sync::Arc;

use super::{Completion, GroupShard, Scene, Step, Write, refuse_join};
use crate::config::GroupConfig;
use crate::error::GroupError;
use crate::group::Group;
use crate::ledger::{GroupType, LedgerGroup};
use crate::record::{GroupMetadata, Record};
use crate::request::{Answer, Heartbeat, JoinGroup, LeaveGroup, LeftMember, SyncGroup};
use crate::time::Now;

impl<T> GroupShard<T> {
    /// Decides on a JoinGroup.
    pub fn join(&mut self, now: Now, mut request: JoinGroup, token: T) -> Step<T> {
        if let Err(error) = self.judge_join(&request) {
            return refuse_join(token, error, &request.member);
        }
        let mut names = std::collections::BTreeSet::new();
        request
            .protocols
            .retain(|protocol| names.insert(Arc::clone(&protocol.name)));
        if self.room.get(&request.group).is_none() {
            return self.join_from_outside(now, request, token);
        }
        let mut step = Step::new();
        let id = Arc::clone(&request.group);
        self.with_group(now, &id, &mut step, |group, scene| {
            group.join(scene, request, token)
        });
        step
    }

    fn judge_join(&self, request: &JoinGroup) -> Result<(), GroupError> {
        check_name(&request.group)?;
        let allowed = self.config.min_session_timeout_ms..=self.config.max_session_timeout_ms;
        if allowed.contains(&request.session_timeout_ms) {
            Ok(())
        } else {
            Err(GroupError::InvalidSessionTimeout)
        }
    }

    /// A JoinGroup to a group that nobody is in, or that does not exist.
    fn join_from_outside(&mut self, now: Now, request: JoinGroup, token: T) -> Step<T> {
        let entry = self.ledger.group(&request.group);
        let foreign = entry.and_then(|entry| entry.foreign.as_ref());
        if foreign.is_some_and(|foreign| !foreign.is_empty() || foreign.group_type == GroupType::Share) {
            return refuse_join(token, GroupError::InconsistentProtocol, &Arc::default());
        }
        if !request.member.is_empty() {
            return refuse_join(token, GroupError::UnknownMember, &request.member);
        }
        let id = Arc::clone(&request.group);
        let mut group = match entry.and_then(|entry| entry.classic.as_ref()) {
            Some(metadata) => Group::restore(Arc::clone(&id), metadata, now),
            None => Group::new(Arc::clone(&id), now),
        };
        let founding = founding_records(&id, entry, now);
        let mut step = Step::new();
        group.join(
            &mut Scene {
                now,
                config: &self.config,
                step: &mut step,
            },
            request,
            token,
        );
        if group.is_deserted() {
            return step;
        }
        if !founding.is_empty() {
            step.writes.push(Write {
                records: founding,
                group: id,
                completion: Completion::Founded,
            });
        }
        self.room.insert(group);
        step
    }

    /// Decides on a SyncGroup.
    pub fn sync(&mut self, now: Now, request: SyncGroup, token: T) -> Step<T> {
        if let Err(error) = check_name(&request.group) {
            return Step::answered(token, Answer::Sync(Err(error)));
        }
        if self.room.get(&request.group).is_none() {
            return Step::answered(token, Answer::Sync(Err(GroupError::UnknownMember)));
        }
        let mut step = Step::new();
        let id = Arc::clone(&request.group);
        self.with_group(now, &id, &mut step, |group, scene| {
            group.sync(scene, request, token)
        });
        step
    }

    /// Decides on a heartbeat.
    pub fn heartbeat(&mut self, now: Now, request: &Heartbeat) -> Result<(), GroupError> {
        check_name(&request.group)?;
        let group = self
            .room
            .get_mut(&request.group)
            .ok_or(GroupError::UnknownMember)?;
        // A session only ever moves on: the alarm may come early, never late.
        group.heartbeat(now, request)
    }

    /// Decides on a LeaveGroup. The leave of the last member is answered when the log has it.
    pub fn leave(&mut self, now: Now, request: LeaveGroup, token: T) -> Step<T> {
        if let Err(error) = check_name(&request.group) {
            return Step::answered(token, Answer::Leave(Err(error)));
        }
        if self.room.get(&request.group).is_none() {
            let unknown = request.members.into_iter().map(|leaving| LeftMember {
                member: leaving.member,
                instance: leaving.instance,
                result: Err(GroupError::UnknownMember),
            });
            return Step::answered(token, Answer::Leave(Ok(unknown.collect())));
        }
        let mut step = Step::new();
        let left = self.with_group(now, &request.group, &mut step, |group, scene| {
            group.leave(scene, request.members)
        });
        let reply = (token, Answer::Leave(Ok(left)));
        let deserted = step
            .writes
            .iter_mut()
            .find_map(|write| match &mut write.completion {
                Completion::Deserted { answer } => Some(answer),
                _ => None,
            });
        match deserted {
            Some(answer) => *answer = Some(reply),
            None => step.answers.push(reply),
        }
        step
    }
}

/// A group's name has 1 to 1024 bytes (bad input, row 43).
fn check_name(group: &str) -> Result<(), GroupError> {
    if group.is_empty() || group.len() > GroupConfig::MAX_GROUP_ID_BYTES {
        return Err(GroupError::InvalidGroupId);
    }
    Ok(())
}

/// What makes a group in the log: the end of the deserted group of another protocol, if there was one, and a first,
/// empty generation.
fn founding_records(id: &Arc<str>, entry: Option<&LedgerGroup>, now: Now) -> Vec<Record> {
    let mut records = Vec::new();
    if let Some(foreign) = entry.and_then(|entry| entry.foreign.as_ref()) {
        records.extend(super::expiry::foreign_tombstones(id, foreign));
    } else if entry.is_some() {
        return records; // Known, if only by its offsets.
    }
    let metadata = GroupMetadata {
        protocol_type: None,
        generation: 0,
        protocol: None,
        leader: None,
        state_since_ms: Some(now.wall_ms),
        members: Vec::new(),
    };
    records.push(Record::Group {
        group: Arc::clone(id),
        metadata: Some(metadata),
    });
    records
}

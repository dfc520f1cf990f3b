//! What comes out of a decision: answers for now, and writes whose answers come when they are committed.

use std::fmt;
use std::sync::Arc;

use crate::config::GroupConfig;
use crate::error::GroupError;
use crate::group::{Assigned, Replaced};
use crate::record::Record;
use crate::request::{Answer, MetadataTooLarge};
use crate::time::Now;

/// The outcome of a request or of time passing.
#[must_use = "writes must be appended and answers given"]
#[derive(Debug)]
pub struct Step<T> {
    /// Answers that can go out now.
    pub answers: Vec<(T, Answer)>,
    /// What to append, in order, each as one batch (rule 139).
    pub writes: Vec<Write<T>>,
    /// What an operator may want to read of.
    pub events: Vec<GroupEvent>,
}

/// Something that happened to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupEvent {
    /// The group.
    pub group: Arc<str>,
    /// The generation it is at.
    pub generation: i32,
    /// What happened.
    pub what: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Members must join again.
    Rebalances,
    /// A generation began, of so many members.
    Gathered(usize),
    /// Everybody has an assignment.
    Stable,
    /// The last member is gone.
    Empty,
    /// A member was not heard of in time.
    Expired(Arc<str>),
}

impl fmt::Display for GroupEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {:?}, generation {}: ", self.group, self.generation)?;
        match &self.what {
            Happening::Rebalances => f.write_str("rebalances"),
            Happening::Gathered(members) => write!(f, "gathered {members} members"),
            Happening::Stable => f.write_str("stable"),
            Happening::Empty => f.write_str("empty"),
            Happening::Expired(member) => write!(f, "member {member:?} was not heard of in time"),
        }
    }
}

impl<T> Step<T> {
    pub(crate) fn new() -> Step<T> {
        Step {
            answers: Vec::new(),
            writes: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn answered(token: T, answer: Answer) -> Step<T> {
        Step {
            answers: vec![(token, answer)],
            ..Step::new()
        }
    }
}

/// Records that one decision writes, and what is to happen when they are committed.
#[must_use = "a write must be appended, or reported as failed"]
#[derive(Debug)]
pub struct Write<T> {
    /// The records, to be appended as one batch.
    pub records: Vec<Record>,
    pub(crate) group: Arc<str>,
    pub(crate) completion: Completion<T>,
}

/// What is to happen once a write is committed, or has failed.
#[derive(Debug)]
pub(crate) enum Completion<T> {
    /// A group was made for its first member.
    Founded,
    /// The last member left. The leave succeeds even if the log did not take it: nobody is there any more.
    Deserted { answer: Option<(T, Answer)> },
    /// The leader assigned.
    Assigned(Assigned),
    /// A static member came back under a new id.
    Replaced(Box<Replaced>),
    /// Offsets.
    Committed {
        token: T,
        results: Vec<Result<(), MetadataTooLarge>>,
    },
    /// Tombstones.
    Forgotten,
}

impl<T> Completion<T> {
    /// Gives up on the write of a shard that is no longer responsible.
    pub(crate) fn resign(self) -> Option<(T, Answer)> {
        match self {
            Completion::Deserted { answer } => {
                answer.map(|(token, _)| (token, Answer::Leave(Err(GroupError::NotCoordinator))))
            }
            Completion::Committed { token, .. } => {
                Some((token, Answer::Commit(Err(GroupError::NotCoordinator))))
            }
            Completion::Founded
            | Completion::Assigned(_)
            | Completion::Replaced(_)
            | Completion::Forgotten => None,
        }
    }
}

/// What a group may use while it decides: the time, the limits, and the place for what comes out.
pub(crate) struct Scene<'a, T> {
    pub(crate) now: Now,
    pub(crate) config: &'a GroupConfig,
    pub(crate) step: &'a mut Step<T>,
}

impl<T> Scene<'_, T> {
    pub(crate) fn answer(&mut self, token: Option<T>, answer: Answer) {
        if let Some(token) = token {
            self.step.answers.push((token, answer));
        }
    }

    pub(crate) fn tell(&mut self, group: &Arc<str>, generation: i32, what: Happening) {
        self.step.events.push(GroupEvent {
            group: Arc::clone(group),
            generation,
            what,
        });
    }

    pub(crate) fn write(&mut self, group: &Arc<str>, records: Vec<Record>, completion: Completion<T>) {
        self.step.writes.push(Write {
            records,
            group: Arc::clone(group),
            completion,
        });
    }
}

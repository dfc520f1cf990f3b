//! One partition of `__consumer_offsets`: its ledger (what is committed), its room (who is there now), and the writes
//! between the two.

mod expiry;
mod flight;
mod listing;
mod members;
mod offsets;
mod room;
mod step;

use std::sync::Arc;

use flight::Flights;
use room::Room;
pub(crate) use step::{Completion, Scene};
pub use step::{GroupEvent, Happening, Step, Write};

use crate::config::GroupConfig;
use crate::error::{GroupError, WriteError};
use crate::group::Group;
use crate::ledger::Ledger;
use crate::record::Record;
use crate::request::{Answer, JoinRefused};
use crate::time::Now;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// What it wrote takes effect.
    Commit,
    /// What it wrote is forgotten.
    Abort,
}

/// The coordinator of the groups of one partition. `T` is what an answer is addressed to.
#[derive(Debug)]
pub struct GroupShard<T> {
    config: GroupConfig,
    ledger: Ledger,
    room: Room<T>,
    flights: Flights<T>,
    next_sweep: Option<i64>,
}

impl<T> GroupShard<T> {
    /// A shard that knows nothing yet: load it, then [`GroupShard::activate`] it.
    pub fn new(config: GroupConfig) -> GroupShard<T> {
        GroupShard {
            config,
            ledger: Ledger::default(),
            room: Room::new(),
            flights: Flights::new(),
            next_sweep: None,
        }
    }

    /// Replays a committed record while loading. `producer` is set for a record of a transaction.
    pub fn load(&mut self, offset: i64, producer: Option<i64>, record: Record) {
        self.ledger.apply(offset, producer, record);
    }

    /// Takes the marker that ends a transaction: while loading, and whenever one is committed to the partition later.
    pub fn end_transaction(&mut self, producer: i64, marker: Marker) {
        self.ledger.apply_marker(producer, marker);
    }

    /// The log is replayed: groups with members come to life, each member with a fresh session (rule 144). A group
    /// larger than what is allowed now rebalances, so that members can commit before some find no place.
    pub fn activate(&mut self, now: Now) -> Step<T> {
        let mut step = Step::new();
        for (id, entry) in self.ledger.groups() {
            let Some(metadata) = entry
                .classic
                .as_ref()
                .filter(|metadata| !metadata.members.is_empty())
            else {
                continue;
            };
            let mut group = Group::restore(Arc::clone(id), metadata, now);
            if group.members() > self.config.max_members {
                group.prepare_rebalance(&mut Scene {
                    now,
                    config: &self.config,
                    step: &mut step,
                });
            }
            self.room.insert(group);
        }
        self.next_sweep = Some(
            now.steady_ms
                .saturating_add(self.config.offsets_retention_check_interval_ms),
        );
        step
    }

    /// The partition is led elsewhere from now on: everybody who waits is told so, and nothing is left.
    pub fn resign(&mut self) -> Vec<(T, Answer)> {
        let mut answers = self.flights.resign();
        for mut group in self.room.drain() {
            let mut step = Step::new();
            let scene = &mut Scene {
                now: Now::default(),
                config: &self.config,
                step: &mut step,
            };
            group.dissolve(scene, GroupError::NotCoordinator);
            answers.append(&mut step.answers);
        }
        *self = GroupShard::new(self.config.clone());
        answers
    }

    /// When [`GroupShard::tick`] has something to do, by the steady clock.
    pub fn next_deadline(&self) -> Option<i64> {
        [
            self.room.next_alarm(),
            self.flights.next_deadline(),
            self.next_sweep,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due: sessions, rebalances, writes that took too long, offsets past their retention.
    pub fn tick(&mut self, now: Now) -> Step<T> {
        let mut step = Step::new();
        for group in self.room.due(now.steady_ms) {
            self.with_group(now, &group, &mut step, |group, scene| group.tick(scene));
        }
        for (group, completion, fetches) in self.flights.expire(now.steady_ms) {
            flight::answer_fetches_late(fetches, &mut step);
            self.complete(now, (group, completion), Err(WriteError::TimedOut), &mut step);
        }
        if self.next_sweep.is_some_and(|at| at <= now.steady_ms) {
            self.next_sweep = Some(
                now.steady_ms
                    .saturating_add(self.config.offsets_retention_check_interval_ms),
            );
            self.sweep(now, &mut step);
        }
        step
    }

    /// The host appended a write: its records begin at `first_offset`.
    pub fn appended(&mut self, now: Now, write: Write<T>, first_offset: i64) {
        self.flights
            .depart(write, first_offset, now.after(self.config.commit_timeout_ms));
    }

    /// The host could not append a write.
    pub fn append_failed(&mut self, now: Now, write: Write<T>, error: WriteError) -> Step<T> {
        let mut step = Step::new();
        self.complete(now, (write.group, write.completion), Err(error), &mut step);
        step
    }

    /// Everything below `high_watermark` is committed: records take effect, and answers that waited for them go out.
    pub fn committed(&mut self, now: Now, high_watermark: i64) -> Step<T> {
        let mut step = Step::new();
        while let Some(flight) = self.flights.arrive(high_watermark) {
            for (offset, record) in flight.records {
                self.ledger.apply(offset, None, record);
            }
            if let Some(completion) = flight.completion {
                self.complete(now, (Arc::clone(&flight.group), completion), Ok(()), &mut step);
            }
            for (token, request) in flight.fetches {
                let answer = Answer::Fetch(self.fetch_committed(&request));
                step.answers.push((token, answer));
            }
            self.room.settle(&flight.group, &self.ledger);
        }
        step
    }

    /// What a write was for happens, or not.
    fn complete(
        &mut self,
        now: Now,
        (id, completion): (Arc<str>, Completion<T>),
        result: Result<(), WriteError>,
        step: &mut Step<T>,
    ) {
        let error = result.err().map(GroupError::Write);
        match (completion, error) {
            (Completion::Forgotten, _) | (Completion::Founded, None) => {}
            // Late, but in the log: the group goes on.
            (Completion::Founded, Some(GroupError::Write(WriteError::TimedOut))) => {}
            (Completion::Founded, Some(error)) => {
                if let Some(mut group) = self.room.remove(&id) {
                    group.dissolve(
                        &mut Scene {
                            now,
                            config: &self.config,
                            step,
                        },
                        error,
                    );
                }
            }
            (Completion::Deserted { answer }, _) => step.answers.extend(answer),
            (Completion::Committed { token, results }, error) => {
                step.answers
                    .push((token, Answer::Commit(error.map_or(Ok(results), Err))));
            }
            (Completion::Assigned(assigned), error) => {
                self.with_group(now, &id, step, |group, scene| match error {
                    None => group.assignment_written(scene, assigned),
                    Some(error) => group.assignment_not_written(scene, &assigned, error),
                })
            }
            (Completion::Replaced(replaced), error) => {
                self.with_group(now, &id, step, |group, scene| match error {
                    None => group.static_member_written(scene, &replaced),
                    Some(error) => group.static_member_not_written(scene, *replaced, error),
                })
            }
        }
    }

    /// Lets a group in the room act, then sets its alarm.
    fn with_group<R: Default>(
        &mut self,
        now: Now,
        id: &str,
        step: &mut Step<T>,
        act: impl FnOnce(&mut Group<T>, &mut Scene<'_, T>) -> R,
    ) -> R {
        let Some(group) = self.room.get_mut(id) else {
            return R::default();
        };
        let result = act(
            group,
            &mut Scene {
                now,
                config: &self.config,
                step,
            },
        );
        self.room.settle(id, &self.ledger);
        result
    }
}

/// A refused JoinGroup.
fn refuse_join<T>(token: T, error: GroupError, member: &Arc<str>) -> Step<T> {
    let refused = JoinRefused {
        error,
        member: Arc::clone(member),
    };
    Step::answered(token, Answer::Join(Err(refused)))
}

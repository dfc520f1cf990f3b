//! Writes that are appended and not committed yet.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::step::{Completion, Step, Write};
use crate::error::{GroupError, WriteError};
use crate::record::Record;
use crate::request::{Answer, FetchOffsets};

/// One appended write.
#[derive(Debug)]
pub(super) struct Flight<T> {
    pub(super) group: Arc<str>,
    /// The records with their offsets.
    pub(super) records: Vec<(i64, Record)>,
    /// The first offset after the records.
    end_offset: i64,
    /// `None` once the answer was given: too late, with an error. The records take effect all the same.
    pub(super) completion: Option<Completion<T>>,
    /// Stable fetches that wait for this write.
    pub(super) fetches: Vec<(T, FetchOffsets)>,
    deadline: i64,
}

impl<T> Flight<T> {
    fn changes_offsets(&self) -> bool {
        let is_offset = |(_, record): &(i64, Record)| matches!(record, Record::Offset { .. });
        self.records.iter().any(is_offset)
    }
}

/// Appended writes, in the order of their offsets.
#[derive(Debug)]
pub(super) struct Flights<T> {
    flights: VecDeque<Flight<T>>,
    /// Groups with records under way.
    groups: BTreeMap<Arc<str>, usize>,
}

/// A write whose time is up.
type Expired<T> = (Arc<str>, Completion<T>, Vec<(T, FetchOffsets)>);

impl<T> Flights<T> {
    pub(super) fn new() -> Flights<T> {
        Flights {
            flights: VecDeque::new(),
            groups: BTreeMap::new(),
        }
    }

    pub(super) fn depart(&mut self, write: Write<T>, first_offset: i64, deadline: i64) {
        let records: Vec<_> = (first_offset..).zip(write.records).collect();
        *self.groups.entry(Arc::clone(&write.group)).or_default() += 1;
        self.flights.push_back(Flight {
            group: write.group,
            end_offset: records
                .last()
                .map_or(first_offset, |(offset, _)| offset.saturating_add(1)),
            records,
            completion: Some(write.completion),
            fetches: Vec::new(),
            deadline,
        });
    }

    /// The next write below the high watermark.
    pub(super) fn arrive(&mut self, high_watermark: i64) -> Option<Flight<T>> {
        let flight = self
            .flights
            .pop_front_if(|flight| flight.end_offset <= high_watermark)?;
        if let Some(count) = self.groups.get_mut(&flight.group) {
            *count -= 1;
            if *count == 0 {
                self.groups.remove(&flight.group);
            }
        }
        Some(flight)
    }

    /// Whether records of the group are under way.
    pub(super) fn concern(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Lets a fetch wait for the last write of its group that changes offsets. Gives it back if there is none.
    pub(super) fn wait(&mut self, token: T, request: FetchOffsets) -> Option<(T, FetchOffsets)> {
        let concerns = |flight: &&mut Flight<T>| flight.group == request.group && flight.changes_offsets();
        match self.flights.iter_mut().rev().find(concerns) {
            Some(flight) => {
                flight.fetches.push((token, request));
                None
            }
            None => Some((token, request)),
        }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.flights
            .iter()
            .find(|flight| flight.completion.is_some())
            .map(|flight| flight.deadline)
    }

    /// Takes what waits for writes whose time is up.
    pub(super) fn expire(&mut self, steady_ms: i64) -> Vec<Expired<T>> {
        let mut expired = Vec::new();
        for flight in self
            .flights
            .iter_mut()
            .take_while(|flight| flight.deadline <= steady_ms)
        {
            if let Some(completion) = flight.completion.take() {
                expired.push((
                    Arc::clone(&flight.group),
                    completion,
                    std::mem::take(&mut flight.fetches),
                ));
            }
        }
        expired
    }

    pub(super) fn resign(&mut self) -> Vec<(T, Answer)> {
        self.groups.clear();
        let mut answers = Vec::new();
        for flight in self.flights.drain(..) {
            answers.extend(flight.completion.and_then(Completion::resign));
            let fetches = flight.fetches.into_iter();
            answers.extend(fetches.map(|(token, _)| (token, Answer::Fetch(Err(GroupError::NotCoordinator)))));
        }
        answers
    }
}

/// Stable fetches whose write took too long.
pub(super) fn answer_fetches_late<T>(fetches: Vec<(T, FetchOffsets)>, step: &mut Step<T>) {
    for (token, _) in fetches {
        step.answers
            .push((token, Answer::Fetch(Err(GroupError::Write(WriteError::TimedOut)))));
    }
}

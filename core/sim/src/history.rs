//! What clients were told, and what has to hold ever after.
//!
//! - A record that was acknowledged is there, at its offset, for ever.
//! - What a reader saw at an offset, every reader sees there; a watermark never goes back below one that was seen.
//! - No record of an idempotent producer is there twice, and they are in the order they were sent.
//! - A committed offset never goes back.
//! - In one generation of a group no partition belongs to two members.
//! - A topic that was made is there until it is deleted, under its id; then it is gone.
//! - No producer id is given twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::{Offset, TopicPartition, Uuid};

/// Something that must never happen has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fails with a violation unless a condition holds.
macro_rules! must {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err($crate::history::Violation(format!($($words)*)));
        }
    };
}
pub(crate) use must;

/// The number of a record: its producer, and which of that producer's it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordNumber {
    pub(crate) producer: u64,
    pub(crate) index: u64,
}

/// What clients know.
#[derive(Debug, Default)]
pub(crate) struct History {
    acknowledged: BTreeMap<(TopicPartition, i64), RecordNumber>,
    seen: BTreeMap<(TopicPartition, i64), RecordNumber>,
    watermarks: BTreeMap<TopicPartition, Offset>,
    committed: BTreeMap<(String, i32), (i64, i32)>,
    attempted: BTreeMap<(String, i32), i64>,
    owners: BTreeMap<(String, i32, i32), String>,
    topics: BTreeMap<String, Option<Uuid>>,
    /// The first record that may be in a partition: those before were in a topic that is deleted.
    first: BTreeMap<TopicPartition, RecordNumber>,
    producer_ids: BTreeSet<i64>,
}

impl History {
    pub(crate) fn acknowledge(
        &mut self,
        tp: &TopicPartition,
        first: Offset,
        numbers: &[RecordNumber],
    ) -> Result<(), Violation> {
        for (at, number) in (first.0..).zip(numbers) {
            let before = self.acknowledged.insert((tp.clone(), at), *number);
            must!(
                before.is_none_or(|before| before == *number),
                "{tp} acknowledged {number:?} at offset {at}, where {before:?} is"
            );
        }
        Ok(())
    }

    /// A reader got a record.
    pub(crate) fn see(
        &mut self,
        tp: &TopicPartition,
        offset: i64,
        number: RecordNumber,
    ) -> Result<(), Violation> {
        let place = (tp.clone(), offset);
        let before = self.seen.insert(place.clone(), number);
        must!(
            before.is_none_or(|before| before == number),
            "{tp} shows {number:?} at offset {offset}, where a reader saw {before:?}"
        );
        let acknowledged = self.acknowledged.get(&place);
        must!(
            acknowledged.is_none_or(|told| *told == number),
            "{tp} shows {number:?} at offset {offset}, where {acknowledged:?} was acknowledged"
        );
        Ok(())
    }

    pub(crate) fn see_watermark(&mut self, tp: &TopicPartition, watermark: Offset) -> Result<(), Violation> {
        let before = self.watermarks.insert(tp.clone(), watermark);
        must!(
            before.is_none_or(|before| before <= watermark),
            "the watermark of {tp} went back from {before:?} to {watermark}"
        );
        Ok(())
    }

    /// Everything readable of a partition, in order: nothing that anybody was told of is missing or twice.
    pub(crate) fn check_whole(
        &self,
        tp: &TopicPartition,
        records: &BTreeMap<i64, RecordNumber>,
    ) -> Result<(), Violation> {
        let of_tp = |known: &BTreeMap<(TopicPartition, i64), RecordNumber>| {
            let from = (tp.clone(), 0);
            known
                .range(from..)
                .take_while(|((other, _), _)| other == tp)
                .map(|((_, offset), number)| (*offset, *number))
                .collect::<Vec<_>>()
        };
        for (told, known) in [
            ("acknowledged", of_tp(&self.acknowledged)),
            ("read", of_tp(&self.seen)),
        ] {
            for (offset, number) in known {
                let found = records.get(&offset);
                must!(
                    found == Some(&number),
                    "{number:?} was {told} at offset {offset} of {tp}, where now {found:?} is"
                );
            }
        }
        let first = self.first.get(tp);
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for number in records.values() {
            must!(
                first.is_none_or(|first| number >= first),
                "{tp} has {number:?} of a topic that was deleted; it begins with {first:?}"
            );
            let before = last.insert(number.producer, number.index);
            must!(
                before.is_none_or(|before| before < number.index),
                "{tp} has {number:?} after number {before:?} of the same producer"
            );
        }
        Ok(())
    }

    /// The next offset that a member tries to commit for a partition of its group.
    pub(crate) fn next_commit(&mut self, group: &str, partition: i32) -> i64 {
        let attempted = self.attempted.entry((group.to_owned(), partition)).or_insert(0);
        *attempted += 1;
        *attempted
    }

    pub(crate) fn commit(
        &mut self,
        group: &str,
        partition: i32,
        offset: i64,
        generation: i32,
    ) -> Result<(), Violation> {
        let (newest, last) = self
            .committed
            .entry((group.to_owned(), partition))
            .or_insert((0, generation));
        must!(
            *last <= generation,
            "generation {generation} of {group} committed after generation {last} had"
        );
        *last = generation;
        *newest = offset.max(*newest);
        Ok(())
    }

    pub(crate) fn see_commit(&self, group: &str, partition: i32, offset: i64) -> Result<(), Violation> {
        let key = (group.to_owned(), partition);
        let newest = self.committed.get(&key).map_or(0, |(newest, _)| *newest);
        let attempted = self.attempted.get(&key).copied().unwrap_or(0);
        must!(
            newest <= offset && offset <= attempted,
            "{group} is at offset {offset} of partition {partition}; {newest} was acknowledged, {attempted} tried"
        );
        Ok(())
    }

    pub(crate) fn own(
        &mut self,
        group: &str,
        generation: i32,
        partition: i32,
        member: &str,
    ) -> Result<(), Violation> {
        let owner = self
            .owners
            .entry((group.to_owned(), generation, partition))
            .or_insert_with(|| member.to_owned());
        must!(
            owner == member,
            "{owner} and {member} both own partition {partition} in generation {generation} of {group}"
        );
        Ok(())
    }

    pub(crate) fn topic_made(&mut self, name: &str, id: Uuid) {
        self.topics.insert(name.to_owned(), Some(id));
    }

    pub(crate) fn topic_deleted(&mut self, name: &str) {
        self.topics.insert(name.to_owned(), None);
    }

    /// A request about a topic was not answered: it may have happened.
    pub(crate) fn topic_in_doubt(&mut self, name: &str) {
        self.topics.remove(name);
    }

    /// Nothing that was told of a partition holds any more.
    pub(crate) fn forget(&mut self, tp: &TopicPartition) {
        self.acknowledged.retain(|(other, _), _| other != tp);
        self.seen.retain(|(other, _), _| other != tp);
        self.watermarks.remove(tp);
    }

    /// A partition was made under a name that another had before.
    pub(crate) fn begins_with(&mut self, tp: &TopicPartition, first: RecordNumber) {
        self.first.insert(tp.clone(), first);
    }

    pub(crate) fn topics(&self) -> impl Iterator<Item = (&String, &Option<Uuid>)> {
        self.topics.iter()
    }

    pub(crate) fn producer_id_given(&mut self, id: i64) -> Result<(), Violation> {
        must!(self.producer_ids.insert(id), "producer id {id} was given twice");
        Ok(())
    }

    /// How much was acknowledged and committed: a run in which nothing is proves nothing.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.acknowledged.len(), self.committed.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(index: u64) -> RecordNumber {
        RecordNumber { producer: 1, index }
    }

    fn tp() -> TopicPartition {
        TopicPartition::new("t", 0)
    }

    #[test]
    fn what_was_acknowledged_must_stay() {
        let mut history = History::default();
        history
            .acknowledge(&tp(), Offset(3), &[number(1), number(2)])
            .unwrap();
        let records = BTreeMap::from([(3, number(1)), (4, number(2))]);
        assert_eq!(history.check_whole(&tp(), &records), Ok(()));
        assert!(
            history
                .check_whole(&tp(), &BTreeMap::from([(3, number(1))]))
                .is_err()
        );
        assert!(history.see(&tp(), 4, number(9)).is_err());
        assert!(history.acknowledge(&tp(), Offset(4), &[number(7)]).is_err());
    }

    #[test]
    fn duplicates_and_disorder_are_seen() {
        let history = History::default();
        let twice = BTreeMap::from([(0, number(1)), (1, number(1))]);
        assert!(history.check_whole(&tp(), &twice).is_err());
        let disorder = BTreeMap::from([(0, number(2)), (1, number(1))]);
        assert!(history.check_whole(&tp(), &disorder).is_err());
    }

    #[test]
    fn offsets_and_watermarks_never_go_back() {
        let mut history = History::default();
        assert_eq!((history.next_commit("g", 0), history.next_commit("g", 0)), (1, 2));
        history.commit("g", 0, 2, 5).unwrap();
        assert_eq!(history.see_commit("g", 0, 2), Ok(()));
        assert!(history.see_commit("g", 0, 1).is_err());
        assert!(history.see_commit("g", 0, 3).is_err());
        assert!(history.commit("g", 0, 2, 4).is_err(), "an older generation");
        history.see_watermark(&tp(), Offset(7)).unwrap();
        assert!(history.see_watermark(&tp(), Offset(6)).is_err());
    }

    #[test]
    fn a_partition_has_one_owner_in_a_generation() {
        let mut history = History::default();
        history.own("g", 1, 0, "a").unwrap();
        history.own("g", 2, 0, "b").unwrap();
        assert!(history.own("g", 1, 0, "b").is_err());
        history.producer_id_given(5).unwrap();
        assert!(history.producer_id_given(5).is_err());
    }
}

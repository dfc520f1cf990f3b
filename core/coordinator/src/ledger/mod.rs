//! What is committed: groups and offsets as the records of the partition tell. Only [`Ledger::apply`] and
//! [`Ledger::apply_marker`] change it, and replaying the log gives the same ledger again.

mod foreign;
mod offsets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use foreign::ForeignGroup;
pub use foreign::{ForeignFact, GroupType};
pub(crate) use offsets::{CommittedOffset, RetentionFrom};

use crate::record::{GroupMetadata, Record};
use crate::shard::Marker;

/// What the log knows of one group.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LedgerGroup {
    /// The classic group of that name.
    pub(crate) classic: Option<GroupMetadata>,
    /// The group of another protocol of that name.
    pub(crate) foreign: Option<ForeignGroup>,
    /// Topic to partition to offset.
    pub(crate) offsets: BTreeMap<Arc<str>, BTreeMap<i32, CommittedOffset>>,
    /// Partitions whose offset an open transaction may set, with those transactions' producers (rule 140).
    open: BTreeMap<(Arc<str>, i32), BTreeSet<i64>>,
}

/// A partition's offset within a group, as the key of a record names it.
type OffsetPlace = (Arc<str>, Arc<str>, i32);

/// The committed state of one partition of `__consumer_offsets`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    groups: BTreeMap<Arc<str>, LedgerGroup>,
    /// Producer to the offsets that its open transaction wrote.
    pending: BTreeMap<i64, BTreeMap<OffsetPlace, CommittedOffset>>,
}

impl LedgerGroup {
    fn is_vacant(&self) -> bool {
        self.classic.is_none() && self.foreign.is_none() && self.offsets.is_empty() && self.open.is_empty()
    }

    /// Whether an open transaction may set the partition's offset.
    pub(crate) fn is_unstable(&self, topic: &Arc<str>, partition: i32) -> bool {
        // The pair is the key of the map; a clone of the name counts a reference and copies nothing.
        self.open.contains_key(&(Arc::clone(topic), partition))
    }

    /// The partitions whose offset an open transaction may set.
    pub(crate) fn unstable(&self) -> impl Iterator<Item = &(Arc<str>, i32)> {
        self.open.keys()
    }
}

impl Ledger {
    /// The groups by name.
    pub(crate) fn groups(&self) -> &BTreeMap<Arc<str>, LedgerGroup> {
        &self.groups
    }

    /// What the log knows of a group.
    pub(crate) fn group(&self, group: &str) -> Option<&LedgerGroup> {
        self.groups.get(group)
    }

    /// Takes one committed record. `offset` is its place in the partition; `producer` is set where the record belongs
    /// to a transaction, whose marker decides about it later.
    pub(crate) fn apply(&mut self, offset: i64, producer: Option<i64>, record: Record) {
        match record {
            Record::Group { group, metadata } => self.entry(group, |entry| entry.classic = metadata),
            Record::Foreign {
                group,
                group_type,
                key,
                fact,
            } => self.entry(group, |entry| {
                ForeignGroup::apply(&mut entry.foreign, group_type, key, fact);
            }),
            Record::Offset {
                group,
                topic,
                partition,
                commit,
            } => {
                let place = (group, topic, partition);
                match (commit, producer) {
                    (Some(commit), None) => self.put(
                        place,
                        CommittedOffset {
                            commit,
                            record_offset: offset,
                        },
                    ),
                    (Some(commit), Some(producer)) => {
                        self.hold(
                            producer,
                            place,
                            CommittedOffset {
                                commit,
                                record_offset: offset,
                            },
                        );
                    }
                    (None, _) => self.remove(place),
                }
            }
        }
    }

    /// Ends the transaction of a producer: its offsets take effect, or are forgotten.
    pub(crate) fn apply_marker(&mut self, producer: i64, marker: Marker) {
        for (place, offset) in self.pending.remove(&producer).unwrap_or_default() {
            self.release(producer, &place);
            if marker == Marker::Commit {
                self.put_if_newer(place, offset);
            }
        }
    }

    fn entry(&mut self, group: Arc<str>, change: impl FnOnce(&mut LedgerGroup)) {
        let entry = self.groups.entry(Arc::clone(&group)).or_default();
        change(entry);
        if entry.is_vacant() {
            self.groups.remove(&group);
        }
    }

    fn put(&mut self, (group, topic, partition): OffsetPlace, offset: CommittedOffset) {
        self.entry(group, |entry| {
            entry.offsets.entry(topic).or_default().insert(partition, offset);
        });
    }

    /// An offset committed after the transaction's record, but before its marker, is the newer one.
    fn put_if_newer(&mut self, place: OffsetPlace, offset: CommittedOffset) {
        let (group, topic, partition) = &place;
        let present = self
            .groups
            .get(group)
            .and_then(|entry| entry.offsets.get(topic)?.get(partition));
        if present.is_none_or(|present| present.record_offset < offset.record_offset) {
            self.put(place, offset);
        }
    }

    fn hold(&mut self, producer: i64, place: OffsetPlace, offset: CommittedOffset) {
        let (group, topic, partition) = place.clone();
        self.pending.entry(producer).or_default().insert(place, offset);
        self.entry(group, |entry| {
            entry.open.entry((topic, partition)).or_default().insert(producer);
        });
    }

    fn release(&mut self, producer: i64, (group, topic, partition): &OffsetPlace) {
        self.entry(Arc::clone(group), |entry| {
            let place = (Arc::clone(topic), *partition);
            if let Some(producers) = entry.open.get_mut(&place) {
                producers.remove(&producer);
                if producers.is_empty() {
                    entry.open.remove(&place);
                }
            }
        });
    }

    /// A tombstone also forgets what open transactions wrote before it.
    fn remove(&mut self, place: OffsetPlace) {
        let (group, topic, partition) = &place;
        let mut producers = BTreeSet::new();
        self.entry(Arc::clone(group), |entry| {
            if let Some(partitions) = entry.offsets.get_mut(topic) {
                partitions.remove(partition);
                if partitions.is_empty() {
                    entry.offsets.remove(topic);
                }
            }
            producers = entry
                .open
                .remove(&(Arc::clone(topic), *partition))
                .unwrap_or_default();
        });
        for producer in producers {
            if let Some(offsets) = self.pending.get_mut(&producer) {
                offsets.remove(&place);
                if offsets.is_empty() {
                    self.pending.remove(&producer);
                }
            }
        }
    }
}

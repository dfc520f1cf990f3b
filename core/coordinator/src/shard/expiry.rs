//! Offsets past their retention, groups without offsets, topics that are gone (KIP-211, rules 145 and 146). Removal
//! goes through the log like any write.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Completion, GroupShard, Step, Write};
use crate::group::{Group, Phase};
use crate::ledger::{ForeignGroup, LedgerGroup, RetentionFrom};
use crate::record::Record;
use crate::time::Now;
use model::Uuid;

/// How many tombstones one batch carries at most: far below any max.message.bytes.
const TOMBSTONES_A_BATCH: usize = 500;

/// What may be forgotten of one group.
struct Retention {
    from: RetentionFrom,
    /// Topics whose offsets are in use.
    subscribed: BTreeSet<Arc<str>>,
    /// Whether nobody is in the group, so that it can go when its offsets are gone.
    empty: bool,
}

impl<T> GroupShard<T> {
    /// Looks at every group. One with records under way is left for the next time.
    pub(super) fn sweep(&self, now: Now, step: &mut Step<T>) {
        for (id, entry) in self.ledger.groups() {
            if self.flights.concern(id) {
                continue;
            }
            if let Some(retention) = retention(entry, self.room.get(id)) {
                let tombstones = self.expired(now, id, entry, &retention);
                forget(id, tombstones, step);
            }
        }
    }

    /// Tombstones for the group's expired offsets, and for the group itself if nothing of it is left.
    fn expired(&self, now: Now, id: &Arc<str>, entry: &LedgerGroup, retention: &Retention) -> Vec<Record> {
        let mut tombstones = Vec::new();
        let mut kept = 0_usize;
        for (topic, offsets) in &entry.offsets {
            for (&partition, offset) in offsets {
                let expired = !retention.subscribed.contains(topic)
                    && offset.is_expired(retention.from, self.config.offsets_retention_ms, now.wall_ms)
                    && !entry.is_unstable(topic, partition);
                if expired {
                    tombstones.push(offset_tombstone(id, topic, partition));
                } else {
                    kept += 1;
                }
            }
        }
        if kept == 0 && retention.empty && entry.unstable().next().is_none() {
            if entry.classic.is_some() {
                tombstones.push(Record::Group {
                    group: Arc::clone(id),
                    metadata: None,
                });
            }
            if let Some(foreign) = &entry.foreign {
                tombstones.extend(foreign_tombstones(id, foreign));
            }
        }
        tombstones
    }

    /// A topic is gone: so are the offsets committed for it, in every group. An offset without a topic id is taken to
    /// be of the topic that bore the name last.
    pub fn topic_deleted(&mut self, topic: &Arc<str>, topic_id: Uuid) -> Step<T> {
        let mut step = Step::new();
        for (id, entry) in self.ledger.groups() {
            let kept = entry.offsets.get(topic).into_iter().flatten();
            let gone = kept.filter(|(_, offset)| {
                offset.commit.topic_id.is_zero() || topic_id.is_zero() || offset.commit.topic_id == topic_id
            });
            let mut partitions: BTreeSet<i32> = gone.map(|(&partition, _)| partition).collect();
            let unstable = entry.unstable().filter(|(name, _)| name == topic);
            partitions.extend(unstable.map(|(_, partition)| *partition));
            let tombstones = partitions
                .into_iter()
                .map(|partition| offset_tombstone(id, topic, partition));
            forget(id, tombstones.collect(), &mut step);
        }
        step
    }
}

/// What may be forgotten of a group; `None` while it rebalances, or is in use in a way that is not understood.
fn retention<T>(entry: &LedgerGroup, present: Option<&Group<T>>) -> Option<Retention> {
    if let Some(foreign) = &entry.foreign {
        let nobody = Retention {
            from: RetentionFrom::Commit,
            subscribed: BTreeSet::new(),
            empty: true,
        };
        return foreign.is_empty().then_some(nobody);
    }
    if let Some(group) = present
        && !matches!(group.phase, Phase::Empty)
    {
        let subscribed = group.subscribed_topics()?;
        return Some(Retention {
            from: RetentionFrom::Commit,
            subscribed,
            empty: false,
        });
    }
    let (protocol_type, since_ms) = match (present, &entry.classic) {
        (Some(group), _) => (group.protocol_type.as_ref(), group.state_since_ms),
        (None, Some(metadata)) => (metadata.protocol_type.as_ref(), metadata.state_since_ms),
        (None, None) => (None, None),
    };
    let from = match (protocol_type, since_ms) {
        (Some(_), Some(since_ms)) => RetentionFrom::GroupEmptySince(since_ms),
        _ => RetentionFrom::Commit,
    };
    // A group that somebody was told to come back to stays.
    let empty = present.is_none_or(Group::is_deserted);
    Some(Retention {
        from,
        subscribed: BTreeSet::new(),
        empty,
    })
}

fn offset_tombstone(group: &Arc<str>, topic: &Arc<str>, partition: i32) -> Record {
    Record::Offset {
        group: Arc::clone(group),
        topic: Arc::clone(topic),
        partition,
        commit: None,
    }
}

/// Tombstones for everything of a group of another protocol.
pub(super) fn foreign_tombstones(group: &Arc<str>, foreign: &ForeignGroup) -> Vec<Record> {
    let tombstone = |key: &bytes::Bytes| Record::Foreign {
        group: Arc::clone(group),
        group_type: foreign.group_type,
        key: key.clone(),
        fact: None,
    };
    foreign.keys().map(tombstone).collect()
}

fn forget<T>(group: &Arc<str>, mut tombstones: Vec<Record>, step: &mut Step<T>) {
    while !tombstones.is_empty() {
        let rest = tombstones.split_off(tombstones.len().min(TOMBSTONES_A_BATCH));
        let records = std::mem::replace(&mut tombstones, rest);
        step.writes.push(Write {
            records,
            group: Arc::clone(group),
            completion: Completion::Forgotten,
        });
    }
}

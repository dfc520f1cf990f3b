//! The watermark of a leader that is its own quorum, and what becomes readable when it moves.

use std::collections::VecDeque;

use model::Offset;
use storage::Unsynced;

use super::super::waits::{ProduceOutcome, Woken};
use super::fetch::Isolation;
use super::{Durability, Leading, Replica, Role};

/// How many bytes were appended up to which offset, for the appends that the watermark has not passed yet.
#[derive(Debug, Default)]
pub(super) struct AppendedBytes {
    above: VecDeque<(Offset, u64)>,
    appended: u64,
    committed: u64,
}

impl AppendedBytes {
    pub(super) fn append(&mut self, end: Offset, bytes: usize) {
        self.appended = self
            .appended
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.above.push_back((end, self.appended));
    }

    /// The bytes that the watermark passes on its way to `high_watermark`.
    fn commit(&mut self, high_watermark: Offset) -> u64 {
        let before = self.committed;
        while let Some((_, total)) = self.above.pop_front_if(|(end, _)| *end <= high_watermark) {
            self.committed = total;
        }
        self.committed - before
    }
}

impl Leading {
    /// The replicas that must be in sync: `min.insync.replicas`, but not more than there are (KIP-966, rule 36).
    pub(super) fn needed(&self, min_in_sync: usize) -> usize {
        min_in_sync.min(self.at.replicas)
    }
}

impl<P, F: Clone> Replica<P, F> {
    /// What was handed out by [`storage::Log::dirty`] is durable now.
    pub fn synced(&mut self, unsynced: &Unsynced, woken: &mut Vec<Woken<P, F>>) {
        self.log.mark_synced(unsynced);
        self.advance(woken);
    }

    /// What was handed out by [`storage::Log::dirty`] is durable in a journal now.
    pub fn journaled(&mut self, unsynced: &Unsynced, woken: &mut Vec<Woken<P, F>>) {
        self.log.mark_journaled(unsynced);
        self.advance(woken);
    }

    /// Another `durability` or `min.insync.replicas` from now on. The watermark never moves back.
    pub fn set_commit_rules(
        &mut self,
        durability: Durability,
        min_in_sync: usize,
        woken: &mut Vec<Woken<P, F>>,
    ) {
        self.durability = durability;
        self.min_in_sync = min_in_sync;
        self.advance(woken);
    }

    /// Rules 33 to 36 and 44: the watermark is raised to what every replica in sync has stored, which here is this one;
    /// and only while enough are in sync.
    pub(super) fn advance(&mut self, woken: &mut Vec<Woken<P, F>>) {
        let Role::Leader(leading) = &self.role else { return };
        if leading.at.in_sync < leading.needed(self.min_in_sync) {
            return;
        }
        let stored = match self.durability {
            Durability::Fsync => self.log.synced_offset(),
            Durability::PageCache => self.log.log_end_offset(),
        };
        if stored <= self.high_watermark {
            return;
        }
        let stable_before = self.last_stable_offset();
        self.high_watermark = stored;
        self.log.high_watermark_moved(stored);
        let stable_moved = self.last_stable_offset() > stable_before;
        self.release_produces(woken);
        // What recovery found was not counted when it was appended: something became readable all the same.
        let bytes = self.bytes.commit(stored).max(1);
        self.watches.notify(
            |isolation| match isolation {
                Isolation::LogEnd => None,
                Isolation::ReadUncommitted => Some(bytes),
                Isolation::ReadCommitted => Some(if stable_moved { bytes } else { 0 }),
            },
            woken,
        );
    }

    fn release_produces(&mut self, woken: &mut Vec<Woken<P, F>>) {
        while let Some(token) = self.produces.reached(self.high_watermark) {
            woken.push(Woken::Produce {
                token,
                outcome: ProduceOutcome::Replicated,
            });
        }
    }
}

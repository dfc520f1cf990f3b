//! The journal of the node's directory, and the checkpoints behind it: what a thread of the broker does at its own
//! pace, done in two steps.

use std::path::Path;

use model::TopicPartition;
use storage::{Journal, JournalKey, Takes};

use super::{DIR, Dirty, Halt, Node, Plant, halt};

/// A file of the journal: so small that it is full after a few rounds.
const BYTES: u64 = 12 << 10;

impl Node {
    fn journal_key(&self, tp: &TopicPartition) -> Option<JournalKey> {
        Some(JournalKey {
            topic_id: self.partitions.get(tp)?.topic_id,
            topic_partition: tp.clone(),
        })
    }

    /// Writes a round to the journal; yields what is durable by that, and what has to be synced by itself.
    pub(super) fn write_journal(&mut self, syncing: Dirty) -> Result<(Dirty, Dirty), Halt> {
        let (mut round, mut alone) = (Vec::new(), Vec::new());
        for (tp, unsynced) in syncing {
            match self.journal_key(&tp).filter(|_| unsynced.tail_bytes() > Some(0)) {
                Some(key) => round.push((key, unsynced)),
                None => alone.push((tp, unsynced)),
            }
        }
        if self.journal.is_none() {
            let entropy = self.entropy.bits();
            self.journal = Journal::create(&*self.disk, Path::new(DIR), BYTES, entropy).ok();
        }
        while self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.takes(&round) == Takes::Later)
        {
            self.begin_flush();
            self.end_flush()?;
        }
        let fits = |journal: &&mut Journal| journal.takes(&round) == Takes::Now;
        let journal = self.journal.as_mut().filter(fits);
        let written = journal
            .map(|journal| journal.write(&round))
            .transpose()
            .map_err(halt)?;
        let round = round
            .into_iter()
            .map(|(key, unsynced)| (key.topic_partition, unsynced));
        if written.is_some() {
            return Ok((round.collect(), alone));
        }
        alone.extend(round);
        Ok((Vec::new(), alone))
    }

    /// A checkpoint of the journal begins: what its segments have now will be durable when it ends.
    pub(crate) fn begin_flush(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        journal.seal();
        // What is full later is not covered by what begins now.
        let Some(keys) = journal.to_checkpoint() else {
            return;
        };
        let dirty = keys.into_iter().filter_map(|key| {
            let hosted = self.partitions.get(&key.topic_partition)?;
            let unsynced = hosted.replica.log().dirty()?;
            (hosted.topic_id == key.topic_id).then_some((key, unsynced))
        });
        self.flushing = Some(dirty.collect());
    }

    /// It ends.
    pub(crate) fn end_flush(&mut self) -> Result<(), Halt> {
        let Some(flushing) = self.flushing.take() else {
            return Ok(());
        };
        if self.planted != Some(Plant::ReuseEarly) {
            if self.entropy.one_in(2) {
                self.dir.sync_file_system().map_err(halt)?;
            } else {
                for (key, unsynced) in &flushing {
                    let is_here = self.journal_key(&key.topic_partition).as_ref() == Some(key);
                    if is_here {
                        unsynced.sync().map_err(halt)?;
                    }
                }
            }
            for (key, unsynced) in flushing {
                if self.journal_key(&key.topic_partition).as_ref() == Some(&key)
                    && let Some(hosted) = self.partitions.get_mut(&key.topic_partition)
                {
                    let mut woken = Vec::new();
                    hosted.replica.synced(&unsynced, &mut woken);
                    self.wake(woken);
                }
            }
        }
        if let Some(journal) = &mut self.journal {
            journal.checkpointed();
        }
        Ok(())
    }

    /// Begins a checkpoint, or ends the one that is under way.
    pub(crate) fn flush(&mut self) -> Result<(), Halt> {
        if self.flushing.is_some() {
            return self.end_flush();
        }
        self.begin_flush();
        Ok(())
    }

    /// A partition is gone for good.
    pub(super) fn void_in_journal(&mut self, key: &JournalKey) -> Result<(), Halt> {
        while let Some(journal) = &mut self.journal {
            if journal.void(std::slice::from_ref(key)).map_err(halt)? {
                break;
            }
            self.begin_flush();
            self.end_flush()?;
        }
        Ok(())
    }
}

//! The producers of one log: who wrote what last, which transactions are open, which have ended (rules 21 to 32).
//!
//! Built from the log alone: the same records give the same state. An append is judged on a copy of the entries it
//! touches ([`Pending`]), which is taken over once the bytes are written.

mod entry;
mod snapshot;

use std::collections::BTreeMap;

use model::{Offset, ProducerId};
use wire::records::{Batch, BatchHeader, ControlRecordType, DecompressionLimit, EndTransactionMarker};

use crate::log::{AbortedTransaction, ActiveProducer, AppendError};
pub use entry::ProducedBatch;
pub(crate) use entry::{BatchKind, DEDUPE_WINDOW, EndedTransaction, Judge, ProducerBatch, ProducerEntry};
pub(crate) use snapshot::encode_snapshot;
pub use snapshot::{ProducerSnapshotEntry, SnapshotError, decode_snapshot};

/// All producers of a log, up to an offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Producers {
    entries: BTreeMap<ProducerId, ProducerEntry>,
    /// Open transactions by their first offset.
    open: BTreeMap<Offset, ProducerId>,
    /// Ended transactions by their first offset, with the offset of the marker, until that is replicated.
    ended: BTreeMap<Offset, Offset>,
}

/// What an append would change.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    entries: Vec<(ProducerId, ProducerEntry)>,
    opened: Vec<(Offset, ProducerId)>,
    ended: Vec<EndedTransaction>,
}

/// What a batch means to its producer, at the offsets it gets; `None` when it has none, or is a control batch that says
/// nothing of transactions or was emptied by compaction. `load` yields the batch, where its records are needed.
pub(crate) fn producer_batch<E>(
    header: &BatchHeader,
    first_offset: Offset,
    timestamp: i64,
    load: impl FnOnce() -> Result<Option<Batch>, E>,
) -> Result<Option<ProducerBatch>, E> {
    if !header.has_producer() {
        return Ok(None);
    }
    let kind = if header.attributes.is_control() {
        match load()?.as_ref().and_then(marker_of) {
            Some(marker) => BatchKind::Marker(marker),
            None => return Ok(None),
        }
    } else if header.attributes.is_transactional() {
        BatchKind::Transactional
    } else {
        BatchKind::Data
    };
    Ok(Some(ProducerBatch {
        producer_id: header.producer_id,
        epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
        last_sequence: header.last_sequence(),
        first_offset,
        last_offset: Offset(first_offset.0.saturating_add(i64::from(header.last_offset_delta))),
        timestamp,
        kind,
    }))
}

/// The marker in a control batch; `None` when there is none.
fn marker_of(batch: &Batch) -> Option<EndTransactionMarker> {
    let record = batch.records(DecompressionLimit::default()).ok()?.next()?.ok()?;
    EndTransactionMarker::parse(record.key.as_deref()?, record.value.as_deref()?)
}

impl Producers {
    /// The remembered batch that this one repeats (rule 21).
    pub(crate) fn duplicate_of(&self, batch: &ProducerBatch) -> Option<ProducedBatch> {
        match batch.kind {
            BatchKind::Marker(_) => None,
            BatchKind::Data | BatchKind::Transactional => {
                self.entries.get(&batch.producer_id)?.duplicate_of(batch)
            }
        }
    }

    /// Judges a batch on top of those judged before it in the same append.
    pub(crate) fn judge(
        &self,
        pending: &mut Pending,
        batch: &ProducerBatch,
        judge: Judge,
        window: usize,
    ) -> Result<(), AppendError> {
        let index = match pending
            .entries
            .iter()
            .position(|(id, _)| *id == batch.producer_id)
        {
            Some(index) => index,
            None => {
                let known = self.entries.get(&batch.producer_id);
                let entry = known.cloned().unwrap_or_else(ProducerEntry::unknown);
                pending.entries.push((batch.producer_id, entry));
                pending.entries.len() - 1
            }
        };
        let Some((id, entry)) = pending.entries.get_mut(index) else {
            return Ok(());
        };
        let before = entry.transaction_start;
        let ended = entry.take(batch, judge, window)?;
        match (before, entry.transaction_start) {
            (None, Some(first_offset)) => pending.opened.push((first_offset, *id)),
            _ => pending.ended.extend(ended),
        }
        Ok(())
    }

    /// Takes over what was judged; yields the transactions that were aborted, for the index.
    pub(crate) fn commit(&mut self, pending: Pending, now_ms: i64) -> Vec<AbortedTransaction> {
        for (id, mut entry) in pending.entries {
            entry.last_seen_ms = now_ms;
            self.entries.insert(id, entry);
        }
        self.open.extend(pending.opened);
        let mut aborted = Vec::new();
        for ended in pending.ended {
            self.open.remove(&ended.first_offset);
            self.ended.insert(ended.first_offset, ended.last_offset);
            let after = Offset(ended.last_offset.0.saturating_add(1));
            if ended.marker.kind == ControlRecordType::Abort {
                aborted.push(AbortedTransaction {
                    producer_id: ended.producer_id,
                    first_offset: ended.first_offset,
                    last_offset: ended.last_offset,
                    last_stable_offset: self.open.keys().next().copied().unwrap_or(after),
                });
            }
        }
        aborted
    }

    /// Takes a batch of the log in, for recovery and rebuilding.
    pub(crate) fn replay(
        &mut self,
        batch: &ProducerBatch,
        window: usize,
        now_ms: i64,
    ) -> Vec<AbortedTransaction> {
        let mut pending = Pending::default();
        // What is in the log stands: nothing is refused.
        let _ = self.judge(&mut pending, batch, Judge::Log, window);
        self.commit(pending, now_ms)
    }

    /// The offset from which on transactions are open, or have ended above the high watermark (rule 37).
    pub(crate) fn first_unstable_offset(&self, high_watermark: Offset) -> Option<Offset> {
        let open = self.open.keys().next();
        let ended = self
            .ended
            .iter()
            .find(|(_, last)| **last >= high_watermark)
            .map(|(first, _)| first);
        match (open, ended) {
            (Some(open), Some(ended)) => Some(*open.min(ended)),
            (open, ended) => open.or(ended).copied(),
        }
    }

    /// Forgets ended transactions whose marker is replicated.
    pub(crate) fn replicated(&mut self, high_watermark: Offset) {
        if !self.ended.is_empty() {
            self.ended.retain(|_, last| *last >= high_watermark);
        }
    }

    /// Forgets producers that were idle too long, never one with an open transaction (rule 31).
    pub(crate) fn expire(&mut self, now_ms: i64, expiration_ms: i64) {
        self.entries.retain(|_, entry| {
            let last = entry.last_seen_ms.max(entry.last_timestamp);
            entry.transaction_start.is_some() || now_ms.saturating_sub(last) < expiration_ms
        });
    }

    /// Forgets transactions below the start of the log: their records are gone.
    pub(crate) fn truncate_start(&mut self, log_start_offset: Offset) {
        self.ended.retain(|_, last| *last >= log_start_offset);
    }

    pub(crate) fn active(&self) -> Vec<ActiveProducer> {
        let active = |(id, entry): (&ProducerId, &ProducerEntry)| ActiveProducer {
            producer_id: *id,
            producer_epoch: entry.epoch,
            last_sequence: entry.last_sequence(),
            last_timestamp: entry.last_timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            current_transaction_first_offset: entry.transaction_start,
        };
        self.entries.iter().map(active).collect()
    }
}

#[cfg(test)]
mod tests;

//! What is remembered of one producer: its epoch, its last batches, its open transaction (rules 21 to 28).

use model::{Offset, ProducerEpoch, ProducerId};
use wire::records::EndTransactionMarker;

use crate::log::AppendError;

/// How many batches of a producer are remembered; clients have at most five in flight.
pub(crate) const DEDUPE_WINDOW: usize = 5;

/// A batch that a producer has appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProducedBatch {
    /// The sequence number of its last record.
    pub last_sequence: i32,
    /// The offset of its last record.
    pub last_offset: Offset,
    /// Its last offset minus its first.
    pub offset_delta: i32,
    /// Its largest timestamp.
    pub timestamp: i64,
}

impl ProducedBatch {
    /// The sequence number of its first record; sequences wrap from `i32::MAX` to 0.
    pub fn first_sequence(&self) -> i32 {
        let first = i64::from(self.last_sequence) - i64::from(self.offset_delta);
        i32::try_from(first & i64::from(i32::MAX)).unwrap_or(0)
    }

    /// The offset of its first record.
    pub fn first_offset(&self) -> Offset {
        Offset(self.last_offset.0.saturating_sub(i64::from(self.offset_delta)))
    }
}

/// What a batch means to its producer's state, wherever it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProducerBatch {
    pub(crate) producer_id: ProducerId,
    pub(crate) epoch: ProducerEpoch,
    pub(crate) base_sequence: i32,
    pub(crate) last_sequence: i32,
    pub(crate) first_offset: Offset,
    pub(crate) last_offset: Offset,
    pub(crate) timestamp: i64,
    pub(crate) kind: BatchKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchKind {
    Data,
    Transactional,
    Marker(EndTransactionMarker),
}

/// Whether a batch is to be judged, or was judged by the leader whose log it comes from (rule 24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// A client's batch: epoch and sequence are checked.
    Client,
    /// A coordinator's batch: the epochs are checked.
    Coordinator,
    /// From the log of a leader, or our own: it stands.
    Log,
}

/// What is remembered of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProducerEntry {
    pub(crate) epoch: ProducerEpoch,
    batches: [ProducedBatch; DEDUPE_WINDOW],
    count: usize,
    pub(crate) last_timestamp: i64,
    /// When the producer was last heard of, by our clock: records may be dated long ago.
    pub(crate) last_seen_ms: i64,
    pub(crate) coordinator_epoch: i32,
    pub(crate) transaction_start: Option<Offset>,
}

/// A transaction that a marker has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedTransaction {
    pub(crate) producer_id: ProducerId,
    pub(crate) first_offset: Offset,
    /// The offset of the marker.
    pub(crate) last_offset: Offset,
    pub(crate) marker: EndTransactionMarker,
}

impl ProducerEntry {
    /// A producer that nothing is known of.
    pub(crate) fn unknown() -> ProducerEntry {
        ProducerEntry {
            epoch: ProducerEpoch::NONE,
            batches: [ProducedBatch::default(); DEDUPE_WINDOW],
            count: 0,
            last_timestamp: -1,
            last_seen_ms: -1,
            coordinator_epoch: -1,
            transaction_start: None,
        }
    }

    /// The remembered batches, oldest first.
    pub(crate) fn batches(&self) -> &[ProducedBatch] {
        self.batches.get(..self.count).unwrap_or_default()
    }

    pub(crate) fn last_sequence(&self) -> i32 {
        self.batches().last().map_or(-1, |batch| batch.last_sequence)
    }

    /// The remembered batch that this one repeats (rule 21).
    pub(crate) fn duplicate_of(&self, batch: &ProducerBatch) -> Option<ProducedBatch> {
        let same = |known: &&ProducedBatch| {
            known.last_sequence == batch.last_sequence && known.first_sequence() == batch.base_sequence
        };
        self.batches()
            .iter()
            .filter(|_| batch.epoch == self.epoch)
            .find(same)
            .copied()
    }

    /// Remembers a batch, forgetting the oldest where there are too many.
    pub(crate) fn remember(&mut self, batch: ProducedBatch, window: usize) {
        let window = window.min(DEDUPE_WINDOW);
        if self.count >= window {
            self.batches.copy_within(1.., 0);
            self.count = window.saturating_sub(1);
        }
        if let Some(place) = self.batches.get_mut(self.count) {
            *place = batch;
            self.count += 1;
        }
    }

    /// Enters an epoch: batches of another one can no longer be repeated.
    pub(crate) fn enter_epoch(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.count = 0;
            self.epoch = epoch;
        }
    }

    /// Takes a batch in, or refuses it and stays as it was. Yields the transaction that it ends.
    pub(crate) fn take(
        &mut self,
        batch: &ProducerBatch,
        judge: Judge,
        window: usize,
    ) -> Result<Option<EndedTransaction>, AppendError> {
        if batch.epoch < self.epoch && judge != Judge::Log {
            return Err(AppendError::ProducerFenced {
                producer_id: batch.producer_id,
                found: batch.epoch,
                newest: self.epoch,
            });
        }
        match batch.kind {
            BatchKind::Marker(marker) => self.take_marker(batch, marker, judge),
            BatchKind::Data | BatchKind::Transactional => {
                if judge == Judge::Client {
                    self.check_sequence(batch)?;
                }
                self.take_data(batch, judge, window)?;
                Ok(None)
            }
        }
    }

    fn check_sequence(&self, batch: &ProducerBatch) -> Result<(), AppendError> {
        let expected = if self.epoch == ProducerEpoch::NONE {
            // Nothing is known: it may have expired, and any sequence is the first (rule 25).
            return Ok(());
        } else if batch.epoch != self.epoch {
            0
        } else {
            self.last_sequence().checked_add(1).unwrap_or(0)
        };
        if batch.base_sequence == expected {
            return Ok(());
        }
        Err(AppendError::OutOfOrderSequence {
            producer_id: batch.producer_id,
            found: batch.base_sequence,
            expected,
        })
    }

    fn take_data(&mut self, batch: &ProducerBatch, judge: Judge, window: usize) -> Result<(), AppendError> {
        match (self.transaction_start, batch.kind) {
            (Some(_), BatchKind::Data) if judge != Judge::Log => {
                return Err(AppendError::TransactionOpen(batch.producer_id));
            }
            (None, BatchKind::Transactional) => self.transaction_start = Some(batch.first_offset),
            _ => {}
        }
        self.enter_epoch(batch.epoch);
        let delta = batch.last_offset.0.saturating_sub(batch.first_offset.0);
        self.remember(
            ProducedBatch {
                last_sequence: batch.last_sequence,
                last_offset: batch.last_offset,
                offset_delta: i32::try_from(delta).unwrap_or(i32::MAX),
                timestamp: batch.timestamp,
            },
            window,
        );
        self.last_timestamp = batch.timestamp;
        Ok(())
    }

    fn take_marker(
        &mut self,
        batch: &ProducerBatch,
        marker: EndTransactionMarker,
        judge: Judge,
    ) -> Result<Option<EndedTransaction>, AppendError> {
        if marker.coordinator_epoch < self.coordinator_epoch && judge != Judge::Log {
            return Err(AppendError::CoordinatorFenced {
                found: marker.coordinator_epoch,
                newest: self.coordinator_epoch,
            });
        }
        self.enter_epoch(batch.epoch);
        self.coordinator_epoch = marker.coordinator_epoch;
        self.last_timestamp = batch.timestamp;
        Ok(self
            .transaction_start
            .take()
            .map(|first_offset| EndedTransaction {
                producer_id: batch.producer_id,
                first_offset,
                last_offset: batch.last_offset,
                marker,
            }))
    }
}

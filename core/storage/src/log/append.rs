//! Appending: judge, give offsets, write once, then let everybody see it.
//!
//! Nothing changes before the bytes are written, and nothing can fail after: a refused or failed append leaves the log
//! as it was (rule 11).

use std::convert::Infallible;
use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use model::{LeaderEpoch, Offset};
use wire::records::{Batch, BatchError, BatchPrefix, TimestampType, batches};

use super::validate::{Judged, Rules};
use super::{AppendError, Log, WriteState};
use crate::producers::{Judge, Pending, ProducedBatch, ProducerBatch, producer_batch};
use crate::segment::{Placed, RollQuestion, Segment};

/// Who appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client's Produce request: all rules hold.
    Client,
    /// A coordinator of this broker: may write control batches.
    Coordinator,
    /// The metadata log's leader: may write control batches, of any size.
    Raft,
}

/// What was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first record; of a duplicate, the one it got the first time.
    pub first_offset: Offset,
    /// The offset of the last record.
    pub last_offset: Offset,
    /// The time of the append where the topic asks for it (`LogAppendTime`).
    pub log_append_time_ms: Option<i64>,
    /// Whether the batch had been appended before, and was not again (rule 21).
    pub duplicate: bool,
    /// The bytes written.
    pub bytes: usize,
}

/// Batches that may be appended, with their places.
#[derive(Default)]
struct Plan {
    placed: Vec<Placed>,
    epochs: Vec<(LeaderEpoch, Offset)>,
    pending: Pending,
    size: u64,
}

impl Plan {
    fn add(&mut self, batch: &Batch, base_offset: Offset, max_timestamp: i64, epoch: LeaderEpoch) {
        let size = batch.bytes().len() as u64;
        let last_offset = base_offset
            .0
            .saturating_add(i64::from(batch.header().last_offset_delta));
        self.placed.push(Placed {
            // Relative to the end of the segment until that is known.
            position: self.size,
            size,
            base_offset,
            last_offset: Offset(last_offset),
            max_timestamp,
        });
        if self.epochs.last().is_none_or(|(latest, _)| *latest < epoch) {
            self.epochs.push((epoch, base_offset));
        }
        self.size += size;
    }
}

impl Log {
    /// Appends what a client or a coordinator sent: offsets, epoch and where needed times are given to it here
    /// (rules 3 to 16, 21 to 28).
    pub fn append_as_leader(
        &mut self,
        records: &Bytes,
        origin: Origin,
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.check_writable()?;
        if let Some(newest) = self.latest_epoch().filter(|newest| *newest > leader_epoch) {
            return Err(AppendError::LeaderEpoch {
                found: leader_epoch,
                newest,
            });
        }
        let config = Arc::clone(&self.config);
        let rules = Rules {
            config: &config,
            origin,
            now_ms,
        };
        let judged = judge_all(records, &rules)?;
        let append_time = config.timestamp_type == TimestampType::LogAppendTime && origin != Origin::Raft;
        let mut plan = Plan::default();
        let mut prefixes = Vec::with_capacity(judged.len());
        let mut next = self.view.log_end_offset;
        for Judged {
            batch,
            timestamps,
            max_timestamp,
        } in &judged
        {
            plan.add(batch, next, *max_timestamp, leader_epoch);
            prefixes.push(BatchPrefix::new(batch, next, leader_epoch, *timestamps));
            if let Some(produced) = produced(batch, next, *max_timestamp)
                && let Some(known) = self.judge_producer(&mut plan, &produced, origin)?
            {
                return Ok(duplicate(&known, append_time));
            }
            next = after(next, batch)?;
        }
        self.check_segment_size(plan.size)?;
        let mut slices = Vec::with_capacity(judged.len() * 2);
        for (Judged { batch, .. }, prefix) in judged.iter().zip(&prefixes) {
            let patched = prefix.as_bytes();
            slices.push(IoSlice::new(patched));
            slices.push(IoSlice::new(
                batch.bytes().get(patched.len()..).unwrap_or_default(),
            ));
        }
        Ok(Appended {
            log_append_time_ms: append_time.then_some(now_ms),
            ..self.write(plan, &slices, now_ms)?
        })
    }

    /// Appends what the leader sent, offsets and all (rules 18, 20). Bytes behind the last whole batch are left out: a
    /// fetch response may be cut off anywhere.
    pub fn append_as_follower(&mut self, records: &Bytes, now_ms: i64) -> Result<Appended, AppendError> {
        self.check_writable()?;
        let mut plan = Plan::default();
        let mut next = self.view.log_end_offset;
        for batch in batches(records) {
            let batch = match batch {
                Err(BatchError::Truncated { .. }) if !plan.placed.is_empty() => break,
                batch => batch.map_err(AppendError::Corrupt)?,
            };
            batch.verify_crc().map_err(AppendError::Corrupt)?;
            let header = batch.header();
            if header.base_offset < next || header.last_offset_delta < 0 {
                return Err(AppendError::OffsetOrder {
                    found: header.base_offset,
                    log_end_offset: next,
                });
            }
            plan.add(
                &batch,
                header.base_offset,
                header.max_timestamp,
                header.leader_epoch,
            );
            if let Some(produced) = produced(&batch, header.base_offset, header.max_timestamp) {
                self.producers
                    .judge(&mut plan.pending, &produced, Judge::Log, self.dedupe_window())?;
            }
            next = after(header.base_offset, &batch)?;
        }
        let whole = usize::try_from(plan.size).unwrap_or(usize::MAX);
        let slices = [IoSlice::new(records.get(..whole).unwrap_or_default())];
        self.write(plan, &slices, now_ms)
    }

    fn check_writable(&mut self) -> Result<(), AppendError> {
        if self.state == WriteState::Offline {
            return Err(AppendError::Offline);
        }
        Ok(self.clear_leftovers()?)
    }

    /// Judges a batch's producer; yields the batch it repeats.
    fn judge_producer(
        &self,
        plan: &mut Plan,
        batch: &ProducerBatch,
        origin: Origin,
    ) -> Result<Option<ProducedBatch>, AppendError> {
        let judge = match origin {
            Origin::Client => Judge::Client,
            Origin::Coordinator | Origin::Raft => Judge::Coordinator,
        };
        if let Some(known) = self
            .producers
            .duplicate_of(batch)
            .filter(|_| origin == Origin::Client)
        {
            return Ok(Some(known));
        }
        self.producers
            .judge(&mut plan.pending, batch, judge, self.dedupe_window())?;
        Ok(None)
    }

    fn check_segment_size(&self, size: u64) -> Result<(), AppendError> {
        let limit = self.config.segment_bytes;
        if size <= u64::from(limit) {
            return Ok(());
        }
        Err(AppendError::LargerThanSegment {
            size: usize::try_from(size).unwrap_or(usize::MAX),
            limit,
        })
    }

    /// Writes what was planned, and makes it seen.
    fn write(&mut self, plan: Plan, slices: &[IoSlice<'_>], now_ms: i64) -> Result<Appended, AppendError> {
        let Plan {
            mut placed,
            epochs,
            pending,
            size,
        } = plan;
        let (Some(first), Some(last)) = (placed.first(), placed.last()) else {
            return Err(AppendError::Batch("no batch".to_owned()));
        };
        let (first_offset, last_offset) = (first.base_offset, last.last_offset);
        let max_timestamp = placed.iter().map(|batch| batch.max_timestamp).max().unwrap_or(-1);
        let active = self.segment_for(first_offset, last_offset, (size, max_timestamp), now_ms)?;
        self.note_epochs(&epochs)?;
        let start = active.size();
        for batch in &mut placed {
            batch.position += start;
        }
        if let Err(error) = active.append(slices, &placed, self.config.index_interval_bytes) {
            self.state = WriteState::Torn;
            return Err(error.into());
        }
        self.view.log_end_offset = Offset(last_offset.0.saturating_add(1));
        let aborted = self.producers.commit(pending, now_ms);
        active.add_aborted(&aborted);
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        Ok(Appended {
            first_offset,
            last_offset,
            log_append_time_ms: None,
            duplicate: false,
            bytes,
        })
    }

    /// The active segment, after a roll where one is due (rule 102).
    fn segment_for(
        &mut self,
        first_offset: Offset,
        last_offset: Offset,
        (bytes, max_timestamp): (u64, i64),
        now_ms: i64,
    ) -> Result<Arc<Segment>, AppendError> {
        let active = self.active();
        let question = RollQuestion {
            bytes,
            max_timestamp,
            last_offset,
            now_ms,
            segment_bytes: u64::from(self.config.segment_bytes),
            segment_ms: self.config.segment_ms.saturating_sub(self.jitter_ms(&active)),
            limits: self.index_limits(),
        };
        if !active.should_roll(&question) {
            return Ok(active);
        }
        self.roll_to(first_offset, now_ms)?;
        Ok(self.active())
    }

    /// What is taken off `segment.ms` for a segment, so that not all partitions roll at once: by its name and base
    /// offset, since nothing here is random.
    fn jitter_ms(&self, segment: &Segment) -> i64 {
        let most = self.config.segment_jitter_ms;
        if most <= 0 {
            return 0;
        }
        let name = self.place.topic_partition.to_string();
        let hash = crc32c::crc32c_append(
            crc32c::crc32c(name.as_bytes()),
            &segment.base_offset().0.to_be_bytes(),
        );
        i64::from(hash) % most.saturating_add(1).max(1)
    }

    /// Notes the epochs that batches bring, durably: a leader has begun its own before.
    fn note_epochs(&mut self, found: &[(LeaderEpoch, Offset)]) -> Result<(), AppendError> {
        let latest = self.view.epochs.latest();
        if found
            .iter()
            .all(|(epoch, _)| Some(*epoch) <= latest || epoch.0 < 0)
        {
            return Ok(());
        }
        let mut epochs = (*self.view.epochs).clone();
        for (epoch, offset) in found {
            epochs.note(*epoch, *offset);
        }
        epochs.store(&*self.place.disk)?;
        self.view.epochs = Arc::new(epochs);
        Ok(())
    }
}

/// Judges all batches of a record set; a client sends exactly one (rule 1).
fn judge_all(records: &Bytes, rules: &Rules<'_>) -> Result<Vec<Judged>, AppendError> {
    let mut judged = Vec::with_capacity(1);
    for batch in batches(records) {
        if rules.origin == Origin::Client && !judged.is_empty() {
            return Err(AppendError::Batch(
                "a partition takes exactly one batch of a request".to_owned(),
            ));
        }
        judged.push(rules.judge(batch.map_err(AppendError::Corrupt)?)?);
    }
    match judged.is_empty() {
        true => Err(AppendError::Batch(
            "a partition takes exactly one batch of a request, not none".to_owned(),
        )),
        false => Ok(judged),
    }
}

/// The offset after a batch that begins at `base`.
fn after(base: Offset, batch: &Batch) -> Result<Offset, AppendError> {
    let count = i64::from(batch.header().last_offset_delta).saturating_add(1);
    base.checked_add(count).ok_or(AppendError::OffsetsExhausted(base))
}

/// What a batch means to its producer.
fn produced(batch: &Batch, first_offset: Offset, timestamp: i64) -> Option<ProducerBatch> {
    let load = || Ok::<_, Infallible>(Some(batch.clone()));
    let Ok(produced) = producer_batch(batch.header(), first_offset, timestamp, load);
    produced
}

fn duplicate(known: &ProducedBatch, append_time: bool) -> Appended {
    Appended {
        first_offset: known.first_offset(),
        last_offset: known.last_offset,
        log_append_time_ms: append_time.then_some(known.timestamp),
        duplicate: true,
        bytes: 0,
    }
}

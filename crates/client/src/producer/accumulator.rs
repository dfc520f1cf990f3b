//! Records on their way: gathered to batches, one queue per partition, in order.
//!
//! With idempotence each batch has a sequence number from the moment it is first sent. When batches fail, nothing of
//! their partition is sent until all answers are in; then they go again, in order, under the same numbers. A batch that
//! the broker refused leaves its numbers to those behind it; one of which nobody knows whether it arrived ends the
//! numbering, and the partition goes on under a new producer id.
//!
//! Time is an argument, nothing here does I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::TopicPartition;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use wire::records::Compression;

use crate::config::ProducerConfig;
use crate::error::ClientError;
use crate::metadata::Metadata;
use crate::producer::batch::{Batch, Identity, Sent, Sequence};
use crate::producer::metrics::ProducerMetrics;
use crate::producer::record::RecordView;
use crate::producer::topics::Topics;

/// What became of a batch that was sent.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is in the log.
    Delivered {
        base_offset: Option<i64>,
        append_time: Option<i64>,
    },
    /// It may succeed later; the broker may have it or not.
    Retry(ClientError),
    /// The broker does not have it, and takes it only in smaller pieces.
    Split(ClientError),
    /// The broker does not have it, because it lost track of this producer: again, under a new id.
    Renew(ClientError),
    /// The broker does not have it and will not take it.
    Refused(ClientError),
    /// It will not be tried again, and nobody knows whether the broker has it.
    Lost(ClientError),
}

/// The batches of one partition.
#[derive(Debug)]
struct Queue {
    partition: TopicPartition,
    /// To send, in order.
    waiting: VecDeque<Batch>,
    /// Sent and not answered, by [`Batch::order`].
    in_flight: BTreeSet<(u64, usize)>,
    /// Failed, to be sent again once nothing is in flight.
    failed: Vec<Batch>,
    identity: Option<Identity>,
    next_sequence: u64,
    /// Numbers to use again, from this one on, because their batch was refused.
    rewind_to: Option<u64>,
    /// The numbering is broken: go on under another identity.
    is_lost: bool,
}

impl Queue {
    /// Once all answers are in: what failed comes first again, numbered as the failures demand.
    fn settle(&mut self) {
        if !self.in_flight.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_lost) {
            self.identity = None;
            self.rewind_to = Some(0);
        }
        if let Some(first) = self.rewind_to.take() {
            self.next_sequence = first;
            for batch in self.failed.iter_mut().chain(&mut self.waiting) {
                batch.sequence = batch.sequence.filter(|sequence| sequence.first < first);
            }
        }
        self.failed.sort_by_key(Batch::order);
        for batch in self.failed.drain(..).rev() {
            self.waiting.push_front(batch);
        }
    }

    /// When the first batch may be sent; `None` when there is none, or answers must come in first.
    fn ready_at(&self, linger: Duration, batch_size: usize, is_flushing: bool) -> Option<Instant> {
        let is_settled = self.failed.is_empty() && self.rewind_to.is_none() && !self.is_lost;
        let first = self.waiting.front().filter(|_| is_settled)?;
        let is_full = first.bytes() >= batch_size || self.waiting.len() > 1;
        if first.tries > 0 || is_full || is_flushing {
            return Some(first.not_before);
        }
        Some(first.not_before.max(first.created + linger))
    }

    fn take_first(&mut self, identity: Option<Identity>) -> Option<Batch> {
        let mut batch = self.waiting.pop_front()?;
        if let Some(identity) = identity
            && batch.sequence.is_none()
        {
            batch.sequence = Some(Sequence {
                identity,
                first: self.next_sequence,
            });
            self.next_sequence += batch.len() as u64;
        }
        batch.tries += 1;
        self.in_flight.insert(batch.order());
        Some(batch)
    }

    /// Whether a batch before this one is still under way: then the broker was right to refuse this one's number.
    fn has_earlier(&self, batch: &Batch) -> bool {
        let mut failed = self.failed.iter().map(Batch::order);
        self.is_lost
            || self.rewind_to.is_some()
            || failed.any(|order| order < batch.order())
            || self.in_flight.first().is_some_and(|first| *first < batch.order())
    }
}

/// Batches to send, by the broker that leads their partitions, and what else is to be done.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    pub(crate) requests: BTreeMap<i32, Vec<(TopicPartition, Batch)>>,
    /// Topics with a partition whose leader is not known.
    pub(crate) leaderless: Vec<TopicPartition>,
    /// A producer id is needed before anything more can be sent.
    pub(crate) needs_identity: bool,
    /// When to look again if nothing else happens.
    pub(crate) wake_at: Option<Instant>,
}

/// All records on their way.
#[derive(Debug)]
pub(crate) struct Accumulator {
    linger: Duration,
    batch_size: usize,
    delivery_timeout: Duration,
    retries: u32,
    max_request_size: usize,
    is_idempotent: bool,
    compression: Compression,
    topics: Topics,
    queues: Vec<Queue>,
    index: HashMap<TopicPartition, usize>,
    /// The queue that comes first next time, so that all get their turn.
    turn: usize,
    /// For partitions that have none yet.
    identity: Option<Identity>,
    next_batch: u64,
    /// Parts of each batch not yet done.
    incomplete: BTreeMap<u64, usize>,
    pub(crate) metrics: ProducerMetrics,
}

impl Accumulator {
    pub(crate) fn new(config: &ProducerConfig) -> Accumulator {
        Accumulator {
            linger: config.linger,
            batch_size: config.batch_size,
            delivery_timeout: config.delivery_timeout,
            retries: config.retries,
            max_request_size: config.max_request_size,
            is_idempotent: config.enable_idempotence,
            compression: Compression::of(config.compression),
            topics: Topics::new(config.batch_size),
            queues: Vec::new(),
            index: HashMap::new(),
            turn: 0,
            identity: None,
            next_batch: 0,
            incomplete: BTreeMap::new(),
            metrics: ProducerMetrics::default(),
        }
    }

    /// The queue of the partition a record goes to; `None` while nothing is known of its topic.
    pub(crate) fn route(
        &mut self,
        record: &RecordView<'_>,
        size: usize,
        metadata: &Arc<Metadata>,
    ) -> Result<Option<usize>, ClientError> {
        let Some(topic) = self.topics.find(record.topic, metadata) else {
            return Ok(None);
        };
        let partition = topic.choose(record, size)?;
        if let Some(place) = topic.place(partition) {
            return Ok(Some(place));
        }
        let partition = TopicPartition::new(topic.name().clone(), partition);
        let place = self.place(&partition);
        self.topics.set_place(&partition, place);
        Ok(Some(place))
    }

    /// When something was last heard of the topic of the record that [`Accumulator::route`] was last asked for.
    pub(crate) fn topic_learned(&self) -> Option<Instant> {
        self.topics.last_learned()
    }

    /// Takes a record into the last batch of a queue, where it has room. Gives the delivery to come, and whether the batch
    /// is full.
    pub(crate) fn append(
        &mut self,
        place: usize,
        record: &RecordView<'_>,
        size: usize,
    ) -> Result<Option<(Sent, bool)>, ClientError> {
        let limit = self.batch_size;
        let last = self.queues[place].waiting.back_mut();
        let Some(batch) = last.filter(|batch| batch.has_room(size, limit)) else {
            return Ok(None);
        };
        let sent = batch.append(record, size)?;
        Ok(Some((sent, batch.bytes() >= limit)))
    }

    /// Takes a record into a new batch.
    pub(crate) fn append_to_new(
        &mut self,
        place: usize,
        record: &RecordView<'_>,
        size: usize,
        memory: OwnedSemaphorePermit,
        now: Instant,
    ) -> Result<Sent, ClientError> {
        let id = self.next_batch;
        let queue = &mut self.queues[place];
        let capacity = self.batch_size.max(size);
        let mut batch = Batch::open(id, &queue.partition, self.compression, capacity, now);
        let sent = batch.append(record, size)?;
        batch.hold(memory);
        queue.waiting.push_back(batch);
        self.next_batch += 1;
        self.incomplete.insert(id, 1);
        Ok(sent)
    }

    fn place(&mut self, partition: &TopicPartition) -> usize {
        if let Some(place) = self.index.get(partition) {
            return *place;
        }
        let place = self.queues.len();
        self.queues.push(Queue {
            partition: partition.clone(),
            waiting: VecDeque::new(),
            in_flight: BTreeSet::new(),
            failed: Vec::new(),
            identity: None,
            next_sequence: 0,
            rewind_to: None,
            is_lost: false,
        });
        self.index.insert(partition.clone(), place);
        place
    }

    /// Takes what can be sent now: per partition one batch, per broker one request within its size, to brokers with
    /// `room` for one more.
    pub(crate) fn take_ready(
        &mut self,
        now: Instant,
        is_flushing: bool,
        leader: impl Fn(&TopicPartition) -> Option<i32>,
        room: impl Fn(i32) -> bool,
    ) -> Ready {
        let mut ready = Ready::default();
        let mut sizes: BTreeMap<i32, usize> = BTreeMap::new();
        let count = self.queues.len();
        self.turn = (self.turn + 1) % count.max(1);
        for step in 0..count {
            let queue = &mut self.queues[(self.turn + step) % count];
            let Some(at) = queue.ready_at(self.linger, self.batch_size, is_flushing) else {
                continue;
            };
            if at > now {
                ready.wake_at = Some(ready.wake_at.map_or(at, |earlier| earlier.min(at)));
                continue;
            }
            let Some(leader) = leader(&queue.partition) else {
                ready.leaderless.push(queue.partition.clone());
                continue;
            };
            let bytes = queue.waiting.front().map_or(0, Batch::bytes);
            let taken = sizes.entry(leader).or_default();
            if !room(leader) || (*taken > 0 && *taken + bytes > self.max_request_size) {
                continue;
            }
            if self.is_idempotent && queue.identity.is_none() {
                queue.identity = self.identity;
                if queue.identity.is_none() {
                    ready.needs_identity = true;
                    continue;
                }
            }
            if let Some(batch) = queue.take_first(queue.identity) {
                *taken += bytes;
                let request = ready.requests.entry(leader).or_default();
                request.push((queue.partition.clone(), batch));
            }
        }
        ready
    }

    /// Sets the identity that partitions without one get.
    pub(crate) fn set_identity(&mut self, identity: Identity) {
        self.identity = Some(identity);
    }

    /// Takes the outcome of a batch that was sent.
    pub(crate) fn complete(
        &mut self,
        partition: &TopicPartition,
        batch: Batch,
        outcome: Outcome,
        retry_at: Instant,
    ) {
        let place = self.place(partition);
        self.queues[place].in_flight.remove(&batch.order());
        let outcome = match outcome {
            Outcome::Retry(error) | Outcome::Renew(error)
                if retry_at >= batch.created + self.delivery_timeout || batch.tries > self.retries =>
            {
                Outcome::Lost(error)
            }
            outcome => outcome,
        };
        match outcome {
            Outcome::Delivered {
                base_offset,
                append_time,
            } => {
                self.done(batch.id);
                self.metrics.delivered(&batch);
                batch.deliver(base_offset, append_time);
            }
            Outcome::Retry(_) => self.try_again(place, batch, retry_at),
            Outcome::Renew(_) if self.queues[place].has_earlier(&batch) => {
                self.try_again(place, batch, retry_at)
            }
            Outcome::Renew(_) => {
                self.lose(place);
                self.try_again(place, batch, retry_at);
            }
            Outcome::Split(error) if batch.len() > 1 => match batch.split() {
                Ok((first, second)) => {
                    *self.incomplete.entry(first.id).or_default() += 1;
                    self.metrics.batches_split += 1;
                    self.try_again(place, first, retry_at);
                    self.try_again(place, second, retry_at);
                }
                Err(batch) => self.refuse(place, *batch, &error),
            },
            Outcome::Lost(error) => {
                self.lose(place);
                self.finish(batch, &error);
            }
            Outcome::Split(error) | Outcome::Refused(error) => self.refuse(place, batch, &error),
        }
        self.queues[place].settle();
    }

    /// Fails a batch that the broker does not have: its numbers go to those behind it.
    fn refuse(&mut self, place: usize, batch: Batch, error: &ClientError) {
        if let Some(sequence) = batch.sequence {
            let queue = &mut self.queues[place];
            let earliest = queue
                .rewind_to
                .map_or(sequence.first, |first| first.min(sequence.first));
            queue.rewind_to = Some(earliest);
        }
        self.finish(batch, error);
    }

    fn try_again(&mut self, place: usize, mut batch: Batch, not_before: Instant) {
        self.metrics.records_retried += batch.len() as u64;
        batch.not_before = not_before;
        self.queues[place].failed.push(batch);
    }

    /// The partition needs another identity, and so does the next one.
    fn lose(&mut self, place: usize) {
        let queue = &mut self.queues[place];
        queue.is_lost = true;
        if self.identity == queue.identity {
            self.identity = None;
        }
    }

    fn finish(&mut self, batch: Batch, error: &ClientError) {
        self.done(batch.id);
        self.metrics.records_failed += batch.len() as u64;
        batch.fail(error);
    }

    fn done(&mut self, id: u64) {
        if let Some(parts) = self.incomplete.get_mut(&id) {
            *parts -= 1;
            if *parts == 0 {
                self.incomplete.remove(&id);
            }
        }
    }

    /// Fails batches that have waited too long to be sent; says when the next would have.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Instant> {
        let mut next = None;
        for place in 0..self.queues.len() {
            while let Some(batch) = self.queues[place].waiting.front() {
                let deadline = batch.created + self.delivery_timeout;
                if deadline > now {
                    next = Some(next.map_or(deadline, |earlier: Instant| earlier.min(deadline)));
                    break;
                }
                self.expire_first(place);
            }
        }
        next
    }

    fn expire_first(&mut self, place: usize) {
        let queue = &mut self.queues[place];
        let Some(batch) = queue.waiting.pop_front() else {
            return;
        };
        if batch.sequence.is_some() {
            // It was sent before, and may have arrived.
            self.lose(place);
            self.queues[place].settle();
        }
        let error = ClientError::TimedOut {
            what: format!("delivering to {}", self.queues[place].partition).into(),
            after: self.delivery_timeout,
        };
        self.finish(batch, &error);
    }

    /// Fails everything that is not in flight.
    pub(crate) fn fail_waiting(&mut self, error: &ClientError) {
        for place in 0..self.queues.len() {
            while let Some(batch) = self.queues[place].waiting.pop_front() {
                self.finish(batch, error);
            }
        }
    }

    /// The id the next batch will get: all batches before it are complete once [`Accumulator::oldest`] is not below.
    pub(crate) fn next_batch(&self) -> u64 {
        self.next_batch
    }

    /// The oldest batch not complete; the next one's id when all are.
    pub(crate) fn oldest(&self) -> u64 {
        self.incomplete.keys().next().copied().unwrap_or(self.next_batch)
    }
}

#[cfg(test)]
mod tests;

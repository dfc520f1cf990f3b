//! Records that are sent together: encoded as they come in, and answered together.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use model::{ProducerEpoch, ProducerId, TopicPartition};
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use wire::records::{
    Batch as WireBatch, BatchBuilder, BuildError, Compression, DecompressionLimit, HeaderRef, Producer,
    RecordHeader,
};

use crate::error::ClientError;
use crate::producer::record::{Delivery, RecordView};

/// Who a producer is to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: ProducerId,
    pub(crate) epoch: ProducerEpoch,
}

/// The number of a batch's first record. Counted on without end here; on the wire it starts again after 2^31 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) identity: Identity,
    pub(super) first: u64,
}

impl Sequence {
    fn on_the_wire(self) -> Producer {
        const NUMBERS: u64 = 1 << 31;
        Producer {
            id: self.identity.id,
            epoch: self.identity.epoch,
            base_sequence: (self.first % NUMBERS) as i32,
        }
    }
}

/// The records of a batch: taken in until it is sent for the first time.
enum Content {
    Open(BatchBuilder),
    Sealed(WireBatch),
}

/// Records that are sent together.
pub(crate) struct Batch {
    /// Shared by the parts of a batch that was split.
    pub(super) id: u64,
    content: Content,
    compression: Compression,
    answering: Answering,
    pub(super) bytes: usize,
    pub(super) created: Instant,
    pub(super) not_before: Instant,
    pub(super) tries: u32,
    pub(super) sequence: Option<Sequence>,
    /// The memory of the records, given back with the batch.
    memory: Option<OwnedSemaphorePermit>,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("order", &self.order())
            .field("records", &self.len())
            .field("tries", &self.tries)
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

impl Batch {
    /// An empty batch with room for `capacity` bytes.
    pub(super) fn open(
        id: u64,
        partition: &TopicPartition,
        compression: Compression,
        capacity: usize,
        now: Instant,
    ) -> Batch {
        Batch {
            id,
            content: Content::Open(BatchBuilder::with_capacity(capacity).with_compression(compression)),
            compression,
            answering: Answering::to(partition),
            bytes: 0,
            created: now,
            not_before: now,
            tries: 0,
            sequence: None,
            memory: None,
        }
    }

    /// Holds this memory until it is done.
    pub(super) fn hold(&mut self, memory: OwnedSemaphorePermit) {
        self.memory = Some(memory);
    }

    /// Whether it takes a record of `size` bytes and stays within `limit`.
    pub(super) fn has_room(&self, size: usize, limit: usize) -> bool {
        self.tries == 0
            && self.sequence.is_none()
            && self.bytes + size <= limit
            && matches!(self.content, Content::Open(_))
    }

    /// Takes a record of `size` bytes; the delivery to come.
    pub(super) fn append(&mut self, record: &RecordView<'_>, size: usize) -> Result<Sent, ClientError> {
        let timestamp = record.timestamp.unwrap_or_else(super::now_ms);
        // A batch that was sent has no room, as its keeper knows.
        if let Content::Open(builder) = &mut self.content {
            let appended = builder.append(timestamp, record.key, record.value, record.headers);
            appended.map_err(|error| {
                let topic = record.topic;
                ClientError::refused(format!("a record for `{topic}` cannot be sent: {error}"))
            })?;
        }
        self.bytes += size;
        Ok(self.answering.next(timestamp))
    }

    /// Its place among the batches of its partition.
    pub(super) fn order(&self) -> (u64, usize) {
        (self.id, self.answering.first)
    }

    pub(crate) fn len(&self) -> usize {
        self.answering.count
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How often it has been sent.
    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// The batch as it goes over the wire.
    pub(crate) fn encode(&mut self) -> Result<Bytes, BuildError> {
        let producer = self.sequence.map_or(Producer::NONE, Sequence::on_the_wire);
        let sealed = match &mut self.content {
            Content::Open(builder) => {
                let builder = std::mem::take(builder).with_producer(producer);
                sealed(builder.build()?)?
            }
            Content::Sealed(batch) => {
                let header = batch.header();
                let is_same = (header.producer_id, header.producer_epoch, header.base_sequence)
                    == (producer.id, producer.epoch, producer.base_sequence);
                if is_same {
                    return Ok(batch.bytes().clone());
                }
                sealed(batch.renumbered(producer))?
            }
        };
        let bytes = sealed.bytes().clone();
        self.content = Content::Sealed(sealed);
        Ok(bytes)
    }

    /// Tells each record's sender where it went; gives the memory back.
    pub(super) fn deliver(mut self, base_offset: Option<i64>, append_time: Option<i64>) {
        self.answering.answer(Ok(Stored {
            base_offset,
            append_time,
            at: Instant::now(),
        }));
    }

    pub(super) fn fail(mut self, error: &ClientError) {
        self.answering.answer(Err(error.clone()));
    }

    /// Two batches of half the records each, one after the other in sequence. The memory goes with the second. The batch
    /// itself where it cannot be read again.
    pub(super) fn split(mut self) -> Result<(Batch, Batch), Box<Batch>> {
        let middle = self.len() / 2;
        let Ok(Ok([first, second])) = self.encode().map(|_| self.halves(middle)) else {
            return Err(Box::new(self));
        };
        let rest = Batch {
            id: self.id,
            bytes: second.size(),
            content: Content::Open(second),
            compression: self.compression,
            answering: self.answering.split_off(middle),
            created: self.created,
            not_before: self.not_before,
            tries: self.tries,
            sequence: self.sequence.map(|sequence| Sequence {
                first: sequence.first + middle as u64,
                ..sequence
            }),
            memory: self.memory.take(),
        };
        self.bytes = first.size();
        self.content = Content::Open(first);
        Ok((self, rest))
    }

    /// The records before and from `middle`, encoded anew.
    fn halves(&self, middle: usize) -> Result<[BatchBuilder; 2], BuildError> {
        let new = || BatchBuilder::new().with_compression(self.compression);
        let mut halves = [new(), new()];
        let Content::Sealed(batch) = &self.content else {
            return Err(BuildError::Empty);
        };
        let records = batch.records(DecompressionLimit::default());
        for (index, record) in records.into_iter().flatten().flatten().enumerate() {
            let headers: Vec<HeaderRef<'_>> = record.headers.iter().map(RecordHeader::borrowed).collect();
            let half = usize::from(index >= middle);
            halves[half].append(
                record.timestamp,
                record.key.as_deref(),
                record.value.as_deref(),
                &headers,
            )?;
        }
        Ok(halves)
    }
}

/// What was built, with its header read.
fn sealed(bytes: Bytes) -> Result<WireBatch, BuildError> {
    WireBatch::parse(&bytes).map_err(|_| BuildError::TooLarge(bytes.len()))
}

/// Where a batch, or a part of one, went.
#[derive(Clone, Debug)]
struct Stored {
    base_offset: Option<i64>,
    append_time: Option<i64>,
    at: Instant,
}

/// The answers for the records of one batch, shared by those who wait for them.
#[derive(Debug)]
struct Answers {
    partition: TopicPartition,
    state: Mutex<AnswerState>,
}

#[derive(Debug, Default)]
struct AnswerState {
    /// Answers for the records from the first number up to the second. More than one only when the batch was split.
    parts: Vec<(usize, usize, Result<Stored, ClientError>)>,
    /// Who waits. The places stay, so that who asks again finds its own.
    wakers: Vec<Option<Waker>>,
}

/// The side of a batch that answers: once, at the latest when it is dropped.
struct Answering {
    answers: Arc<Answers>,
    first: usize,
    count: usize,
    is_answered: bool,
}

impl Answering {
    fn to(partition: &TopicPartition) -> Answering {
        Answering {
            answers: Arc::new(Answers {
                partition: partition.clone(),
                state: Mutex::default(),
            }),
            first: 0,
            count: 0,
            is_answered: false,
        }
    }

    fn next(&mut self, timestamp: i64) -> Sent {
        self.count += 1;
        Sent {
            answers: self.answers.clone(),
            index: self.first + self.count - 1,
            timestamp,
            place: None,
        }
    }

    fn split_off(&mut self, middle: usize) -> Answering {
        let rest = Answering {
            answers: self.answers.clone(),
            first: self.first + middle,
            count: self.count - middle,
            is_answered: false,
        };
        self.count = middle;
        rest
    }

    fn answer(&mut self, answer: Result<Stored, ClientError>) {
        if std::mem::replace(&mut self.is_answered, true) || self.count == 0 {
            return;
        }
        let mut state = self.answers.state.lock();
        state.parts.push((self.first, self.first + self.count, answer));
        let wakers: Vec<Waker> = state.wakers.iter_mut().filter_map(Option::take).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.answer(Err(ClientError::Closed));
    }
}

/// A delivery to come: a future of where the record went. Dropping it takes nothing back.
#[derive(Debug)]
pub struct Sent {
    answers: Arc<Answers>,
    index: usize,
    timestamp: i64,
    /// The place among those who wait, once it has one.
    place: Option<usize>,
}

impl Sent {
    /// The answer, when it is there already.
    pub fn answer(&self) -> Option<Result<Delivery, ClientError>> {
        self.answers
            .find(&self.answers.state.lock(), self.index, self.timestamp)
    }
}

impl Answers {
    fn find(
        &self,
        state: &AnswerState,
        index: usize,
        timestamp: i64,
    ) -> Option<Result<Delivery, ClientError>> {
        let mut parts = state.parts.iter();
        let (first, _, answer) = parts.find(|(first, end, _)| (*first..*end).contains(&index))?;
        Some(match answer {
            Ok(stored) => Ok(Delivery {
                partition: self.partition.clone(),
                offset: stored
                    .base_offset
                    .map(|base| base.saturating_add((index - first) as i64)),
                timestamp: stored.append_time.unwrap_or(timestamp),
                acknowledged: stored.at.into_std(),
            }),
            Err(error) => Err(error.clone()),
        })
    }
}

impl Future for Sent {
    type Output = Result<Delivery, ClientError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let sent = &mut *self;
        let mut state = sent.answers.state.lock();
        if let Some(answer) = sent.answers.find(&state, sent.index, sent.timestamp) {
            return Poll::Ready(answer);
        }
        let waker = Some(context.waker().clone());
        match sent.place.and_then(|place| state.wakers.get_mut(place)) {
            Some(known) => *known = waker,
            None => {
                sent.place = Some(state.wakers.len());
                state.wakers.push(waker);
            }
        }
        Poll::Pending
    }
}

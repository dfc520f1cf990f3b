//! The producer: records go in, are gathered to batches, and each one's delivery can be waited for.
//!
//! [`Producer::send`] waits only for memory and for a topic's metadata. A task ([`sender`]) does the rest; what waits and
//! what failed is in the [`accumulator`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};
use wire::records::{HeaderRef, RecordHeader};

mod accumulator;
mod batch;
mod metrics;
mod partitioner;
mod record;
mod request;
mod sender;
mod topics;

pub use batch::Sent;
pub use metrics::ProducerMetrics;
pub use partitioner::{murmur2, partition_for_key};
pub use record::{Delivery, ProducerRecord, RecordView};

use crate::client::{Client, WhenMissing};
use crate::config::{Acks, ProducerConfig};
use crate::error::ClientError;
use accumulator::Accumulator;
use sender::Sender;

/// The most requests in flight that a broker's memory of sequence numbers covers.
const IDEMPOTENT_IN_FLIGHT_MAX: usize = 5;

/// Sends records. All methods take `&self`: share it in an `Arc`.
#[derive(Debug)]
pub struct Producer {
    client: Client,
    config: ProducerConfig,
    shared: Arc<Shared>,
}

/// What the producer and its task share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) accumulator: Mutex<Accumulator>,
    memory: Arc<Semaphore>,
    /// The sender shall look for work.
    pub(crate) wake: Notify,
    /// How many wait until everything is sent, or until there is memory.
    pub(crate) flushing: AtomicUsize,
    /// The oldest batch that is not complete.
    progress: watch::Sender<u64>,
    is_abandoned: AtomicBool,
}

impl Shared {
    pub(crate) fn publish_progress(&self) {
        let oldest = self.accumulator.lock().oldest();
        self.progress
            .send_if_modified(|known| std::mem::replace(known, oldest) != oldest);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::Acquire)
    }
}

/// What a record needs before it can have its place.
enum Lacking {
    Topic,
    Memory,
}

impl Producer {
    /// A producer; must be made inside a tokio runtime. Records are written once only with `acks=all`: with fewer,
    /// idempotence is off, as in Java.
    pub fn new(client: Client, mut config: ProducerConfig) -> Producer {
        config.enable_idempotence &= config.acks == Acks::All;
        config.max_in_flight = config.max_in_flight.max(1);
        if config.enable_idempotence {
            config.max_in_flight = config.max_in_flight.min(IDEMPOTENT_IN_FLIGHT_MAX);
        }
        let shared = Arc::new(Shared {
            accumulator: Mutex::new(Accumulator::new(&config)),
            memory: Arc::new(Semaphore::new(config.buffer_memory.min(Semaphore::MAX_PERMITS))),
            wake: Notify::new(),
            flushing: AtomicUsize::new(0),
            progress: watch::Sender::new(0),
            is_abandoned: AtomicBool::new(false),
        });
        let sender = Sender::new(client.clone(), config.clone(), shared.clone());
        tokio::spawn(sender.run());
        Producer {
            client,
            config,
            shared,
        }
    }

    /// Takes a record. Ready when it has its place in a batch; the answer is ready when it is delivered. Records for one
    /// partition are delivered in the order of their calls.
    pub async fn send(&self, record: ProducerRecord) -> Result<Sent, ClientError> {
        let headers: Vec<HeaderRef<'_>> = record.headers.iter().map(RecordHeader::borrowed).collect();
        let view = RecordView {
            topic: &record.topic,
            partition: record.partition,
            timestamp: record.timestamp,
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: &headers,
        };
        self.send_view(&view).await
    }

    /// [`Producer::send`] for a record of which its owner keeps the parts: allocates nothing but batches.
    pub async fn send_view(&self, record: &RecordView<'_>) -> Result<Sent, ClientError> {
        let size = record.size();
        let limit = self.config.max_request_size.min(self.config.buffer_memory);
        if size > limit {
            return Err(ClientError::RecordTooLarge { bytes: size, limit });
        }
        // Who sends without end must let the sender have its turn on the same thread.
        tokio::task::coop::consume_budget().await;
        let mut memory = None;
        match self.place(record, size, &mut memory)? {
            Ok(sent) => Ok(sent),
            Err(lacking) => {
                let placed = timeout(
                    self.config.max_block,
                    self.place_when_possible(record, size, lacking),
                );
                placed.await.unwrap_or_else(|_| {
                    Err(ClientError::TimedOut {
                        what: format!("taking a record for `{}`", record.topic).into(),
                        after: self.config.max_block,
                    })
                })
            }
        }
    }

    /// Puts a record into a batch, or says what is lacking for that.
    fn place(
        &self,
        record: &RecordView<'_>,
        size: usize,
        memory: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<Result<Sent, Lacking>, ClientError> {
        let metadata = self.client.current_metadata();
        let mut accumulator = self.shared.accumulator.lock();
        let Some(place) = accumulator.route(record, size, &metadata)? else {
            return Ok(Err(Lacking::Topic));
        };
        if let Some((sent, is_full)) = accumulator.append(place, record, size)? {
            drop(accumulator);
            if is_full {
                self.shared.wake.notify_one();
            }
            return Ok(Ok(sent));
        }
        // The clock is looked at once for each batch.
        let now = Instant::now();
        let max_age = self.client.config().metadata_max_age;
        if accumulator
            .topic_learned()
            .is_none_or(|learned| now - learned >= max_age)
        {
            return Ok(Err(Lacking::Topic));
        }
        if memory.is_none() {
            let batch = self.batch_memory(size)?;
            *memory = self.shared.memory.clone().try_acquire_many_owned(batch).ok();
        }
        let Some(memory) = memory.take() else {
            return Ok(Err(Lacking::Memory));
        };
        let sent = accumulator.append_to_new(place, record, size, memory, now)?;
        drop(accumulator);
        self.shared.wake.notify_one();
        Ok(Ok(sent))
    }

    async fn place_when_possible(
        &self,
        record: &RecordView<'_>,
        size: usize,
        mut lacking: Lacking,
    ) -> Result<Sent, ClientError> {
        let mut memory = None;
        loop {
            match lacking {
                Lacking::Topic => {
                    self.client.topic(record.topic, WhenMissing::Create).await?;
                }
                Lacking::Memory => {
                    // What lingers must leave for this one to get in.
                    let _hurry = Hurry::start(&self.shared);
                    let batch = self.batch_memory(size)?;
                    let acquired = self.shared.memory.clone().acquire_many_owned(batch).await;
                    memory = Some(acquired.map_err(|_| ClientError::Closed)?);
                }
            }
            match self.place(record, size, &mut memory)? {
                Ok(sent) => return Ok(sent),
                Err(still) => lacking = still,
            }
        }
    }

    /// The memory of a batch that begins with a record of `size` bytes.
    fn batch_memory(&self, size: usize) -> Result<u32, ClientError> {
        let bytes = self.config.batch_size.min(self.config.buffer_memory).max(size);
        u32::try_from(bytes).map_err(|_| ClientError::RecordTooLarge {
            bytes,
            limit: u32::MAX as usize,
        })
    }

    /// What it did so far.
    pub fn metrics(&self) -> ProducerMetrics {
        let total = self.config.buffer_memory;
        ProducerMetrics {
            buffer_total_bytes: total as u64,
            buffer_available_bytes: self.shared.memory.available_permits().min(total) as u64,
            ..self.shared.accumulator.lock().metrics.clone()
        }
    }

    /// Waits until every record taken so far is delivered or has failed.
    pub async fn flush(&self) {
        let mark = self.shared.accumulator.lock().next_batch();
        let _hurry = Hurry::start(&self.shared);
        let mut progress = self.shared.progress.subscribe();
        // The sender lives as long as the producer, so this does not fail.
        let _ = progress.wait_for(|oldest| *oldest >= mark).await;
    }

    /// Delivers what was taken, then ends.
    pub async fn close(self) {
        self.flush().await;
    }
}

impl Drop for Producer {
    /// What is not delivered by now fails; [`Producer::close`] waits for it instead.
    fn drop(&mut self) {
        self.shared.is_abandoned.store(true, Ordering::Release);
        self.shared.wake.notify_one();
    }
}

/// While there is one, no batch lingers.
struct Hurry<'a>(&'a Shared);

impl Hurry<'_> {
    fn start(shared: &Shared) -> Hurry<'_> {
        shared.flushing.fetch_add(1, Ordering::AcqRel);
        shared.wake.notify_one();
        Hurry(shared)
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.flushing.fetch_sub(1, Ordering::AcqRel);
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

//! The producer: records go in, are gathered to batches, and each one's delivery can be waited for.
//!
//! [`Producer::send`] waits only for memory and for a topic's metadata. A task ([`sender`]) does the rest; what waits and
//! what failed is in the [`accumulator`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use model::TopicPartition;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, timeout};

mod accumulator;
mod partitioner;
mod record;
mod request;
mod sender;

pub use partitioner::{murmur2, partition_for_key};
pub use record::{Delivery, ProducerRecord};

use crate::client::{Client, WhenMissing};
use crate::config::{Acks, ProducerConfig};
use crate::error::ClientError;
use crate::metadata::Topic;
use accumulator::{Accumulator, Pending};
use partitioner::StickyPartitions;
use sender::Sender;

/// The most requests in flight that a broker's memory of sequence numbers covers.
const IDEMPOTENT_IN_FLIGHT_MAX: usize = 5;

/// Sends records. All methods take `&self`: share it in an `Arc`.
#[derive(Debug)]
pub struct Producer {
    client: Client,
    config: ProducerConfig,
    shared: Arc<Shared>,
    sticky: Mutex<StickyPartitions>,
}

/// What the producer and its task share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) accumulator: Mutex<Accumulator>,
    memory: Arc<Semaphore>,
    /// The sender shall look for work.
    pub(crate) wake: Notify,
    /// How many wait until everything is sent.
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

/// A delivery to come: a future of where the record went. Dropping it takes nothing back.
#[derive(Debug)]
pub struct Sent {
    answer: oneshot::Receiver<Result<Delivery, ClientError>>,
}

impl Future for Sent {
    type Output = Result<Delivery, ClientError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer)
            .poll(context)
            .map(|answer| answer.unwrap_or(Err(ClientError::Closed)))
    }
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
            sticky: Mutex::new(StickyPartitions::new(config.batch_size)),
            config,
            shared,
        }
    }

    /// Takes a record. Ready when it has its place in a batch; the answer is ready when it is delivered. Records for one
    /// partition are delivered in the order of their calls.
    pub async fn send(&self, record: ProducerRecord) -> Result<Sent, ClientError> {
        let size = record.size();
        let limit = self.config.max_request_size.min(self.config.buffer_memory);
        if size > limit {
            return Err(ClientError::RecordTooLarge { bytes: size, limit });
        }
        let admitted = timeout(self.config.max_block, async {
            let topic = self.client.topic(&record.topic, WhenMissing::Create).await?;
            let memory = self.reserve(size).await?;
            Ok::<_, ClientError>((topic, memory))
        });
        let (topic, memory) = admitted.await.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                what: format!("taking a record for `{}`", record.topic).into(),
                after: self.config.max_block,
            })
        })?;
        let partition = TopicPartition::new(topic.name.clone(), self.choose(&record, &topic, size)?);
        let (reply, answer) = oneshot::channel();
        let pending = Pending {
            timestamp: record.timestamp.unwrap_or_else(now_ms),
            key: record.key,
            value: record.value,
            headers: record.headers,
            size,
            reply,
        };
        let has_news = self
            .shared
            .accumulator
            .lock()
            .append(&partition, pending, memory, Instant::now());
        if has_news {
            self.shared.wake.notify_one();
        }
        Ok(Sent { answer })
    }

    async fn reserve(&self, size: usize) -> Result<OwnedSemaphorePermit, ClientError> {
        let permits = u32::try_from(size).map_err(|_| ClientError::RecordTooLarge {
            bytes: size,
            limit: u32::MAX as usize,
        })?;
        let memory = self.shared.memory.clone();
        memory
            .acquire_many_owned(permits)
            .await
            .map_err(|_| ClientError::Closed)
    }

    fn choose(&self, record: &ProducerRecord, topic: &Topic, size: usize) -> Result<i32, ClientError> {
        let count = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
        match (record.partition, &record.key) {
            (Some(partition), _) if (0..count).contains(&partition) => Ok(partition),
            (Some(partition), _) => Err(ClientError::refused(format!(
                "topic `{}` has no partition {partition}; it has 0 to {}",
                record.topic,
                count - 1
            ))),
            (None, Some(key)) => Ok(partition_for_key(key, count)),
            (None, None) => {
                let indexes = |with_leader: bool| -> Vec<i32> {
                    let partitions = topic.partitions.iter();
                    let wanted = partitions.filter(|partition| !with_leader || partition.leader.is_some());
                    wanted.map(|partition| partition.index).collect()
                };
                let mut available = indexes(true);
                if available.is_empty() {
                    available = indexes(false);
                }
                Ok(self.sticky.lock().choose(&record.topic, &available, size))
            }
        }
    }

    /// Waits until every record taken so far is delivered or has failed.
    pub async fn flush(&self) {
        let mark = self.shared.accumulator.lock().next_batch();
        self.shared.flushing.fetch_add(1, Ordering::AcqRel);
        self.shared.wake.notify_one();
        let mut progress = self.shared.progress.subscribe();
        // The sender lives as long as the producer, so this does not fail.
        let _ = progress.wait_for(|oldest| *oldest >= mark).await;
        self.shared.flushing.fetch_sub(1, Ordering::AcqRel);
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

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

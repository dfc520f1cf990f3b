//! The producer's background task: takes full batches from the accumulator, sends them to the leaders of their
//! partitions, and brings back what became of them.
//!
//! Each broker has a lane of its own, so that a broker that does not answer holds up nobody else; within a lane requests
//! leave in order.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::{ProducerEpoch, ProducerId, TopicPartition};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::messages::init_producer_id::InitProducerIdRequest;
use wire::messages::produce::ProduceRequest;

use crate::backoff::Backoff;
use crate::client::{Client, Use, WhenMissing};
use crate::config::{Acks, ProducerConfig};
use crate::error::{BrokerError, ClientError};
use crate::producer::Shared;
use crate::producer::accumulator::{Outcome, Ready};
use crate::producer::batch::{Batch, Identity};
use crate::producer::request::{Prepared, outcomes, prepare};

/// How long the sender sleeps when there is nothing to wait for.
const IDLE: Duration = Duration::from_secs(60);
/// The first version that names topics by nothing but their ids.
const NAMED_BY_ID_FROM: i16 = 13;

/// What the sender's helpers bring back.
enum Event {
    /// The outcomes of one request.
    Done {
        leader: i32,
        took: Duration,
        results: Vec<(TopicPartition, Batch, Outcome)>,
    },
    /// A producer id, or why there is none.
    Identity(Result<Identity, ClientError>),
    /// Metadata was asked for anew.
    Refreshed,
}

pub(crate) struct Sender {
    client: Client,
    config: ProducerConfig,
    shared: Arc<Shared>,
    lanes: HashMap<i32, Lane>,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
    is_identifying: bool,
    is_refreshing: bool,
    /// Topics whose leaders seem to have moved.
    stale: BTreeSet<Arc<str>>,
}

struct Lane {
    requests: mpsc::Sender<Prepared>,
    in_flight: usize,
}

impl Sender {
    pub(crate) fn new(client: Client, config: ProducerConfig, shared: Arc<Shared>) -> Sender {
        let (events, inbox) = mpsc::channel(64);
        Sender {
            client,
            config,
            shared,
            lanes: HashMap::new(),
            events,
            inbox,
            is_identifying: false,
            is_refreshing: false,
            stale: BTreeSet::new(),
        }
    }

    /// Works until the producer is closed and everything is delivered, or the producer is gone.
    pub(crate) async fn run(mut self) {
        loop {
            let wake_at = self.send_ready();
            self.shared.publish_progress();
            if self.shared.is_abandoned() {
                self.shared.accumulator.lock().fail_waiting(&ClientError::Closed);
                self.shared.publish_progress();
                return;
            }
            tokio::select! {
                event = self.inbox.recv() => if let Some(event) = event {
                    self.take(event);
                },
                () = self.shared.wake.notified() => {}
                () = tokio::time::sleep_until(wake_at) => {}
            }
        }
    }

    /// Sends what is due; returns when to look again at the latest.
    fn send_ready(&mut self) -> Instant {
        let now = Instant::now();
        let is_flushing = self.shared.flushing.load(Ordering::Acquire) > 0;
        let metadata = self.client.metadata();
        let (mut ready, expiry) = {
            let mut accumulator = self.shared.accumulator.lock();
            let expiry = accumulator.expire(now);
            let lanes = &self.lanes;
            let ready = accumulator.take_ready(
                now,
                is_flushing,
                |partition| metadata.leader(&partition.topic, partition.partition),
                |leader| {
                    lanes
                        .get(&leader)
                        .is_none_or(|lane| lane.in_flight < self.config.max_in_flight)
                },
            );
            (ready, expiry)
        };
        if ready.needs_identity {
            self.identify();
        }
        let leaderless = std::mem::take(&mut ready.leaderless);
        self.stale
            .extend(leaderless.into_iter().map(|partition| partition.topic));
        self.refresh();
        let wake_at = [ready.wake_at, expiry].into_iter().flatten().min();
        self.dispatch(ready);
        wake_at.unwrap_or(now + IDLE)
    }

    fn dispatch(&mut self, ready: Ready) {
        let metadata = self.client.metadata();
        for (leader, batches) in ready.requests {
            let (prepared, unsendable) = prepare(batches, &self.config, self.client.timeout_ms(), &metadata);
            if !unsendable.is_empty() {
                let mut accumulator = self.shared.accumulator.lock();
                for (partition, batch, error) in unsendable {
                    accumulator.complete(&partition, batch, Outcome::Refused(error), Instant::now());
                }
            }
            if prepared.batches.is_empty() {
                continue;
            }
            let lane = self.lanes.entry(leader).or_insert_with(|| {
                let (requests, waiting) = mpsc::channel(self.config.max_in_flight.max(1));
                let lane = run_lane(leader, self.client.clone(), waiting, self.events.clone());
                tokio::spawn(lane);
                Lane {
                    requests,
                    in_flight: 0,
                }
            });
            lane.in_flight += 1;
            // The lane takes as many as may be in flight, and lives as long as its sender.
            let _ = lane.requests.try_send(prepared);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Done {
                leader,
                took,
                results,
            } => {
                if let Some(lane) = self.lanes.get_mut(&leader) {
                    lane.in_flight = lane.in_flight.saturating_sub(1);
                }
                self.complete(took, results);
            }
            Event::Identity(Ok(identity)) => {
                self.is_identifying = false;
                self.shared.accumulator.lock().set_identity(identity);
            }
            Event::Identity(Err(error)) => {
                self.is_identifying = false;
                self.shared.accumulator.lock().fail_waiting(&error);
            }
            Event::Refreshed => self.is_refreshing = false,
        }
    }

    fn complete(&mut self, took: Duration, results: Vec<(TopicPartition, Batch, Outcome)>) {
        let mut accumulator = self.shared.accumulator.lock();
        accumulator.metrics.requested(took);
        for (partition, batch, outcome) in results {
            let mut retry_at = Instant::now();
            if let Outcome::Retry(error) | Outcome::Renew(error) = &outcome {
                tracing::debug!(%partition, %error, records = batch.len(), "producing again");
                self.stale.insert(partition.topic.clone());
                let mut backoff = Backoff::new(self.client.config());
                retry_at += (0..batch.tries())
                    .map(|_| backoff.pause())
                    .last()
                    .unwrap_or_default();
            }
            accumulator.complete(&partition, batch, outcome, retry_at);
        }
    }

    /// Asks for a producer id, unless that is under way.
    fn identify(&mut self) {
        if std::mem::replace(&mut self.is_identifying, true) {
            return;
        }
        let (client, events) = (self.client.clone(), self.events.clone());
        tokio::spawn(async move {
            let identity = init_producer_id(&client).await;
            let _ = events.send(Event::Identity(identity)).await;
        });
    }

    /// Looks for the leaders of topics that seem to have moved, unless that is under way.
    fn refresh(&mut self) {
        if self.stale.is_empty() || std::mem::replace(&mut self.is_refreshing, true) {
            return;
        }
        let topics = std::mem::take(&mut self.stale);
        let (client, events) = (self.client.clone(), self.events.clone());
        tokio::spawn(async move {
            let names: Vec<&Arc<str>> = topics.iter().collect();
            if let Err(error) = client.refresh_topics(&names, WhenMissing::Create).await {
                tracing::debug!(%error, "refreshing metadata");
            }
            tokio::time::sleep(client.config().retry_backoff).await;
            let _ = events.send(Event::Refreshed).await;
        });
    }
}

async fn init_producer_id(client: &Client) -> Result<Identity, ClientError> {
    const WHAT: &str = "getting a producer id";
    let request = InitProducerIdRequest {
        transactional_id: None,
        transaction_timeout_ms: i32::MAX,
        ..InitProducerIdRequest::default()
    };
    client
        .retry(WHAT, || async {
            let connection = client.to_any().await?;
            let response = connection.call(&request, client.config().request_timeout).await?;
            match BrokerError::from_code(response.error_code, None) {
                Some(error) => Err(ClientError::broker(WHAT, error)),
                None => Ok(Identity {
                    id: ProducerId(response.producer_id),
                    epoch: ProducerEpoch(response.producer_epoch),
                }),
            }
        })
        .await
}

/// Sends the requests for one broker in order, and waits for their answers beside that.
async fn run_lane(
    leader: i32,
    client: Client,
    mut requests: mpsc::Receiver<Prepared>,
    events: mpsc::Sender<Event>,
) {
    while let Some(prepared) = requests.recv().await {
        let began = Instant::now();
        match start(leader, &client, &prepared).await {
            Ok(answer) => {
                let events = events.clone();
                tokio::spawn(async move {
                    let results = match answer.await {
                        Ok(Some(response)) => outcomes(prepared, response),
                        Ok(None) => all(prepared, || Outcome::Delivered {
                            base_offset: None,
                            append_time: None,
                        }),
                        Err(error) => all(prepared, || failed(error.clone())),
                    };
                    let took = began.elapsed();
                    let _ = events
                        .send(Event::Done {
                            leader,
                            took,
                            results,
                        })
                        .await;
                });
            }
            Err(error) => {
                let results = all(prepared, || failed(error.clone()));
                let took = began.elapsed();
                let _ = events
                    .send(Event::Done {
                        leader,
                        took,
                        results,
                    })
                    .await;
            }
        }
    }
}

type Response = wire::messages::produce::ProduceResponse;

/// Hands a request to the connection; the future is its answer, `None` where none comes.
async fn start(
    leader: i32,
    client: &Client,
    prepared: &Prepared,
) -> Result<impl Future<Output = Result<Option<Response>, ClientError>> + Send + use<>, ClientError> {
    let connection = client.to_broker(leader, Use::Calls).await?;
    let mut version = connection.version::<ProduceRequest>()?;
    if !prepared.has_ids {
        version = version.min(NAMED_BY_ID_FROM - 1);
    }
    let timeout = client.config().request_timeout;
    let is_answered = prepared.request.acks != Acks::None.code();
    let answer = if is_answered {
        Some(connection.start(&prepared.request, version, timeout).await?)
    } else {
        connection.cast(&prepared.request, version).await?;
        None
    };
    Ok(async move {
        match answer {
            Some(answer) => answer.await.map(Some),
            None => Ok(None),
        }
    })
}

fn all(prepared: Prepared, outcome: impl Fn() -> Outcome) -> Vec<(TopicPartition, Batch, Outcome)> {
    let batches = prepared.batches.into_iter();
    batches
        .map(|(partition, batch)| (partition, batch, outcome()))
        .collect()
}

/// What a failed request means for its batches: what was never sent is refused, of the rest nobody knows.
fn failed(error: ClientError) -> Outcome {
    match error {
        ClientError::UnsupportedApi { .. } | ClientError::Unencodable { .. } => Outcome::Refused(error),
        _ if error.is_retriable() => Outcome::Retry(error),
        _ => Outcome::Lost(error),
    }
}

//! Fetches ahead: one request at a time to each broker. While the records of one answer are given out, the next is on its
//! way; a partition with two answers waiting is not asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, TopicPartition, Uuid};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::Str;
use wire::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, PartitionData,
};

use crate::client::{Client, Use, WhenMissing};
use crate::config::{ConsumerConfig, IsolationLevel};
use crate::consumer::fetched::Fetched;
use crate::consumer::metrics::ConsumerMetrics;
use crate::consumer::positions::{Place, Positions};
use crate::consumer::record::ConsumerRecord;
use crate::consumer::session::{FetchSession, SessionRequest, Wanted};
use crate::error::{BrokerError, ClientError};

/// Answers of one partition that wait to be given out, at most.
const AHEAD: usize = 2;
/// Records of one poll that have room from the start.
const RESERVED: usize = 500;
/// The first version that names topics by nothing but their ids.
const NAMED_BY_ID_FROM: i16 = 13;

/// The positions a request is made for: offset and serial number.
type Asked = BTreeMap<TopicPartition, (i64, u64)>;

/// What is wanted of one broker.
#[derive(Debug, Default)]
struct Plan {
    wants: BTreeMap<TopicPartition, Wanted>,
    asked: Asked,
}

/// What a broker answered, or why not.
struct Answer {
    broker: i32,
    asked: Asked,
    ids: BTreeMap<Uuid, Arc<str>>,
    took: Duration,
    response: Result<FetchResponse, ClientError>,
}

#[derive(Debug, Default)]
struct Node {
    session: FetchSession,
    is_busy: bool,
    not_before: Option<Instant>,
}

impl Node {
    fn takes_requests(&self, now: Instant) -> bool {
        !self.is_busy && self.not_before.is_none_or(|at| at <= now)
    }
}

#[derive(Debug)]
pub(crate) struct Fetcher {
    client: Client,
    config: ConsumerConfig,
    nodes: HashMap<i32, Node>,
    buffered: VecDeque<Fetched>,
    answers: mpsc::Sender<Answer>,
    inbox: mpsc::Receiver<Answer>,
    /// Topics whose leaders seem to have moved, and when to ask about them next.
    stale: BTreeSet<Arc<str>>,
    refreshed: Option<Instant>,
    pub(crate) metrics: ConsumerMetrics,
}

impl Fetcher {
    pub(crate) fn new(client: Client, config: ConsumerConfig) -> Fetcher {
        let (answers, inbox) = mpsc::channel(64);
        Fetcher {
            client,
            config,
            nodes: HashMap::new(),
            buffered: VecDeque::new(),
            answers,
            inbox,
            stale: BTreeSet::new(),
            refreshed: None,
            metrics: ConsumerMetrics::default(),
        }
    }

    /// Asks every broker that is not busy for what is wanted of it.
    pub(crate) async fn send_fetches(&mut self, positions: &Positions) {
        self.refresh_stale().await;
        let metadata = self.client.metadata();
        let now = Instant::now();
        let mut by_leader: BTreeMap<i32, Plan> = BTreeMap::new();
        let mut waiting: BTreeMap<&TopicPartition, (usize, i64)> = BTreeMap::new();
        for fetched in &self.buffered {
            let (count, end) = waiting.entry(&fetched.partition).or_default();
            *count += 1;
            *end = fetched.end();
        }
        for (partition, position) in positions.iter() {
            let Place::At { offset, .. } = position.place else {
                continue;
            };
            let offset = match waiting.get(partition) {
                Some((count, _)) if *count >= AHEAD => continue,
                Some((_, end)) => *end,
                None => offset,
            };
            let topic = metadata.topic(&partition.topic);
            let known = topic.and_then(|topic| Some((topic.id, topic.partition(partition.partition)?)));
            let Some((topic_id, leader, leader_epoch)) =
                known.and_then(|(id, partition)| Some((id, partition.leader?, partition.leader_epoch)))
            else {
                self.stale.insert(partition.topic.clone());
                continue;
            };
            if self
                .nodes
                .get(&leader)
                .is_some_and(|node| !node.takes_requests(now))
            {
                continue;
            }
            let wanted = Wanted {
                topic_id,
                offset,
                leader_epoch,
            };
            let plan = by_leader.entry(leader).or_default();
            plan.wants.insert(partition.clone(), wanted);
            plan.asked.insert(partition.clone(), (offset, position.serial));
        }
        for (broker, plan) in by_leader {
            self.send_fetch(broker, plan);
        }
    }

    fn send_fetch(&mut self, broker: i32, plan: Plan) {
        let node = self.nodes.entry(broker).or_default();
        node.is_busy = true;
        let Plan { wants, asked } = plan;
        let ids: BTreeMap<Uuid, Arc<str>> = wants
            .iter()
            .map(|(partition, wanted)| (wanted.topic_id, partition.topic.clone()))
            .collect();
        let named_by_id = ids.keys().all(|id| !id.is_zero());
        let request = fetch_request(&self.config, node.session.request(wants));
        let (client, answers) = (self.client.clone(), self.answers.clone());
        let timeout = client.config().request_timeout + self.config.fetch_max_wait;
        tokio::spawn(async move {
            let began = Instant::now();
            let response = fetch(&client, broker, &request, named_by_id, timeout).await;
            let answer = Answer {
                broker,
                asked,
                ids,
                took: began.elapsed(),
                response,
            };
            let _ = answers.send(answer).await;
        });
    }

    /// Waits for an answer and takes it in.
    pub(crate) async fn receive(&mut self, positions: &mut Positions) -> Result<(), ClientError> {
        // This holds a sender itself, so the channel does not end.
        match self.inbox.recv().await {
            Some(answer) => self.take(answer, positions),
            None => Ok(()),
        }
    }

    /// Takes in the answers that are there.
    pub(crate) fn receive_ready(&mut self, positions: &mut Positions) -> Result<(), ClientError> {
        while let Ok(answer) = self.inbox.try_recv() {
            self.take(answer, positions)?;
        }
        Ok(())
    }

    fn take(&mut self, answer: Answer, positions: &mut Positions) -> Result<(), ClientError> {
        let backoff = self.client.config().retry_backoff;
        let node = self.nodes.entry(answer.broker).or_default();
        node.is_busy = false;
        self.metrics.fetched(answer.took);
        let response =
            answer.response.and_then(
                |response| match BrokerError::from_code(response.error_code, None) {
                    Some(error) => Err(ClientError::broker("fetching", error)),
                    None => Ok(response),
                },
            );
        let response = match response {
            Ok(response) => response,
            Err(error) => {
                match error.code() {
                    Some(ErrorCode::FetchSessionIdNotFound) => node.session.unknown(),
                    _ => node.session.failed(),
                }
                node.not_before = Some(Instant::now() + backoff);
                tracing::debug!(broker = answer.broker, %error, "fetching again");
                if !matches!(
                    error.code(),
                    Some(ErrorCode::FetchSessionIdNotFound | ErrorCode::InvalidFetchSessionEpoch)
                ) {
                    self.stale
                        .extend(answer.asked.keys().map(|partition| partition.topic.clone()));
                }
                return if error.is_retriable() { Ok(()) } else { Err(error) };
            }
        };
        node.session.succeeded(response.session_id);
        for topic in response.responses {
            let name = match answer.ids.get(&topic.topic_id) {
                Some(name) if !topic.topic_id.is_zero() => name.clone(),
                _ => Arc::from(&*topic.topic),
            };
            for data in topic.partitions {
                let partition = TopicPartition::new(name.clone(), data.partition_index);
                let Some(&(offset, serial)) = answer.asked.get(&partition) else {
                    continue;
                };
                // What was asked for before a seek, or before the partition went away, is of no use.
                if positions
                    .get(&partition)
                    .is_some_and(|position| position.serial == serial)
                {
                    self.take_partition(partition, offset, serial, data, positions)?;
                }
            }
        }
        Ok(())
    }

    fn take_partition(
        &mut self,
        partition: TopicPartition,
        offset: i64,
        serial: u64,
        data: PartitionData,
        positions: &mut Positions,
    ) -> Result<(), ClientError> {
        let Some(error) = BrokerError::from_code(data.error_code, None) else {
            let bytes = match data.records.map(|records| records.to_bytes()) {
                Some(Ok(bytes)) if !bytes.is_empty() => bytes,
                _ => return Ok(()),
            };
            self.metrics.bytes += bytes.len() as u64;
            let mut fetched = Fetched::new(partition, serial, offset, &bytes, &self.config);
            if self.config.isolation_level == IsolationLevel::ReadCommitted {
                fetched = fetched.without(data.aborted_transactions.unwrap_or_default());
            }
            self.buffered.push_back(fetched);
            return Ok(());
        };
        match error.code {
            // What was fetched ahead may fail before its time.
            ErrorCode::OffsetOutOfRange if !positions.is_at(&partition, offset) => Ok(()),
            ErrorCode::OffsetOutOfRange => {
                tracing::info!(%partition, offset, "the offset is out of range");
                positions.move_to(&partition, Place::End(self.config.auto_offset_reset));
                Ok(())
            }
            ErrorCode::CorruptMessage | ErrorCode::TopicAuthorizationFailed => {
                Err(ClientError::broker(format!("fetching {partition}"), error))
            }
            _ => {
                tracing::debug!(%partition, %error, "fetching again");
                self.stale.insert(partition.topic);
                Ok(())
            }
        }
    }

    /// Looks for the leaders of topics that seem to have moved, no more often than the backoff allows.
    async fn refresh_stale(&mut self) {
        let pause = self.client.config().retry_backoff;
        if self.stale.is_empty() || self.refreshed.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        self.refreshed = Some(Instant::now());
        let topics: Vec<Arc<str>> = std::mem::take(&mut self.stale).into_iter().collect();
        if let Err(error) = self.client.refresh_topics(&topics, WhenMissing::Fail).await {
            tracing::debug!(%error, "refreshing metadata");
            self.stale.extend(topics);
        }
    }

    /// Whether something is to be tried again after a pause although no answer is awaited.
    pub(crate) fn has_to_retry(&self) -> bool {
        let now = Instant::now();
        let mut waiting = self.nodes.values().filter_map(|node| node.not_before);
        !self.stale.is_empty() || waiting.any(|at| at > now)
    }

    /// Gives out up to `limit` records, and moves the positions behind them.
    pub(crate) fn drain(
        &mut self,
        limit: usize,
        positions: &mut Positions,
    ) -> Result<Vec<ConsumerRecord>, ClientError> {
        let mut records = Vec::new();
        while records.len() < limit {
            let Some(fetched) = self.buffered.front_mut() else {
                break;
            };
            let is_current = positions.get(&fetched.partition).is_some_and(|position| {
                position.serial == fetched.serial && position.place.is_at(fetched.next_offset())
            });
            if !is_current {
                self.buffered.pop_front();
                continue;
            }
            if records.is_empty() {
                records.reserve(limit.min(RESERVED));
            }
            let read = fetched.read_into(&mut records, limit);
            positions.advance(
                &fetched.partition,
                fetched.serial,
                fetched.next_offset(),
                fetched.leader_epoch(),
            );
            match read {
                Ok(true) => {
                    self.buffered.pop_front();
                }
                Ok(false) => {}
                // What came before the damage is given out first.
                Err(_) if !records.is_empty() => break,
                Err(error) => {
                    self.buffered.pop_front();
                    return Err(error);
                }
            }
        }
        self.metrics.records += records.len() as u64;
        Ok(records)
    }
}

async fn fetch(
    client: &Client,
    broker: i32,
    request: &FetchRequest,
    named_by_id: bool,
    timeout: Duration,
) -> Result<FetchResponse, ClientError> {
    let connection = client.to_broker(broker, Use::Fetches).await?;
    let mut version = connection.version::<FetchRequest>()?;
    if !named_by_id {
        version = version.min(NAMED_BY_ID_FROM - 1);
    }
    connection.call_at(request, version, timeout).await
}

fn fetch_request(config: &ConsumerConfig, session: SessionRequest) -> FetchRequest {
    let mut topics: BTreeMap<(Arc<str>, Uuid), Vec<FetchPartition>> = BTreeMap::new();
    for (partition, wanted) in session.fetch {
        let entry = FetchPartition {
            partition: partition.partition,
            current_leader_epoch: wanted.leader_epoch,
            fetch_offset: wanted.offset,
            partition_max_bytes: config.max_partition_fetch_bytes,
            ..FetchPartition::default()
        };
        topics
            .entry((partition.topic, wanted.topic_id))
            .or_default()
            .push(entry);
    }
    let mut forgotten: BTreeMap<(Arc<str>, Uuid), Vec<i32>> = BTreeMap::new();
    for (partition, topic_id) in session.forget {
        let indexes = forgotten.entry((partition.topic, topic_id)).or_default();
        indexes.push(partition.partition);
    }
    FetchRequest {
        max_wait_ms: i32::try_from(config.fetch_max_wait.as_millis()).unwrap_or(i32::MAX),
        min_bytes: config.fetch_min_bytes,
        max_bytes: config.fetch_max_bytes,
        isolation_level: config.isolation_level.code(),
        session_id: session.id,
        session_epoch: session.epoch,
        topics: topics
            .into_iter()
            .map(|((name, topic_id), partitions)| FetchTopic {
                topic_id,
                topic: Str::from(&*name),
                partitions,
            })
            .collect(),
        forgotten_topics_data: forgotten
            .into_iter()
            .map(|((name, topic_id), partitions)| ForgottenTopic {
                topic_id,
                topic: Str::from(&*name),
                partitions,
            })
            .collect(),
        ..FetchRequest::default()
    }
}

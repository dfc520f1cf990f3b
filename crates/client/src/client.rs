//! What producer, consumer and admin share: connections by address, metadata, coordinators, and trying again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use model::ErrorCode;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};
use wire::Request;
use wire::messages::find_coordinator::FindCoordinatorRequest;
use wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};

use crate::backoff::Backoff;
use crate::config::ClientConfig;
use crate::connection::Connection;
use crate::error::{BrokerError, ClientError};
use crate::metadata::{Broker, Metadata, Topic};

/// What to do about a topic that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenMissing {
    /// Have the broker make it, where it is set up to, and wait until it is there.
    Create,
    /// Fail.
    Fail,
}

/// A client of one cluster. Cheap to clone; all clones share connections and metadata.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

/// What a connection is for. Answers come in the order of requests: one that waits at the broker, for records or for the
/// members of a group, must not hold up others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// What is answered at once, and produce requests.
    Calls,
    /// Fetch requests.
    Fetches,
    /// The coordinators of groups.
    Groups,
}

/// The place of the connection to one address for one use: locked while it is being opened.
type Slot = Arc<tokio::sync::Mutex<Place>>;

/// How long an address is tried in silence.
const SILENCE: Duration = Duration::from_secs(5);
/// The pause before it is told again that an address cannot be reached.
const REMINDER: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
struct Place {
    connection: Option<Connection>,
    /// When the next failure to connect is to be told; `None` when the last attempt went well.
    tell_at: Option<Instant>,
}

impl Place {
    fn open(&self) -> Option<&Connection> {
        self.connection.as_ref().filter(|connection| connection.is_open())
    }

    /// Whether the failure of an attempt is to be told: one that lasts, once in a while.
    fn failed(&mut self, began: Instant, now: Instant) -> bool {
        let is_due = now >= *self.tell_at.get_or_insert(began + SILENCE);
        if is_due {
            self.tell_at = Some(now + REMINDER);
        }
        is_due
    }
}

#[derive(Debug)]
struct Inner {
    config: ClientConfig,
    metadata: ArcSwap<Metadata>,
    slots: Mutex<BTreeMap<(Use, String), Slot>>,
    coordinators: Mutex<HashMap<String, Broker>>,
}

impl Client {
    /// A client; connects when it is first used.
    pub fn new(config: ClientConfig) -> Result<Client, ClientError> {
        if config.bootstrap_servers.is_empty() {
            return Err(ClientError::refused(
                "bootstrap.servers is empty; name at least one broker as host:port",
            ));
        }
        for address in &config.bootstrap_servers {
            let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            if !matches!(port, Some(Ok(_))) {
                return Err(ClientError::refused(format!(
                    "`{address}` is not the address of a broker; expected host:port, such as localhost:9092"
                )));
            }
        }
        Ok(Client {
            inner: Arc::new(Inner {
                config,
                metadata: ArcSwap::default(),
                slots: Mutex::default(),
                coordinators: Mutex::default(),
            }),
        })
    }

    /// Connects to any broker, or fails within `patience`: for tools, which should not wait for a broker that is not there
    /// as long as a service would.
    pub async fn connect(&self, patience: Duration) -> Result<(), ClientError> {
        let deadline = Instant::now() + patience;
        let mut backoff = Backoff::new(self.config());
        loop {
            let error = match timeout_at(deadline, self.to_any()).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => error,
                Err(_) => ClientError::Unreachable(self.config().bootstrap_servers.join(", ").into()),
            };
            if !backoff.wait(deadline).await {
                return Err(error);
            }
        }
    }

    /// The settings it was made with.
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// What is known of the cluster at present. Empty before the first call that needs it.
    pub fn metadata(&self) -> Arc<Metadata> {
        self.inner.metadata.load_full()
    }

    /// The same without taking a share of it, for a moment.
    pub(crate) fn current_metadata(&self) -> arc_swap::Guard<Arc<Metadata>> {
        self.inner.metadata.load()
    }

    /// The topic of a name, from the cache where that is fresh. With [`WhenMissing::Fail`], the error of a topic that does
    /// not exist is `UNKNOWN_TOPIC_OR_PARTITION`, at once.
    pub async fn topic(&self, name: &str, missing: WhenMissing) -> Result<Arc<Topic>, ClientError> {
        let what = format!("topic `{name}`");
        let found = self
            .retry(&what, || self.look_up_topic(name, missing, &what))
            .await?;
        found.map_err(|error| ClientError::broker(&what, error))
    }

    /// One look for a topic. The inner error is for good, the outer one may pass.
    async fn look_up_topic(
        &self,
        name: &str,
        missing: WhenMissing,
        what: &str,
    ) -> Result<Result<Arc<Topic>, BrokerError>, ClientError> {
        if let Some(entry) = self.metadata().topics.get(name)
            && entry.learned.elapsed() < self.config().metadata_max_age
            && let Ok(topic) = &entry.topic
        {
            return Ok(Ok(topic.clone()));
        }
        self.refresh_topics(&[name], missing).await?;
        let metadata = self.metadata();
        let error = match metadata.topics.get(name).map(|entry| &entry.topic) {
            Some(Ok(topic)) => return Ok(Ok(topic.clone())),
            Some(Err(error)) => error.clone(),
            None => ErrorCode::UnknownTopicOrPartition.into(),
        };
        if missing == WhenMissing::Fail && is_missing(&error) {
            return Ok(Err(error));
        }
        Err(ClientError::broker(what, error))
    }

    /// Asks for the topics of these names anew. Topics that do not exist become errors in the cache.
    pub(crate) async fn refresh_topics(
        &self,
        names: &[impl AsRef<str>],
        missing: WhenMissing,
    ) -> Result<(), ClientError> {
        let topics = names.iter().map(|name| MetadataRequestTopic {
            name: Some(name.as_ref().into()),
            ..MetadataRequestTopic::default()
        });
        let request = MetadataRequest {
            topics: Some(topics.collect()),
            allow_auto_topic_creation: missing == WhenMissing::Create,
            ..MetadataRequest::default()
        };
        self.refresh(&request).await
    }

    /// Asks for all topics. Those that are gone leave the cache.
    pub async fn refresh_all(&self) -> Result<Arc<Metadata>, ClientError> {
        let request = MetadataRequest {
            topics: None,
            allow_auto_topic_creation: false,
            ..MetadataRequest::default()
        };
        let began = Instant::now();
        self.retry("fetching metadata", async || self.refresh(&request).await)
            .await?;
        self.inner.metadata.rcu(|metadata| {
            let mut metadata = Metadata::clone(metadata);
            metadata.topics.retain(|_, entry| entry.learned >= began);
            metadata
        });
        Ok(self.metadata())
    }

    async fn refresh(&self, request: &MetadataRequest) -> Result<(), ClientError> {
        let connection = self.to_any().await?;
        let response = connection.call(request, self.config().request_timeout).await?;
        if let Some(error) = BrokerError::from_code(response.error_code, None) {
            return Err(ClientError::broker("fetching metadata", error));
        }
        let now = Instant::now();
        self.inner
            .metadata
            .rcu(|metadata| metadata.updated(&response, now));
        Ok(())
    }

    /// The brokers of the cluster, asked for when none is known.
    pub(crate) async fn brokers(&self) -> Result<BTreeMap<i32, Broker>, ClientError> {
        if self.metadata().brokers.is_empty() {
            self.refresh_topics(&[""; 0], WhenMissing::Fail).await?;
        }
        Ok(self.metadata().brokers.clone())
    }

    /// A connection to an address, opened where there is none.
    async fn to_address(&self, address: &str, usage: Use) -> Result<Connection, ClientError> {
        let slot = self
            .inner
            .slots
            .lock()
            .entry((usage, address.to_owned()))
            .or_default()
            .clone();
        let mut place = slot.lock().await;
        if let Some(open) = place.open() {
            return Ok(open.clone());
        }
        place.connection = None;
        let began = Instant::now();
        let opened = Connection::open(address, self.config()).await;
        match &opened {
            Ok(connection) => {
                *place = Place {
                    connection: Some(connection.clone()),
                    tell_at: None,
                }
            }
            Err(error) if place.failed(began, Instant::now()) => {
                tracing::warn!("{error}; trying again");
            }
            Err(_) => {}
        }
        opened
    }

    /// A connection to the broker of an id.
    pub(crate) async fn to_broker(&self, id: i32, usage: Use) -> Result<Connection, ClientError> {
        let known = self.metadata().brokers.get(&id).map(Broker::address);
        match known {
            Some(address) => self.to_address(&address, usage).await,
            None => {
                self.refresh_topics(&[""; 0], WhenMissing::Fail).await?;
                let Some(address) = self.metadata().brokers.get(&id).map(Broker::address) else {
                    let reason = format!("the cluster does not list broker {id} at present");
                    return Err(ClientError::Unreachable(reason.into()));
                };
                self.to_address(&address, usage).await
            }
        }
    }

    /// A connection to any broker: an open one, else one of the cluster, else one of the bootstrap servers.
    pub(crate) async fn to_any(&self) -> Result<Connection, ClientError> {
        let slots: Vec<Slot> = {
            let slots = self.inner.slots.lock();
            let calls = slots.iter().filter(|((usage, _), _)| *usage == Use::Calls);
            calls.map(|(_, slot)| slot.clone()).collect()
        };
        let open = slots.iter().find_map(|slot| {
            let place = slot.try_lock().ok()?;
            place.open().cloned()
        });
        if let Some(connection) = open {
            return Ok(connection);
        }
        let metadata = self.metadata();
        let known = metadata.brokers.values().map(Broker::address);
        let mut failures: Vec<String> = Vec::new();
        for address in known.chain(self.config().bootstrap_servers.iter().cloned()) {
            match self.to_address(&address, Use::Calls).await {
                Ok(connection) => return Ok(connection),
                Err(error) => failures.push(error.to_string()),
            }
        }
        failures.dedup();
        Err(ClientError::Unreachable(failures.join("; ").into()))
    }

    /// A connection for administrative requests.
    pub(crate) async fn to_controller(&self) -> Result<Connection, ClientError> {
        self.brokers().await?;
        match self.metadata().controller {
            Some(id) => self.to_broker(id, Use::Calls).await,
            None => self.to_any().await,
        }
    }

    /// The coordinator of a group, from the cache where it is known.
    pub(crate) async fn coordinator(&self, group: &str) -> Result<Broker, ClientError> {
        if let Some(known) = self.inner.coordinators.lock().get(group) {
            return Ok(known.clone());
        }
        const GROUP: i8 = 0;
        let request = FindCoordinatorRequest {
            key: group.into(),
            key_type: GROUP,
            coordinator_keys: vec![group.into()],
        };
        let response = self
            .to_any()
            .await?
            .call(&request, self.config().request_timeout)
            .await?;
        // From version 4 on the answer is a list (KIP-699).
        let (id, host, port, code, message) = match response.coordinators.into_iter().next() {
            Some(found) => (
                found.node_id,
                found.host,
                found.port,
                found.error_code,
                found.error_message,
            ),
            None => (
                response.node_id,
                response.host,
                response.port,
                response.error_code,
                response.error_message,
            ),
        };
        if let Some(error) = BrokerError::from_code(code, message.as_deref()) {
            return Err(ClientError::broker(
                format!("finding the coordinator of group `{group}`"),
                error,
            ));
        }
        let broker = Broker {
            id,
            host: host.to_string(),
            port,
            rack: None,
        };
        self.inner
            .coordinators
            .lock()
            .insert(group.to_owned(), broker.clone());
        Ok(broker)
    }

    /// A connection to the coordinator of a group.
    pub(crate) async fn to_coordinator(&self, group: &str) -> Result<Connection, ClientError> {
        let broker = self.coordinator(group).await?;
        let connected = self.to_address(&broker.address(), Use::Groups).await;
        if connected.is_err() {
            self.forget_coordinator(group);
        }
        connected
    }

    /// Asks the coordinator of a group; `check` finds the error in the answer. When the coordinator has moved or is gone,
    /// the next try looks for it.
    pub(crate) async fn call_coordinator<R: Request>(
        &self,
        group: &str,
        request: &R,
        check: impl FnOnce(&R::Response) -> Result<(), ClientError>,
    ) -> Result<R::Response, ClientError> {
        let connection = self.to_coordinator(group).await?;
        let answered = connection.call(request, self.config().request_timeout).await;
        let checked = answered.and_then(|response| check(&response).map(|()| response));
        if let Err(error) = &checked {
            self.note_coordinator_error(group, error);
        }
        checked
    }

    /// Forgets a coordinator that an error shows to be none any more.
    pub(crate) fn note_coordinator_error(&self, group: &str, error: &ClientError) {
        let moved = matches!(
            error.code(),
            Some(ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable)
        );
        if moved
            || matches!(
                error,
                ClientError::Disconnected { .. } | ClientError::TimedOut { .. }
            )
        {
            self.forget_coordinator(group);
        }
    }

    fn forget_coordinator(&self, group: &str) {
        self.inner.coordinators.lock().remove(group);
    }

    /// Tries until it succeeds, fails for good, or `default.api.timeout.ms` is over.
    pub(crate) async fn retry<T, F>(
        &self,
        what: &str,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let timeout = self.config().default_api_timeout;
        let deadline = Instant::now() + timeout;
        let mut backoff = Backoff::new(self.config());
        let mut last = None;
        loop {
            match timeout_at(deadline, attempt()).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) if !error.is_retriable() => return Err(error),
                Ok(Err(error)) => {
                    tracing::debug!(what, %error, "trying again");
                    last = Some(error);
                    if backoff.wait(deadline).await {
                        continue;
                    }
                }
                Err(_) => {}
            }
            return Err(last.unwrap_or_else(|| ClientError::TimedOut {
                what: what.into(),
                after: timeout,
            }));
        }
    }
}

/// Whether an error says that a topic is not there.
fn is_missing(error: &BrokerError) -> bool {
    matches!(
        error.code,
        ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(servers: &[&str]) -> Result<Client, ClientError> {
        Client::new(ClientConfig {
            bootstrap_servers: servers.iter().map(|server| (*server).to_owned()).collect(),
            ..ClientConfig::default()
        })
    }

    #[test]
    fn an_address_without_a_port_is_refused_with_an_example() {
        for bad in [&[][..], &["localhost"], &["localhost:"], &["a:1", "b:99999"]] {
            assert!(matches!(client(bad), Err(ClientError::Refused(_))), "{bad:?}");
        }
        assert!(client(&["[::1]:9092", "localhost:1"]).is_ok());
    }

    #[test]
    fn an_address_that_fails_for_long_is_told_once_in_a_while() {
        let (mut place, start) = (Place::default(), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        let told = [1, 4, 5, 6, 304, 305].map(|second| place.failed(at(second - 1), at(second)));
        assert_eq!(told, [false, false, true, false, false, true]);
        assert!(
            Place::default().failed(at(0), at(10)),
            "an attempt that took long"
        );
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_is_named() {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let error = client(&[&free.to_string()]).unwrap().to_any().await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&free.to_string()) && text.contains("is one running there?"),
            "{text}"
        );
    }
}

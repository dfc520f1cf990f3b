//! Membership in a classic group: a task that joins, heartbeats and leaves, beside a consumer that polls.
//!
//! The task asks before it joins: a consumer first commits and, with an eager assignor, gives up what it has. It answers
//! by [`Command::Join`], and learns its partitions from [`GroupEvent::Assigned`]. A consumer that stops polling for
//! `max.poll.interval.ms` leaves its group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use model::{ErrorCode, TopicPartition};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use wire::Str;
use wire::messages::heartbeat::HeartbeatRequest;
use wire::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use wire::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use wire::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};

use crate::admin::Committer;
use crate::backoff::Backoff;
use crate::client::{Client, WhenMissing};
use crate::config::ConsumerConfig;
use crate::consumer::assignor::{Assignor, Member};
use crate::consumer::protocol;
use crate::error::{BrokerError, ClientError};

const PROTOCOL_TYPE: &str = "consumer";
/// How much longer than the rebalance itself the answer to a JoinGroup may take.
const JOIN_GRACE: Duration = Duration::from_secs(5);
/// How long leaving may take: a coordinator that does not answer finds out by itself.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// What the consumer tells the task.
#[derive(Debug)]
pub(crate) enum Command {
    /// Join, or join again.
    Join(Wish),
    /// Leave, and end.
    Leave(oneshot::Sender<()>),
}

/// With what to join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) topics: Vec<Arc<str>>,
    /// What the consumer has, where its assignor is cooperative.
    pub(crate) owned: Vec<TopicPartition>,
}

/// What the task tells the consumer.
#[derive(Debug)]
pub(crate) enum GroupEvent {
    /// The group rebalances: get ready, then join.
    RebalanceNeeded,
    /// A member again, with these partitions.
    Assigned {
        committer: Committer,
        partitions: Vec<TopicPartition>,
    },
    /// The group went on without this member: what it had is no longer its own. Join again.
    Lost,
    /// It cannot be a member.
    Failed(ClientError),
}

/// The consumer's side of the task.
#[derive(Debug)]
pub(crate) struct Membership {
    commands: mpsc::Sender<Command>,
    pub(crate) events: mpsc::Receiver<GroupEvent>,
    polled: Arc<Mutex<Instant>>,
}

impl Membership {
    /// Starts the task; it does nothing until it is told to join.
    pub(crate) fn start(
        client: Client,
        group: String,
        config: ConsumerConfig,
        assignors: Vec<Assignor>,
    ) -> Membership {
        let (commands, inbox) = mpsc::channel(4);
        let (outbox, events) = mpsc::channel(4);
        let polled = Arc::new(Mutex::new(Instant::now()));
        let task = Task {
            committer: Committer {
                generation: -1,
                member_id: String::new(),
                instance_id: config.group_instance_id.clone(),
            },
            client,
            group,
            config,
            assignors,
            polled: polled.clone(),
            events: outbox,
            led: None,
        };
        tokio::spawn(task.run(inbox));
        Membership {
            commands,
            events,
            polled,
        }
    }

    /// The consumer is alive.
    pub(crate) fn note_poll(&self) {
        *self.polled.lock() = Instant::now();
    }

    pub(crate) async fn join(&self, wish: Wish) {
        // A task that ended has said why.
        let _ = self.commands.send(Command::Join(wish)).await;
    }

    pub(crate) async fn leave(self) {
        let (done, left) = oneshot::channel();
        if self.commands.send(Command::Leave(done)).await.is_ok() {
            let _ = left.await;
        }
    }
}

/// Why a join came to nothing.
enum JoinError {
    /// The coordinator knows this member no more.
    Lost,
    /// Trying again would not help.
    Failed(ClientError),
}

struct Task {
    client: Client,
    group: String,
    config: ConsumerConfig,
    assignors: Vec<Assignor>,
    committer: Committer,
    polled: Arc<Mutex<Instant>>,
    events: mpsc::Sender<GroupEvent>,
    /// The partition counts this member, as the leader, divided.
    led: Option<Led>,
}

struct Led {
    topics: BTreeSet<Arc<str>>,
    counts: BTreeMap<Arc<str>, i32>,
    checked: Instant,
}

impl Task {
    async fn run(mut self, mut inbox: mpsc::Receiver<Command>) {
        let mut is_member = false;
        let mut newer = None;
        loop {
            let command = match newer.take() {
                Some(wish) => Some(Command::Join(wish)),
                None if is_member => self.heartbeat_until_told(&mut inbox).await,
                None => inbox.recv().await,
            };
            match command {
                Some(Command::Join(wish)) => {
                    let joined = tokio::select! {
                        joined = self.join(&wish) => joined,
                        left = leave_command(&mut inbox, &mut newer) => {
                            self.leave().await;
                            drop(left);
                            return;
                        }
                    };
                    if joined.is_ok() && newer.is_some() {
                        // What was just handed out is for a wish that no longer stands.
                        continue;
                    }
                    let event = match joined {
                        Ok(partitions) => GroupEvent::Assigned {
                            committer: self.committer.clone(),
                            partitions,
                        },
                        Err(JoinError::Lost) => GroupEvent::Lost,
                        Err(JoinError::Failed(error)) => {
                            let _ = self.events.send(GroupEvent::Failed(error)).await;
                            return;
                        }
                    };
                    is_member = matches!(event, GroupEvent::Assigned { .. });
                    if self.events.send(event).await.is_err() {
                        self.leave().await;
                        return;
                    }
                }
                Some(Command::Leave(done)) => {
                    self.leave().await;
                    let _ = done.send(());
                    return;
                }
                // The consumer is gone without a word.
                None => {
                    self.leave().await;
                    return;
                }
            }
        }
    }

    /// Joins and syncs until there is an assignment.
    async fn join(&mut self, wish: &Wish) -> Result<Vec<TopicPartition>, JoinError> {
        let mut backoff = Backoff::new(self.client.config());
        loop {
            let error = match self.join_once(wish).await {
                Ok(partitions) => return Ok(partitions),
                Err(error) => error,
            };
            match error.code() {
                // The id to join with came along with the refusal (KIP-394).
                Some(ErrorCode::MemberIdRequired) => continue,
                Some(ErrorCode::RebalanceInProgress) => {}
                Some(ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration) => {
                    self.forget_member();
                    return Err(JoinError::Lost);
                }
                _ if error.is_retriable() => {}
                _ => return Err(JoinError::Failed(error)),
            }
            tracing::debug!(group = self.group, %error, "joining again");
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    async fn join_once(&mut self, wish: &Wish) -> Result<Vec<TopicPartition>, ClientError> {
        let joined = self.send_join(wish).await?;
        self.committer.member_id = joined.member_id.to_string();
        self.check("joining", joined.error_code)?;
        self.committer.generation = joined.generation_id;
        let assignments = if joined.leader == joined.member_id && !joined.skip_assignment {
            self.assign(&joined).await?
        } else {
            self.led = None;
            Vec::new()
        };
        let request = SyncGroupRequest {
            group_id: self.group.as_str().into(),
            generation_id: joined.generation_id,
            member_id: joined.member_id.clone(),
            group_instance_id: self.instance_id(),
            protocol_type: Some(PROTOCOL_TYPE.into()),
            protocol_name: joined.protocol_name.clone(),
            assignments,
        };
        let synced = self.call_slowly(&request).await?;
        self.check("syncing with", synced.error_code)?;
        protocol::assigned(synced.assignment).map_err(|error| ClientError::malformed("SyncGroup", &error))
    }

    async fn send_join(&self, wish: &Wish) -> Result<JoinGroupResponse, ClientError> {
        let unencodable = |error| ClientError::Unencodable {
            api: "JoinGroup",
            error,
        };
        let metadata = protocol::subscription(&wish.topics, &wish.owned, self.committer.generation)
            .map_err(unencodable)?;
        let offered = self.assignors.iter().map(|assignor| JoinGroupRequestProtocol {
            name: assignor.name().into(),
            metadata: metadata.clone(),
        });
        let request = JoinGroupRequest {
            group_id: self.group.as_str().into(),
            session_timeout_ms: milliseconds(self.config.session_timeout),
            rebalance_timeout_ms: milliseconds(self.config.max_poll_interval),
            member_id: self.committer.member_id.as_str().into(),
            group_instance_id: self.instance_id(),
            protocol_type: PROTOCOL_TYPE.into(),
            protocols: offered.collect(),
            reason: None,
        };
        self.call_slowly(&request).await
    }

    /// Asks the coordinator something it answers when all members have come.
    async fn call_slowly<R: wire::Request>(&self, request: &R) -> Result<R::Response, ClientError> {
        let timeout = self
            .client
            .config()
            .request_timeout
            .max(self.config.max_poll_interval + JOIN_GRACE);
        let connection = self.client.to_coordinator(&self.group).await?;
        let answered = connection.call(request, timeout).await;
        if let Err(error) = &answered {
            self.client.note_coordinator_error(&self.group, error);
        }
        answered
    }

    /// As the leader: divides the partitions of all that any member wants.
    async fn assign(
        &mut self,
        joined: &JoinGroupResponse,
    ) -> Result<Vec<SyncGroupRequestAssignment>, ClientError> {
        let malformed = |error| ClientError::malformed("JoinGroup", &error);
        let members: Vec<Member> = joined
            .members
            .iter()
            .map(protocol::member)
            .collect::<Result<_, _>>()
            .map_err(malformed)?;
        let chosen = joined.protocol_name.as_deref().unwrap_or_default();
        let Some(assignor) = Assignor::by_name(chosen) else {
            return Err(ClientError::refused(format!(
                "group `{}` chose the assignor `{chosen}`, which this client does not have",
                self.group
            )));
        };
        let topics: BTreeSet<Arc<str>> = members
            .iter()
            .flat_map(|member| member.topics.iter().cloned())
            .collect();
        let counts = self.count_partitions(&topics).await?;
        let assignment = assignor.assign(&members, &counts);
        self.led = Some(Led {
            topics,
            counts,
            checked: Instant::now(),
        });
        let encoded = |(member, partitions): (&String, &Vec<TopicPartition>)| {
            let assignment = protocol::assignment(partitions).map_err(|error| ClientError::Unencodable {
                api: "SyncGroup",
                error,
            })?;
            Ok(SyncGroupRequestAssignment {
                member_id: member.as_str().into(),
                assignment,
            })
        };
        assignment.iter().map(encoded).collect()
    }

    async fn count_partitions(
        &self,
        topics: &BTreeSet<Arc<str>>,
    ) -> Result<BTreeMap<Arc<str>, i32>, ClientError> {
        let missing = if self.config.allow_auto_create_topics {
            WhenMissing::Create
        } else {
            WhenMissing::Fail
        };
        let names: Vec<&Arc<str>> = topics.iter().collect();
        self.client.refresh_topics(&names, missing).await?;
        let metadata = self.client.metadata();
        let count = |name: &Arc<str>| {
            let partitions = &metadata.topic(name)?.partitions;
            Some((name.clone(), i32::try_from(partitions.len()).ok()?))
        };
        Ok(topics.iter().filter_map(count).collect())
    }

    /// Keeps the member alive until the consumer says what to do next; tells it when the group rebalances.
    async fn heartbeat_until_told(&mut self, inbox: &mut mpsc::Receiver<Command>) -> Option<Command> {
        let mut is_told = false;
        loop {
            tokio::select! {
                command = inbox.recv() => return command,
                () = tokio::time::sleep(self.config.heartbeat_interval) => {}
            }
            if self.polled.lock().elapsed() > self.config.max_poll_interval {
                tracing::warn!(
                    group = self.group,
                    "no poll for max.poll.interval.ms: leaving the group"
                );
                self.leave().await;
                let _ = self.events.send(GroupEvent::Lost).await;
                return inbox.recv().await;
            }
            match self.heartbeat().await {
                Ok(()) if !self.has_grown().await => {}
                Ok(()) => self.tell_once(&mut is_told).await,
                Err(error) => match error.code() {
                    Some(ErrorCode::RebalanceInProgress) => self.tell_once(&mut is_told).await,
                    Some(ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration) => {
                        self.forget_member();
                        let _ = self.events.send(GroupEvent::Lost).await;
                        return inbox.recv().await;
                    }
                    _ if error.is_retriable() => tracing::debug!(group = self.group, %error, "heartbeat"),
                    _ => {
                        let _ = self.events.send(GroupEvent::Failed(error)).await;
                        return inbox.recv().await;
                    }
                },
            }
        }
    }

    async fn tell_once(&self, is_told: &mut bool) {
        if !std::mem::replace(is_told, true) {
            let _ = self.events.send(GroupEvent::RebalanceNeeded).await;
        }
    }

    async fn heartbeat(&self) -> Result<(), ClientError> {
        let request = HeartbeatRequest {
            group_id: self.group.as_str().into(),
            generation_id: self.committer.generation,
            member_id: self.committer.member_id.as_str().into(),
            group_instance_id: self.instance_id(),
        };
        let check = |response: &wire::messages::heartbeat::HeartbeatResponse| {
            let error = BrokerError::check(response.error_code, None);
            error.map_err(|error| ClientError::broker("heartbeat", error))
        };
        self.client
            .call_coordinator(&self.group, &request, check)
            .await
            .map(|_| ())
    }

    /// As the leader: whether what was divided is no longer all there is. Looked at soon where a topic was missing.
    async fn has_grown(&mut self) -> bool {
        let Some(led) = &mut self.led else {
            return false;
        };
        let patience = if led.counts.len() < led.topics.len() {
            self.client.config().retry_backoff_max
        } else {
            self.client.config().metadata_max_age
        };
        if led.checked.elapsed() < patience {
            return false;
        }
        led.checked = Instant::now();
        let (topics, counts) = (led.topics.clone(), led.counts.clone());
        self.count_partitions(&topics)
            .await
            .is_ok_and(|now| now != counts)
    }

    async fn leave(&mut self) {
        // A static member that leaves keeps its partitions for its return.
        if self.committer.member_id.is_empty() || self.committer.instance_id.is_some() {
            return;
        }
        let member_id = Str::from(self.committer.member_id.as_str());
        let request = LeaveGroupRequest {
            group_id: self.group.as_str().into(),
            members: vec![MemberIdentity {
                member_id: member_id.clone(),
                ..MemberIdentity::default()
            }],
            member_id,
        };
        let leaving = self.client.call_coordinator(&self.group, &request, |_| Ok(()));
        if !matches!(tokio::time::timeout(LEAVE_TIMEOUT, leaving).await, Ok(Ok(_))) {
            tracing::debug!(group = self.group, "the coordinator did not confirm the leave");
        }
        self.forget_member();
    }

    fn forget_member(&mut self) {
        self.committer.member_id = String::new();
        self.committer.generation = -1;
        self.led = None;
    }

    fn check(&self, what: &str, code: i16) -> Result<(), ClientError> {
        let checked = BrokerError::check(code, None)
            .map_err(|error| ClientError::broker(format!("{what} group `{}`", self.group), error));
        if let Err(error) = &checked {
            self.client.note_coordinator_error(&self.group, error);
        }
        checked
    }

    fn instance_id(&self) -> Option<Str> {
        self.committer.instance_id.as_deref().map(Str::from)
    }
}

/// Waits for the command to leave, and keeps what else the consumer wishes meanwhile.
async fn leave_command(
    inbox: &mut mpsc::Receiver<Command>,
    newer: &mut Option<Wish>,
) -> Option<oneshot::Sender<()>> {
    loop {
        match inbox.recv().await {
            Some(Command::Leave(done)) => return Some(done),
            Some(Command::Join(wish)) => *newer = Some(wish),
            None => return None,
        }
    }
}

fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

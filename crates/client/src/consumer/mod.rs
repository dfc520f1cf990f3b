//! The consumer: partitions of its own choice, or its share of a group's, read ahead and given out by `poll`.
//!
//! Everything that changes what the consumer has, or where it is, happens inside [`Consumer::poll`], so that the records
//! of one poll are dealt with before their partitions can go to another member. Fetches and heartbeats go on beside it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::TopicPartition;
use regex::Regex;
use tokio::time::{Instant, timeout_at};

mod assignor;
mod fetched;
mod fetcher;
mod group;
mod metrics;
mod positions;
mod protocol;
mod record;
mod session;

pub use assignor::{Assignment, Assignor, Member};
pub use metrics::ConsumerMetrics;
pub use record::ConsumerRecord;

use crate::admin::{CommittedOffset, Committer, OffsetSpec};
use crate::client::{Client, WhenMissing};
use crate::config::{ConsumerConfig, OffsetReset};
use crate::error::ClientError;
use fetcher::Fetcher;
use group::{GroupEvent, Membership, Wish};
use positions::{Place, Positions};

/// What a consumer reads.
#[derive(Debug)]
enum Interest {
    Nothing,
    /// These partitions, by itself.
    Assigned,
    /// Its share of these topics.
    Topics(Vec<Arc<str>>),
    /// Its share of all topics that match.
    Pattern {
        pattern: Regex,
        matching: Vec<Arc<str>>,
        looked: Option<Instant>,
    },
}

/// Reads records.
#[derive(Debug)]
pub struct Consumer {
    client: Client,
    config: ConsumerConfig,
    interest: Interest,
    positions: Positions,
    fetcher: Fetcher,
    membership: Option<Membership>,
    committer: Committer,
    is_cooperative: bool,
    committed: Instant,
    /// Since when it has no partitions of its group.
    idle_since: Instant,
    /// Why the group takes this consumer no more: every later poll says so again.
    failure: Option<ClientError>,
}

impl Consumer {
    /// A consumer that reads nothing yet; must be made inside a tokio runtime.
    pub fn new(client: Client, config: ConsumerConfig) -> Result<Consumer, ClientError> {
        let named = config.assignors.iter().map(|name| {
            Assignor::by_name(name).ok_or_else(|| {
                ClientError::refused(format!(
                    "there is no assignor `{name}`; there are range, roundrobin and cooperative-sticky"
                ))
            })
        });
        let assignors: Vec<Assignor> = named.collect::<Result<_, _>>()?;
        let is_cooperative =
            !assignors.is_empty() && assignors.iter().all(|assignor| assignor.is_cooperative());
        let membership = config
            .group_id
            .clone()
            .map(|group| Membership::start(client.clone(), group, config.clone(), assignors));
        Ok(Consumer {
            fetcher: Fetcher::new(client.clone(), config.clone()),
            committer: Committer {
                generation: -1,
                member_id: String::new(),
                instance_id: config.group_instance_id.clone(),
            },
            client,
            config,
            interest: Interest::Nothing,
            positions: Positions::default(),
            membership,
            is_cooperative,
            committed: Instant::now(),
            idle_since: Instant::now(),
            failure: None,
        })
    }

    /// Reads these partitions, whatever other consumers read.
    pub fn assign(&mut self, partitions: &[TopicPartition]) {
        self.interest = Interest::Assigned;
        self.positions.assign(partitions);
    }

    /// Reads a share of these topics, together with the other members of the group.
    pub async fn subscribe(&mut self, topics: &[String]) -> Result<(), ClientError> {
        self.membership()?;
        self.change_interest(Interest::Topics(
            topics.iter().map(|topic| Arc::from(topic.as_str())).collect(),
        ))
        .await;
        self.join_again().await;
        Ok(())
    }

    /// Reads a share of all topics whose whole name matches, those made later included.
    pub async fn subscribe_pattern(&mut self, pattern: &str) -> Result<(), ClientError> {
        self.membership()?;
        let pattern = Regex::new(&format!("^(?:{pattern})$")).map_err(|error| {
            ClientError::refused(format!("`{pattern}` is no regular expression: {error}"))
        })?;
        self.change_interest(Interest::Pattern {
            pattern,
            matching: Vec::new(),
            looked: None,
        })
        .await;
        Ok(())
    }

    async fn change_interest(&mut self, interest: Interest) {
        self.give_up_before_joining().await;
        self.idle_since = Instant::now();
        self.interest = interest;
    }

    fn membership(&self) -> Result<&Membership, ClientError> {
        self.membership
            .as_ref()
            .ok_or_else(|| ClientError::refused("subscribing takes a group; set group.id"))
    }

    fn wish(&self, topics: Vec<Arc<str>>) -> Wish {
        let owned = if self.is_cooperative {
            self.positions.keys()
        } else {
            Vec::new()
        };
        Wish { topics, owned }
    }

    /// What it did so far.
    pub fn metrics(&self) -> ConsumerMetrics {
        self.fetcher.metrics.clone()
    }

    /// The partitions this consumer has now.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.positions.keys()
    }

    /// The offset of the next record of a partition, once it is known.
    pub fn position(&self, partition: &TopicPartition) -> Option<i64> {
        match self.positions.get(partition)?.place {
            Place::At { offset, .. } => Some(offset),
            Place::Committed | Place::End(_) => None,
        }
    }

    /// Reads on from another offset.
    pub fn seek(&mut self, partition: &TopicPartition, offset: i64) -> Result<(), ClientError> {
        let place = Place::At {
            offset,
            leader_epoch: -1,
        };
        self.move_to(partition, place)
    }

    /// Reads on from the first or from the end.
    pub fn seek_to(&mut self, partition: &TopicPartition, end: OffsetReset) -> Result<(), ClientError> {
        self.move_to(partition, Place::End(end))
    }

    fn move_to(&mut self, partition: &TopicPartition, place: Place) -> Result<(), ClientError> {
        if !self.positions.contains(partition) {
            return Err(ClientError::refused(format!(
                "{partition} is not assigned to this consumer"
            )));
        }
        self.positions.move_to(partition, place);
        Ok(())
    }

    /// Waits for records, at most `timeout`. An empty answer means that there were none, or that the group rebalances.
    pub async fn poll(&mut self, timeout: Duration) -> Result<Vec<ConsumerRecord>, ClientError> {
        let deadline = Instant::now() + timeout;
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        loop {
            if let Some(membership) = &self.membership {
                membership.note_poll();
            }
            self.follow_group().await?;
            match timeout_at(deadline, self.find_positions()).await {
                Ok(Err(error)) if error.is_retriable() => {
                    tracing::debug!(%error, "looking for positions again")
                }
                Ok(found) => found?,
                Err(_) => {}
            }
            self.commit_by_the_way();
            self.fetcher.receive_ready(&mut self.positions)?;
            let records = self
                .fetcher
                .drain(self.config.max_poll_records, &mut self.positions)?;
            // While the caller deals with these, the next ones come.
            let _ = timeout_at(deadline, self.fetcher.send_fetches(&self.positions)).await;
            if !records.is_empty() || Instant::now() >= deadline {
                return Ok(records);
            }
            self.wait(deadline).await?;
        }
    }

    /// Waits until something may have changed.
    async fn wait(&mut self, deadline: Instant) -> Result<(), ClientError> {
        let pause = self.client.config().retry_backoff;
        let is_settled =
            !self.fetcher.has_to_retry() && self.positions.known().count() == self.positions.keys().len();
        let until = match &self.interest {
            Interest::Pattern { .. } => deadline.min(Instant::now() + self.client.config().retry_backoff_max),
            _ if is_settled => deadline,
            _ => deadline.min(Instant::now() + pause),
        };
        let event = async {
            match &mut self.membership {
                Some(membership) => membership.events.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = event => if let Some(event) = event {
                self.take_event(event).await?;
            },
            received = self.fetcher.receive(&mut self.positions) => received?,
            () = tokio::time::sleep_until(until) => {}
        }
        Ok(())
    }

    /// Does what the group asks for, and looks for new topics.
    async fn follow_group(&mut self) -> Result<(), ClientError> {
        while let Some(membership) = &mut self.membership
            && let Ok(event) = membership.events.try_recv()
        {
            self.take_event(event).await?;
        }
        self.match_topics().await
    }

    async fn take_event(&mut self, event: GroupEvent) -> Result<(), ClientError> {
        match event {
            GroupEvent::RebalanceNeeded => {
                self.give_up_before_joining().await;
                self.join_again().await;
            }
            GroupEvent::Assigned {
                committer,
                partitions,
            } => {
                let gives_up = self
                    .positions
                    .keys()
                    .iter()
                    .any(|held| !partitions.contains(held));
                if gives_up {
                    self.commit_before_giving_up().await;
                }
                self.committer = committer;
                if self.positions.is_empty() && !partitions.is_empty() {
                    self.fetcher.metrics.joined(self.idle_since.elapsed());
                }
                self.positions.assign(&partitions);
                if gives_up && self.is_cooperative {
                    // What was given up goes to its new owner in the next round.
                    self.join_again().await;
                }
            }
            GroupEvent::Lost => {
                self.give_up_all();
                self.join_again().await;
            }
            GroupEvent::Failed(error) => {
                self.failure = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Commits; with an eager assignor, gives up everything.
    async fn give_up_before_joining(&mut self) {
        self.commit_before_giving_up().await;
        if !self.is_cooperative {
            self.give_up_all();
        }
    }

    fn give_up_all(&mut self) {
        if !self.positions.is_empty() {
            self.idle_since = Instant::now();
        }
        self.positions.assign(&[]);
    }

    async fn join_again(&self) {
        let topics = match &self.interest {
            Interest::Topics(topics) => topics.clone(),
            Interest::Pattern { matching, .. } => matching.clone(),
            Interest::Nothing | Interest::Assigned => return,
        };
        if let Some(membership) = &self.membership {
            membership.join(self.wish(topics)).await;
        }
    }

    /// With a pattern: joins again when other topics match it than before.
    async fn match_topics(&mut self) -> Result<(), ClientError> {
        let Interest::Pattern {
            pattern,
            matching,
            looked,
        } = &mut self.interest
        else {
            return Ok(());
        };
        let is_recent = looked.is_some_and(|at| at.elapsed() < self.client.config().metadata_max_age);
        if is_recent {
            return Ok(());
        }
        let is_first = looked.replace(Instant::now()).is_none();
        let metadata = self.client.refresh_all().await?;
        let now: Vec<Arc<str>> = metadata
            .topics()
            .filter(|topic| !topic.is_internal && pattern.is_match(&topic.name))
            .map(|topic| topic.name.clone())
            .collect();
        if is_first || now != *matching {
            *matching = now;
            self.give_up_before_joining().await;
            self.join_again().await;
        }
        Ok(())
    }

    /// Finds where to begin in partitions that have no offset yet.
    async fn find_positions(&mut self) -> Result<(), ClientError> {
        let with = |wanted: fn(&Place) -> bool, positions: &Positions| -> Vec<TopicPartition> {
            let matching = positions.iter().filter(|(_, position)| wanted(&position.place));
            matching.map(|(partition, _)| partition.clone()).collect()
        };
        let to_look_up = with(|place| *place == Place::Committed, &self.positions);
        if !to_look_up.is_empty() {
            self.start_from_committed(&to_look_up).await?;
        }
        let to_reset = with(|place| matches!(place, Place::End(_)), &self.positions);
        if !to_reset.is_empty() {
            self.start_from_ends(&to_reset).await?;
        }
        Ok(())
    }

    async fn start_from_committed(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        let committed = match &self.config.group_id {
            Some(group) => self.client.fetch_offsets(group, Some(partitions)).await?,
            None => BTreeMap::new(),
        };
        for partition in partitions {
            let place = match committed.get(partition) {
                Some(found) => Place::At {
                    offset: found.offset,
                    leader_epoch: found.leader_epoch,
                },
                None => Place::End(self.config.auto_offset_reset),
            };
            self.positions.move_to(partition, place);
        }
        Ok(())
    }

    async fn start_from_ends(&mut self, partitions: &[TopicPartition]) -> Result<(), ClientError> {
        let mut wanted = BTreeMap::new();
        for partition in partitions {
            let spec = match self.positions.get(partition).map(|position| position.place) {
                Some(Place::End(OffsetReset::Earliest)) => OffsetSpec::Earliest,
                Some(Place::End(OffsetReset::Latest)) => OffsetSpec::Latest,
                _ => {
                    return Err(ClientError::refused(format!(
                        "there is no offset to read {partition} from, and auto.offset.reset is `none`"
                    )));
                }
            };
            wanted.insert(partition.clone(), spec);
        }
        let found = self
            .client
            .list_offsets(&wanted, self.config.isolation_level)
            .await?;
        let mut failed = None;
        for (partition, outcome) in found {
            match outcome {
                Ok(found) => {
                    let place = Place::At {
                        offset: found.offset.unwrap_or(0),
                        leader_epoch: -1,
                    };
                    self.positions.move_to(&partition, place);
                }
                Err(error) => {
                    failed = Some(ClientError::broker(
                        format!("finding an end of {partition}"),
                        error,
                    ))
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// What is to be committed: the next offset of every partition read so far.
    fn offsets(&self) -> BTreeMap<TopicPartition, CommittedOffset> {
        let known = self.positions.known();
        known
            .map(|(partition, offset, leader_epoch)| {
                let committed = CommittedOffset {
                    offset,
                    leader_epoch,
                    metadata: String::new(),
                };
                (partition.clone(), committed)
            })
            .collect()
    }

    /// Commits the positions of all partitions, and waits until that is done.
    pub async fn commit(&mut self) -> Result<(), ClientError> {
        self.commit_offsets(&self.offsets()).await
    }

    /// Commits these offsets: of each partition the next one to read.
    pub async fn commit_offsets(
        &mut self,
        offsets: &BTreeMap<TopicPartition, CommittedOffset>,
    ) -> Result<(), ClientError> {
        let Some(group) = &self.config.group_id else {
            return Err(ClientError::refused("committing takes a group; set group.id"));
        };
        self.committed = Instant::now();
        if offsets.is_empty() {
            return Ok(());
        }
        let (client, committer) = (&self.client, &self.committer);
        let outcomes = client
            .retry("committing", || client.commit_offsets(group, committer, offsets))
            .await?;
        let failed = outcomes
            .into_iter()
            .find_map(|(partition, outcome)| Some((partition, outcome.err()?)));
        match failed {
            Some((partition, error)) => Err(ClientError::broker(format!("committing {partition}"), error)),
            None => Ok(()),
        }
    }

    fn commits_by_itself(&self) -> bool {
        self.config.enable_auto_commit && self.config.group_id.is_some()
    }

    /// Commits in the background when it is time to.
    fn commit_by_the_way(&mut self) {
        if !self.commits_by_itself() || self.committed.elapsed() < self.config.auto_commit_interval {
            return;
        }
        self.committed = Instant::now();
        let offsets = self.offsets();
        let Some(group) = self.config.group_id.clone().filter(|_| !offsets.is_empty()) else {
            return;
        };
        let (client, committer) = (self.client.clone(), self.committer.clone());
        tokio::spawn(async move {
            if let Err(error) = client.commit_offsets(&group, &committer, &offsets).await {
                tracing::debug!(group, %error, "committing by the way");
            }
        });
    }

    /// Before partitions go to another member, it must know how far this one came.
    async fn commit_before_giving_up(&mut self) {
        if !self.commits_by_itself() {
            return;
        }
        let limit = self.client.config().request_timeout;
        let committing = tokio::time::timeout(limit, self.commit());
        if let Ok(Err(error)) = committing.await {
            tracing::warn!(group = self.config.group_id, %error, "offsets were not committed before a rebalance");
        }
    }

    /// Commits, where it commits by itself, and leaves the group.
    pub async fn close(mut self) -> Result<(), ClientError> {
        let committed = if self.commits_by_itself() {
            self.commit().await
        } else {
            Ok(())
        };
        if let Some(membership) = self.membership.take() {
            membership.leave().await;
        }
        committed
    }

    /// The partitions of a topic, to assign them.
    pub async fn partitions_of(&self, topic: &str) -> Result<Vec<TopicPartition>, ClientError> {
        let topic = self.client.topic(topic, WhenMissing::Fail).await?;
        let partitions = topic.partitions.iter();
        Ok(partitions
            .map(|partition| TopicPartition::new(topic.name.clone(), partition.index))
            .collect())
    }
}

//! Fetches: one round of a session after the other, answered at once or when enough has come.
//!
//! A fetch without a session is the one round of a session that nobody keeps. A round that finds too little watches its
//! partitions and is parked in the session's inbox; a partition that changes tells the inbox, and whoever brings the
//! last byte that was missing reads the rest and answers. Between rounds the watches of idle partitions stay, so that a
//! round in which nothing happened reads nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use model::{ErrorCode, Offset};
use parking_lot::{Mutex, MutexGuard};
use replication::{
    DeadlineKey, Fetch, FetchInbox, FetchRefused, Fetched, Isolation, PartitionFetch, PartitionOutcome,
    Session, SessionError, SlotId, TopicNaming, WatchId,
};
use storage::FirstBatch;

use super::Replicas;
use super::partition::HostedPartition;
use super::table::{Hosted, TopicKey, Topics};
use super::timers::AtStop;
use super::waiting::WatchToken;
use crate::dispatch::{Parked, steady_ms};

/// A partition in a fetch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FetchKey {
    pub(crate) topic: TopicKey,
    pub(crate) partition: i32,
}

/// What a fetch asks for beside its partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchLimits {
    pub(crate) max_wait_ms: i64,
    pub(crate) min_bytes: u64,
    pub(crate) max_bytes: usize,
    pub(crate) isolation: Isolation,
}

/// Why a partition of a fetch has no data.
#[derive(Debug)]
pub(crate) enum PartitionError {
    /// No such topic or partition here.
    Unknown,
    /// No topic with that id.
    UnknownId,
    /// Its log directory has failed.
    Offline,
    /// Its replica refuses.
    Refused(FetchRefused),
}

impl PartitionError {
    /// What the client is told.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            PartitionError::Unknown => ErrorCode::UnknownTopicOrPartition,
            PartitionError::UnknownId => ErrorCode::UnknownTopicId,
            PartitionError::Offline => ErrorCode::KafkaStorageError,
            PartitionError::Refused(refused) => refused.code(),
        }
    }
}

/// What an answer says about a partition.
#[derive(Debug)]
pub(crate) struct PartitionAnswer {
    pub(crate) key: FetchKey,
    pub(crate) result: Result<Fetched, PartitionError>,
}

/// An answer to a fetch.
#[derive(Debug)]
pub(crate) struct FetchAnswer {
    /// The session, 0 for none.
    pub(crate) session_id: i32,
    /// The session is refused: there are no partitions.
    pub(crate) error: Option<SessionError>,
    pub(crate) partitions: Vec<PartitionAnswer>,
}

/// Gives the answer.
pub(crate) type FetchReply = Box<dyn FnOnce(FetchAnswer) + Send>;

/// Whether a session outlives its first round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    /// Nobody keeps it.
    OneRound,
    /// It is in the cache.
    Cached,
}

/// A session with what it watches.
pub(crate) struct FetchSession {
    /// Nobody keeps it any more: its watches end with the round that is under way.
    closed: AtomicBool,
    /// The id, once the cache gave one.
    id: OnceLock<i32>,
    state: Mutex<SessionState>,
    inbox: Mutex<FetchInbox<Arc<Round>>>,
}

struct SessionState {
    session: Session<FetchKey>,
    watches: BTreeMap<SlotId, (Arc<HostedPartition>, WatchId)>,
    /// What the round that is under way has found.
    found: BTreeMap<SlotId, Found>,
}

struct Found {
    result: Result<Fetched, PartitionError>,
    partition: Option<Arc<HostedPartition>>,
}

/// Which partitions an answer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// All that were asked for.
    Everything,
    /// Those that changed.
    Changes,
}

/// One request, until it is answered.
pub(crate) struct Round {
    replicas: Arc<Replicas>,
    session: Arc<FetchSession>,
    limits: FetchLimits,
    tells: Tells,
    deadline_ms: i64,
    timer: OnceLock<DeadlineKey>,
    /// The connection that asked has ended.
    abandoned: AtomicBool,
    reply: Mutex<Option<FetchReply>>,
}

impl Parked for Round {
    fn abandon(&self) {
        // Before the look into the inbox: who is about to park looks here after it has.
        self.abandoned.store(true, Ordering::Release);
        let is_this = |parked: &Arc<Round>| std::ptr::eq(Arc::as_ptr(parked), self);
        let parked = self.session.inbox().unpark_if(is_this);
        if let Some(round) = parked {
            round.give_up(self.session.state.lock());
        }
    }
}

impl FetchSession {
    pub(super) fn new(session: Session<FetchKey>, lasting: Lasting) -> Arc<FetchSession> {
        Arc::new(FetchSession {
            closed: AtomicBool::new(lasting == Lasting::OneRound),
            id: OnceLock::new(),
            state: Mutex::new(SessionState {
                session,
                watches: BTreeMap::new(),
                found: BTreeMap::new(),
            }),
            inbox: Mutex::default(),
        })
    }

    pub(super) fn set_id(&self, id: i32) {
        self.id.get_or_init(|| id);
    }

    pub(super) fn inbox(&self) -> MutexGuard<'_, FetchInbox<Arc<Round>>> {
        self.inbox.lock()
    }

    /// Begins the round that a request asks for. Returns the number of partitions.
    pub(super) fn resume(
        &self,
        epoch: i32,
        naming: TopicNaming,
        changes: Vec<(FetchKey, PartitionFetch)>,
        forgotten: Vec<FetchKey>,
    ) -> Result<usize, SessionError> {
        // A client that asks again has given up on the round before.
        self.answer_parked();
        // One that asks while that round still reads does not keep to the protocol; a network thread waits for nobody.
        let busy = SessionError::Epoch {
            found: epoch,
            expected: -1,
        };
        let mut state = self.state.try_lock().ok_or(busy)?;
        for slot in state.session.resume(epoch, naming, changes, forgotten)? {
            state.unwatch(slot);
        }
        Ok(state.session.len())
    }

    /// Answers the parked round with what there is.
    pub(super) fn answer_parked(&self) {
        let parked = self.inbox.lock().unpark();
        if let Some(round) = parked {
            round.run(true);
        }
    }

    /// Ends the session: nothing tells it anything any more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.answer_parked();
        self.tidy();
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends the watches of a closed session, unless a round is under way, which does so at its end.
    fn tidy(&self) {
        if self.is_closed()
            && let Some(mut state) = self.state.try_lock()
        {
            state.unwatch_all();
        }
    }

    /// Whether reading for the next round may have to wait for a disk.
    pub(super) fn may_be_cold(&self, topics: &Topics) -> bool {
        let state = self.state.lock();
        state.session.turns().into_iter().any(|slot| {
            let Some((key, fetch)) = state.session.slot(slot) else {
                return false;
            };
            find(topics, key).is_ok_and(|partition| partition.may_be_cold(fetch.offset))
        })
    }
}

impl Round {
    pub(super) fn new(
        replicas: Arc<Replicas>,
        session: Arc<FetchSession>,
        limits: FetchLimits,
        tells: Tells,
        reply: FetchReply,
    ) -> Arc<Round> {
        Arc::new(Round {
            replicas,
            session,
            limits,
            tells,
            deadline_ms: steady_ms().saturating_add(limits.max_wait_ms),
            timer: OnceLock::new(),
            abandoned: AtomicBool::new(false),
            reply: Mutex::new(Some(reply)),
        })
    }

    /// Reads, and answers or parks.
    pub(crate) fn start(self: &Arc<Self>) {
        self.run(false);
    }

    /// Enough has come: called by who brought it.
    pub(super) fn go_on(self: &Arc<Self>) {
        self.run(false);
    }

    /// Reads what changed, and answers if there is enough, or if `must_answer`; else parks.
    fn run(self: &Arc<Self>, must_answer: bool) {
        let mut state = self.session.state.lock();
        loop {
            if self.is_abandoned() {
                return self.give_up(state);
            }
            let changed = self.session.inbox().take_changed();
            state.read(self, changed);
            let too_late = || must_answer || steady_ms() >= self.deadline_ms || self.replicas.is_stopping();
            if state.is_enough(&self.limits) || too_late() {
                return self.answer(state);
            }
            if !state.watch_found(self) {
                continue;
            }
            self.set_timer();
            let parked = self
                .session
                .inbox()
                .park(self.limits.min_bytes, state.found_bytes(), self.clone());
            // The timer, or the end of the connection, may have come before the parking, and found nobody.
            let overtaken = || too_late() || self.is_abandoned();
            if parked.is_err() || overtaken() && self.session.inbox().unpark().is_some() {
                continue;
            }
            return;
        }
    }

    fn set_timer(self: &Arc<Self>) {
        self.timer.get_or_init(|| {
            let round = self.clone();
            self.replicas
                .timers()
                .add(self.deadline_ms, AtStop::Do, Box::new(move || round.time_up()))
        });
    }

    fn time_up(self: &Arc<Self>) {
        let parked = self.session.inbox().unpark();
        if let Some(parked) = parked {
            // A later round of the session, should that be what waits, is judged by its own time.
            parked.run(Arc::ptr_eq(&parked, self));
        }
    }

    fn answer(&self, mut state: MutexGuard<'_, SessionState>) {
        let partitions = state.tell(self);
        drop(state);
        if let Some(reply) = self.end() {
            let session_id = self.session.id.get().copied().unwrap_or(0);
            reply(FetchAnswer {
                session_id,
                error: None,
                partitions,
            });
        }
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Ends without an answer. The client was told nothing: a session that is kept looks at the same partitions again.
    fn give_up(&self, mut state: MutexGuard<'_, SessionState>) {
        state.found.clear();
        drop(state);
        drop(self.end());
    }

    /// Lets go of what the round holds, and gives back whom to answer.
    fn end(&self) -> Option<FetchReply> {
        self.session.tidy();
        if let Some(key) = self.timer.get() {
            self.replicas.timers().remove(*key);
        }
        self.reply.lock().take()
    }
}

impl SessionState {
    fn unwatch(&mut self, slot: SlotId) {
        if let Some((partition, watch)) = self.watches.remove(&slot) {
            partition.unwatch(watch);
        }
    }

    fn unwatch_all(&mut self) {
        for (partition, watch) in std::mem::take(&mut self.watches).into_values() {
            partition.unwatch(watch);
        }
    }

    /// Reads the partitions whose turn it is and that were not read in this round, and again those that changed.
    fn read(&mut self, round: &Round, changed: impl IntoIterator<Item = SlotId>) {
        for slot in changed {
            self.session.take_turn(slot);
            self.found.remove(&slot);
        }
        let topics = round.replicas.topics();
        let mut bytes = self.found_bytes();
        for slot in self.session.turns() {
            if self.found.contains_key(&slot) {
                continue;
            }
            let Some((key, fetch)) = self.session.slot(slot) else {
                continue;
            };
            let room = round
                .limits
                .max_bytes
                .saturating_sub(usize::try_from(bytes).unwrap_or(usize::MAX));
            let fetch = Fetch {
                offset: fetch.offset,
                max_bytes: fetch.max_bytes.min(room),
                // Only the first records of an answer may go beyond its limit.
                first_batch: if bytes == 0 {
                    FirstBatch::Whole
                } else {
                    FirstBatch::Limited
                },
                isolation: round.limits.isolation,
                current_leader_epoch: fetch.current_leader_epoch,
                last_fetched_epoch: fetch.last_fetched_epoch,
            };
            let found = match find(&topics, key) {
                Err(error) => Found {
                    result: Err(error),
                    partition: None,
                },
                Ok(partition) => {
                    let watch = self.watches.remove(&slot).map(|(_, watch)| watch);
                    let result = partition.fetch(&fetch, watch).map_err(PartitionError::Refused);
                    Found {
                        result,
                        partition: Some(partition.clone()),
                    }
                }
            };
            bytes = bytes.saturating_add(found.bytes());
            self.found.insert(slot, found);
        }
    }

    fn found_bytes(&self) -> u64 {
        self.found.values().map(Found::bytes).sum()
    }

    /// Rule 58: enough bytes, or something that the client should know at once, or nothing to wait for.
    fn is_enough(&self, limits: &FetchLimits) -> bool {
        let remarkable = || self.found.values().any(Found::is_remarkable);
        self.session.is_empty() || self.found_bytes() >= limits.min_bytes || remarkable()
    }

    /// Watches everything the round has read. `false` when something changed since: it is to be read again.
    fn watch_found(&mut self, round: &Round) -> bool {
        let wanted = round.limits.min_bytes.saturating_sub(self.found_bytes()).max(1);
        let slots: Vec<SlotId> = self.found.keys().copied().collect();
        let mut all = true;
        for slot in slots {
            if !self.watch(slot, round, wanted) {
                self.found.remove(&slot);
                all = false;
            }
        }
        all
    }

    fn watch(&mut self, slot: SlotId, round: &Round, wanted: u64) -> bool {
        if self.watches.contains_key(&slot) {
            return true;
        }
        let Some(Found {
            result: Ok(fetched),
            partition: Some(partition),
        }) = self.found.get(&slot)
        else {
            return true;
        };
        let token = WatchToken {
            session: round.session.clone(),
            slot,
        };
        match partition.watch(&fetched.seen, round.limits.isolation, wanted, token) {
            Some(watch) => {
                self.watches.insert(slot, (partition.clone(), watch));
                true
            }
            None => false,
        }
    }

    /// Ends the round: what the answer says, and what is watched until the next.
    fn tell(&mut self, round: &Round) -> Vec<PartitionAnswer> {
        let mut answers = Vec::new();
        let order: Vec<SlotId> = match round.tells {
            Tells::Everything => self.found.keys().copied().collect(),
            Tells::Changes => self.session.turns(),
        };
        for slot in order {
            let Some(found) = self.found.get(&slot) else {
                continue;
            };
            let outcome = found.outcome();
            let must_tell = self.session.told(slot, &outcome);
            if !round.session.is_closed() {
                self.watch_until_next_round(slot, round, &outcome);
            }
            if let Some(found) = self.found.remove(&slot)
                && (must_tell || round.tells == Tells::Everything)
                && let Some((key, _)) = self.session.slot(slot)
            {
                answers.push(PartitionAnswer {
                    key: key.clone(),
                    result: found.result,
                });
            }
        }
        self.found.clear();
        answers
    }

    fn watch_until_next_round(&mut self, slot: SlotId, round: &Round, outcome: &PartitionOutcome) {
        let is_idle = outcome.bytes == 0 && outcome.caught_up && !outcome.remarkable;
        if !is_idle {
            self.unwatch(slot);
        } else if !self.watch(slot, round, round.limits.min_bytes.max(1)) {
            self.session.take_turn(slot);
        }
    }
}

impl Found {
    fn bytes(&self) -> u64 {
        let bytes = self.result.as_ref().map_or(0, |fetched| fetched.records.len());
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    fn is_remarkable(&self) -> bool {
        self.result
            .as_ref()
            .map_or(true, |fetched| fetched.diverging.is_some())
    }

    fn outcome(&self) -> PartitionOutcome {
        match &self.result {
            Ok(fetched) => PartitionOutcome {
                bytes: fetched.records.len(),
                caught_up: fetched.caught_up,
                high_watermark: fetched.seen.high_watermark,
                log_start_offset: fetched.seen.log_start_offset,
                remarkable: fetched.diverging.is_some(),
            },
            Err(_) => PartitionOutcome {
                bytes: 0,
                caught_up: false,
                high_watermark: Offset::NONE,
                log_start_offset: Offset::NONE,
                remarkable: true,
            },
        }
    }
}

fn find<'t>(topics: &'t Topics, key: &FetchKey) -> Result<&'t Arc<HostedPartition>, PartitionError> {
    let unknown = || match key.topic {
        TopicKey::Name(_) => PartitionError::Unknown,
        TopicKey::Id(_) => PartitionError::UnknownId,
    };
    let topic = topics.topic(&key.topic).ok_or_else(unknown)?;
    match topic.partitions.get(&key.partition) {
        Some(Hosted::Online(partition)) => Ok(partition),
        Some(Hosted::Offline) => Err(PartitionError::Offline),
        None => Err(PartitionError::Unknown),
    }
}

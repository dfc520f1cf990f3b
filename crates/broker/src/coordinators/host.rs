//! One shard behind a lock, with its partition's log.
//!
//! Whoever decides holds the lock while it appends, so that the order of decisions is the order of the log; appends go
//! to the page cache. Commits are taken in by whoever is there: the thread that hears of them, if it gets the lock at
//! once, else the one that holds it, when it lets go. So a syncer never waits here. Answers are given outside the lock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use coordinator::{Answer, GroupConfig, GroupShard, Now, Step, Write, WriteError, encode_batch};
use model::{LeaderEpoch, Offset};
use parking_lot::Mutex;

use super::clock::Clock;
use super::groups::Unavailable;
use super::loading::load;
use super::offsets_log::{Fate, OffsetsLog};
use super::upkeep::Alarm;

/// Whoever waits for an answer: it is turned into a response and sent to the connection.
pub(crate) struct Waiter(Box<dyn FnOnce(Answer) + Send>);

impl Waiter {
    /// Calls `answer` once. It must not block.
    pub(crate) fn new(answer: impl FnOnce(Answer) + Send + 'static) -> Waiter {
        Waiter(Box::new(answer))
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiter")
    }
}

/// A shard of groups whose answers go to connections.
pub(super) type Shard = GroupShard<Waiter>;

type Answers = Vec<(Waiter, Answer)>;

/// The shard of one partition.
pub(super) struct Host {
    pub(super) partition: i32,
    pub(super) leader_epoch: LeaderEpoch,
    log: Arc<dyn OffsetsLog>,
    state: Mutex<State>,
    /// Records may have been committed that the shard does not know of.
    committed: AtomicBool,
    /// The partition cannot be written any more.
    lost: AtomicBool,
    clock: Clock,
    alarm: Arc<Alarm>,
}

enum State {
    Loading,
    Active(Box<Shard>),
    /// Led elsewhere, stopped, or its log could not be read.
    Closed,
}

impl Host {
    /// A host that must be loaded before it serves.
    pub(super) fn new(
        (partition, leader_epoch): (i32, LeaderEpoch),
        log: Arc<dyn OffsetsLog>,
        clock: Clock,
        alarm: Arc<Alarm>,
    ) -> Host {
        Host {
            partition,
            leader_epoch,
            log,
            state: Mutex::new(State::Loading),
            committed: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            clock,
            alarm,
        }
    }

    /// Whether there is nothing to load.
    pub(super) fn is_new(&self) -> bool {
        self.log.bounds().is_ok_and(|(start, end)| start == end)
    }

    /// Replays the log and begins to serve. Waits for the disk.
    pub(super) fn load(self: &Arc<Self>, config: &GroupConfig) {
        let mut shard = Box::new(Shard::new(config.clone()));
        let loaded = match load(&*self.log, &mut shard) {
            Ok(loaded) => loaded,
            Err(error) => {
                tracing::error!(
                    "the groups of __consumer_offsets-{} are not served: {error}",
                    self.partition
                );
                *self.state.lock() = State::Closed;
                return;
            }
        };
        tracing::debug!("loaded __consumer_offsets-{}: {loaded:?}", self.partition);
        let mut answers = Answers::new();
        {
            let mut state = self.state.lock();
            if !matches!(*state, State::Loading) {
                return; // Led elsewhere by now.
            }
            let now = self.clock.now();
            let step = shard.activate(now);
            self.carry_out(&mut shard, step, now, &mut answers);
            self.alarm.at(shard.next_deadline());
            *state = State::Active(shard);
        }
        self.let_go(answers);
    }

    /// Lets the shard decide, appends what it writes, and gives the answers that can be given.
    pub(super) fn decide(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Shard, Now) -> Step<Waiter>,
    ) -> Result<(), Unavailable> {
        let mut answers = Answers::new();
        {
            let mut state = self.state.lock();
            let shard = state.shard()?;
            let now = self.clock.now();
            let step = act(shard, now);
            self.carry_out(shard, step, now, &mut answers);
            self.alarm.at(shard.next_deadline());
        }
        self.let_go(answers);
        Ok(())
    }

    /// Lets a request do what neither writes nor answers others.
    pub(super) fn look<R>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Shard, Now) -> R,
    ) -> Result<R, Unavailable> {
        let result = {
            let mut state = self.state.lock();
            let shard = state.shard()?;
            act(shard, self.clock.now())
        };
        self.let_go(Answers::new());
        Ok(result)
    }

    /// Lets time pass.
    pub(super) fn tick(self: &Arc<Self>) {
        // A shard that does not serve has no deadlines.
        let _ = self.decide(Shard::tick);
    }

    /// Gives up: everybody who waits is told that this is not the coordinator.
    pub(super) fn close(&self) {
        let closed = std::mem::replace(&mut *self.state.lock(), State::Closed);
        if let State::Active(mut shard) = closed {
            give(shard.resign());
        }
    }

    fn carry_out(self: &Arc<Self>, shard: &mut Shard, step: Step<Waiter>, now: Now, answers: &mut Answers) {
        let mut steps = vec![step];
        while let Some(step) = steps.pop() {
            answers.extend(step.answers);
            for event in step.events {
                tracing::info!("{event}");
            }
            for write in step.writes {
                match self.append(&write, now) {
                    Ok(first_offset) => shard.appended(now, write, first_offset.0),
                    Err(error) => steps.push(shard.append_failed(now, write, error)),
                }
            }
        }
    }

    fn append(self: &Arc<Self>, write: &Write<Waiter>, now: Now) -> Result<Offset, WriteError> {
        let batch = encode_batch(&write.records, now.wall_ms).map_err(|_| WriteError::TooLarge)?;
        let host = Arc::clone(self);
        Arc::clone(&self.log).append(&batch, now.wall_ms, Box::new(move |fate| host.hear(fate)))
    }

    /// The fate of an append is known.
    fn hear(self: &Arc<Self>, fate: Fate) {
        if fate == Fate::Lost {
            self.lost.store(true, Ordering::Release);
        }
        self.committed.store(true, Ordering::Release);
        self.catch_up();
    }

    /// After the lock: answers go out, and commits that were heard of while it was held are taken in.
    fn let_go(self: &Arc<Self>, answers: Answers) {
        give(answers);
        self.catch_up();
    }

    /// Takes in commits, unless somebody holds the lock: that one does it then. Both sides set and look in opposite
    /// order, with a fence between, so that one of them sees the other.
    fn catch_up(self: &Arc<Self>) {
        loop {
            fence(Ordering::SeqCst);
            if !self.committed.load(Ordering::Acquire) {
                return;
            }
            let Some(mut state) = self.state.try_lock() else {
                return;
            };
            self.committed.store(false, Ordering::Release);
            let mut answers = Answers::new();
            if self.lost.load(Ordering::Acquire) {
                if let State::Active(mut shard) = std::mem::replace(&mut *state, State::Closed) {
                    answers = shard.resign();
                }
            } else if let State::Active(shard) = &mut *state {
                let now = self.clock.now();
                let step = shard.committed(now, self.log.high_watermark().0);
                self.carry_out(shard, step, now, &mut answers);
                self.alarm.at(shard.next_deadline());
            }
            drop(state);
            give(answers);
        }
    }
}

impl State {
    fn shard(&mut self) -> Result<&mut Shard, Unavailable> {
        match self {
            State::Active(shard) => Ok(shard),
            State::Loading => Err(Unavailable::Loading),
            State::Closed => Err(Unavailable::NotHere),
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({}, {:?})", self.partition, self.leader_epoch)
    }
}

fn give(answers: Answers) {
    for (waiter, answer) in answers {
        (waiter.0)(answer);
    }
}

//! The controller's thread: takes commands from a bounded queue, decides on them in turn, and commits what was decided
//! together: one sync of the log answers everybody who waited meanwhile.
//!
//! Decisions see what was decided before them, committed or not; clients see only what is committed and acted on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use controller::{
    Context, Decision, ProducerIdBlock, ProducerIdError, Settings, allocate_producer_ids, start_broker,
    stop_broker,
};
use metadata::{MetadataLog, MetadataRecord, RecordVersions, Replay};
use model::{BrokerEpoch, BrokerId};
use parking_lot::Mutex;
use quorum::{LogError, QuorumOfOne, SnapshotJob};
use storage::LogDir;
use tokio::sync::oneshot;

use crate::config::NodeConfig;
use crate::dispatch::{now_ms, steady_ms};
use crate::halt::Halt;
use crate::metadata::publisher::Publisher;
use crate::metadata::{Listeners, MetadataCache};
use crate::network::LogLimit;

/// How many commands may wait.
const QUEUE: usize = 1024;
/// How many decisions are committed together, at most.
const GROUP: usize = 256;
/// How often the log is looked after when nothing happens.
const UPKEEP: Duration = Duration::from_secs(1);

/// Why a command got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControllerError {
    /// The node stops, or its metadata log failed. What was decided may or may not be committed.
    #[error("the controller has stopped")]
    Stopped,
    /// Its time was over before its turn came, or too many wait: nothing was done.
    #[error("the controller did not get to it in time")]
    TimedOut,
    /// The disk of the metadata log is full: nothing was done.
    #[error("the disk of the metadata log is full")]
    Full,
}

/// What a command comes to.
pub(crate) type Reply<R> = Result<R, ControllerError>;

/// A decision on its way: what to write, and how to answer.
type Decided = (Vec<MetadataRecord>, Box<dyn FnOnce(Reply<()>) + Send>);
/// Decides, or answers at once when the outcome is known already.
type Command = Box<dyn FnOnce(Reply<(&Context<'_>, controller::Entropy<'_>)>) -> Option<Decided> + Send>;

enum Task {
    Decide {
        deadline_ms: Option<i64>,
        command: Command,
    },
    Stop(oneshot::Sender<()>),
}

/// The controller of this node, as its handlers see it.
#[derive(Debug)]
pub(crate) struct Controller {
    queue: SyncSender<Task>,
    thread: Mutex<Option<JoinHandle<()>>>,
    config: Arc<NodeConfig>,
    cache: Arc<MetadataCache>,
    broker_epoch: BrokerEpoch,
    kraft_version: i16,
}

impl Controller {
    pub(super) fn start(
        host: Host,
        config: Arc<NodeConfig>,
        halt: Arc<Halt>,
        listeners: Listeners,
    ) -> std::io::Result<Arc<Controller>> {
        let (queue, tasks) = sync_channel(QUEUE);
        let cache = Arc::new(MetadataCache::new(Arc::new(host.replay.image().clone())));
        let publisher = Publisher::new(cache.clone(), listeners);
        let (broker_epoch, kraft_version) = (host.broker.1, host.log.kraft_version());
        let thread = std::thread::Builder::new()
            .name("controller".to_owned())
            .spawn(move || {
                // Without it nobody decides.
                let _guard = halt.on_panic("controller");
                Running {
                    host,
                    publisher,
                    tasks,
                    halt,
                    refusals: LogLimit::new(),
                }
                .run();
            })?;
        Ok(Arc::new(Controller {
            queue,
            thread: Mutex::new(Some(thread)),
            config,
            cache,
            broker_epoch,
            kraft_version,
        }))
    }

    /// What requests are answered from.
    pub(crate) fn cache(&self) -> &Arc<MetadataCache> {
        &self.cache
    }

    /// The epoch this node is registered with.
    pub(crate) fn broker_epoch(&self) -> BrokerEpoch {
        self.broker_epoch
    }

    /// The level of `kraft.version`, which the image does not hold: it is the quorum's own.
    pub(crate) fn kraft_version(&self) -> i16 {
        self.kraft_version
    }

    pub(super) fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Has a decision taken and carried out. `done` runs on the controller's thread once everybody has acted on the new
    /// image, or with why not; it must not wait. A command whose deadline passed is not carried out.
    pub(crate) fn submit<R: Send + 'static>(
        &self,
        deadline_ms: Option<i64>,
        decide: impl FnOnce(&Context<'_>, controller::Entropy<'_>) -> Decision<R> + Send + 'static,
        done: impl FnOnce(Reply<R>) + Send + 'static,
    ) {
        let command: Command = Box::new(move |turn| match turn {
            Ok((context, entropy)) => {
                let Decision { records, reply } = decide(context, entropy);
                Some((records, Box::new(move |outcome| done(outcome.map(|()| reply)))))
            }
            Err(error) => {
                done(Err(error));
                None
            }
        });
        let (task, error) = match self.queue.try_send(Task::Decide { deadline_ms, command }) {
            Ok(()) => return,
            Err(TrySendError::Full(task)) => (task, ControllerError::TimedOut),
            Err(TrySendError::Disconnected(task)) => (task, ControllerError::Stopped),
        };
        refuse(task, error);
    }

    /// The same for who can wait for the answer, asynchronously or on a thread that may block.
    pub(crate) fn ask<R: Send + 'static>(
        &self,
        decide: impl FnOnce(&Context<'_>, controller::Entropy<'_>) -> Decision<R> + Send + 'static,
    ) -> oneshot::Receiver<Reply<R>> {
        let (sender, receiver) = oneshot::channel();
        // Who asked may have stopped waiting.
        self.submit(None, decide, move |reply| drop(sender.send(reply)));
        receiver
    }

    /// Has a block of producer ids given to this node, durably (rule 134).
    pub(crate) fn allocate_producer_ids(
        &self,
    ) -> oneshot::Receiver<Reply<Result<ProducerIdBlock, ProducerIdError>>> {
        let (id, epoch) = (self.config.node_id, self.broker_epoch);
        self.ask(move |context, _| allocate_producer_ids(context, id, epoch))
    }

    /// Has this node lead what it can. Waits until it does.
    pub(crate) fn unfence(&self) -> Reply<()> {
        let (id, epoch) = (self.config.node_id, self.broker_epoch);
        let started = self
            .ask(move |context, _| start_broker(context, id, epoch))
            .blocking_recv();
        match started {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Err(error)) => Err(error),
            Ok(Ok(Err(_))) | Err(_) => Err(ControllerError::Stopped),
        }
    }

    /// Stops: writes that this node leads nothing any more, closes the log, and joins the thread. Nobody is told: the
    /// replicas are about to be closed. Commands that still wait get an error.
    pub(crate) fn stop(&self) {
        let (stopped, wait) = oneshot::channel();
        if self.queue.send(Task::Stop(stopped)).is_ok() {
            let _ = wait.blocking_recv();
        }
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread has halted the node.
            let _ = thread.join();
        }
    }
}

fn refuse(task: Task, error: ControllerError) {
    if let Task::Decide { command, .. } = task {
        command(Err(error));
    }
}

/// The log and what it says.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) log: QuorumOfOne,
    pub(super) replay: Replay,
    pub(super) settings: Settings,
    /// This node, as it is registered.
    pub(super) broker: (BrokerId, BrokerEpoch),
    /// Held as long as the log is open: it may be none of the directories that the replicas hold.
    pub(super) dir: Arc<LogDir>,
    fallback: storage::Random,
}

impl Host {
    pub(super) fn new(dir: Arc<LogDir>, log: QuorumOfOne, replay: Replay, settings: Settings) -> Host {
        let broker = (BrokerId::NONE, BrokerEpoch(-1));
        let fallback = storage::Random::new(now_ms().unsigned_abs());
        Host {
            log,
            replay,
            settings,
            broker,
            dir,
            fallback,
        }
    }

    fn decide(&mut self, command: Command) -> Option<Decided> {
        let context = Context {
            image: self.replay.image(),
            settings: &self.settings,
            next_offset: self.log.next_offset(),
        };
        let fallback = &mut self.fallback;
        // The system's numbers end only where there are none: an id of a topic is not worth a halt then.
        let mut entropy = || getrandom::u64().unwrap_or_else(|_| fallback.bits());
        command(Ok((&context, &mut entropy)))
    }

    fn write(&mut self, records: &[MetadataRecord]) -> Result<(), Failure> {
        if records.is_empty() {
            return Ok(());
        }
        let versions = RecordVersions::of(&self.replay.image().features);
        let position = self.log.append(records, versions, now_ms())?;
        let applied = self.replay.apply_batch(records, position);
        applied.map_err(|error| {
            let what = "a decision contradicts the metadata; this is a bug, please report it";
            Failure::Final(format!("{what}: {error}"))
        })
    }
}

/// What went wrong with the log.
enum Failure {
    /// There is no room. Nothing happened, and there may be room later (rule 110).
    Full(String),
    /// Going on would do harm.
    Final(String),
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Failure {
        let text = error.to_string();
        if error.is_full() {
            Failure::Full(text)
        } else {
            Failure::Final(text)
        }
    }
}

/// The thread at work.
struct Running {
    host: Host,
    publisher: Publisher,
    tasks: Receiver<Task>,
    halt: Arc<Halt>,
    /// Any client can send commands for which there is no room.
    refusals: LogLimit,
}

impl Running {
    fn run(mut self) {
        let mut snapshot = SnapshotThread::default();
        loop {
            let stop = match self.tasks.recv_timeout(UPKEEP) {
                Ok(task) => self.group(task),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let stop = stop.and_then(|stop| match self.maintain(&mut snapshot) {
                Err(Failure::Final(reason)) => Err(reason),
                Err(Failure::Full(reason)) => {
                    tracing::warn!("{reason}; tried again later");
                    Ok(stop)
                }
                Ok(()) => Ok(stop),
            });
            match stop {
                Ok(None) => {}
                Ok(Some(stopped)) => {
                    snapshot.join();
                    self.stop(stopped);
                    return;
                }
                Err(reason) => {
                    self.halt.call(reason);
                    self.refuse_all();
                    return;
                }
            }
        }
    }

    fn maintain(&mut self, snapshot: &mut SnapshotThread) -> Result<(), Failure> {
        self.publisher.try_again();
        let due = self.host.log.maintain(self.host.replay.image(), now_ms())?;
        due.map_or(Ok(()), |job| snapshot.start(job))
            .map_err(Failure::Final)
    }

    /// Takes a command and those that wait behind it, and answers them all. Gives back who asked to stop, if one did.
    fn group(&mut self, first: Task) -> Result<Option<oneshot::Sender<()>>, String> {
        let mut answers = Vec::new();
        let mut next = Some(first);
        let mut stop = None;
        while let Some(task) = next.take() {
            match task {
                Task::Decide {
                    deadline_ms: Some(deadline_ms),
                    command,
                } if deadline_ms <= steady_ms() => {
                    command(Err(ControllerError::TimedOut));
                }
                Task::Decide { command, .. } => {
                    let Some((records, answer)) = self.host.decide(command) else {
                        continue;
                    };
                    match self.host.write(&records) {
                        Ok(()) => answers.push(answer),
                        Err(Failure::Full(reason)) => {
                            if let Some(left_out) = self.refusals.permit() {
                                tracing::warn!(left_out, "{reason}; the command is refused");
                            }
                            answer(Err(ControllerError::Full));
                        }
                        Err(Failure::Final(reason)) => {
                            answers.push(answer);
                            answers
                                .into_iter()
                                .for_each(|answer| answer(Err(ControllerError::Stopped)));
                            return Err(reason);
                        }
                    }
                }
                Task::Stop(stopped) => stop = Some(stopped),
            }
            if stop.is_none() && answers.len() < GROUP {
                next = self.tasks.try_recv().ok();
            }
        }
        // A sync that fails for want of room fails all the same: what it should have kept may be gone.
        let outcome = self.host.log.commit().map_err(|error| error.to_string());
        let mut reply = Err(ControllerError::Stopped);
        if outcome.is_ok() {
            let delta = self.host.replay.take_delta();
            self.publisher.publish(self.host.replay.image().clone(), &delta);
            reply = Ok(());
        }
        answers.into_iter().for_each(|answer| answer(reply));
        outcome.map(|()| stop)
    }

    fn stop(mut self, stopped: oneshot::Sender<()>) {
        let (id, epoch) = self.host.broker;
        let context = Context {
            image: self.host.replay.image(),
            settings: &self.host.settings,
            next_offset: self.host.log.next_offset(),
        };
        let records = stop_broker(&context, id, epoch).records;
        let written = self.host.write(&records);
        self.refuse_all();
        let closed = self.host.log.close(now_ms()).map_err(Failure::from);
        match written.and(closed) {
            Ok(()) => {}
            Err(Failure::Full(reason)) => {
                tracing::warn!("{reason}; the next start finds this node as if it still led")
            }
            Err(Failure::Final(reason)) => self.halt.call(reason),
        }
        let _ = stopped.send(());
    }

    fn refuse_all(&self) {
        while let Ok(task) = self.tasks.try_recv() {
            refuse(task, ControllerError::Stopped);
        }
    }
}

/// Writes snapshots, one at a time, while decisions go on.
#[derive(Default)]
struct SnapshotThread(Option<JoinHandle<()>>);

impl SnapshotThread {
    fn start(&mut self, job: SnapshotJob) -> Result<(), String> {
        self.join();
        let thread = std::thread::Builder::new()
            .name("metadata-snapshot".to_owned())
            .spawn(move || job.run());
        self.0 = Some(thread.map_err(|error| format!("no thread for a snapshot: {error}"))?);
        Ok(())
    }

    fn join(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

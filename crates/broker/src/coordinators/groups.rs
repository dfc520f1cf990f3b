//! Which shard a group belongs to, and which shards this broker has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use coordinator::{GroupConfig, Now, Step};
use metadata::{Delta, Image, TopicFate};
use model::{BrokerId, CONSUMER_OFFSETS, ErrorCode, partition_for_id};
use parking_lot::{Mutex, RwLock};

use super::clock::Clock;
use super::host::{Host, Shard, Waiter};
use super::offsets_log::OffsetsLog;
use super::upkeep::Alarm;
use crate::config::NodeConfig;
use crate::halt::Halt;
use crate::replicas::Replicas;

/// Why this broker does not act for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    /// The broker stops.
    #[error("the broker is stopping")]
    Stopping,
    /// Another broker leads the group's partition, or nobody does.
    #[error("this broker is not the group's coordinator")]
    NotHere,
    /// The partition's log is being replayed.
    #[error("the coordinator is loading")]
    Loading,
}

impl Unavailable {
    /// What the client is told.
    pub(crate) fn code(self) -> ErrorCode {
        match self {
            Unavailable::Stopping => ErrorCode::CoordinatorNotAvailable,
            Unavailable::NotHere => ErrorCode::NotCoordinator,
            Unavailable::Loading => ErrorCode::CoordinatorLoadInProgress,
        }
    }
}

/// Finds the log of a partition of `__consumer_offsets` on this broker.
type FindLog = Box<dyn Fn(i32) -> Option<Arc<dyn OffsetsLog>> + Send + Sync>;

/// The groups this broker coordinates.
pub(crate) struct Groups {
    broker: BrokerId,
    config: GroupConfig,
    find_log: FindLog,
    clock: Clock,
    alarm: Arc<Alarm>,
    hosts: RwLock<BTreeMap<i32, Arc<Host>>>,
    /// Partitions of `__consumer_offsets`; 0 while the topic does not exist.
    partitions: AtomicI32,
    stopping: AtomicBool,
    /// Hosts to be loaded. `None` after the stop.
    to_load: Mutex<Option<Sender<Arc<Host>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Groups {
    /// The groups whose partitions lie on these replicas. See [`Groups::start`].
    pub(crate) fn of_replicas(
        config: &NodeConfig,
        replicas: Arc<Replicas>,
        halt: &Arc<Halt>,
    ) -> std::io::Result<Arc<Groups>> {
        let find_log = move |partition| {
            let log = replicas.partition(CONSUMER_OFFSETS, partition)?;
            Some(log as Arc<dyn OffsetsLog>)
        };
        Groups::start(config, Box::new(find_log), halt)
    }

    /// Starts the threads. Nothing is coordinated until [`Groups::apply`] says what this broker leads.
    pub(super) fn start(
        config: &NodeConfig,
        find_log: FindLog,
        halt: &Arc<Halt>,
    ) -> std::io::Result<Arc<Groups>> {
        let (to_load, loads) = channel();
        let groups = Arc::new(Groups {
            broker: config.node_id,
            config: group_config(config),
            find_log,
            clock: Clock::start(),
            alarm: Arc::default(),
            hosts: RwLock::default(),
            partitions: AtomicI32::new(0),
            stopping: AtomicBool::new(false),
            to_load: Mutex::new(Some(to_load)),
            threads: Mutex::default(),
        });
        let upkeep = Arc::clone(&groups);
        groups.spawn("group-upkeep", halt, move || {
            let alarm = Arc::clone(&upkeep.alarm);
            alarm.run(&upkeep.clock, || upkeep.tick());
        })?;
        let loader = groups.config.clone();
        groups.spawn("group-loader", halt, move || load_all(&loads, &loader))?;
        Ok(groups)
    }

    fn spawn(
        &self,
        name: &'static str,
        halt: &Arc<Halt>,
        run: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let guard = halt.on_panic(name);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _guard = guard;
            run();
        })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Acts on new metadata, after the replicas have.
    pub(crate) fn apply(&self, image: &Image, delta: &Delta) {
        for (id, change) in &delta.topics {
            if change.fate == TopicFate::Deleted && &*change.name != CONSUMER_OFFSETS {
                let hosts: Vec<_> = self.hosts.read().values().cloned().collect();
                for host in hosts {
                    // One that loads or has closed holds no offsets that anybody could read.
                    let _ = host.decide(|shard, _| shard.topic_deleted(&change.name, *id));
                }
            }
        }
        let mut changes = delta
            .topics
            .values()
            .filter(|change| &*change.name == CONSUMER_OFFSETS)
            .peekable();
        if changes.peek().is_some() {
            // Made anew in the same step, the topic has partitions in the same epochs, on other logs.
            if changes.any(|change| change.fate == TopicFate::Deleted) {
                self.close_all();
            }
            self.follow_leaderships(image);
        }
    }

    /// Opens a shard for each partition that this broker began to lead, and closes those it does not lead any more.
    fn follow_leaderships(&self, image: &Image) {
        let topic = image.topics.by_name(CONSUMER_OFFSETS);
        let count = topic.map_or(0, |topic| topic.partition_count());
        self.partitions
            .store(i32::try_from(count).unwrap_or(i32::MAX), Ordering::Release);
        let mut led = BTreeMap::new();
        for (&index, partition) in topic.iter().flat_map(|topic| &topic.partitions) {
            if partition.leader == Some(self.broker) {
                led.insert(index, partition.leader_epoch);
            }
        }
        let mut closed = Vec::new();
        let mut opened = Vec::new();
        {
            let mut hosts = self.hosts.write();
            hosts.retain(|index, host| {
                let stays = led.get(index) == Some(&host.leader_epoch);
                if !stays {
                    closed.push(Arc::clone(host));
                }
                stays
            });
            for (index, leader_epoch) in led {
                if hosts.contains_key(&index) {
                    continue;
                }
                if let Some(log) = (self.find_log)(index) {
                    let host = Host::new(
                        (index, leader_epoch),
                        log,
                        self.clock.clone(),
                        Arc::clone(&self.alarm),
                    );
                    let host = Arc::new(host);
                    hosts.insert(index, Arc::clone(&host));
                    opened.push(host);
                }
            }
        }
        for host in closed {
            host.close();
        }
        for host in opened {
            self.open(host);
        }
    }

    /// A new partition serves at once; another is replayed first, on the loader's thread.
    fn open(&self, host: Arc<Host>) {
        if host.is_new() {
            host.load(&self.config);
        } else if let Some(to_load) = &*self.to_load.lock() {
            // The loader ends only after the stop has taken this sender away.
            let _ = to_load.send(host);
        }
    }

    fn tick(&self) {
        let hosts: Vec<_> = self.hosts.read().values().cloned().collect();
        for host in hosts {
            host.tick();
        }
    }

    fn host(&self, group: &str) -> Result<Arc<Host>, Unavailable> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(Unavailable::Stopping);
        }
        let partitions = self.partitions.load(Ordering::Acquire);
        if partitions == 0 {
            return Err(Unavailable::NotHere);
        }
        let index = partition_for_id(group, partitions);
        self.hosts.read().get(&index).cloned().ok_or(Unavailable::NotHere)
    }

    /// Lets a group's shard decide. The answer comes to the waiter that `act` passes on.
    pub(crate) fn decide(
        &self,
        group: &str,
        act: impl FnOnce(&mut Shard, Now) -> Step<Waiter>,
    ) -> Result<(), Unavailable> {
        self.host(group)?.decide(act)
    }

    /// Asks a group's shard something it can answer at once.
    pub(crate) fn look<R>(
        &self,
        group: &str,
        act: impl FnOnce(&mut Shard, Now) -> R,
    ) -> Result<R, Unavailable> {
        self.host(group)?.look(act)
    }

    /// Asks every shard of this broker. An error of one is the error of all, but for one that has just moved away.
    pub(crate) fn look_everywhere<R>(
        &self,
        mut act: impl FnMut(&mut Shard) -> R,
    ) -> Result<Vec<R>, Unavailable> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(Unavailable::Stopping);
        }
        let hosts: Vec<_> = self.hosts.read().values().cloned().collect();
        let mut results = Vec::new();
        for host in hosts {
            match host.look(|shard, _| act(shard)) {
                Ok(result) => results.push(result),
                Err(Unavailable::NotHere) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(results)
    }

    /// No request is decided any more, and everybody who waits is answered.
    pub(crate) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.close_all();
    }

    fn close_all(&self) {
        let hosts = std::mem::take(&mut *self.hosts.write());
        for host in hosts.into_values() {
            host.close();
        }
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.begin_stop();
        self.alarm.stop();
        drop(self.to_load.lock().take());
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a coordinator thread panicked");
            }
        }
    }
}

fn load_all(loads: &Receiver<Arc<Host>>, config: &GroupConfig) {
    while let Ok(host) = loads.recv() {
        host.load(config);
    }
}

/// The limits of groups as this node was told. An operator who sets `group.max.size` lifts our own cap.
fn group_config(config: &NodeConfig) -> GroupConfig {
    let groups = &config.groups;
    let unlimited = usize::try_from(i32::MAX).unwrap_or(usize::MAX);
    GroupConfig {
        min_session_timeout_ms: groups.min_session_timeout_ms,
        max_session_timeout_ms: groups.max_session_timeout_ms,
        initial_rebalance_delay_ms: groups.initial_rebalance_delay_ms,
        max_members: if groups.max_size == unlimited {
            GroupConfig::MAX_MEMBERS
        } else {
            groups.max_size
        },
        max_offset_metadata_units: groups.offset_metadata_max_bytes,
        offsets_retention_ms: groups.offsets_retention_ms,
        offsets_retention_check_interval_ms: groups.offsets_retention_check_interval_ms,
        commit_timeout_ms: groups.offsets_commit_timeout_ms,
        ..GroupConfig::default()
    }
}

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups")
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

//! The replicas of this broker: their table, the log directories they lie in, the threads that look after them, and
//! the requests that wait for them.
//!
//! Protocol versions are not known here, nor sockets; rules of a partition are `replication`'s.

mod dir;
mod fetch;
mod journal;
mod load;
mod partition;
mod produce;
mod producer_ids;
mod roles;
mod stop;
mod syncer;
mod table;
mod timers;
mod upkeep;
mod waiting;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use arc_swap::Guard;
use metadata::Image;
use model::{TopicPartition, Uuid};
use parking_lot::Mutex;
use replication::{
    CacheLimits, Newcomer, PartitionFetch, Session, SessionCache, SessionError, SessionRequest, TopicNaming,
};
use storage::{OpenError, Shutdown};

pub(crate) use fetch::{
    FetchAnswer, FetchKey, FetchLimits, FetchReply, PartitionAnswer, PartitionError, Round,
};
pub(crate) use partition::HostedPartition;
pub(crate) use produce::{PendingProduce, SlotEnd};
pub(crate) use producer_ids::ProducerIds;
pub(crate) use syncer::sync_now;
pub(crate) use table::{Hosted, HostedTopic, TopicKey, Topics};
pub(crate) use waiting::ProduceToken;

use crate::config::NodeConfig;
use crate::dispatch::now_ms;
use crate::halt::Halt;
use crate::storage_dirs::OpenedDir;
use dir::HostedDir;
use fetch::{FetchSession, Lasting, Tells};
use table::Table;
use timers::Timers;

/// How long a fetch session is safe from eviction: Kafka's constant.
const SESSION_EVICTION_MS: i64 = 120_000;
/// The most partitions in all fetch sessions, made-up ones included: some 320 bytes each.
const SESSION_PARTITIONS_MAX: usize = 1_000_000;

/// What the replicas start from.
pub(crate) struct OpenReplicas {
    /// What the node was told.
    pub(crate) config: Arc<NodeConfig>,
    /// What is called when going on would do harm.
    pub(crate) halt: Arc<Halt>,
    /// The log directories.
    pub(crate) dirs: Vec<OpenedDir>,
    /// What the metadata log says.
    pub(crate) image: Arc<Image>,
}

/// Why the replicas cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ReplicasError {
    /// A log, or a file of a directory.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The system gives no thread.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
    /// One partition in two directories.
    #[error("{partition} lies in both {first} and {second}: remove the older one")]
    Twice {
        /// The partition.
        partition: TopicPartition,
        /// A directory.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
    },
}

/// The replicas of this broker.
pub(crate) struct Replicas {
    config: Arc<NodeConfig>,
    dirs: Vec<Arc<HostedDir>>,
    table: Table,
    timers: Arc<Timers>,
    sessions: Mutex<SessionCache<Arc<FetchSession>>>,
    upkeep: upkeep::Upkeep,
    /// Partitions to be made or led once there is room.
    unhosted: Mutex<BTreeSet<(Uuid, i32)>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stopping: AtomicBool,
}

/// A fetch whose session was found: to be started where it may run.
pub(crate) enum Prepared {
    /// It was answered: the session was refused.
    Answered,
    /// What is asked for is in memory: start it here.
    Warm(Arc<Round>),
    /// It may have to wait for a disk: start it on a request handler.
    Cold(Arc<Round>),
}

/// A fetch, versions translated away.
pub(crate) struct FetchParts {
    pub(crate) session: SessionRequest,
    pub(crate) naming: TopicNaming,
    pub(crate) partitions: Vec<(FetchKey, PartitionFetch)>,
    pub(crate) forgotten: Vec<FetchKey>,
    pub(crate) limits: FetchLimits,
}

impl Replicas {
    /// Opens every partition, repairing what a crash left, leads what the image says, and starts the threads.
    pub(crate) fn open(open: OpenReplicas) -> Result<Arc<Replicas>, ReplicasError> {
        let now = now_ms();
        let (dirs, topics) = load::load(&open, now)?;
        for (dir, opened) in dirs.iter().zip(&open.dirs) {
            if opened.last_shutdown.shutdown == Shutdown::Unclean {
                dir.note_recovered();
            }
        }
        let slots = open.config.fetch.session_cache_slots;
        let replicas = Arc::new(Replicas {
            table: Table::new(topics),
            timers: Arc::default(),
            sessions: Mutex::new(SessionCache::new(CacheLimits {
                sessions: slots,
                partitions: SESSION_PARTITIONS_MAX,
                eviction_ms: SESSION_EVICTION_MS,
            })),
            upkeep: upkeep::Upkeep::new(&open.config),
            unhosted: Mutex::default(),
            threads: Mutex::default(),
            stopping: AtomicBool::new(false),
            config: open.config,
            dirs,
        });
        replicas.start_threads(&open.halt)?;
        replicas.lead_all(&open.image);
        Ok(replicas)
    }

    fn start_threads(self: &Arc<Self>, halt: &Arc<Halt>) -> std::io::Result<()> {
        let mut threads = self.threads.lock();
        for dir in &self.dirs {
            threads.push(dir.start_syncing()?);
            threads.push(dir.start_journal()?);
        }
        threads.push(self.timers.start(halt)?);
        threads.push(upkeep::start(self, halt)?);
        Ok(())
    }

    /// The partitions of now.
    pub(crate) fn topics(&self) -> Guard<Arc<Topics>> {
        self.table.load()
    }

    /// A partition that is served here.
    pub(crate) fn partition(&self, topic: &str, partition: i32) -> Option<Arc<HostedPartition>> {
        match self.table.load().by_name(topic)?.partitions.get(&partition)? {
            Hosted::Online(partition) => Some(partition.clone()),
            Hosted::Offline => None,
        }
    }

    pub(crate) fn timers(&self) -> &Arc<Timers> {
        &self.timers
    }

    /// `fetch.max.bytes`: the most bytes of one answer.
    pub(crate) fn fetch_max_bytes(&self) -> i32 {
        self.config.fetch.max_bytes
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Finds or makes the session of a fetch; `reply` is called with the answer, perhaps at once.
    pub(crate) fn prepare_fetch(self: &Arc<Self>, parts: FetchParts, reply: FetchReply) -> Prepared {
        let (session, tells) = match self.session_of(&parts) {
            Ok(found) => found,
            Err(error) => {
                reply(FetchAnswer {
                    session_id: 0,
                    error: Some(error),
                    partitions: Vec::new(),
                });
                return Prepared::Answered;
            }
        };
        let is_cold = session.may_be_cold(&self.topics());
        let round = Round::new(self.clone(), session, parts.limits, tells, reply);
        if is_cold {
            Prepared::Cold(round)
        } else {
            Prepared::Warm(round)
        }
    }

    fn session_of(&self, parts: &FetchParts) -> Result<(Arc<FetchSession>, Tells), SessionError> {
        let session = || Session::new(parts.naming, parts.partitions.iter().cloned());
        match parts.session {
            SessionRequest::Without { closes } => {
                self.close_session(closes);
                Ok((FetchSession::new(session(), Lasting::OneRound), Tells::Everything))
            }
            SessionRequest::Open { closes } => {
                self.close_session(closes);
                Ok((self.open_session(session()), Tells::Everything))
            }
            SessionRequest::Resume { id, epoch } => self.resume_session(id, epoch, parts),
        }
    }

    fn open_session(&self, session: Session<FetchKey>) -> Arc<FetchSession> {
        let newcomer = Newcomer {
            privileged: false,
            size: session.len(),
            random: random(),
        };
        let session = FetchSession::new(session, Lasting::Cached);
        let opened = self.sessions.lock().open(newcomer, now_ms(), session.clone());
        match opened {
            Some(opened) => {
                session.set_id(opened.id);
                if let Some(evicted) = opened.evicted {
                    evicted.close();
                }
            }
            // No room: the client is told of no session, and asks for everything again.
            None => session.close(),
        }
        session
    }

    fn resume_session(
        &self,
        id: i32,
        epoch: i32,
        parts: &FetchParts,
    ) -> Result<(Arc<FetchSession>, Tells), SessionError> {
        let session = self
            .sessions
            .lock()
            .get(id)
            .cloned()
            .ok_or(SessionError::NotFound(id))?;
        let size = session.resume(
            epoch,
            parts.naming,
            parts.partitions.clone(),
            parts.forgotten.clone(),
        )?;
        if size == 0 {
            self.close_session(Some(id));
            let empty = Session::new(parts.naming, BTreeMap::new());
            return Ok((FetchSession::new(empty, Lasting::OneRound), Tells::Everything));
        }
        let outgrown = self.sessions.lock().touch(id, size, now_ms());
        if let Some(session) = outgrown {
            session.close();
        }
        Ok((session, Tells::Changes))
    }

    fn close_session(&self, id: Option<i32>) {
        let Some(id) = id else { return };
        let closed = self.sessions.lock().remove(id);
        if let Some(session) = closed {
            session.close();
        }
    }
}

/// Where the search for a session id begins. Without entropy it begins at 0, and nothing but privacy is lost.
fn random() -> u32 {
    getrandom::u32().unwrap_or_default()
}

impl std::fmt::Debug for Replicas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replicas")
            .field("dirs", &self.dirs)
            .finish_non_exhaustive()
    }
}

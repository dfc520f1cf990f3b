//! The node: what `crates/broker` does with threads, done by calls.
//!
//! Every failure of the disk stops the node at once, as the broker does with its last directory.

mod controller;
mod groups;
mod journal;
mod partitions;

pub(crate) use partitions::Produced;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use coordinator::{Answer, GroupShard};
use metadata::{MetadataLog as _, Replay};
use model::{BrokerEpoch, BrokerId, Offset, TopicPartition, Uuid};
use quorum::QuorumOfOne;
use replication::{ProduceOutcome, Replica};
use storage::{
    Disk, Journal, JournalKey, LastShutdown, LogConfig, LogDir, MetaProperties, Random, Shutdown, SimDisk,
    Unsynced,
};

/// Its number.
const ID: BrokerId = BrokerId(1);
/// Its directory.
const DIR: &str = "/data";
const DIRECTORY_ID: Uuid = Uuid([9; 16]);

/// Faults that a simulation must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Records are acknowledged without a sync.
    NoSync,
    /// Recovery takes a batch for sound without its checksum.
    NoChecksums,
    /// The journal is written over before the segments have what it held.
    ReuseEarly,
    /// Of each producer four batches are remembered instead of five.
    WindowOfFour,
}

/// The fault that is planted, if one is.
pub type Planted = Option<Plant>;

/// The node has stopped, and why.
#[derive(Clone, Debug)]
pub(crate) struct Halt(pub(crate) String);

fn halt(error: impl Display) -> Halt {
    Halt(error.to_string())
}

/// What the node tells a client later than in its answer.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// A produce that waited has ended.
    Produced { token: u64, outcome: ProduceOutcome },
    /// A group answers.
    Answered { token: u64, answer: Answer },
}

/// Partitions, and what of them is not durable.
type Dirty = Vec<(TopicPartition, Unsynced)>;

struct Hosted {
    replica: Replica<u64, ()>,
    topic_id: Uuid,
}

/// A running node.
pub(crate) struct Node {
    disk: Arc<dyn Disk>,
    dir: LogDir,
    quorum: QuorumOfOne,
    replay: Replay,
    settings: ::controller::Settings,
    epoch: BrokerEpoch,
    log_config: Arc<LogConfig>,
    partitions: BTreeMap<TopicPartition, Hosted>,
    shards: BTreeMap<i32, GroupShard<u64>>,
    producer_ids: std::ops::Range<i64>,
    syncing: Dirty,
    journal: Option<Journal>,
    /// One group commit of so many does without the journal.
    journal_spared: u64,
    /// What a checkpoint of the journal makes durable, while one is under way.
    flushing: Option<Vec<(JournalKey, Unsynced)>>,
    entropy: Random,
    planted: Planted,
    pub(crate) effects: Vec<Effect>,
}

/// What a node is started with.
pub(crate) struct Start<'a> {
    pub(crate) disk: &'a SimDisk,
    pub(crate) log_config: LogConfig,
    pub(crate) entropy: Random,
    pub(crate) planted: Planted,
}

impl Node {
    /// Formats what is not formatted, repairs what a crash left, and leads everything.
    pub(crate) fn start(start: Start<'_>, now_ms: i64) -> Result<Node, Halt> {
        let disk: Arc<dyn Disk> = Arc::new(start.disk.clone());
        let dir = LogDir::open(disk.clone(), Path::new(DIR)).map_err(halt)?;
        if dir.meta_properties().map_err(halt)?.is_none() {
            format(&*disk, &dir, now_ms)?;
        }
        let last = dir.take_last_shutdown().map_err(halt)?;
        let opened = controller::open_quorum(&disk, now_ms)?;
        let mut node = Node {
            disk,
            dir,
            quorum: opened.quorum,
            replay: opened.replay,
            settings: ::controller::Settings::default(),
            epoch: BrokerEpoch(-1),
            log_config: Arc::new(start.log_config),
            partitions: BTreeMap::new(),
            shards: BTreeMap::new(),
            producer_ids: 0..0,
            syncing: Vec::new(),
            journal: None,
            journal_spared: 2,
            flushing: None,
            entropy: start.entropy,
            planted: start.planted,
            effects: Vec::new(),
        };
        node.journal_spared = if node.entropy.one_in(2) { 3 } else { 50 };
        node.begin_cluster(opened.bootstrap, now_ms)?;
        node.register(last, now_ms)?;
        node.open_partitions(last.shutdown, now_ms)?;
        node.unfence(now_ms)?;
        node.load_shards(now_ms)?;
        Ok(node)
    }

    /// Stops in order: everything is durable and closed, the marker comes last.
    pub(crate) fn stop(mut self, now_ms: i64) -> Result<(), Halt> {
        self.begin_sync();
        self.end_sync(now_ms)?;
        self.leave_cluster(now_ms)?;
        self.quorum.close(now_ms).map_err(halt)?;
        let watermarks = self
            .partitions
            .iter()
            .map(|(tp, hosted)| (tp.clone(), hosted.replica.high_watermark()));
        self.dir
            .write_high_watermarks(&watermarks.collect())
            .map_err(halt)?;
        let mut ends = BTreeMap::new();
        for (tp, hosted) in std::mem::take(&mut self.partitions) {
            let log = hosted.replica.into_log(&mut Vec::new());
            ends.insert(tp, log.log_end_offset());
            log.close().map_err(halt)?;
        }
        self.dir.write_recovery_points(&ends).map_err(halt)?;
        Journal::remove(&*self.disk, Path::new(DIR)).map_err(halt)?;
        self.dir.mark_clean_shutdown(self.epoch).map_err(halt)
    }

    /// The upkeep of a running node.
    pub(crate) fn tick(&mut self, now_ms: i64) -> Result<(), Halt> {
        self.tick_shards(now_ms)?;
        if let Some(job) = self.quorum.maintain(self.replay.image(), now_ms).map_err(halt)? {
            job.run();
        }
        Ok(())
    }

    /// Writes down watermarks and recovery points, in between.
    pub(crate) fn checkpoint(&mut self) -> Result<(), Halt> {
        let points = |offset: fn(&Hosted) -> Offset| {
            self.partitions
                .iter()
                .map(|(tp, hosted)| (tp.clone(), offset(hosted)))
                .collect()
        };
        let watermarks = points(|hosted| hosted.replica.high_watermark());
        let synced = points(|hosted| hosted.replica.log().flushed_offset());
        self.dir.write_high_watermarks(&watermarks).map_err(halt)?;
        self.dir.write_recovery_points(&synced).map_err(halt)
    }
}

/// What marks a directory as formatted comes last.
fn format(disk: &dyn Disk, dir: &LogDir, now_ms: i64) -> Result<(), Halt> {
    let levels = ::controller::default_levels(None, &::controller::ChosenLevels::new()).map_err(halt)?;
    let records = ::controller::format_records(&levels);
    quorum::write_bootstrap(disk, dir.path(), &records, now_ms).map_err(halt)?;
    dir.write_meta_properties(&MetaProperties {
        cluster_id: "simulated".to_owned(),
        node_id: ID,
        directory_id: Some(DIRECTORY_ID),
    })
    .map_err(halt)
}

fn is_clean(last: LastShutdown, epoch: Option<BrokerEpoch>) -> bool {
    last.shutdown == Shutdown::Clean && last.broker_epoch == epoch
}

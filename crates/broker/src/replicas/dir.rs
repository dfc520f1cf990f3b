//! A log directory in use: its partitions, what waits to be synced, whether it still works and has room.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use model::{Offset, TopicPartition, Uuid};
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;
use storage::{LogDir, OffsetMap};

use super::journal::DirJournal;
use super::partition::HostedPartition;
use super::syncer::SyncQueue;
use super::upkeep::WrittenCheckpoints;
use super::waiting::HostedReplica;
use crate::halt::Halt;
use crate::network::LogLimit;

/// Below this much free space, or a twentieth of a small disk, clients' records are refused: what is left is for
/// checkpoints, the metadata log, committed offsets, and for retention to do its work (rule 110, where we differ from
/// Apache Kafka, whose directory is dead until a restart).
const RESERVED_BYTES: u64 = 64 << 20;
const RESERVED_FRACTION: u64 = 20;

/// How many directories still work; when none does, or the one that holds the metadata log does not, the node halts
/// (rule 108).
pub(super) struct DirHealth {
    online: AtomicUsize,
    halt: Arc<Halt>,
}

impl DirHealth {
    pub(super) fn new(online: usize, halt: Arc<Halt>) -> Arc<DirHealth> {
        Arc::new(DirHealth {
            online: AtomicUsize::new(online),
            halt,
        })
    }
}

/// Whether the metadata log lies in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// It does: the node cannot live without this directory.
    MetadataLog,
    /// Only partitions do.
    PartitionsOnly,
}

/// A log directory in use.
pub(crate) struct HostedDir {
    log_dir: Arc<LogDir>,
    id: Uuid,
    holds: Holds,
    health: Arc<DirHealth>,
    failed: AtomicBool,
    full: AtomicBool,
    /// The bytes that may be appended before the room is looked at again.
    room: AtomicI64,
    members: Mutex<BTreeMap<TopicPartition, Arc<HostedPartition>>>,
    pub(super) queue: Mutex<SyncQueue>,
    pub(super) queued: Condvar,
    /// Held while files are synced.
    pub(super) syncing: Mutex<()>,
    pub(super) journal: DirJournal,
    pub(super) written: WrittenCheckpoints,
    /// The partitions that the next tick of the upkeep looks at.
    looked_after: Mutex<Vec<Arc<HostedPartition>>>,
    /// What lacks a descriptor is tried again and again.
    shortages: LogLimit,
}

impl HostedDir {
    pub(super) fn new(
        log_dir: Arc<LogDir>,
        id: Uuid,
        holds: Holds,
        health: Arc<DirHealth>,
    ) -> Arc<HostedDir> {
        Arc::new(HostedDir {
            log_dir,
            id,
            holds,
            health,
            failed: AtomicBool::new(false),
            full: AtomicBool::new(false),
            room: AtomicI64::new(0),
            members: Mutex::default(),
            queue: Mutex::default(),
            queued: Condvar::new(),
            syncing: Mutex::default(),
            journal: DirJournal::default(),
            written: WrittenCheckpoints::default(),
            looked_after: Mutex::default(),
            shortages: LogLimit::new(),
        })
    }

    pub(super) fn log_dir(&self) -> &Arc<LogDir> {
        &self.log_dir
    }

    /// `directory.id` in its `meta.properties`.
    pub(super) fn id(&self) -> Uuid {
        self.id
    }

    pub(super) fn halt(&self) -> &Arc<Halt> {
        &self.health.halt
    }

    pub(super) fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Whether clients' records are refused for want of space.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    pub(super) fn join(&self, partition: &Arc<HostedPartition>) {
        self.members
            .lock()
            .insert(partition.topic_partition().clone(), partition.clone());
        // Whoever put the directory out of use while the partition was made has not seen it.
        if self.is_failed() {
            partition.with(|replica, woken| replica.go_offline(woken));
        }
    }

    pub(super) fn leave(&self, partition: &TopicPartition) {
        self.members.lock().remove(partition);
    }

    /// Lets go of the partitions, which hold this directory: without that its lock would outlive the node.
    pub(super) fn forget_members(&self) {
        self.members.lock().clear();
        self.looked_after.lock().clear();
    }

    /// Has a partition looked at by the next tick of the upkeep: a tick costs what there is to do, not what is hosted.
    pub(super) fn look_after(&self, partition: Arc<HostedPartition>) {
        self.looked_after.lock().push(partition);
    }

    pub(super) fn take_looked_after(&self) -> Vec<Arc<HostedPartition>> {
        std::mem::take(&mut *self.looked_after.lock())
    }

    pub(super) fn members(&self) -> Vec<Arc<HostedPartition>> {
        self.members.lock().values().cloned().collect()
    }

    pub(super) fn member(&self, partition: &TopicPartition) -> Option<Arc<HostedPartition>> {
        self.members.lock().get(partition).cloned()
    }

    /// An offset of each partition that has one.
    pub(super) fn offsets(&self, of: impl Fn(&HostedReplica) -> Option<Offset>) -> OffsetMap {
        let members = self.members();
        let offsets = members.iter().filter_map(|partition| {
            let offset = partition.with(|replica, _| of(replica)).flatten()?;
            Some((partition.topic_partition().clone(), offset))
        });
        offsets.collect()
    }

    pub(super) fn member_count(&self) -> usize {
        self.members.lock().len()
    }

    /// An append failed. A full disk is no broken one, and neither is a process without free descriptors (rules 110
    /// and 111); anything else puts the directory out of use (rule 107).
    pub(super) fn write_failed(&self, partition: &TopicPartition, error: &io::Error) {
        self.write_problem(&format!("write to {partition}"), error);
    }

    pub(super) fn write_problem(&self, what: &str, error: &io::Error) {
        if is_out_of_space(error) {
            if !self.full.swap(true, Ordering::Relaxed) {
                let path = self.log_dir.path().display();
                tracing::error!(
                    "{path} is full: records are refused until there is room again ({what}: {error})"
                );
            }
        } else if is_out_of_descriptors(error) {
            self.no_descriptor(what, error);
        } else {
            self.fail(&format!("{what}: {error}"));
        }
    }

    /// A read failed.
    pub(super) fn read_failed(&self, partition: &TopicPartition, error: &io::Error) {
        if is_out_of_descriptors(error) {
            self.no_descriptor(&format!("read of {partition}"), error);
        } else {
            self.fail(&format!("read of {partition}: {error}"));
        }
    }

    pub(super) fn no_descriptor(&self, what: &str, error: &io::Error) {
        if let Some(left_out) = self.shortages.permit() {
            tracing::error!(left_out, "{what}: {error}; raise the limit of open files");
        }
    }

    /// The directory does not work: its partitions are served no more until the broker starts anew (rule 107).
    pub(super) fn fail(&self, what: &str) {
        if self.failed.swap(true, Ordering::AcqRel) {
            return;
        }
        let path = self.log_dir.path().display();
        tracing::error!("log directory {path} is offline until the next start: {what}");
        let left = self.health.online.fetch_sub(1, Ordering::AcqRel) - 1;
        if left == 0 || self.holds == Holds::MetadataLog {
            self.health
                .halt
                .call(format!("log directory {path} failed: {what}"));
        }
        for partition in self.members() {
            partition.with(|replica, woken| replica.go_offline(woken));
        }
    }

    /// Bytes were appended. The room is looked at when half of what there was is used up: a fast writer does not get
    /// past the reserve between two ticks of the clock.
    pub(super) fn used(&self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.room.fetch_sub(bytes, Ordering::Relaxed) < bytes {
            self.check_space();
        }
    }

    /// Looks how much room there is, and refuses or takes records accordingly.
    pub(super) fn check_space(&self) {
        let path = self.log_dir.path();
        let Ok(Space { free, reserved }) = Space::of(path) else {
            return;
        };
        let room = free.saturating_sub(reserved) / 2;
        self.room
            .store(i64::try_from(room).unwrap_or(i64::MAX), Ordering::Relaxed);
        let path = path.display();
        if free < reserved {
            if !self.full.swap(true, Ordering::Relaxed) {
                tracing::error!(
                    "{path} has {free} bytes left, below {reserved}: records are refused until there is room; delete \
                     topics or lower what they retain"
                );
            }
        } else if free >= reserved.saturating_mul(2) && self.full.swap(false, Ordering::Relaxed) {
            tracing::info!("{path} has {free} bytes left: records are taken again");
        }
    }

    /// Whether so much may be written that is no record, without records being refused for it.
    pub(super) fn has_room_for(&self, bytes: u64) -> bool {
        let space = Space::of(self.log_dir.path());
        space.is_ok_and(|Space { free, reserved }| free >= bytes.saturating_add(reserved.saturating_mul(2)))
    }
}

/// The room of a file system.
struct Space {
    /// Bytes that can still be written.
    free: u64,
    /// Those of them that clients' records do not get.
    reserved: u64,
}

impl Space {
    fn of(path: &Path) -> rustix::io::Result<Space> {
        let space = rustix::fs::statvfs(path)?;
        let total = space.f_blocks.saturating_mul(space.f_frsize);
        Ok(Space {
            free: space.f_bavail.saturating_mul(space.f_frsize),
            reserved: RESERVED_BYTES.min(total / RESERVED_FRACTION),
        })
    }
}

pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    has_no_descriptor(error) || errno(error) == Some(Errno::NOMEM)
}

/// Opening failed, not syncing: unlike want of memory this cannot be the answer to a sync.
pub(super) fn has_no_descriptor(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::MFILE | Errno::NFILE))
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}

impl std::fmt::Debug for HostedDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HostedDir").field(&self.log_dir.path()).finish()
    }
}

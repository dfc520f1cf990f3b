//! Group commit: one thread per log directory makes durable what is dirty, and one sync serves everybody who waits.
//!
//! Few partitions are synced file by file, many by the journal of the directory, `journal.rs`.
//!
//! While a sync runs, appends go on and gather for the next one. A sync that failed is never tried again as if it
//! could succeed: the kernel may have dropped the pages (rule 109).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use storage::Unsynced;

use super::dir::{HostedDir, has_no_descriptor};
use super::journal::Journaled;
use super::partition::HostedPartition;

/// So many partitions are synced one by one: that writes nothing twice. More go to the journal of the directory, and
/// where there is none yet, or their segments have to follow, they are synced by one sync of the file system (ADR 0022).
pub(super) const FEW: usize = 3;

/// How long a sync waits for a descriptor before it tries again.
const SHORTAGE: Duration = Duration::from_millis(100);

/// The partitions with something to sync.
#[derive(Default)]
pub(super) struct SyncQueue {
    dirty: Vec<Arc<HostedPartition>>,
    stopped: bool,
}

impl HostedDir {
    /// Has a partition synced soon.
    pub(super) fn queue_for_sync(&self, partition: &Arc<HostedPartition>) {
        if !partition.queued_for_sync.swap(true, Ordering::AcqRel) {
            self.queue.lock().dirty.push(partition.clone());
            self.queued.notify_one();
        }
    }

    /// Starts the thread; it ends after [`HostedDir::stop_syncing`], when nothing is left to do.
    pub(super) fn start_syncing(self: &Arc<Self>) -> std::io::Result<JoinHandle<()>> {
        let dir = self.clone();
        let guard = self.halt().on_panic("syncer");
        std::thread::Builder::new()
            .name("syncer".to_owned())
            .spawn(move || {
                let _guard = guard;
                dir.sync_until_stopped();
            })
    }

    pub(super) fn stop_syncing(&self) {
        self.queue.lock().stopped = true;
        self.queued.notify_one();
    }

    fn sync_until_stopped(&self) {
        loop {
            let dirty = {
                let mut queue = self.queue.lock();
                while queue.dirty.is_empty() && !queue.stopped {
                    self.queued.wait(&mut queue);
                }
                std::mem::take(&mut queue.dirty)
            };
            if dirty.is_empty() || self.is_failed() {
                self.stop_journal();
                return;
            }
            self.sync_all(&dirty);
        }
    }

    fn sync_all(&self, dirty: &[Arc<HostedPartition>]) {
        for partition in dirty {
            // Taken back before looking: what is appended from here on asks for a sync of its own.
            partition.queued_for_sync.store(false, Ordering::Release);
        }
        if dirty.len() <= FEW && !self.is_checkpointing() {
            return self.sync_files(dirty);
        }
        match self.sync_by_journal(dirty) {
            Ok(Journaled::But(others)) => self.sync_files(&others),
            Ok(Journaled::Not) => self.sync_files(dirty),
            Err(error) => self.fail(&format!("journal: {error}")),
        }
    }

    /// Makes durable what the files of these partitions hold, or puts the directory out of use.
    ///
    /// One caller at a time: the system tells of a failure once, and nobody else may take his own sync for a good one
    /// before the directory is out of use.
    pub(super) fn sync_files(&self, dirty: &[Arc<HostedPartition>]) {
        let _turn = self.syncing.lock();
        if dirty.is_empty() || self.is_failed() {
            return;
        }
        let synced = if dirty.len() > FEW && self.log_dir().can_sync_file_system() {
            self.sync_together(dirty)
        } else {
            self.sync_each(dirty)
        };
        if let Err(error) = synced {
            self.fail(&format!("sync: {error}"));
        }
    }

    /// Syncs one file after the other, and lets those go on who waited for it.
    fn sync_each(&self, dirty: &[Arc<HostedPartition>]) -> std::io::Result<()> {
        for partition in dirty {
            let Some(unsynced) = partition.take_unsynced() else {
                continue;
            };
            match self.sync_one(&unsynced) {
                Ok(()) => {
                    partition.with(|replica, woken| replica.synced(&unsynced, woken));
                }
                // The folder of a partition that was deleted meanwhile is not where it was.
                Err(_) if partition.is_gone() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits where the process has no descriptor for the folder: no file has failed then, and whoever waits for the sync
    /// goes on once there is one (rule 111).
    fn sync_one(&self, unsynced: &Unsynced) -> std::io::Result<()> {
        loop {
            match unsynced.sync() {
                Err(error) if has_no_descriptor(&error) && !self.is_failed() => {
                    self.no_descriptor("sync", &error);
                    std::thread::sleep(SHORTAGE);
                }
                synced => return synced,
            }
        }
    }

    /// Syncs the whole file system: what one call covers costs less than a sync of each file.
    fn sync_together(&self, dirty: &[Arc<HostedPartition>]) -> std::io::Result<()> {
        let covered: Vec<_> = dirty
            .iter()
            .filter_map(|partition| Some((partition, partition.take_unsynced()?)))
            .collect();
        self.log_dir().sync_file_system()?;
        for (partition, unsynced) in covered {
            partition.with(|replica, woken| replica.synced(&unsynced, woken));
        }
        Ok(())
    }
}

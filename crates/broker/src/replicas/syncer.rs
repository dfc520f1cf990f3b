//! Group commit: one thread per log directory makes durable what is dirty, and one sync serves everybody who waits.
//!
//! While a sync runs, appends go on and gather for the next one. A sync that failed is never tried again as if it
//! could succeed: the kernel may have dropped the pages (rule 109).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use super::dir::HostedDir;
use super::partition::HostedPartition;

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
        std::thread::Builder::new()
            .name("syncer".to_owned())
            .spawn(move || dir.sync_until_stopped())
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
                return;
            }
            self.sync_all(&dirty);
        }
    }

    fn sync_all(&self, dirty: &[Arc<HostedPartition>]) {
        for partition in dirty {
            // Taken back before looking: what is appended from here on asks for a sync of its own.
            partition.queued_for_sync.store(false, Ordering::Release);
            if let Err(error) = self.sync(partition) {
                self.fail(&format!("sync of {}: {error}", partition.topic_partition()));
                return;
            }
        }
    }

    fn sync(&self, partition: &HostedPartition) -> std::io::Result<()> {
        let Some(Some(unsynced)) = partition.with(|replica, _| replica.log().dirty()) else {
            return Ok(());
        };
        partition.note_synced();
        if let Err(error) = unsynced.sync() {
            // The folder of a partition that was deleted meanwhile is not where it was.
            return if partition.is_gone() { Ok(()) } else { Err(error) };
        }
        partition.with(|replica, woken| replica.synced(&unsynced, woken));
        Ok(())
    }
}

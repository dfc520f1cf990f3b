//! Group commit: one thread per log directory makes durable what is dirty, and one sync serves everybody who waits.
//!
//! Little at a time is made durable by the journal of the directory, `journal.rs`, much of one partition by its files.
//!
//! While a sync runs, appends go on and gather for the next one. What nobody waits for gathers longer: a sync costs about
//! the same whatever it covers, and the pages of a file that was just synced cost more to write.
//!
//! A sync that failed is never tried again as if it could succeed: the kernel may have dropped the pages (rule 109).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use storage::Unsynced;

use super::dir::{HostedDir, has_no_descriptor};
use super::journal::Journaled;
use super::partition::HostedPartition;

/// The files of so many partitions are synced one by one, of more by one sync of the file system.
pub(super) const FEW: usize = 3;

/// How long what nobody waits for may stay undurable, and the watermark behind it.
const PATIENCE: Duration = Duration::from_millis(10);

/// How long a sync waits for a descriptor before it tries again.
const SHORTAGE: Duration = Duration::from_millis(100);

/// Who waits for a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SyncNeed {
    /// No sync is needed.
    None = 0,
    /// Nobody: it has to come some time.
    Patient = 1,
    /// Somebody: the sooner the better.
    Waiting = 2,
}

/// The partitions with something to sync.
#[derive(Default)]
pub(super) struct SyncQueue {
    /// Somebody waits for these.
    waiting: Vec<Arc<HostedPartition>>,
    /// Nobody waits for these, some of which may have been synced since: their need tells.
    patient: Vec<Arc<HostedPartition>>,
    /// When these are to be synced.
    patient_until: Option<Instant>,
    stopped: bool,
}

impl SyncQueue {
    /// Takes a partition in. Whether the syncer has to hear of it.
    fn add(&mut self, partition: &Arc<HostedPartition>, need: SyncNeed, now: Instant) -> bool {
        match need {
            SyncNeed::None => false,
            SyncNeed::Patient => {
                self.patient.push(partition.clone());
                let is_first = self.patient_until.is_none();
                self.patient_until.get_or_insert(now + PATIENCE);
                is_first
            }
            SyncNeed::Waiting => {
                self.waiting.push(partition.clone());
                true
            }
        }
    }

    fn has_work(&self, now: Instant) -> bool {
        self.stopped || !self.waiting.is_empty() || self.is_patience_over(now)
    }

    fn is_patience_over(&self, now: Instant) -> bool {
        self.patient_until.is_some_and(|until| until <= now)
    }

    /// What is to be synced now. Needs are taken back before anybody looks: what is appended from here on asks for a
    /// sync of its own.
    fn take(&mut self, now: Instant) -> Vec<Arc<HostedPartition>> {
        let mut dirty = std::mem::take(&mut self.waiting);
        for partition in &dirty {
            partition.sync_need.store(SyncNeed::None as u8, Ordering::Release);
        }
        if self.stopped || self.is_patience_over(now) {
            self.patient_until = None;
            let patient = std::mem::take(&mut self.patient);
            dirty.extend(patient.into_iter().filter(|partition| partition.end_patience()));
        }
        dirty
    }
}

/// Has partitions synced, and waits for it. For those that failed their directory is out of use.
pub(crate) fn sync_now(partitions: &[Arc<HostedPartition>]) {
    for of_one_dir in partitions.chunk_by(|one, other| Arc::ptr_eq(one.dir(), other.dir())) {
        if let Some(first) = of_one_dir.first() {
            first.dir().sync_all(of_one_dir);
        }
    }
}

impl HostedDir {
    /// Has a partition synced, unless that is known already.
    pub(super) fn queue_for_sync(&self, partition: &Arc<HostedPartition>, need: SyncNeed) {
        let known = partition.sync_need.fetch_max(need as u8, Ordering::AcqRel);
        if known < need as u8 && self.queue.lock().add(partition, need, Instant::now()) {
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
                while !queue.has_work(Instant::now()) {
                    match queue.patient_until {
                        Some(until) => drop(self.queued.wait_until(&mut queue, until)),
                        None => self.queued.wait(&mut queue),
                    }
                }
                queue.take(Instant::now())
            };
            if dirty.is_empty() && self.queue.lock().stopped || self.is_failed() {
                self.stop_journal();
                return;
            }
            self.sync_all(&dirty);
        }
    }

    pub(super) fn sync_all(&self, dirty: &[Arc<HostedPartition>]) {
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
        if dirty.is_empty() {
            // Without a wait for whoever syncs.
            return;
        }
        let _turn = self.syncing.lock();
        if self.is_failed() {
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

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;

    fn partitions() -> (Fixture, [Arc<HostedPartition>; 2]) {
        let mut fixture = Fixture::new();
        fixture.topic("orders", 2, &[]);
        let partitions = [0, 1].map(|index| fixture.replicas().partition("orders", index).unwrap());
        (fixture, partitions)
    }

    /// As [`HostedDir::queue_for_sync`] does.
    fn queue(queue: &mut SyncQueue, partition: &Arc<HostedPartition>, need: SyncNeed, now: Instant) -> bool {
        let known = partition.sync_need.fetch_max(need as u8, Ordering::AcqRel);
        known < need as u8 && queue.add(partition, need, now)
    }

    fn taken(queue: &mut SyncQueue, now: Instant) -> Vec<i32> {
        let dirty = queue.take(now);
        dirty.iter().map(|it| it.topic_partition().partition).collect()
    }

    #[test]
    fn what_nobody_waits_for_is_synced_when_its_time_has_come() {
        let (_fixture, [one, two]) = partitions();
        let (mut waits, began) = (SyncQueue::default(), Instant::now());
        assert!(queue(&mut waits, &one, SyncNeed::Patient, began));
        assert!(!queue(&mut waits, &two, SyncNeed::Patient, began + PATIENCE / 2));
        assert!(!waits.has_work(began + PATIENCE / 2));
        assert_eq!(taken(&mut waits, began + PATIENCE / 2), [0; 0]);
        assert!(waits.has_work(began + PATIENCE));
        assert_eq!(taken(&mut waits, began + PATIENCE), [0, 1]);
        assert!(!waits.has_work(began + 9 * PATIENCE));
        assert!(
            queue(&mut waits, &one, SyncNeed::Patient, began),
            "it may be queued again"
        );
    }

    #[test]
    fn what_somebody_waits_for_goes_first_and_nothing_goes_twice() {
        let (_fixture, [one, two]) = partitions();
        let (mut waits, now) = (SyncQueue::default(), Instant::now());
        queue(&mut waits, &one, SyncNeed::Patient, now);
        queue(&mut waits, &two, SyncNeed::Patient, now);
        assert!(queue(&mut waits, &two, SyncNeed::Waiting, now));
        assert!(!queue(&mut waits, &two, SyncNeed::Patient, now));
        assert!(waits.has_work(now));
        assert_eq!(taken(&mut waits, now), [1]);
        assert_eq!(taken(&mut waits, now + PATIENCE), [0]);
    }

    #[test]
    fn a_stop_waits_for_no_patience() {
        let (_fixture, [one, _]) = partitions();
        let (mut waits, now) = (SyncQueue::default(), Instant::now());
        queue(&mut waits, &one, SyncNeed::Patient, now);
        waits.stopped = true;
        assert!(waits.has_work(now));
        assert_eq!(taken(&mut waits, now), [0]);
    }
}

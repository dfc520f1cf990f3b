//! A partition that this broker hosts: its replica behind a lock, and the log directory it lies in.
//!
//! Nobody waits for a disk while holding the lock, but for what the log itself does durably: a new epoch, a new
//! segment's name. Those who are woken are woken after the lock is let go of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};

use bytes::Bytes;
use metadata::image;
use model::{LeaderEpoch, Offset, TopicPartition, Uuid};
use parking_lot::{Mutex, MutexGuard};
use replication::{
    Accepted, Acks, AppendRefused, Durability, Fetch, FetchPlan, FetchRefused, Fetched, FoundOffset,
    Isolation, LeaderRefusal, Leadership, OffsetPlan, OffsetQuery, OffsetsRefused, ProduceOutcome, Replica,
    Seen, WatchId,
};
use storage::{AppendError, EpochEnd, FirstBatch, JournalKey, Log, Origin, Piece, ReadError, Unsynced};

use super::dir::HostedDir;
use super::syncer::SyncNeed;
use super::waiting::{HostedReplica, ProduceToken, Wakes, WatchToken, wake};
use crate::config::{self, TopicConfig};
use crate::dispatch::steady_ms;

/// So many appended bytes count as certainly in the page cache.
const WARM_BYTES: usize = 256 << 20;

/// One replica of this broker.
pub(crate) struct HostedPartition {
    topic_partition: TopicPartition,
    topic_id: Uuid,
    dir: Arc<HostedDir>,
    state: Mutex<State>,
    /// What the syncer knows of already, a [`SyncNeed`].
    pub(super) sync_need: AtomicU8,
    /// Whether the next look of the upkeep sees it already.
    looked_after: AtomicBool,
    /// Records from here on were appended lately, and are in the page cache.
    warm_from: AtomicI64,
    /// Held while files are removed by their names, which a partition made in place of this one will have too.
    pub(super) removing: Mutex<()>,
}

struct State {
    /// `None` once it was closed or deleted.
    replica: Option<HostedReplica>,
    config: Arc<TopicConfig>,
    /// In page-cache durability: since when, by the steady clock, something is not synced.
    unsynced_since_ms: Option<i64>,
    /// What was acknowledged before it was durable ends here.
    acknowledged_end: Offset,
    /// The bytes appended since `warm_sample`.
    bytes_since_sample: usize,
    warm_sample: Offset,
}

impl HostedPartition {
    /// Takes a log over. The watermark is the one written down last.
    pub(super) fn new(
        log: Log,
        topic_id: Uuid,
        dir: Arc<HostedDir>,
        config: Arc<TopicConfig>,
        high_watermark: Offset,
    ) -> HostedPartition {
        let end = log.log_end_offset();
        let topic_partition = log.topic_partition().clone();
        let replica = Replica::new(
            log,
            durability(&config),
            config.min_insync_replicas,
            high_watermark,
        );
        HostedPartition {
            topic_partition,
            topic_id,
            dir,
            state: Mutex::new(State {
                replica: Some(replica),
                config,
                unsynced_since_ms: None,
                acknowledged_end: Offset(0),
                bytes_since_sample: 0,
                warm_sample: end,
            }),
            sync_need: AtomicU8::new(SyncNeed::None as u8),
            looked_after: AtomicBool::new(false),
            warm_from: AtomicI64::new(end.0),
            removing: Mutex::new(()),
        }
    }

    pub(crate) fn topic_partition(&self) -> &TopicPartition {
        &self.topic_partition
    }

    pub(crate) fn topic_id(&self) -> Uuid {
        self.topic_id
    }

    pub(super) fn journal_key(&self) -> JournalKey {
        JournalKey {
            topic_id: self.topic_id,
            topic_partition: self.topic_partition.clone(),
        }
    }

    pub(super) fn dir(&self) -> &Arc<HostedDir> {
        &self.dir
    }

    /// Whether its sync was one that nobody waits for; it is due now.
    pub(super) fn end_patience(&self) -> bool {
        let (patient, none) = (SyncNeed::Patient as u8, SyncNeed::None as u8);
        self.sync_need
            .compare_exchange(patient, none, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Runs `act` on the replica under the lock, then wakes whom it lets go on. `None` when the partition is gone.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut HostedReplica, &mut Wakes) -> T) -> Option<T> {
        let mut woken = Wakes::new();
        let result = self.with_wakes(&mut woken, act);
        wake(woken);
        result
    }

    /// The same for a caller who wakes later.
    pub(super) fn with_wakes<T>(
        &self,
        woken: &mut Wakes,
        act: impl FnOnce(&mut HostedReplica, &mut Wakes) -> T,
    ) -> Option<T> {
        self.lock().replica.as_mut().map(|replica| act(replica, woken))
    }

    /// Appends what a client or a coordinator sent. Where the answer has to wait, `park` gives what waits.
    pub(crate) fn append(
        self: &Arc<Self>,
        batches: &Bytes,
        origin: Origin,
        acks: Acks,
        now_ms: i64,
        park: impl FnOnce() -> ProduceToken,
    ) -> Result<Accepted, AppendRefused> {
        if origin == Origin::Client && self.dir.is_full() {
            return Err(AppendRefused::Log(AppendError::Disk(
                std::io::ErrorKind::StorageFull.into(),
            )));
        }
        let mut woken = Wakes::new();
        let (result, sync_need, needs_upkeep) = {
            let mut state = self.lock();
            let Some(replica) = state.replica.as_mut() else {
                return Err(LeaderRefusal::NotLeader.into());
            };
            let result = replica.append(batches, origin, acks, now_ms, &mut woken);
            if let Ok(accepted) = &result
                && acks == Acks::All
                && !accepted.committed
            {
                replica.park_produce(accepted.required, park());
            }
            let sync_need = match &result {
                Ok(accepted) => state.appended(accepted, acks, &self.warm_from),
                Err(_) => SyncNeed::None,
            };
            (
                result,
                sync_need,
                sync_need == SyncNeed::None && state.waits_for_flush(),
            )
        };
        self.dir.queue_for_sync(self, sync_need);
        if needs_upkeep {
            self.look_after();
        }
        wake(woken);
        if let Ok(accepted) = &result {
            self.dir.used(accepted.appended.bytes);
        }
        if let Err(AppendRefused::Log(AppendError::Disk(error))) = &result {
            self.dir.write_failed(&self.topic_partition, error);
        }
        result
    }

    /// Appends for this process itself; `on_commit` is called when the records are committed, or can no longer be. It
    /// must not block, and may run before this returns.
    pub(crate) fn append_internal(
        self: &Arc<Self>,
        batches: &Bytes,
        origin: Origin,
        now_ms: i64,
        on_commit: impl FnOnce(ProduceOutcome) + Send + 'static,
    ) -> Result<Accepted, AppendRefused> {
        let on_commit = Arc::new(Mutex::new(Some(on_commit)));
        let parked = on_commit.clone();
        let accepted = self.append(batches, origin, Acks::All, now_ms, move || {
            ProduceToken::Internal(Box::new(move |outcome| call_once(&parked, outcome)))
        })?;
        if accepted.committed {
            call_once(&on_commit, ProduceOutcome::Replicated);
        }
        Ok(accepted)
    }

    /// Forgets waiting produces whose time was up.
    pub(super) fn forget_abandoned(&self) {
        self.with(|replica, _| replica.forget_produces(ProduceToken::is_abandoned));
    }

    /// Reads; `ends` is a watch that this read makes superfluous.
    pub(crate) fn fetch(&self, fetch: &Fetch, ends: Option<WatchId>) -> Result<Fetched, FetchRefused> {
        self.read_as_planned(
            |replica| {
                if let Some(watch) = ends {
                    replica.unwatch(watch);
                }
                replica.plan_fetch(fetch)
            },
            FetchPlan::read,
            disk_error_of,
        )
    }

    /// Plans under the lock and reads without it. A read that the disk fails is planned once more: between the two a
    /// deletion or the retention may have taken the files away, and that is no fault of the disk.
    pub(super) fn read_as_planned<P, T, E: From<LeaderRefusal>>(
        &self,
        plan: impl Fn(&mut HostedReplica) -> Result<P, E>,
        read: impl Fn(P) -> Result<T, E>,
        disk_error: impl Fn(&E) -> Option<&std::io::Error>,
    ) -> Result<T, E> {
        let attempt = || {
            let planned = self.with(|replica, _| plan(replica));
            read(planned.ok_or(LeaderRefusal::NotLeader)??)
        };
        let failed = |result: &Result<T, E>| result.as_ref().err().and_then(&disk_error).is_some();
        let mut result = attempt();
        if failed(&result) {
            result = attempt();
        }
        if let Err(refused) = &result
            && let Some(error) = disk_error(refused)
        {
            self.dir.read_failed(&self.topic_partition, error);
        }
        result
    }

    /// See [`Replica::watch`].
    pub(super) fn watch(
        self: &Arc<Self>,
        seen: &Seen,
        isolation: Isolation,
        wanted: u64,
        token: WatchToken,
    ) -> Option<WatchId> {
        let (watch, sync_need) = {
            let mut state = self.lock();
            let watch = state.replica.as_mut()?.watch(seen, isolation, wanted, token)?;
            (watch, state.need_of_watch())
        };
        self.dir.queue_for_sync(self, sync_need);
        Some(watch)
    }

    /// Ends a watch.
    pub(super) fn unwatch(&self, watch: WatchId) {
        if let Some(replica) = self.lock().replica.as_mut() {
            replica.unwatch(watch);
        }
    }

    /// How many fetches watch it.
    #[cfg(test)]
    pub(crate) fn watches(&self) -> usize {
        self.with(|replica, _| replica.waiting().1).unwrap_or(0)
    }

    /// Whether something is acknowledged that consumers cannot see yet, since it is not durable.
    pub(crate) fn owes_sync(&self) -> bool {
        let state = self.lock();
        let behind = |it: &HostedReplica| it.high_watermark() < state.acknowledged_end;
        state.replica.as_ref().is_some_and(behind)
    }

    /// Looks up an offset. May wait for the disk where records have to be read.
    pub(crate) fn find_offset(
        &self,
        query: OffsetQuery,
        isolation: Isolation,
        current_leader_epoch: Option<LeaderEpoch>,
    ) -> Result<FoundOffset, OffsetsRefused> {
        self.read_as_planned(
            |replica| Ok(replica.plan_offset(query, isolation, current_leader_epoch)?),
            OffsetPlan::find,
            |refused| match refused {
                OffsetsRefused::Log(ReadError::Disk(error)) => Some(error),
                _ => None,
            },
        )
    }

    /// Where a leader epoch ends.
    pub(crate) fn epoch_end(
        &self,
        leader_epoch: LeaderEpoch,
        current_leader_epoch: Option<LeaderEpoch>,
    ) -> Result<Option<EpochEnd>, LeaderRefusal> {
        let end = self.with(|replica, _| replica.epoch_end(leader_epoch, current_leader_epoch));
        end.unwrap_or(Err(LeaderRefusal::NotLeader))
    }

    /// Reads to the end of the log, for who rebuilds a state from it. May wait for the disk.
    pub(crate) fn read_log(&self, from: Offset, max_bytes: usize) -> Result<Fetched, FetchRefused> {
        let fetch = Fetch {
            offset: from,
            max_bytes,
            first_batch: FirstBatch::Whole,
            isolation: Isolation::LogEnd,
            current_leader_epoch: None,
            last_fetched_epoch: None,
        };
        self.fetch(&fetch, None)
    }

    /// The offset below which records are committed; `None` when the partition is gone.
    pub(crate) fn high_watermark(&self) -> Option<Offset> {
        self.with(|replica, _| replica.high_watermark())
    }

    /// The first offset, and the one after the last; `None` when the partition is gone.
    pub(crate) fn bounds(&self) -> Option<(Offset, Offset)> {
        self.with(|replica, _| (replica.log().log_start_offset(), replica.log().log_end_offset()))
    }

    /// Whether reading from an offset may have to wait for a disk.
    pub(super) fn may_be_cold(&self, offset: Offset) -> bool {
        offset.0 < self.warm_from.load(Ordering::Relaxed)
    }

    /// Acts on what the metadata log says of it.
    pub(super) fn apply_role(
        &self,
        partition: &image::Partition,
        broker: model::BrokerId,
    ) -> std::io::Result<()> {
        let led = self.with(|replica, woken| {
            if partition.leader != Some(broker) {
                replica.resign(partition.partition_epoch, woken);
                return Ok(());
            }
            let leadership = Leadership {
                leader_epoch: partition.leader_epoch,
                partition_epoch: partition.partition_epoch,
                replicas: partition.replicas.len(),
                in_sync: partition.isr.len(),
            };
            replica.lead(leadership, woken)
        });
        led.unwrap_or(Ok(()))
    }

    /// Another configuration of its topic.
    pub(super) fn set_config(self: &Arc<Self>, config: &Arc<TopicConfig>) {
        let mut woken = Wakes::new();
        {
            let mut state = self.lock();
            state.config = config.clone();
            if let Some(replica) = state.replica.as_mut() {
                replica.log_mut().set_config(Arc::new(config.log.clone()));
                replica.set_commit_rules(durability(config), config.min_insync_replicas, &mut woken);
            }
        }
        wake(woken);
        // Should `flush.ms` run from now on.
        self.look_after();
    }

    /// Nothing becomes durable any more.
    #[cfg(test)]
    pub(crate) fn never_sync(&self) {
        self.sync_need.store(SyncNeed::Waiting as u8, Ordering::Release);
    }

    /// Forgets producers that were idle too long.
    pub(crate) fn expire_producers(&self, now_ms: i64) {
        self.with(|replica, _| replica.log_mut().expire_producers(now_ms));
    }

    /// `file.delete.delay.ms`.
    pub(super) fn file_delete_delay_ms(&self) -> i64 {
        self.lock().config.log.file_delete_delay_ms
    }

    /// Has the upkeep look at it from the next tick on, as long as there is something to look for.
    pub(super) fn look_after(self: &Arc<Self>) {
        if !self.looked_after.load(Ordering::Acquire) && !self.looked_after.swap(true, Ordering::AcqRel) {
            self.dir.look_after(self.clone());
        }
    }

    /// What the upkeep does each tick for a partition that needs it.
    pub(super) fn upkeep(self: &Arc<Self>, now_ms: i64) {
        // Taken back before looking: what comes from here on asks for a look of its own.
        self.looked_after.store(false, Ordering::Release);
        if self.take_flush_due() {
            self.dir.flush_soon([self.clone()]);
        }
        if let Err(error) = self.remove_deleted(now_ms) {
            self.dir.write_failed(&self.topic_partition, &error);
        }
        let has_deleted = self.with(|replica, _| replica.log().has_deleted());
        if has_deleted == Some(true) || self.lock().waits_for_flush() {
            self.look_after();
        }
    }

    /// Whether page-cache durability asks for a sync by now (`flush.ms`), which counts anew then.
    fn take_flush_due(&self) -> bool {
        let mut state = self.lock();
        let flush_ms = state.config.flush_ms;
        let is_due = |since: &mut i64| steady_ms().saturating_sub(*since) >= flush_ms;
        state.unsynced_since_ms.take_if(is_due).is_some()
    }

    /// What is to be synced now; `flush.ms` counts anew for what is appended from here on.
    pub(super) fn take_unsynced(&self) -> Option<Unsynced> {
        let mut state = self.lock();
        let unsynced = state.replica.as_ref()?.log().dirty()?;
        state.unsynced_since_ms = None;
        Some(unsynced)
    }

    /// What its files hold that is not durable in them.
    pub(super) fn unflushed(&self) -> Vec<Piece> {
        let pieces = self.with(|replica, _| replica.log().unflushed());
        pieces.unwrap_or_default()
    }

    /// Removes the files of segments that left the log `file.delete.delay.ms` ago.
    fn remove_deleted(&self, now_ms: i64) -> std::io::Result<()> {
        let deleted = self.with(|replica, _| replica.log_mut().take_deleted(now_ms));
        let Some(mut deleted) = deleted.flatten() else {
            return Ok(());
        };
        loop {
            // One at a time: who takes the log out waits for one file, and the rest goes with the folder.
            let _removing = self.removing.lock();
            if self.is_gone() || !deleted.remove_oldest()? {
                return Ok(());
            }
        }
    }

    /// Takes the log out, to be closed or deleted; who waits is told that nobody leads here. When this returns, nothing
    /// is removed from the folder any more.
    pub(super) fn take_log(&self) -> Option<Log> {
        let mut woken = Wakes::new();
        let log = self
            .lock()
            .replica
            .take()
            .map(|replica| replica.into_log(&mut woken));
        wake(woken);
        drop(self.removing.lock());
        log
    }

    /// Whether it was closed or deleted.
    pub(super) fn is_gone(&self) -> bool {
        self.lock().replica.is_none()
    }
}

impl State {
    /// Whether `flush.ms` runs.
    fn waits_for_flush(&self) -> bool {
        self.replica.is_some() && self.unsynced_since_ms.is_some() && self.config.flush_ms < i64::MAX
    }

    /// Whether a new watch waits for what is there already, and is not durable.
    fn need_of_watch(&self) -> SyncNeed {
        let behind = |it: &HostedReplica| it.high_watermark() < it.log().log_end_offset();
        match self.config.durability {
            config::Durability::Fsync if self.replica.as_ref().is_some_and(behind) => SyncNeed::Waiting,
            _ => SyncNeed::None,
        }
    }

    /// Takes note of an append. Returns who waits for it to be synced.
    fn appended(&mut self, accepted: &Accepted, acks: Acks, warm_from: &AtomicI64) -> SyncNeed {
        if accepted.appended.duplicate {
            return SyncNeed::None;
        }
        self.bytes_since_sample = self.bytes_since_sample.saturating_add(accepted.appended.bytes);
        if self.bytes_since_sample >= WARM_BYTES {
            warm_from.store(self.warm_sample.0, Ordering::Relaxed);
            self.warm_sample = accepted.appended.first_offset;
            self.bytes_since_sample = 0;
        }
        let Some(replica) = &self.replica else {
            return SyncNeed::None;
        };
        if self.config.durability == config::Durability::Fsync {
            if acks == Acks::All {
                return SyncNeed::Waiting;
            }
            self.acknowledged_end = accepted.required;
            return match replica.waiting() {
                (_, 0) => SyncNeed::Patient,
                _ => SyncNeed::Waiting,
            };
        }
        self.unsynced_since_ms.get_or_insert_with(steady_ms);
        let unsynced = replica
            .log()
            .log_end_offset()
            .0
            .saturating_sub(replica.log().synced_offset().0);
        match u64::try_from(unsynced) {
            Ok(unsynced) if unsynced >= self.config.flush_messages => SyncNeed::Waiting,
            _ => SyncNeed::None,
        }
    }
}

/// The failure of the disk behind a refused fetch, if that is what it was.
pub(super) fn disk_error_of(refused: &FetchRefused) -> Option<&std::io::Error> {
    match refused {
        FetchRefused::Log(ReadError::Disk(error)) => Some(error),
        _ => None,
    }
}

fn call_once<T>(then: &Mutex<Option<T>>, outcome: ProduceOutcome)
where
    T: FnOnce(ProduceOutcome),
{
    let then = then.lock().take();
    if let Some(then) = then {
        then(outcome);
    }
}

fn durability(config: &TopicConfig) -> Durability {
    match config.durability {
        config::Durability::Fsync => Durability::Fsync,
        config::Durability::PageCache => Durability::PageCache,
    }
}

impl std::fmt::Debug for HostedPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HostedPartition")
            .field(&self.topic_partition)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::tests::append;
    use super::*;

    /// Who would wait for an append, and for a new watch.
    fn needs(partition: &Arc<HostedPartition>, acks: Acks) -> (SyncNeed, SyncNeed) {
        let accepted = append(partition, Acks::Leader).unwrap();
        let mut state = partition.lock();
        let need = state.appended(&accepted, acks, &partition.warm_from);
        (need, state.need_of_watch())
    }

    #[test]
    fn a_sync_is_urgent_where_somebody_waits() {
        let mut fixture = Fixture::new();
        fixture.topic("orders", 1, &[]);
        fixture.topic("cached", 1, &[("durability", "pagecache")]);
        let [orders, cached] = ["orders", "cached"].map(|it| fixture.replicas().partition(it, 0).unwrap());
        orders.never_sync();
        assert_eq!(needs(&orders, Acks::All), (SyncNeed::Waiting, SyncNeed::Waiting));
        assert_eq!(
            needs(&orders, Acks::Leader),
            (SyncNeed::Patient, SyncNeed::Waiting)
        );
        assert_eq!(needs(&cached, Acks::All), (SyncNeed::None, SyncNeed::None));
    }
}

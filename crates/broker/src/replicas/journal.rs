//! The journal of a log directory in use: the syncer writes it, a thread of its own makes the segments follow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use storage::{Journal, JournalKey, Takes, Unsynced};

use super::dir::{HostedDir, is_out_of_descriptors, is_out_of_space};
use super::partition::HostedPartition;
use super::syncer::FEW;
use super::waiting::{Wakes, wake};

/// The size of each of the two files.
const BYTES: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };
/// A partition with more to sync than this, 128 KiB, is synced by itself: writing that twice costs more than a sync.
const LARGE: u64 = BYTES / 512;
/// While files are being synced already, more of it goes to the journal: it would wait for that otherwise.
const HUGE: u64 = BYTES / 8;
/// Before the files of partitions are synced for the journal, the disk is given what they hold in parts of 256 KiB.
/// Given all of it at once, it lets the journal's own syncs wait until it has written that.
const PART: usize = 256 << 10;
/// Who fills a file of the journal sooner than this, at 80 MB/s and more, is after throughput: all at once costs the
/// least.
const HASTE: Duration = Duration::from_millis(800);
/// After so many rounds by the files of few partitions within [`PERIOD`] there is a journal for them too. Who writes
/// less often does not need it, and has the room.
const OFTEN: u32 = 1_000;
const PERIOD: Duration = Duration::from_secs(60);
/// So much of the room that is left it may take, when it is made: a disk that is short of room gets none.
const SHARE: u64 = 8;
/// How long after one could not be made for want of room or descriptors the next attempt comes.
const RETRY: Duration = Duration::from_secs(60);

/// The journal, and what its thread has to do.
#[derive(Default)]
pub(super) struct DirJournal {
    state: Mutex<State>,
    changed: Condvar,
    /// Somebody waits for what the thread is at, or for what it is to do next: it ends writing back. Set under the lock
    /// of the state.
    hurry: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Made when many partitions are dirty at once, or few of them often.
    journal: Option<Journal>,
    /// The rounds that had to do without it, since when they are counted.
    rounds_without: Option<(Instant, u32)>,
    wanted: bool,
    refused: Option<Instant>,
    /// Whose files are to be synced, though nobody waits.
    to_flush: Vec<Arc<HostedPartition>>,
    work: Work,
    /// When the last checkpoint began.
    checkpointed: Option<Instant>,
    /// Whether somebody waited for it.
    was_awaited: bool,
    stopped: bool,
}

/// What the journal's thread is at.
#[derive(Clone, Copy, Default, PartialEq)]
enum Work {
    #[default]
    Waiting,
    /// Whoever wants to sync files comes in between.
    WritingBack,
    SyncingFiles,
}

impl State {
    /// A round of so many partitions has to do without a journal. Whether one is to be made.
    fn wants_one(&mut self, partitions: usize, now: Instant) -> bool {
        let counted = self.rounds_without.filter(|(since, _)| now - *since < PERIOD);
        let (since, rounds) = counted.unwrap_or((now, 0));
        self.rounds_without = Some((since, rounds + 1));
        let is_needed = partitions > FEW || rounds >= OFTEN;
        self.wanted = is_needed && self.refused.is_none_or(|refused| refused.elapsed() > RETRY);
        self.wanted
    }

    /// Whether who wants to sync other files waits: files are synced for it, or a checkpoint has yet to begin.
    fn is_checkpointing(&self) -> bool {
        let is_due = || self.journal.as_ref().and_then(Journal::to_checkpoint).is_some();
        match self.work {
            Work::Waiting => is_due(),
            Work::WritingBack => false,
            Work::SyncingFiles => true,
        }
    }

    /// A checkpoint begins. Whether it follows on the last one so soon, or on one so late, that it is to be done at once.
    fn begins_in_haste(&mut self, now: Instant) -> bool {
        let last = self.checkpointed.replace(now);
        std::mem::take(&mut self.was_awaited) || last.is_some_and(|last| now - last < HASTE)
    }
}

/// What became of a round.
pub(super) enum Journaled {
    /// What can be is durable; these are to be synced by themselves.
    But(Vec<Arc<HostedPartition>>),
    /// There is no room for it: everything is to be synced by itself.
    Not,
}

impl HostedDir {
    /// Makes durable what these partitions have, as far as the journal takes it. Nothing of them may be cut meanwhile:
    /// the journal is held from the moment that looks at them until what it has counts.
    pub(super) fn sync_by_journal(&self, dirty: &[Arc<HostedPartition>]) -> std::io::Result<Journaled> {
        let mut woken = Wakes::new();
        let journaled = self.journal_round(dirty, &mut woken);
        // With the journal free again: those who wake answer and read.
        wake(woken);
        journaled
    }

    fn journal_round(&self, dirty: &[Arc<HostedPartition>], woken: &mut Wakes) -> std::io::Result<Journaled> {
        let mut state = self.journal.state.lock();
        loop {
            let is_checkpointing = state.is_checkpointing();
            let Some(journal) = &mut state.journal else {
                if state.wants_one(dirty.len(), Instant::now()) {
                    self.journal.changed.notify_all();
                }
                return Ok(Journaled::Not);
            };
            let was_due = journal.to_checkpoint().is_some();
            let mut sorted = Sorted::of(dirty, if is_checkpointing { HUGE } else { LARGE });
            if is_checkpointing && journal.takes(&sorted.round) != Takes::Now {
                // What is little goes at once, and does not wait with what is much.
                sorted = Sorted::of(dirty, LARGE);
            }
            match journal.takes(&sorted.round) {
                Takes::Never => return Ok(Journaled::Not),
                Takes::Later if self.is_failed() => return Ok(Journaled::But(Vec::new())),
                Takes::Later => {
                    self.wait_for_checkpoint(&mut state);
                    continue;
                }
                Takes::Now => {}
            }
            if !sorted.round.is_empty() {
                match journal.write(&sorted.round) {
                    Err(error) if is_out_of_space(&error) => return Ok(Journaled::Not),
                    written => written?,
                }
                sorted.count(woken);
            }
            if !was_due && journal.to_checkpoint().is_some() {
                self.journal.hurry.store(true, Ordering::Relaxed);
                self.journal.changed.notify_all();
            }
            if !is_checkpointing && state.is_checkpointing() && !sorted.others.is_empty() {
                // This round filled a file: by their own files the others would wait for what that began.
                continue;
            }
            return Ok(Journaled::But(sorted.others));
        }
    }

    /// Has the files of partitions made durable though nobody waits for it: the journal would not move what goes by the
    /// files, and would take room for nothing.
    pub(super) fn flush_soon(&self, partitions: impl IntoIterator<Item = Arc<HostedPartition>>) {
        let mut state = self.journal.state.lock();
        if !state.stopped && !self.is_failed() {
            state.to_flush.extend(partitions);
            self.journal.changed.notify_all();
        }
    }

    fn wait_for_checkpoint(&self, state: &mut MutexGuard<'_, State>) {
        state.was_awaited = true;
        self.journal.hurry.store(true, Ordering::Relaxed);
        self.journal.changed.notify_all();
        self.journal.changed.wait(state);
    }

    /// Partitions have left for good: nothing that the journal has of them may come back. May wait for a disk.
    pub(super) fn void_in_journal(&self, keys: &[JournalKey]) -> std::io::Result<()> {
        let mut state = self.journal.state.lock();
        while let Some(journal) = &mut state.journal {
            if self.is_failed() || journal.void(keys)? {
                break;
            }
            self.wait_for_checkpoint(&mut state);
        }
        Ok(())
    }

    /// Starts the thread behind the journal; it ends after [`HostedDir::stop_journal`].
    pub(super) fn start_journal(self: &Arc<Self>) -> std::io::Result<JoinHandle<()>> {
        let dir = self.clone();
        let guard = self.halt().on_panic("checkpointer");
        std::thread::Builder::new()
            .name("checkpointer".to_owned())
            .spawn(move || {
                let _guard = guard;
                if let Err(error) = dir.checkpoint_until_stopped() {
                    dir.fail(&format!("journal: {error}"));
                }
                // They hold the directory.
                dir.journal.state.lock().to_flush.clear();
                dir.journal.changed.notify_all();
            })
    }

    /// Called when nothing is written to it any more.
    pub(super) fn stop_journal(&self) {
        let mut state = self.journal.state.lock();
        state.stopped = true;
        self.journal.hurry.store(true, Ordering::Relaxed);
        self.journal.changed.notify_all();
    }

    fn checkpoint_until_stopped(&self) -> std::io::Result<()> {
        let mut state = self.journal.state.lock();
        while !state.stopped && !self.is_failed() {
            if let Some(keys) = state.journal.as_ref().and_then(Journal::to_checkpoint) {
                let members = MutexGuard::unlocked(&mut state, || self.journaled(&keys));
                let in_haste = state.begins_in_haste(Instant::now());
                self.flush(&mut state, &members, in_haste);
                if self.is_failed() {
                    break;
                }
                are_online(&members)?;
                state.journal.as_mut().map(Journal::checkpointed);
                self.journal.changed.notify_all();
            } else if !state.to_flush.is_empty() {
                let partitions = std::mem::take(&mut state.to_flush);
                self.flush(&mut state, &partitions, false);
            } else if state.journal.is_none() && std::mem::take(&mut state.wanted) {
                match MutexGuard::unlocked(&mut state, || self.make_journal())? {
                    Some(journal) => state.journal = Some(journal),
                    None => state.refused = Some(Instant::now()),
                }
            } else {
                self.journal.changed.wait(&mut state);
            }
        }
        Ok(())
    }

    /// `None` where it would take the room that records need, or a descriptor too many.
    fn make_journal(&self) -> std::io::Result<Option<Journal>> {
        if !self.has_room_for(2 * BYTES * SHARE) {
            return Ok(None);
        }
        let disk = &**self.log_dir().disk();
        let made = Journal::create(disk, self.log_dir().path(), BYTES, entropy()?);
        self.check_space();
        match made {
            Ok(journal) => Ok(Some(journal)),
            Err(error) if is_out_of_space(&error) => Ok(None),
            Err(error) if is_out_of_descriptors(&error) => {
                self.no_descriptor("journal", &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the segments of these durable.
    fn flush(&self, state: &mut MutexGuard<'_, State>, members: &[Arc<HostedPartition>], in_haste: bool) {
        if !in_haste {
            self.journal.hurry.store(false, Ordering::Relaxed);
            state.work = Work::WritingBack;
            MutexGuard::unlocked(state, || self.write_back(members));
        }
        state.work = Work::SyncingFiles;
        MutexGuard::unlocked(state, || self.sync_files(members));
        state.work = Work::Waiting;
    }

    /// Little by little has the disk write what the segments of these hold, or puts the directory out of use.
    fn write_back(&self, members: &[Arc<HostedPartition>]) {
        let pieces = members.iter().flat_map(|member| member.unflushed());
        for part in pieces.flat_map(|piece| piece.parts(PART)) {
            let _turn = self.syncing.lock();
            if self.is_failed() || self.journal.hurry.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = part.write_back() {
                self.fail(&format!("sync: {error}"));
            }
        }
    }

    /// Those who are still here.
    fn journaled(&self, keys: &[JournalKey]) -> Vec<Arc<HostedPartition>> {
        let here = |key: &JournalKey| {
            let member = self.member(&key.topic_partition)?;
            (member.topic_id() == key.topic_id).then_some(member)
        };
        keys.iter().filter_map(here).collect()
    }
}

/// What a log holds that went offline was not synced: the journal may have the only copy.
fn are_online(members: &[Arc<HostedPartition>]) -> std::io::Result<()> {
    let is_offline =
        |member: &&Arc<HostedPartition>| member.with(|replica, _| replica.log().is_offline()) == Some(true);
    match members.iter().find(is_offline) {
        Some(member) => {
            let error = format!("{} is offline", member.topic_partition());
            Err(std::io::Error::other(error))
        }
        None => Ok(()),
    }
}

fn entropy() -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(u64::from_be_bytes(bytes))
}

/// What is dirty, by what becomes of it.
#[derive(Default)]
struct Sorted<'p> {
    /// Goes to the journal, with whose it is.
    round: Vec<(JournalKey, Unsynced)>,
    partitions: Vec<&'p Arc<HostedPartition>>,
    /// Are to be synced by themselves.
    others: Vec<Arc<HostedPartition>>,
}

impl<'p> Sorted<'p> {
    fn of(dirty: &'p [Arc<HostedPartition>], large: u64) -> Sorted<'p> {
        let mut sorted = Sorted::default();
        for partition in dirty {
            let Some(unsynced) = partition.take_unsynced() else {
                continue;
            };
            match unsynced.tail_bytes() {
                // The journal has all of it, since before somebody asked.
                Some(0) => {}
                Some(bytes) if bytes <= large => {
                    sorted.round.push((partition.journal_key(), unsynced));
                    sorted.partitions.push(partition);
                }
                _ => sorted.others.push(partition.clone()),
            }
        }
        sorted
    }

    /// The round is durable.
    fn count(&self, woken: &mut Wakes) {
        for (partition, (_, unsynced)) in self.partitions.iter().zip(&self.round) {
            partition.with_wakes(woken, |replica, woken| replica.journaled(unsynced, woken));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use model::{Offset, Uuid};
    use replication::Acks;
    use storage::{Disk, RealDisk, SimDisk, SimFaults};

    use super::super::fixture::Fixture;
    use super::super::syncer::sync_now;
    use super::super::tests::append_value;
    use super::*;
    use crate::dispatch::now_ms;

    /// A node with a journal, and partitions none of which is synced unless a test asks for it.
    struct Journaling {
        fixture: Fixture,
        topic_id: Uuid,
    }

    impl Journaling {
        fn new() -> Journaling {
            Journaling::on(Arc::new(RealDisk), &[])
        }

        /// On another disk, and with settings of the topic.
        fn on(disk: Arc<dyn Disk>, settings: &[(&str, &str)]) -> Journaling {
            let mut fixture = Fixture::on(disk, &[]);
            // Where the room is looked at, whatever the disk.
            std::fs::create_dir_all(fixture.dir.path().join("data")).unwrap();
            let topic_id = fixture.topic("orders", 6, settings);
            let journaling = Journaling { fixture, topic_id };
            let is_made = || {
                let partitions = journaling.partitions();
                let dir = partitions[0].dir();
                let _ = dir.sync_by_journal(&partitions).unwrap();
                dir.journal.state.lock().journal.is_some()
            };
            while !is_made() {
                std::thread::yield_now();
            }
            journaling.partitions().iter().for_each(|it| it.never_sync());
            journaling
        }

        fn partitions(&self) -> Vec<Arc<HostedPartition>> {
            let partition = |index| self.fixture.replicas().partition("orders", index).unwrap();
            (0..6).map(partition).collect()
        }

        /// A record in each partition, durable in the journal.
        fn append_to_all(&self) {
            assert!(self.append_value_to_all(b"x").is_empty());
        }

        /// The same; yields those that the journal did not take.
        fn append_value_to_all(&self, value: &[u8]) -> Vec<Arc<HostedPartition>> {
            self.append_each([value; 6])
        }

        fn append_each(&self, values: [&[u8]; 6]) -> Vec<Arc<HostedPartition>> {
            let partitions = self.partitions();
            for (partition, value) in partitions.iter().zip(values) {
                append_value(partition, Acks::Leader, value).unwrap();
            }
            match self.dir().sync_by_journal(&partitions).unwrap() {
                Journaled::But(others) => others,
                Journaled::Not => panic!("there is a journal, and room in it"),
            }
        }

        fn dir(&self) -> Arc<HostedDir> {
            self.partitions()[0].dir().clone()
        }

        fn flushed(&self) -> Vec<Offset> {
            let flushed = |it: &Arc<HostedPartition>| it.with(|replica, _| replica.log().flushed_offset());
            self.partitions().iter().map(|it| flushed(it).unwrap()).collect()
        }

        fn ends(&self) -> Vec<(Offset, Offset)> {
            let ends = |it: &Arc<HostedPartition>| (it.bounds().unwrap().1, it.high_watermark().unwrap());
            self.partitions().iter().map(ends).collect()
        }

        fn segment(&self, partition: i32) -> PathBuf {
            let folder = self.fixture.dir.path().join(format!("data/orders-{partition}"));
            folder.join("00000000000000000000.log")
        }

        fn has_journal(&self) -> bool {
            storage::has_journal(&storage::RealDisk, &self.fixture.dir.path().join("data")).unwrap()
        }
    }

    #[test]
    fn what_only_the_journal_has_comes_back_and_the_journal_goes() {
        let mut node = Journaling::new();
        node.append_to_all();
        node.append_to_all();
        assert_eq!(node.ends(), [(Offset(2), Offset(2)); 6]);
        assert!(node.partitions()[0].with(|replica, _| replica.log().flushed_offset()) < Some(Offset(2)));
        node.fixture.kill();
        // A power cut that took all that no sync had brought to the segments.
        (0..6).for_each(|it| std::fs::write(node.segment(it), b"").unwrap());
        assert!(node.has_journal());
        node.fixture.open().unwrap();
        assert_eq!(node.ends(), [(Offset(2), Offset(2)); 6]);
        assert!(!node.has_journal());
    }

    #[test]
    fn a_clean_stop_leaves_no_journal() {
        let mut node = Journaling::new();
        node.append_to_all();
        node.fixture.close();
        assert!(!node.has_journal());
        node.fixture.open().unwrap();
        assert_eq!(node.ends(), [(Offset(1), Offset(1)); 6]);
    }

    #[test]
    fn what_a_partition_had_that_cannot_be_opened_is_kept_until_it_can() {
        let mut node = Journaling::new();
        node.append_to_all();
        node.fixture.kill();
        (0..6).for_each(|it| std::fs::write(node.segment(it), b"").unwrap());
        let metadata = node.segment(3).with_file_name("partition.metadata");
        let sound = std::fs::read(&metadata).unwrap();
        std::fs::write(&metadata, "version: 7\n").unwrap();
        node.fixture.open().unwrap();
        assert!(node.fixture.replicas().partition("orders", 3).is_none());
        assert!(node.has_journal());
        // Also across a clean stop.
        node.fixture.close();
        std::fs::write(&metadata, sound).unwrap();
        node.fixture.open().unwrap();
        assert_eq!(node.ends(), [(Offset(1), Offset(1)); 6]);
        assert!(!node.has_journal());
    }

    #[test]
    fn a_journal_with_damage_is_replayed_as_far_as_it_goes_and_kept() {
        let mut node = Journaling::new();
        for _ in 0..3 {
            node.append_to_all();
        }
        node.fixture.kill();
        (0..6).for_each(|it| std::fs::write(node.segment(it), b"").unwrap());
        let data = node.fixture.dir.path().join("data");
        let journal = data.join("gracchus-journal-0");
        let mut bytes = std::fs::read(&journal).unwrap();
        // The first entry of the second round.
        bytes[4096 + 60] ^= 1;
        std::fs::write(&journal, &bytes).unwrap();
        node.fixture.open().unwrap();
        let whole = node.ends().iter().filter(|(end, _)| *end == Offset(3)).count();
        assert_eq!(whole, 0, "the round behind the damage does not fit without it");
        assert_eq!(
            std::fs::read(data.join("gracchus-journal-0.damaged")).unwrap(),
            bytes
        );
        assert!(!node.has_journal());
    }

    #[test]
    fn a_partition_without_its_folder_is_made_anew_and_the_journal_kept() {
        let mut node = Journaling::new();
        node.append_to_all();
        node.fixture.kill();
        let folder = node.segment(3);
        std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
        node.fixture.open().unwrap();
        assert_eq!(node.ends()[3], (Offset(0), Offset(0)));
        assert_eq!(node.ends()[2], (Offset(1), Offset(1)));
        assert!(
            node.fixture
                .dir
                .path()
                .join("data/gracchus-journal-0.damaged")
                .exists()
        );
    }

    #[test]
    fn a_journal_that_is_full_waits_for_the_segments_and_goes_on() {
        let node = Journaling::new();
        // A round takes a page of the two files of 1 MiB: they are filled three times.
        for _ in 0..1_600 {
            node.append_to_all();
        }
        assert_eq!(node.ends(), [(Offset(1_600), Offset(1_600)); 6]);
        let flushed = node.partitions()[0].with(|replica, _| replica.log().flushed_offset());
        assert!(flushed > Some(Offset(500)), "{flushed:?}");
    }

    #[test]
    fn what_a_deleted_partition_had_counts_no_more() {
        let mut node = Journaling::new();
        node.append_to_all();
        node.fixture.delete_topic(node.topic_id);
        node.fixture.kill();
        let disk = storage::RealDisk;
        let data = node.fixture.dir.path().join("data");
        let journal = storage::JournalContent::read(&disk, &data, storage::Shutdown::Unclean).unwrap();
        assert!(journal.is_empty());
    }

    /// Waits for a thread of the node to have done something.
    fn wait_until(is_done: impl Fn() -> bool) {
        let patience = Instant::now() + Duration::from_secs(20);
        while !is_done() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(is_done(), "it was not done in 20 seconds");
    }

    #[test]
    fn a_journal_is_made_only_where_there_is_room_for_it() {
        let disk = SimDisk::new(1);
        let mut fixture = Fixture::on(Arc::new(disk.clone()), &[]);
        fixture.topic("orders", 6, &[]);
        let partition = |index| fixture.replicas().partition("orders", index).unwrap();
        let partitions: Vec<_> = (0..6).map(partition).collect();
        let dir = partitions[0].dir();
        let data = fixture.dir.path().join("data");
        let ask = || matches!(dir.sync_by_journal(&partitions), Ok(Journaled::Not));
        // There is no file system to have room.
        assert!(!data.exists() && ask());
        wait_until(|| dir.journal.state.lock().refused.is_some());
        assert!(!storage::has_journal(&disk, &data).unwrap());
        assert!(
            ask() && !dir.journal.state.lock().wanted,
            "it is not tried at once"
        );
        std::fs::create_dir_all(&data).unwrap();
        assert!(dir.has_room_for(1) && !dir.has_room_for(u64::MAX));
        dir.journal.state.lock().refused = None;
        assert!(ask());
        wait_until(|| dir.journal.state.lock().journal.is_some());
        assert!(storage::has_journal(&disk, &data).unwrap());
    }

    #[test]
    fn few_partitions_have_a_journal_once_they_are_synced_often() {
        let (mut state, began) = (State::default(), Instant::now());
        assert!((0..OFTEN).all(|_| !state.wants_one(FEW, began)));
        assert!(state.wants_one(1, began + PERIOD / 2));
        assert!(!state.wants_one(FEW, began + PERIOD), "they are counted anew");
        assert!(state.wants_one(FEW + 1, began + PERIOD));
        let mut fixture = Fixture::new();
        fixture.topic("orders", 1, &[]);
        let partitions = [fixture.replicas().partition("orders", 0).unwrap()];
        let dir = partitions[0].dir();
        dir.journal.state.lock().rounds_without = Some((began, OFTEN));
        wait_until(|| {
            let _ = dir.sync_by_journal(&partitions).unwrap();
            dir.journal.state.lock().journal.is_some()
        });
        partitions[0].never_sync();
        append_value(&partitions[0], Acks::Leader, b"x").unwrap();
        dir.sync_all(&partitions);
        assert_eq!(partitions[0].high_watermark(), Some(Offset(1)));
        let flushed = partitions[0].with(|replica, _| replica.log().flushed_offset());
        assert_eq!(flushed, Some(Offset(0)), "the segment follows when it has to");
    }

    #[test]
    fn recovery_points_go_on_while_the_journal_is_in_use() {
        let node = Journaling::new();
        node.append_to_all();
        assert_eq!(node.flushed(), [Offset(0); 6]);
        node.dir().checkpoint_recovery_points().unwrap();
        wait_until(|| node.flushed() == [Offset(1); 6]);
        node.dir().checkpoint_recovery_points().unwrap();
        let written = node.dir().log_dir().checkpoints().unwrap().recovery_points;
        assert_eq!(written.values().copied().collect::<Vec<_>>(), [Offset(1); 6]);
        assert!(
            !node.dir().journal.state.lock().is_checkpointing(),
            "the journal takes small pieces again"
        );
    }

    #[test]
    fn retention_goes_on_while_the_journal_is_in_use() {
        let settings = [("retention.ms", "1"), ("file.delete.delay.ms", "0")];
        let node = Journaling::on(Arc::new(RealDisk), &settings);
        node.append_to_all();
        // All of it goes, for a new segment: the old files wait until that is durable by its own file.
        wait_until(|| {
            node.dir().delete_old_segments(now_ms()).unwrap();
            let start = |it: &Arc<HostedPartition>| it.bounds().unwrap().0;
            node.partitions().iter().all(|it| start(it) == Offset(1))
        });
        wait_until(|| (0..6).all(|it| !node.segment(it).exists()));
        assert_eq!(node.ends(), [(Offset(1), Offset(1)); 6]);
    }

    #[test]
    fn while_files_are_synced_the_journal_takes_larger_pieces_and_they_are_as_durable() {
        let mut node = Journaling::new();
        let large = [7; 2 * LARGE as usize];
        let others = node.append_value_to_all(&large);
        assert_eq!(others.len(), 6, "they are synced by themselves");
        node.dir().sync_files(&others);
        drop(others);
        node.dir().journal.state.lock().work = Work::SyncingFiles;
        assert_eq!(node.append_value_to_all(&large).len(), 0);
        assert_eq!(node.append_value_to_all(&[7; HUGE as usize]).len(), 6);
        node.dir().journal.state.lock().work = Work::Waiting;
        assert_eq!(node.ends(), [(Offset(3), Offset(2)); 6]);
        assert_eq!(node.flushed(), [Offset(1); 6]);
        let length = std::fs::metadata(node.segment(0)).unwrap().len() / 4;
        node.fixture.kill();
        for partition in 0..6 {
            let segment = std::fs::OpenOptions::new()
                .write(true)
                .open(node.segment(partition));
            // What was synced is the first of batches whose sizes are as 1, 1 and 8.
            segment.unwrap().set_len(length).unwrap();
        }
        node.fixture.open().unwrap();
        assert_eq!(node.ends(), [(Offset(2), Offset(2)); 6]);
    }

    #[test]
    fn what_the_journal_has_begins_no_checkpoint() {
        let node = Journaling::new();
        node.append_to_all();
        // As after an append that asks for a sync while the round that has it is under way.
        node.dir().sync_all(&node.partitions());
        assert!(!node.dir().journal.state.lock().is_checkpointing());
        assert_eq!(node.flushed(), [Offset(0); 6]);
    }

    #[test]
    fn who_begins_a_checkpoint_does_not_wait_for_it_and_little_never_waits_with_much() {
        let node = Journaling::new();
        let (dir, much) = (node.dir(), [7; HUGE as usize - 1024]);
        // The checkpoint will come soon after another.
        dir.journal.state.lock().checkpointed = Some(Instant::now() + Duration::from_secs(3_600));
        // No file is synced until this goes.
        let turn = dir.syncing.lock();
        (0..BYTES / 4096).for_each(|_| node.append_to_all());
        assert!(
            !dir.journal.state.lock().is_checkpointing(),
            "the file is just full"
        );
        assert_eq!(
            node.append_each([b"x", &much, &much, &much, &much, &much]).len(),
            0
        );
        assert!(dir.journal.state.lock().is_checkpointing());
        // Of the other file, 1 MiB, 636 KiB are taken.
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let left = node.append_each([b"x", b"x", &much, &much, &much, &much]).len();
            let (_, watermarks): (Vec<_>, Vec<_>) = node.ends().into_iter().unzip();
            sender.send((left, watermarks)).unwrap();
        });
        let (left, watermarks) = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(turn);
        let [little, much] = [258, 257].map(Offset);
        assert_eq!(
            (left, watermarks),
            (4, vec![little, little, much, much, much, much])
        );
    }

    #[test]
    fn what_is_much_goes_by_its_files_while_a_checkpoint_writes_back() {
        let node = Journaling::new();
        let (dir, much) = (node.dir(), [7; 2 * LARGE as usize]);
        // Nothing is written back, nor synced, until this goes.
        let turn = dir.syncing.lock();
        (0..=BYTES / 4096).for_each(|_| node.append_to_all());
        wait_until(|| dir.journal.state.lock().work == Work::WritingBack);
        assert_eq!(node.append_value_to_all(&much).len(), 6, "they go by their files");
        drop(turn);
        wait_until(|| node.flushed()[0] >= Offset(256));
        wait_until(|| dir.journal.state.lock().work == Work::Waiting);
        assert!(!dir.is_failed());
    }

    #[test]
    fn a_checkpoint_is_in_haste_when_it_follows_soon_on_another() {
        let (mut state, began) = (State::default(), Instant::now());
        let mut begins = |after| state.begins_in_haste(began + after);
        assert!(!begins(Duration::ZERO));
        assert!(begins(HASTE / 2));
        assert!(begins(HASTE));
        assert!(!begins(2 * HASTE));
        state.was_awaited = true;
        assert!(state.begins_in_haste(began + 3 * HASTE));
        assert!(!state.begins_in_haste(began + 4 * HASTE));
    }

    #[test]
    fn what_cannot_be_written_back_counts_as_a_sync_that_failed() {
        let disk = SimDisk::new(1);
        let node = Journaling::on(Arc::new(disk.clone()), &[]);
        node.append_to_all();
        assert_eq!(node.partitions()[0].unflushed().len(), 1);
        node.dir().write_back(&node.partitions());
        assert!(!node.dir().is_failed());
        assert_eq!(node.flushed(), [Offset(0); 6], "it is not durable by that");
        disk.set_faults(SimFaults {
            sync_errors: 1_000_000,
            ..SimFaults::default()
        });
        node.dir().journal.hurry.store(true, Ordering::Relaxed);
        node.dir().write_back(&node.partitions());
        assert!(!node.dir().is_failed(), "nothing is written while somebody waits");
        node.dir().journal.hurry.store(false, Ordering::Relaxed);
        node.dir().write_back(&node.partitions());
        assert!(node.dir().is_failed());
    }

    #[test]
    fn the_end_that_somebody_asks_for_goes_through_the_journal_too() {
        let node = Journaling::new();
        let dir = node.dir();
        let turn = dir.syncing.lock();
        let partitions = node.partitions();
        append_value(&partitions[0], Acks::Leader, b"x").unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            sync_now(&partitions);
            sender.send(node.ends()[0]).unwrap();
        });
        // While files are synced: it has none to sync, and does not wait for that.
        let ends = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(turn);
        assert_eq!(ends, (Offset(1), Offset(1)));
    }

    #[test]
    fn the_names_of_deleted_partitions_become_durable_though_the_journal_cannot_be_written() {
        for seed in 0..4 {
            let disk = SimDisk::new(seed);
            let mut node = Journaling::on(Arc::new(disk.clone()), &[]);
            node.append_to_all();
            disk.set_faults(SimFaults {
                write_errors: 1_000_000,
                ..SimFaults::default()
            });
            let dir = node.dir();
            node.fixture.delete_topic(node.topic_id);
            assert!(dir.is_failed());
            node.fixture.kill();
            disk.crash();
            disk.set_faults(SimFaults::default());
            let names = disk.list(&node.fixture.dir.path().join("data")).unwrap();
            let folders = names.iter().filter(|entry| entry.name.starts_with("orders-"));
            assert!(
                folders.clone().all(|entry| entry.name.ends_with("-delete")),
                "{names:?}"
            );
        }
    }
}

//! Random operations, crashes and disk faults against a model: a list of batches and the offset that was durable.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::model::{ErrorCode, LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition, Uuid};
use bytes::Bytes;
use proptest::prelude::*;
use storage::{
    AbortedTransaction, Appended, FirstBatch, Journal, JournalContent, JournalKey, Log, LogCheckpoint,
    LogConfig, LogPlace, Origin, Random, Replayed, Shutdown, SimDisk, SimFaults, Takes,
};
use wire::records::{BatchBuilder, ControlRecordType, EndTransactionMarker, Producer, batches};

const EPOCH: LeaderEpoch = LeaderEpoch(1);
const TOPIC_ID: Uuid = Uuid([1; 16]);
/// A file of the journal: a few rounds.
const JOURNAL_BYTES: u64 = 12 << 10;
const START_MS: i64 = 1_700_000_000_000;

#[derive(Clone, Debug)]
enum Op {
    /// A batch without a producer: how many records, how large.
    Plain(u8, u8),
    /// The next batch of a producer; inside its transaction when one is open.
    Produced(u8, u8),
    /// One of the producer's last batches once more.
    Repeated(u8, u8),
    /// Opens a transaction, or ends it: commit or abort.
    Transaction(u8, bool),
    Sync,
    /// Makes what is new durable in the journal.
    Journal,
    /// Makes what a full file of the journal holds durable in the segments.
    Flush,
    /// Deletes the log and makes it anew, of the same topic.
    Recreate,
    /// Writes the recovery point.
    Checkpoint,
    /// Cuts the log at so many parts in 256 of it.
    Truncate(u8),
    /// Moves the start to so many parts in 256 of what is durable, and lets old segments go.
    MoveStart(u8),
    RemoveDeleted,
    /// Loss of power, and so many more while the log is opened.
    Crash(u8),
    /// kill -9.
    Kill,
    /// A clean end.
    Restart,
    /// Calls fail from now on, or no more.
    Faults(bool),
}

fn op() -> impl Strategy<Value = Op> {
    let id = 0u8..3;
    prop_oneof![
        6 => (1u8..4, 0u8..90).prop_map(|(count, size)| Op::Plain(count, size)),
        8 => (id.clone(), 1u8..4).prop_map(|(id, count)| Op::Produced(id, count)),
        3 => (id.clone(), 0u8..7).prop_map(|(id, back)| Op::Repeated(id, back)),
        4 => (id, any::<bool>()).prop_map(|(id, commit)| Op::Transaction(id, commit)),
        3 => Just(Op::Sync),
        6 => Just(Op::Journal),
        2 => Just(Op::Flush),
        1 => Just(Op::Recreate),
        2 => Just(Op::Checkpoint),
        1 => any::<u8>().prop_map(Op::Truncate),
        1 => any::<u8>().prop_map(Op::MoveStart),
        1 => Just(Op::RemoveDeleted),
        2 => (0u8..8).prop_map(Op::Crash),
        1 => Just(Op::Kill),
        2 => Just(Op::Restart),
        1 => any::<bool>().prop_map(Op::Faults),
    ]
}

#[derive(Clone, Debug, PartialEq)]
struct ModelBatch {
    first: i64,
    values: Vec<String>,
    producer: Option<(i64, i32)>,
    transactional: bool,
    marker: Option<ControlRecordType>,
}

impl ModelBatch {
    fn next(&self) -> i64 {
        self.first + self.values.len() as i64
    }
}

struct World {
    disk: SimDisk,
    config: Arc<LogConfig>,
    log: Option<Log>,
    journal: Option<Journal>,
    batches: Vec<ModelBatch>,
    /// Everything below has been synced.
    durable: i64,
    recovery_point: i64,
    start: i64,
    now_ms: i64,
    written: u64,
}

impl World {
    fn new(seed: u64, segment_bytes: u32) -> World {
        let config = LogConfig {
            segment_bytes,
            segment_index_bytes: 240,
            index_interval_bytes: 120,
            retention_ms: None,
            file_delete_delay_ms: 0,
            ..LogConfig::default()
        };
        let disk = SimDisk::new(seed);
        let mut world = World {
            disk,
            config: Arc::new(config),
            log: None,
            journal: None,
            batches: Vec::new(),
            durable: 0,
            recovery_point: 0,
            start: 0,
            now_ms: START_MS,
            written: 0,
        };
        let mut log = Log::create(world.place(), TOPIC_ID, Arc::clone(&world.config), START_MS).unwrap();
        log.begin_epoch(EPOCH).unwrap();
        world.log = Some(log);
        world
    }

    fn place(&self) -> LogPlace {
        LogPlace {
            disk: Arc::new(self.disk.clone()),
            dir: PathBuf::from("/data/t-0"),
            topic_partition: TopicPartition::new("t", 0),
        }
    }

    fn log(&mut self) -> &mut Log {
        self.log.as_mut().unwrap()
    }

    fn key() -> JournalKey {
        JournalKey {
            topic_id: TOPIC_ID,
            topic_partition: TopicPartition::new("t", 0),
        }
    }

    fn end(&self) -> i64 {
        self.batches.last().map_or(self.start, ModelBatch::next)
    }

    fn values(&mut self, count: u8, size: u8) -> Vec<String> {
        (0..count)
            .map(|_| {
                self.written += 1;
                format!("{}{}", self.written, "x".repeat(usize::from(size)))
            })
            .collect()
    }

    /// The batches of a producer since its state began, newest last.
    fn of_producer(&self, id: i64) -> Vec<&ModelBatch> {
        let mine = |batch: &&ModelBatch| batch.producer.is_some_and(|(producer, _)| producer == id);
        self.batches
            .iter()
            .filter(mine)
            .filter(|batch| batch.marker.is_none())
            .collect()
    }

    fn next_sequence(&self, id: i64) -> i32 {
        self.of_producer(id)
            .last()
            .map_or(0, |batch| batch.producer.unwrap().1 + batch.values.len() as i32)
    }

    fn open_transactions(&self) -> Vec<(i64, i64)> {
        let mut open: Vec<(i64, i64)> = Vec::new();
        for batch in &self.batches {
            let Some((id, _)) = batch.producer else { continue };
            if batch.marker.is_some() {
                open.retain(|(producer, _)| *producer != id);
            } else if batch.transactional && open.iter().all(|(producer, _)| *producer != id) {
                open.push((id, batch.first));
            }
        }
        open
    }

    fn aborted(&self) -> Vec<AbortedTransaction> {
        let mut open: Vec<(i64, i64)> = Vec::new();
        let mut aborted = Vec::new();
        for batch in &self.batches {
            let Some((id, _)) = batch.producer else { continue };
            let mine = open.iter().position(|(producer, _)| *producer == id);
            match (batch.marker, mine) {
                (Some(kind), Some(index)) => {
                    let (_, first) = open.remove(index);
                    if kind == ControlRecordType::Abort {
                        let stable = open
                            .iter()
                            .map(|(_, first)| *first)
                            .min()
                            .unwrap_or(batch.first + 1);
                        aborted.push(AbortedTransaction {
                            producer_id: ProducerId(id),
                            first_offset: Offset(first),
                            last_offset: Offset(batch.first),
                            last_stable_offset: Offset(stable),
                        });
                    }
                }
                (None, None) if batch.transactional => open.push((id, batch.first)),
                _ => {}
            }
        }
        aborted
    }

    fn encode(&self, batch: &ModelBatch) -> Bytes {
        if let (Some(kind), Some((id, _))) = (batch.marker, batch.producer) {
            let marker = EndTransactionMarker {
                kind,
                coordinator_epoch: 0,
            };
            let built = BatchBuilder::end_transaction(marker, ProducerId(id), ProducerEpoch(0), self.now_ms);
            return built.unwrap().build().unwrap();
        }
        let mut builder = BatchBuilder::new();
        if let Some((id, base_sequence)) = batch.producer {
            builder = builder.with_producer(Producer {
                id: ProducerId(id),
                epoch: ProducerEpoch(0),
                base_sequence,
            });
        }
        if batch.transactional {
            builder = builder.transactional();
        }
        for value in &batch.values {
            builder
                .append(self.now_ms, None, Some(value.as_bytes()), &[])
                .unwrap();
        }
        builder.build().unwrap()
    }

    fn append(&mut self, batch: &ModelBatch) -> Result<Appended, ErrorCode> {
        let bytes = self.encode(batch);
        let origin = if batch.marker.is_some() {
            Origin::Coordinator
        } else {
            Origin::Client
        };
        let now_ms = self.now_ms;
        self.log()
            .append_as_leader(&bytes, origin, EPOCH, now_ms)
            .map_err(|error| error.code())
    }

    fn append_new(&mut self, mut batch: ModelBatch) {
        batch.first = self.end();
        match self.append(&batch) {
            Ok(appended) => {
                assert_eq!(
                    (appended.first_offset.0, appended.duplicate),
                    (batch.first, false)
                );
                self.batches.push(batch);
            }
            Err(code) => assert_eq!(code, ErrorCode::KafkaStorageError),
        }
    }

    fn repeat(&mut self, id: i64, back: usize) {
        let known: Vec<ModelBatch> = self.of_producer(id).into_iter().cloned().collect();
        let Some(index) = known.len().checked_sub(back + 1) else {
            return;
        };
        match self.append(&known[index]) {
            Ok(appended) => {
                assert!(appended.duplicate && back < 5, "{back} back");
                assert_eq!(appended.first_offset.0, known[index].first);
            }
            // The sixth is forgotten; and with faults nothing may be written, or the log is offline.
            Err(ErrorCode::OutOfOrderSequenceNumber) => assert!(back >= 5, "{back} back"),
            Err(code) => assert_eq!(code, ErrorCode::KafkaStorageError),
        }
    }

    fn sync(&mut self) {
        if self.log().is_offline() {
            return self.restart_after(|disk| disk.crash(), 0);
        }
        let Some(unsynced) = self.log().dirty() else {
            return;
        };
        if unsynced.sync().is_err() {
            return self.restart_after(|disk| disk.crash(), 0);
        }
        self.log().mark_synced(&unsynced);
        self.durable = self.end();
        assert_eq!(self.log().synced_offset(), Offset(self.durable));
    }

    /// The syncer's round when many are dirty.
    fn sync_by_journal(&mut self) -> io::Result<()> {
        self.check_online()?;
        if self.journal.is_none() {
            self.journal = Some(Journal::create(
                &self.disk,
                Path::new("/data"),
                JOURNAL_BYTES,
                1 << 40,
            )?);
        }
        let Some(unsynced) = self.log().dirty() else {
            return Ok(());
        };
        let round = [(World::key(), unsynced)];
        let takes = self.journal.as_ref().unwrap().takes(&round);
        if round[0].1.tail_bytes().is_none() || takes == Takes::Never {
            self.sync();
            return Ok(());
        }
        if takes == Takes::Later {
            self.flush()?;
        }
        self.journal.as_mut().unwrap().write(&round)?;
        self.log().mark_journaled(&round[0].1);
        self.durable = self.end();
        assert_eq!(self.log().synced_offset(), Offset(self.durable));
        Ok(())
    }

    /// A checkpoint of the journal.
    fn flush(&mut self) -> io::Result<()> {
        let Some(mut journal) = self.journal.take() else {
            return Ok(());
        };
        self.check_online()?;
        journal.seal();
        if journal
            .to_checkpoint()
            .is_some_and(|keys| keys.contains(&World::key()))
            && let Some(unsynced) = self.log().dirty()
        {
            unsynced.sync()?;
            self.log().mark_synced(&unsynced);
            self.durable = self.end();
        }
        journal.checkpointed();
        self.journal = Some(journal);
        Ok(())
    }

    /// What the journal has of the log counts no more.
    fn void(&mut self) -> io::Result<()> {
        while let Some(journal) = &mut self.journal {
            if journal.void(&[World::key()])? {
                break;
            }
            journal.checkpointed();
        }
        Ok(())
    }

    /// A log that is offline says of nothing that it is not durable: the directory is out of use with it.
    fn check_online(&mut self) -> io::Result<()> {
        match self.log().is_offline() {
            true => Err(io::Error::other("offline")),
            false => Ok(()),
        }
    }

    /// What the journal has of the log is made durable in the files, and then counts no more.
    fn settle(&mut self) -> io::Result<()> {
        self.check_online()?;
        if let Some(unsynced) = self.log().dirty() {
            unsynced.sync()?;
            self.log().mark_synced(&unsynced);
        }
        self.void()
    }

    fn recreate(&mut self) -> io::Result<()> {
        self.log = None;
        self.void()?;
        let place = self.place();
        if place.disk.exists(&place.dir)? {
            place.disk.remove_dir_all(&place.dir)?;
        }
        place.disk.sync_dir(Path::new("/data"))?;
        (self.durable, self.recovery_point, self.start) = (0, 0, 0);
        self.batches.clear();
        let log = Log::create(place, TOPIC_ID, Arc::clone(&self.config), self.now_ms);
        let mut log = log.map_err(io::Error::other)?;
        log.begin_epoch(EPOCH)?;
        self.log = Some(log);
        Ok(())
    }

    /// The machine or the process ends without warning, and starts again; the power fails `more` times on the way.
    fn restart_after(&mut self, end: impl FnOnce(&SimDisk), more: u8) {
        end(&self.disk);
        self.log = None;
        self.journal = None;
        self.disk.set_faults(SimFaults::default());
        for step in (0..more).rev() {
            if self.open_up_to(step % 4) {
                self.disk.crash();
            }
        }
        self.open(Shutdown::Unclean);
        let end = self.log().log_end_offset().0;
        assert!(
            end >= self.durable,
            "{end} is below {}, which was durable",
            self.durable
        );
        assert!(end <= self.end().max(self.start));
        self.batches.retain(|batch| batch.next() <= end);
        if self.end() < self.start {
            // A cut below the start had happened: the log began again there (rule 100).
            self.batches.clear();
        }
        assert_eq!(
            self.end().max(self.start),
            end.max(self.start),
            "the log ends with a whole batch"
        );
        self.check();
    }

    /// A start that does not come to its end. Whether there was anything to open.
    fn open_up_to(&mut self, steps: u8) -> bool {
        let disk = self.disk.clone();
        let place = self.place();
        let content = JournalContent::read(&disk, Path::new("/data"), Shutdown::Unclean).unwrap();
        let rows = content.rows(&World::key());
        let checkpoint = self.checkpoint(Shutdown::Unclean);
        let opened = Log::open_replaying(place, checkpoint, Arc::clone(&self.config), &rows, self.now_ms);
        let (mut log, _) = opened.unwrap();
        if steps > 0
            && let Some(unsynced) = log.dirty()
        {
            unsynced.sync().unwrap();
            log.mark_synced(&unsynced);
            if steps > 1 {
                content
                    .finish(&disk, Path::new("/data"), &BTreeSet::new(), Replayed::Whole)
                    .unwrap();
            }
            if steps > 2 {
                self.recovery_point = log.flushed_offset().0;
            }
        }
        true
    }

    fn checkpoint(&self, shutdown: Shutdown) -> LogCheckpoint {
        LogCheckpoint {
            recovery_point: Offset(self.recovery_point),
            log_start_offset: Offset(self.start),
            shutdown,
        }
    }

    fn open(&mut self, shutdown: Shutdown) {
        let checkpoint = self.checkpoint(shutdown);
        let disk = self.disk.clone();
        let content = JournalContent::read(&disk, Path::new("/data"), shutdown).unwrap();
        let rows = content.rows(&World::key());
        let opened = Log::open_replaying(
            self.place(),
            checkpoint,
            Arc::clone(&self.config),
            &rows,
            self.now_ms,
        );
        let (mut log, report) = opened.unwrap();
        if !content.is_empty() {
            assert_eq!(report.journal_fault, None);
            assert!(content.damage().is_empty());
            if let Some(unsynced) = log.dirty() {
                unsynced.sync().unwrap();
                log.mark_synced(&unsynced);
            }
        }
        content
            .finish(&disk, Path::new("/data"), &BTreeSet::new(), Replayed::Whole)
            .unwrap();
        log.begin_epoch(EPOCH).unwrap();
        self.log = Some(log);
    }

    /// A clean end, and a start after it.
    fn restart(&mut self) {
        if self.log.take().unwrap().close().is_err() {
            return self.restart_after(|disk| disk.crash(), 0);
        }
        self.disk.set_faults(SimFaults::default());
        self.journal = None;
        Journal::remove(&self.disk, Path::new("/data")).unwrap();
        self.disk.restart();
        self.open(Shutdown::Clean);
        self.durable = self.end();
        // A clean end writes the checkpoints too.
        self.recovery_point = self.durable;
        assert_eq!(self.log().log_end_offset().0, self.end().max(self.start));
        self.check();
    }

    fn truncate(&mut self, parts: u8) {
        let target = self.start + (self.end() - self.start) * i64::from(parts) / 256;
        if self.journal.is_some() && self.settle().is_err() {
            return self.restart_after(|disk| disk.crash(), 0);
        }
        // The checkpoint is lowered first: what is appended below the old one afterwards must be recovered.
        let kept = self
            .batches
            .iter()
            .rev()
            .find(|batch| batch.next() <= target)
            .map_or(0, ModelBatch::next);
        self.durable = self.durable.min(kept);
        self.recovery_point = self.recovery_point.min(kept);
        let now_ms = self.now_ms;
        if self.log().truncate_to(Offset(target), now_ms).is_err() {
            // It may have been cut or not, and nothing is known of what is durable: a follower would cut again.
            return self.restart_after(|disk| disk.crash(), 0);
        }
        self.batches.retain(|batch| batch.next() <= target);
        // A start inside the batch that went is where the log ends now.
        self.start = self
            .batches
            .last()
            .map_or(self.start, |last| self.start.min(last.next()));
        if self.batches.is_empty() {
            self.start = self.log().log_start_offset().0;
        }
        if self.log().begin_epoch(EPOCH).is_err() {
            self.restart_after(|disk| disk.restart(), 0);
        }
    }

    fn move_start(&mut self, parts: u8) {
        let target = self.start + (self.durable - self.start) * i64::from(parts) / 256;
        let durable = Offset(self.durable);
        if self.log().set_log_start_offset(Offset(target)) {
            // The checkpoint of the directory is durable before anything else happens.
            self.start = target;
        }
        let now_ms = self.now_ms;
        if self.log().delete_old_segments(now_ms, durable).is_err() {
            self.restart_after(|disk| disk.restart(), 0);
        }
    }

    /// Opens a transaction, or ends it.
    fn transaction(&mut self, id: i64, commit: bool) {
        let open = self.open_transactions().iter().any(|(open, _)| *open == id);
        let kind = if commit {
            ControlRecordType::Commit
        } else {
            ControlRecordType::Abort
        };
        let marker = open.then_some(kind);
        let values = if open {
            vec![String::new()]
        } else {
            self.values(1, 3)
        };
        let producer = Some((id, if open { -1 } else { self.next_sequence(id) }));
        self.append_new(ModelBatch {
            first: 0,
            values,
            producer,
            transactional: true,
            marker,
        });
    }

    /// A failure of the disk puts the directory out of use until the next start.
    fn or_restart(&mut self, done: io::Result<()>) {
        if done.is_err() {
            self.restart_after(|disk| disk.crash(), 0);
        }
    }

    fn recreate_somehow(&mut self) {
        // A deletion that the disk fails puts the directory out of use; here it is tried again.
        while self.recreate().is_err() {
            self.disk.set_faults(SimFaults::default());
            self.disk.crash();
            // As a start does that finds the topic gone.
            self.journal = None;
            Journal::remove(&self.disk, Path::new("/data")).unwrap();
        }
    }

    fn step(&mut self, op: &Op) {
        self.now_ms += 10;
        let id = |id: &u8| i64::from(*id) + 100;
        match op {
            Op::Plain(count, size) => {
                let values = self.values(*count, *size);
                let (producer, marker, transactional) = (None, None, false);
                self.append_new(ModelBatch {
                    first: 0,
                    values,
                    producer,
                    transactional,
                    marker,
                });
            }
            Op::Produced(producer, count) => {
                let id = id(producer);
                let transactional = self.open_transactions().iter().any(|(open, _)| *open == id);
                let (values, sequence) = (self.values(*count, 3), self.next_sequence(id));
                let producer = Some((id, sequence));
                self.append_new(ModelBatch {
                    first: 0,
                    values,
                    producer,
                    transactional,
                    marker: None,
                });
            }
            Op::Repeated(producer, back) => self.repeat(id(producer), usize::from(*back)),
            Op::Transaction(producer, commit) => self.transaction(id(producer), *commit),
            Op::Sync => self.sync(),
            Op::Journal => {
                let done = self.sync_by_journal();
                self.or_restart(done);
            }
            Op::Flush => {
                let done = self.flush();
                self.or_restart(done);
            }
            Op::Recreate => self.recreate_somehow(),
            Op::Checkpoint => self.recovery_point = self.log().flushed_offset().0,
            Op::Truncate(parts) => self.truncate(*parts),
            Op::MoveStart(parts) => self.move_start(*parts),
            Op::RemoveDeleted => {
                if let Some(deleted) = self.log().take_deleted(i64::MAX) {
                    let _ = deleted.remove();
                }
            }
            Op::Crash(more) => self.restart_after(|disk| disk.crash(), *more),
            Op::Kill => self.restart_after(|disk| disk.restart(), 0),
            Op::Restart => self.restart(),
            Op::Faults(on) => self.disk.set_faults(SimFaults {
                write_errors: if *on { 150_000 } else { 0 },
                sync_errors: if *on { 80_000 } else { 0 },
                ..SimFaults::default()
            }),
        }
    }

    /// Everything there is to know of the log agrees with the model.
    fn check(&mut self) {
        let (start, end) = (self.start, self.end().max(self.start));
        let expected: Vec<(i64, Bytes)> = self
            .batches
            .iter()
            .filter(|batch| batch.next() > start)
            .map(|batch| (batch.first, self.body(batch)))
            .collect();
        let (aborted, open) = (self.aborted(), self.open_transactions());
        let sequences: Vec<(i64, i32)> = (100..103)
            .map(|id| (id, self.next_sequence(id) - 1))
            .filter(|(_, last)| *last >= 0)
            .collect();
        let log = self.log();
        assert_eq!((log.log_start_offset().0, log.log_end_offset().0), (start, end));
        let mut found = Vec::new();
        let mut next = Offset(start);
        while next.0 < end {
            let bytes = log
                .read(next, 300, Offset(end), FirstBatch::Whole)
                .unwrap()
                .records
                .to_bytes()
                .unwrap();
            let before = next;
            for batch in batches(&bytes).map_while(Result::ok) {
                batch.verify_crc().unwrap();
                next = batch.header().next_offset();
                found.push((batch.header().base_offset.0, batch.stored_records()));
            }
            assert!(next > before, "nothing at {next}");
        }
        assert_eq!(found, expected);
        let stable = open
            .iter()
            .map(|(_, first)| *first)
            .min()
            .unwrap_or(end)
            .max(start);
        assert_eq!(log.last_stable_offset(Offset(end)).0, stable);
        let covered: Vec<AbortedTransaction> = aborted
            .into_iter()
            .filter(|entry| entry.last_offset.0 >= start)
            .collect();
        assert_eq!(
            log.aborted_transactions(Offset(start), Offset(end)).unwrap(),
            covered
        );
        let known: Vec<(i64, i32)> = log
            .active_producers()
            .iter()
            .map(|producer| (producer.producer_id.0, producer.last_sequence))
            .collect();
        assert_eq!(known, sequences);
    }

    /// The records of a batch as they are stored: no offset is in them.
    fn body(&self, batch: &ModelBatch) -> Bytes {
        self.encode(batch).slice(61..)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_log_keeps_what_was_durable_and_nothing_that_never_was_written(
        seed: u64,
        segment_bytes in 400u32..1500,
        ops in prop::collection::vec(op(), 1..70),
    ) {
        let mut world = World::new(seed, segment_bytes);
        for op in &ops {
            world.step(op);
        }
        world.disk.set_faults(SimFaults::default());
        world.restart_after(|disk| disk.crash(), 1);
    }
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed| {
        let mut world = World::new(seed, 600);
        let mut random = Random::new(seed);
        for _ in 0..60 {
            let op = match random.below(8) {
                0..4 => Op::Produced(random.below(3) as u8, 2),
                4 => Op::Sync,
                5 => Op::Transaction(random.below(3) as u8, random.one_in(2)),
                6 => Op::Crash(random.below(8) as u8),
                _ => Op::Checkpoint,
            };
            world.step(&op);
        }
        (world.disk.trace(), world.batches)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

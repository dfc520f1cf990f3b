//! The journal of a directory: whatever is in its files, a start reads them, and no log gets what was never written to
//! it. Where nothing is damaged all that was acknowledged comes back, and damage that costs records is told.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use model::{LeaderEpoch, Offset, TopicPartition, Uuid};
use storage::{
    Disk, FirstBatch, InRound, Journal, JournalContent, JournalHead, JournalKey, JournalReader, Log, LogCheckpoint,
    LogConfig, LogPlace, Origin, RecoveryReport, Replayed, Shutdown, SimDisk, Takes, has_journal,
};
use wire::records::{BatchBuilder, batches};

const NOW: i64 = 1_700_000_000_000;
const PAGE: u64 = 4096;
/// A file of a few rounds.
const BYTES: u64 = 4 * PAGE;
const DIR: &str = "/data";
const FILES: [&str; 3] = ["gracchus-journal-0", "gracchus-journal-1", "gracchus-journal-kept"];
/// Up to where an entry says what number it has.
const NUMBERED: usize = 20;
const OPERATIONS_MAX: usize = 24;
const CHANGES_MAX: usize = 6;

/// The input, a byte after the other.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn position(&mut self) -> Option<u64> {
        Some(u64::from(u16::from_be_bytes([self.byte()?, self.byte()?])) % (BYTES + PAGE))
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }
}

fn key(partition: u8) -> JournalKey {
    JournalKey { topic_id: Uuid([7; 16]), topic_partition: TopicPartition::new("t", i32::from(partition)) }
}

fn place(disk: &SimDisk, key: &JournalKey) -> LogPlace {
    LogPlace {
        disk: Arc::new(disk.clone()),
        dir: Path::new(DIR).join(key.topic_partition.to_string()),
        topic_partition: key.topic_partition.clone(),
    }
}

fn config() -> Arc<LogConfig> {
    Arc::new(LogConfig { segment_bytes: 8_000, segment_index_bytes: 240, retention_ms: None, ..LogConfig::default() })
}

fn path(file: usize) -> PathBuf {
    Path::new(DIR).join(FILES[file % FILES.len()])
}

/// Two logs, and the journal that the writer writes of them.
struct World {
    disk: SimDisk,
    logs: BTreeMap<JournalKey, Log>,
    journal: Journal,
}

/// What a log had, and up to where somebody was told so.
struct Expected {
    bytes: Vec<u8>,
    acknowledged: Offset,
}

impl World {
    fn new(seed: u64) -> World {
        let disk = SimDisk::new(seed);
        let logs = [0, 1].map(|partition| {
            let key = key(partition);
            let log = Log::create(place(&disk, &key), key.topic_id, config(), NOW).expect("nothing is there");
            (key, log)
        });
        let journal = Journal::create(&disk, Path::new(DIR), BYTES, seed << 55 | 1 << 20).expect("nothing is there");
        World { disk, logs: logs.into(), journal }
    }

    fn operate(&mut self, script: &mut Script<'_>) -> Option<()> {
        let operation = script.byte()?;
        let key = key(operation / 8 % 2);
        match operation % 8 {
            0..=3 => {
                let value = vec![operation; usize::from(script.byte()?) * 23];
                let mut builder = BatchBuilder::new();
                builder.append(NOW, None, Some(&value), &[]).expect("it fits");
                let batch = builder.build().expect("it is not empty");
                let log = self.logs.get_mut(&key)?;
                log.append_as_leader(&batch, Origin::Client, LeaderEpoch(0), NOW).expect("a sound batch");
                if operation % 8 > 0 {
                    self.round();
                }
            }
            4 => self.round(),
            5 => self.checkpoint(),
            6 => {
                self.sync(&key);
                while !self.journal.void(std::slice::from_ref(&key)).expect("the disk is fine") {
                    self.checkpoint();
                }
            }
            _ => self.sync(&key),
        }
        Some(())
    }

    fn sync(&mut self, key: &JournalKey) {
        if let Some(log) = self.logs.get_mut(key)
            && let Some(unsynced) = log.dirty()
        {
            unsynced.sync().expect("the disk is fine");
            log.mark_synced(&unsynced);
        }
    }

    fn round(&mut self) {
        let dirty = self.logs.iter().filter_map(|(key, log)| Some((key.clone(), log.dirty()?)));
        let round: Vec<_> = dirty.filter(|(_, unsynced)| unsynced.tail_bytes() > Some(0)).collect();
        if self.journal.takes(&round) == Takes::Later {
            self.checkpoint();
        }
        if round.is_empty() {
            return;
        }
        match self.journal.takes(&round) {
            Takes::Now => self.journal.write(&round).expect("the disk is fine"),
            _ => return round.iter().for_each(|(key, _)| self.sync(key)),
        }
        for (key, unsynced) in &round {
            self.logs.get_mut(key).expect("it is one of ours").mark_journaled(unsynced);
        }
    }

    fn checkpoint(&mut self) {
        self.journal.seal();
        for key in self.journal.to_checkpoint().unwrap_or_default() {
            self.sync(&key);
        }
        self.journal.checkpointed();
    }

    /// The power fails.
    fn crash(self) -> (SimDisk, BTreeMap<JournalKey, Expected>) {
        let expected = self.logs.into_iter().map(|(key, log)| {
            (key, Expected { bytes: read_all(&log), acknowledged: log.synced_offset() })
        });
        let expected = expected.collect();
        self.disk.crash();
        (self.disk, expected)
    }
}

/// The batches of a log, each of which is sound.
fn read_all(log: &Log) -> Vec<u8> {
    let (mut offset, end) = (log.log_start_offset(), log.log_end_offset());
    let mut all = Vec::new();
    while offset < end {
        let read = log.read(offset, 1 << 20, end, FirstBatch::Whole).expect("an unclean start has read all of it");
        let bytes: Bytes = read.records.to_bytes().expect("the disk is fine");
        for batch in batches(&bytes) {
            let batch = batch.expect("nothing cuts it off");
            batch.verify_crc().expect("a start reads every batch that it keeps");
            assert!(batch.header().base_offset >= offset, "offsets rise");
            offset = batch.header().next_offset();
        }
        all.extend_from_slice(&bytes);
    }
    all
}

/// The files of the journal as they are.
fn contents(disk: &SimDisk) -> [Vec<u8>; 2] {
    [0, 1].map(|file| disk.read(&path(file)).expect("the writer has made it"))
}

/// Which entries are there, with their file.
fn entries(disk: &SimDisk) -> Vec<(usize, u64, u64, JournalHead)> {
    let mut entries = Vec::new();
    for file in 0..2 {
        for entry in JournalReader::open(disk, &path(file)).expect("the writer has made it") {
            let entry = entry.expect("the disk is fine");
            let fixed = 51 + entry.head.key.topic_partition.topic.len();
            entries.push((file, entry.position, (fixed + entry.batches.len()) as u64, entry.head));
        }
    }
    entries.sort_by_key(|(.., head)| head.sequence);
    entries
}

/// Something happens to a file. Whether a stranger has made it look sound again.
fn change(disk: &SimDisk, script: &mut Script<'_>) -> Option<bool> {
    let (operation, target) = (script.byte()?, usize::from(script.byte()? % 2));
    let file = disk.open(&path(target)).expect("the writer has made it");
    let position = script.position()?;
    let length = usize::from(script.byte()?);
    let write = |bytes: &[u8], position| file.write_all_at(&[IoSlice::new(bytes)], position).expect("the disk is fine");
    match operation % 6 {
        0 => write(&script.bytes(length % 32), position),
        1 => file.set_len(position).expect("the disk is fine"),
        2 => write(&vec![0; length * 32], position),
        3 => {
            let source = disk.read(&path(length)).unwrap_or_default();
            let pages = source.chunks_exact(PAGE as usize);
            let page = pages.skip(length / 4 % 4).next()?;
            write(page, position / PAGE * PAGE);
        }
        4 => disk.flip_bit(&path(target), position, operation).unwrap_or_default(),
        _ => {
            let mut content = disk.read(&path(target)).expect("the writer has made it");
            let entry = content.get_mut(usize::try_from(position / PAGE * PAGE).ok()?..)?;
            let size = u32::from_be_bytes(*entry.get(4..)?.first_chunk()?) as usize;
            let entry = entry.get_mut(..size)?;
            let place = script.byte()?.max(12);
            *entry.get_mut(usize::from(place))? = u8::try_from(length).ok()?;
            let checksum = crc32c::crc32c(entry.get(12..)?);
            entry.get_mut(8..12)?.copy_from_slice(&checksum.to_be_bytes());
            write(&content, 0);
            return Some(true);
        }
    }
    Some(false)
}

fn open(disk: &SimDisk, key: &JournalKey, content: &JournalContent) -> Option<(Log, RecoveryReport)> {
    let checkpoint =
        LogCheckpoint { recovery_point: Offset(0), log_start_offset: Offset(0), shutdown: Shutdown::Unclean };
    Log::open_replaying(place(disk, key), checkpoint, config(), &content.rows(key), NOW).ok()
}

/// What was kept for a partition is there at the next start, and nothing else.
fn finish(disk: &SimDisk, content: JournalContent, kept: &JournalKey) {
    let kept = BTreeSet::from([kept.clone()]);
    let keys: Vec<_> = content.keys().filter(|key| kept.contains(key)).cloned().collect();
    content.finish(disk, Path::new(DIR), &kept, Replayed::InPart).expect("the disk is fine");
    let again = JournalContent::read(disk, Path::new(DIR), Shutdown::Unclean).expect("the disk is fine");
    assert_eq!(again.keys().cloned().collect::<Vec<_>>(), keys);
    assert_eq!(again.damage(), [""; 0]);
    again.finish(disk, Path::new(DIR), &BTreeSet::new(), Replayed::Whole).expect("the disk is fine");
    assert!(!has_journal(disk, Path::new(DIR)).expect("the disk is fine"));
}

/// Any bytes at all.
fn read_anything(seed: u64, script: &mut Script<'_>) {
    let disk = World::new(seed).disk;
    disk.crash();
    for file in 0..FILES.len() {
        let length = script.position().unwrap_or(0);
        let bytes = script.bytes(usize::try_from(length).unwrap_or(0));
        disk.write(&path(file), &bytes).expect("the disk is fine");
    }
    let content = JournalContent::read(&disk, Path::new(DIR), Shutdown::Unclean).expect("the disk is fine");
    if let Some((log, _)) = open(&disk, &key(0), &content) {
        read_all(&log);
    }
    finish(&disk, content, &key(0));
}

/// What a writer has written, and what happened to it.
fn read_damaged(seed: u64, script: &mut Script<'_>) {
    let mut world = World::new(seed);
    for _ in 0..OPERATIONS_MAX {
        match script.byte() {
            Some(0) | None => break,
            Some(_) => {}
        }
        if world.operate(script).is_none() {
            break;
        }
    }
    let (disk, expected) = world.crash();
    let (before, known) = (contents(&disk), entries(&disk));
    let mut is_forged = false;
    for _ in 0..CHANGES_MAX {
        let Some(forged) = change(&disk, script) else { break };
        is_forged |= forged;
    }
    let after = contents(&disk);
    let content = JournalContent::read(&disk, Path::new(DIR), Shutdown::Unclean).expect("the disk is fine");
    if before == after {
        assert_eq!(content.damage(), [""; 0], "a cut round is no damage");
    }
    for (key, expected) in &expected {
        let (log, report) = open(&disk, key, &content).expect("the disk is fine, and nothing happened to the log");
        let bytes = read_all(&log);
        if is_forged {
            continue;
        }
        assert!(expected.bytes.starts_with(&bytes), "it has what was never written to it");
        let end = log.log_end_offset();
        if end >= expected.acknowledged {
            continue;
        }
        assert_ne!(before, after, "{key:?} ends at {end}, not at {}: {report:?}", expected.acknowledged);
        let range = |position: u64, size: u64| position as usize..(position + size) as usize;
        let is_intact = |file: usize, range: std::ops::Range<usize>| before[file].get(range.clone()) == after[file].get(range);
        let is_numbered = [0, 1].iter().all(|file| is_intact(*file, 0..NUMBERED));
        let lost = known.iter().rfind(|(.., head)| head.key == *key && head.base_offset <= end);
        let lost = lost.map_or(0, |(.., head)| head.sequence);
        let is_proven = known.iter().any(|(file, position, size, head)| {
            head.in_round == InRound::First && head.sequence > lost && is_intact(*file, range(*position, *size))
        });
        let is_told = !content.damage().is_empty() || report.journal_fault.is_some();
        assert!(is_told || !is_numbered || !is_proven, "{key:?} ends at {end}, not at {}", expected.acknowledged);
    }
    finish(&disk, content, &key(1));
}

fuzz_target!(|data: &[u8]| {
    let mut script = Script(data);
    let Some(mode) = script.byte() else { return };
    let seed = u64::from(mode / 4);
    match mode % 4 {
        0 => read_anything(seed, &mut script),
        _ => read_damaged(seed, &mut script),
    }
});

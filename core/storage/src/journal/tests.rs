//! The journal over a simulated disk: what is read of it after what happened to it.

use std::path::PathBuf;

use bytes::Bytes;
use model::{LeaderEpoch, TopicPartition, Uuid};
use wire::records::BatchBuilder;

use super::*;
use crate::disk::SimDisk;
use crate::log::{Log, LogCheckpoint, LogConfig, LogPlace, Origin, Shutdown};

const NOW: i64 = 1_700_000_000_000;
/// A file of three rounds, of a page each.
const BYTES: u64 = 3 * PAGE;
const ENTROPY: u64 = 0x9e37_79b9_7f4a_7c15;

fn dir() -> &'static Path {
    Path::new("/data")
}

fn file(index: usize) -> PathBuf {
    dir().join(NAMES[index])
}

fn batch(value: &str) -> Bytes {
    let mut builder = BatchBuilder::new();
    builder.append(NOW, None, Some(value.as_bytes()), &[]).unwrap();
    builder.build().unwrap()
}

fn place(disk: &SimDisk) -> LogPlace {
    LogPlace {
        disk: Arc::new(disk.clone()),
        dir: PathBuf::from("/data/t-0"),
        topic_partition: TopicPartition::new("t", 0),
    }
}

fn append(log: &mut Log, value: &str) {
    log.append_as_leader(&batch(value), Origin::Client, LeaderEpoch(0), NOW)
        .unwrap();
}

/// A log and the journal of its directory.
struct World {
    disk: SimDisk,
    log: Log,
    journal: Journal,
}

impl World {
    fn new() -> World {
        let disk = SimDisk::new(1);
        let log = Log::create(place(&disk), Uuid([7; 16]), Arc::new(LogConfig::default()), NOW).unwrap();
        let journal = Journal::create(&disk, dir(), BYTES, ENTROPY).unwrap();
        World { disk, log, journal }
    }

    fn key() -> JournalKey {
        JournalKey {
            topic_id: Uuid([7; 16]),
            topic_partition: TopicPartition::new("t", 0),
        }
    }

    fn round(&self) -> Vec<(JournalKey, Unsynced)> {
        vec![(World::key(), self.log.dirty().unwrap())]
    }

    /// Appends these records and makes them durable in the journal.
    fn write(&mut self, values: &[&str]) {
        values.iter().for_each(|value| append(&mut self.log, value));
        let round = self.round();
        assert_eq!(self.journal.takes(&round), Takes::Now);
        self.journal.write(&round).unwrap();
        self.log.mark_journaled(&round[0].1);
    }

    fn checkpoint(&mut self) {
        let unsynced = self.log.dirty().unwrap();
        unsynced.sync().unwrap();
        self.log.mark_synced(&unsynced);
        assert!(self.journal.to_checkpoint().is_some());
        self.journal.checkpointed();
    }

    /// Both files are full, and the segments have what the first holds.
    fn with_both_files_full() -> World {
        let mut world = World::new();
        for offset in 0..6 {
            world.write(&[&offset.to_string()]);
        }
        world.checkpoint();
        world
    }

    fn content(&self) -> JournalContent {
        JournalContent::read(&self.disk, dir(), Shutdown::Unclean).unwrap()
    }

    /// Where each entry of the log begins that a recovery would replay.
    fn bases(&self) -> Vec<i64> {
        let rows = self.content().rows(&World::key());
        rows.batches().map(|row| row.unwrap().0.0).collect()
    }

    fn bases_in(&self, index: usize) -> Vec<i64> {
        let reader = JournalReader::open(&self.disk, &file(index)).unwrap();
        reader.map(|entry| entry.unwrap().head.base_offset.0).collect()
    }
}

#[test]
fn rounds_of_both_files_are_read_in_the_order_they_were_written_in() {
    let mut world = World::with_both_files_full();
    assert_eq!(world.bases(), [0, 1, 2, 3, 4, 5]);
    // The first file is the newer one now.
    world.write(&["6"]);
    world.write(&["7"]);
    assert_eq!(world.bases(), [3, 4, 5, 6, 7]);
}

#[test]
fn old_entries_behind_new_ones_are_not_read() {
    let mut world = World::with_both_files_full();
    world.write(&["6"]);
    assert_eq!(world.bases_in(0), [6]);
}

#[test]
fn a_round_ends_at_a_page_and_the_next_one_is_found_behind_it() {
    let mut world = World::new();
    world.write(&[&"x".repeat(5_000)]);
    world.write(&["y"]);
    assert_eq!(world.bases(), [0, 1]);
}

#[test]
fn a_round_cut_in_its_middle_is_not_there_and_harms_none_before_it() {
    let mut world = World::new();
    world.write(&["a"]);
    world.write(&["b", "c"]);
    let cut = PAGE + 80;
    let file = world.disk.open_or_create(&file(0)).unwrap();
    file.write_all_at(&[IoSlice::new(&[0; 100])], cut).unwrap();
    assert_eq!(world.bases(), [0]);
}

#[test]
fn a_file_is_blank_before_its_first_round_is_written_again() {
    let mut world = World::with_both_files_full();
    assert_eq!(world.bases_in(0), [0, 1, 2]);
    append(&mut world.log, "6");
    let round = world.round();
    // The round comes to nothing half way: what it was to hold cannot be read.
    let segment = Path::new("/data/t-0/00000000000000000000.log");
    world.disk.open_or_create(segment).unwrap().set_len(0).unwrap();
    world.journal.write(&round).unwrap_err();
    assert_eq!(world.bases_in(0), [0; 0]);
    assert_eq!(world.bases(), [3, 4, 5]);
}

#[test]
fn what_is_void_is_gone_and_what_came_later_is_not() {
    let mut world = World::new();
    world.write(&["a"]);
    assert!(world.journal.void(&[World::key()]).unwrap());
    assert!(world.content().is_empty());
    world.write(&["b"]);
    assert_eq!(world.bases(), [1]);
}

#[test]
fn what_belongs_to_nobody_yet_is_kept_until_it_is_replayed() {
    let mut world = World::new();
    world.write(&["a"]);
    world.write(&["b"]);
    let kept = BTreeSet::from([World::key()]);
    world
        .content()
        .finish(&world.disk, dir(), &kept, Replayed::Whole)
        .unwrap();
    assert!(!world.disk.exists(&file(0)).unwrap());
    assert!(has_journal(&world.disk, dir()).unwrap());
    assert_eq!(world.bases(), [0, 1]);
    // Also when it is put off once more.
    world
        .content()
        .finish(&world.disk, dir(), &kept, Replayed::Whole)
        .unwrap();
    assert_eq!(world.bases(), [0, 1]);
    world
        .content()
        .finish(&world.disk, dir(), &BTreeSet::new(), Replayed::Whole)
        .unwrap();
    assert!(!has_journal(&world.disk, dir()).unwrap());
}

#[test]
fn entries_do_not_go_on_a_log_that_somebody_else_has_written_to() {
    for (found, expected_end) in [(["0", "1"], 3), (["0", "x"], 2)] {
        let mut world = World::new();
        world.write(&["0", "1"]);
        world.write(&["2"]);
        // The same partition, where a power cut left one record and another broker went on.
        let disk = SimDisk::new(2);
        let config = Arc::new(LogConfig::default());
        let mut log = Log::create(place(&disk), Uuid([7; 16]), Arc::clone(&config), NOW).unwrap();
        found.iter().for_each(|value| append(&mut log, value));
        drop(log);
        let checkpoint = LogCheckpoint {
            recovery_point: Offset::ZERO,
            log_start_offset: Offset::ZERO,
            shutdown: Shutdown::Unclean,
        };
        let rows = world.content().rows(&World::key());
        let (log, report) = Log::open_replaying(place(&disk), checkpoint, config, &rows, NOW).unwrap();
        assert_eq!(log.log_end_offset(), Offset(expected_end));
        assert_eq!(report.journal_fault.is_some(), expected_end == 2, "{report:?}");
    }
}

#[test]
fn damage_in_the_middle_is_told_and_what_comes_later_is_read() {
    let mut world = World::new();
    ["a", "b", "c"].iter().for_each(|value| world.write(&[value]));
    world.disk.flip_bit(&file(0), PAGE + 70, 3).unwrap();
    assert_eq!(world.bases(), [0, 2]);
    assert_eq!(
        world.content().damage(),
        [format!("{} is damaged at byte {}", NAMES[0], entry_end(&world))]
    );
    world
        .content()
        .finish(&world.disk, dir(), &BTreeSet::new(), Replayed::InPart)
        .unwrap();
    assert!(!has_journal(&world.disk, dir()).unwrap());
    let set_aside = |name: &str| (is_journal(name), world.disk.read(&dir().join(name)).unwrap());
    let first = set_aside("gracchus-journal-0.damaged");
    // Another start finds another.
    world.disk.replace(&file(0), b"later").unwrap();
    world
        .disk
        .replace(&dir().join("gracchus-journal-kept.tmp"), b"")
        .unwrap();
    world
        .content()
        .finish(&world.disk, dir(), &BTreeSet::new(), Replayed::InPart)
        .unwrap();
    assert_eq!(set_aside("gracchus-journal-0.damaged"), first);
    assert_eq!(
        set_aside("gracchus-journal-0.2.damaged"),
        (true, b"later".to_vec())
    );
    assert!(
        !world
            .disk
            .exists(&dir().join("gracchus-journal-kept.tmp"))
            .unwrap()
    );
    assert!(!is_journal("gracchus-journal-2.damaged") && !is_journal("orders-0.2.damaged"));
}

/// Where the first entry ends.
fn entry_end(world: &World) -> u64 {
    let mut reader = JournalReader::open(&world.disk, &file(0)).unwrap();
    let entry = reader.next().unwrap().unwrap();
    entry::entry_size(&entry.head.key, entry.batches.len() as u64)
}

#[test]
fn damage_at_the_start_and_between_the_files_is_told() {
    for (index, position, expected) in [
        (0, 70, [1, 2, 3, 4, 5].as_slice()),
        (0, 2 * PAGE + 70, &[0, 1, 3, 4, 5]),
        (1, 70, &[0, 1, 2, 4, 5]),
    ] {
        let mut world = World::new();
        (0..6).for_each(|offset| world.write(&[&offset.to_string()]));
        world.disk.flip_bit(&file(index), position, 3).unwrap();
        assert_eq!(world.bases(), expected, "{index} {position}");
        assert!(!world.content().damage().is_empty(), "{index} {position}");
    }
}

#[test]
fn damage_to_the_only_round_of_a_file_is_told_by_those_in_the_other() {
    let mut world = World::new();
    world.write(&["a", &"x".repeat(2 * PAGE as usize)]);
    world.write(&["b"]);
    assert_eq!((world.bases_in(0).len(), world.bases_in(1).len()), (1, 1));
    world.disk.flip_bit(&file(0), PAGE + 70, 3).unwrap();
    assert_eq!(world.bases(), [2]);
    assert_eq!(world.content().damage().len(), 1);
}

#[test]
fn a_first_round_that_was_cut_is_no_damage() {
    let mut world = World::with_both_files_full();
    append(&mut world.log, &"x".repeat(5_000));
    world.write(&[]);
    assert_eq!(world.bases_in(0), [6]);
    // Its second page is not there; behind it is what was there before.
    let journal = world.disk.open_or_create(&file(0)).unwrap();
    journal
        .write_all_at(&[IoSlice::new(&[0; PAGE as usize])], PAGE)
        .unwrap();
    assert_eq!(world.bases(), [3, 4, 5]);
    assert!(world.content().damage().is_empty());
}

/// The rounds of `a` and `b`, a page each, and `value` in the page behind them.
fn with_a_stranger_behind(value: &[u8]) -> World {
    let mut world = World::new();
    world.write(&["a"]);
    world.write(&["b"]);
    let journal = world.disk.open_or_create(&file(0)).unwrap();
    journal.write_all_at(&[IoSlice::new(value)], 2 * PAGE).unwrap();
    world
}

fn forged(number: (u64, InRound), batches: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    entry::begin(&mut bytes, number, JournalKind::Batches, &World::key(), Offset(2));
    bytes.extend_from_slice(batches);
    entry::finish(&mut bytes, 0);
    bytes
}

#[test]
fn what_a_client_wrote_to_look_like_an_entry_is_none() {
    for sequence in [0, 3, 1 << 40, u64::MAX >> 2, u64::MAX - 1, u64::MAX] {
        let world = with_a_stranger_behind(&forged((sequence, InRound::First), b"forged"));
        assert_eq!(world.bases(), [0, 1], "{sequence}");
        assert_eq!(world.content().damage(), [""; 0], "{sequence}");
    }
}

#[test]
fn an_entry_behind_damage_has_a_number_that_there_was_room_for() {
    let first = ENTROPY >> 2;
    let room = (PAGE + PAGE - 164) / entry::FIXED as u64;
    for (missing, is_found) in [(1, true), (room - 1, true), (2 * room, false)] {
        let world = with_a_stranger_behind(&forged((first + 1 + missing, InRound::First), b"later"));
        world.disk.flip_bit(&file(0), PAGE + 70, 3).unwrap();
        assert_eq!(world.bases().len(), 1 + usize::from(is_found), "{missing}");
        assert_eq!(world.content().damage().is_empty(), !is_found, "{missing}");
    }
}

#[test]
fn a_later_entry_of_a_round_that_was_cut_is_no_later_round() {
    let world = with_a_stranger_behind(&forged(((ENTROPY >> 2) + 3, InRound::Later), b"later"));
    assert_eq!(world.bases(), [0, 1]);
    assert_eq!(world.content().damage(), [""; 0]);
    let world = with_a_stranger_behind(&forged(((ENTROPY >> 2) + 2, InRound::Later), b"next"));
    assert_eq!(world.bases(), [0, 1]);
}

#[test]
fn the_last_number_of_all_ends_a_file() {
    let world = World::new();
    let journal = world.disk.open_or_create(&file(0)).unwrap();
    let last = forged((u64::MAX, InRound::First), b"last");
    journal.write_all_at(&[IoSlice::new(&last)], 0).unwrap();
    assert_eq!(world.bases(), [2]);
}

#[test]
fn damage_to_what_was_kept_is_told_and_the_file_kept_too() {
    let mut world = World::new();
    ["a", "b", "c"].iter().for_each(|value| world.write(&[value]));
    let kept = BTreeSet::from([World::key()]);
    world
        .content()
        .finish(&world.disk, dir(), &kept, Replayed::Whole)
        .unwrap();
    let path = dir().join("gracchus-journal-kept");
    let size = world.disk.read(&path).unwrap().len() as u64;
    world.disk.flip_bit(&path, size / 3 + 60, 3).unwrap();
    let bytes = world.disk.read(&path).unwrap();
    assert_eq!(world.bases(), [0]);
    assert_eq!(
        world.content().damage(),
        [format!("gracchus-journal-kept is damaged at byte {}", size / 3)]
    );
    world
        .content()
        .finish(&world.disk, dir(), &kept, Replayed::InPart)
        .unwrap();
    assert_eq!(world.bases(), [0]);
    assert!(world.content().damage().is_empty(), "it is told once");
    let aside = dir().join("gracchus-journal-kept.damaged");
    assert_eq!(world.disk.read(&aside).unwrap(), bytes);
}

#[test]
fn what_left_the_log_at_its_start_is_not_looked_for() {
    let mut world = World::new();
    world.write(&["0"]);
    let unsynced = world.log.dirty().unwrap();
    unsynced.sync().unwrap();
    world.log.mark_synced(&unsynced);
    // All of it goes by its age, and a new segment begins.
    let later = NOW + 365 * 86_400_000;
    assert_eq!(world.log.delete_old_segments(later, Offset(1)).unwrap(), 1);
    let unsynced = world.log.dirty().unwrap();
    unsynced.sync().unwrap();
    world.log.mark_synced(&unsynced);
    world.log.take_deleted(i64::MAX).unwrap().remove().unwrap();
    world.write(&["1"]);
    let (log, report) = recovered(&world, |disk| {
        let segment = Path::new("/data/t-0/00000000000000000001.log");
        disk.open_or_create(segment).unwrap().set_len(0).unwrap();
    });
    assert_eq!(report.journal_fault, None);
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset()),
        (Offset(1), Offset(2))
    );
}

/// The log as a recovery finds it, with the journal beside it, when something has happened to its files.
fn recovered(world: &World, happened: impl FnOnce(&SimDisk)) -> (Log, crate::RecoveryReport) {
    happened(&world.disk);
    let checkpoint = LogCheckpoint {
        recovery_point: Offset::ZERO,
        log_start_offset: Offset::ZERO,
        shutdown: Shutdown::Unclean,
    };
    let rows = world.content().rows(&World::key());
    Log::open_replaying(
        place(&world.disk),
        checkpoint,
        Arc::new(LogConfig::default()),
        &rows,
        NOW,
    )
    .unwrap()
}

#[test]
fn what_the_journal_has_is_unflushed_until_the_files_are_synced() {
    let mut world = World::new();
    let ranges = |world: &World| -> Vec<_> {
        let parts = world
            .log
            .unflushed()
            .into_iter()
            .flat_map(|piece| piece.parts(100));
        parts.map(|part| (part.range.start, part.range.end)).collect()
    };
    assert_eq!(ranges(&world), []);
    world.write(&["0"]);
    assert_eq!(ranges(&world), [(0, 69)]);
    world.write(&["1"]);
    assert_eq!(ranges(&world), [(0, 100), (100, 138)]);
    let early = world.log.dirty().unwrap();
    append(&mut world.log, "2");
    early.sync().unwrap();
    world.log.mark_synced(&early);
    assert_eq!(ranges(&world), [(138, 207)]);
    world.log.truncate_to(Offset(2), NOW).unwrap();
    assert_eq!(
        ranges(&world),
        [],
        "where its files end is not known until a sync"
    );
    let cut = world.log.dirty().unwrap();
    cut.sync().unwrap();
    world.log.mark_synced(&cut);
    append(&mut world.log, "2");
    assert_eq!(ranges(&world), [(138, 207)]);
}

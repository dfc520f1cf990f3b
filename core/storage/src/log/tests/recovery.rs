//! Rules 93 to 101, 30 and 32: what a crash leaves, and what becomes of it.

use std::path::{Path, PathBuf};

use model::{LeaderEpoch, Offset};

use super::support::*;
use crate::disk::{Disk, SimDisk};
use crate::log::*;

fn path(name: &str) -> PathBuf {
    Path::new("/data/t-0").join(name)
}

fn fill(log: &mut Log, count: usize) {
    for n in 0..count {
        append(log, &batch(&[&format!("value {n} 0123456789")]));
    }
}

fn segments(disk: &SimDisk) -> Vec<String> {
    files(disk)
        .into_iter()
        .filter(|name| name.ends_with(".log"))
        .collect()
}

/// A log of several segments, all durable, left without a clean end.
fn left(disk: &SimDisk) -> (Vec<(i64, String)>, i64) {
    let mut log = create(disk, small());
    fill(&mut log, 40);
    assert!(log.segment_count() > 3);
    sync(&mut log);
    (contents(&log), log.log_end_offset().0)
}

#[test]
fn rule_94_only_what_the_recovery_point_does_not_cover_is_read() {
    let disk = SimDisk::new(1);
    let (expected, end) = left(&disk);
    let all = segments(&disk).len();
    for (point, read) in [(0, all), (end, 1), (end - 1, 1)] {
        disk.restart();
        let (log, report) = reopen(&disk, small(), Shutdown::Unclean, point);
        assert_eq!(
            report,
            RecoveryReport {
                recovered_segments: read,
                ..RecoveryReport::default()
            }
        );
        assert_eq!(contents(&log), expected);
        assert_eq!(log.synced_offset(), Offset(point));
        assert!(
            log.dirty().is_some(),
            "the names in the folder may not be durable"
        );
    }
}

#[test]
fn rule_95_the_first_bad_batch_ends_the_log_and_later_segments_go() {
    let disk = SimDisk::new(1);
    let (expected, _) = left(&disk);
    let second = segments(&disk)[1].clone();
    let base: i64 = second[..20].parse().unwrap();
    disk.flip_bit(&path(&second), 150, 3).unwrap();
    let (mut log, report) = reopen(&disk, small(), Shutdown::Unclean, 0);
    assert_eq!(log.log_end_offset(), Offset(base + 1));
    assert_eq!(contents(&log), expected[..=base as usize]);
    assert_eq!(log.segment_count(), 2);
    assert!(
        report.truncated_bytes > 0 && report.removed_segments > 1,
        "{report:?}"
    );
    assert!(report.first_fault.unwrap().contains("checksum"));
    assert_eq!(append(&mut log, &batch(&["next"])).first_offset, Offset(base + 1));
}

#[test]
fn a_tail_of_zeros_or_half_a_batch_is_cut_off() {
    for tail in [&[0u8; 500][..], &batch(&["half of this"])[..50], &[0xff; 61]] {
        let disk = SimDisk::new(1);
        let (expected, end) = left(&disk);
        let newest = path(segments(&disk).last().unwrap());
        let mut content = disk.read(&newest).unwrap();
        let sound = content.len();
        content.extend_from_slice(tail);
        disk.write(&newest, &content).unwrap();
        let (log, report) = reopen(&disk, small(), Shutdown::Unclean, end);
        assert_eq!(
            (contents(&log), report.truncated_bytes),
            (expected, tail.len() as u64)
        );
        assert_eq!(disk.read(&newest).unwrap().len(), sound);
    }
}

#[test]
fn a_batch_that_repeats_offsets_is_no_part_of_the_log() {
    let disk = SimDisk::new(1);
    let (expected, end) = left(&disk);
    let newest = path(segments(&disk).last().unwrap());
    let content = disk.read(&newest).unwrap();
    let log = create_elsewhere();
    let first = read_batches(&log, Offset(0))[0].bytes().clone();
    disk.write(&newest, &[&content[..], &first].concat()).unwrap();
    let (log, report) = reopen(&disk, small(), Shutdown::Unclean, end);
    assert_eq!(contents(&log), expected);
    assert_eq!(report.truncated_bytes, first.len() as u64);
}

fn create_elsewhere() -> Log {
    let mut log = create(&SimDisk::new(9), small());
    fill(&mut log, 1);
    log
}

#[test]
fn a_lost_segment_ends_the_log_unless_compaction_may_have_left_the_gap() {
    let disk = SimDisk::new(1);
    let (expected, _) = left(&disk);
    let gone = segments(&disk)[1].clone();
    let base: usize = gone[..20].parse().unwrap();
    disk.remove_file(&path(&gone)).unwrap();
    let compacted = LogConfig {
        cleanup: CleanupPolicy {
            delete: false,
            compact: true,
        },
        ..small()
    };
    let (log, report) = reopen(&disk, compacted, Shutdown::Unclean, 0);
    assert_eq!(report.removed_segments, 0);
    assert_eq!(log.log_end_offset(), Offset(40));
    drop(log);
    disk.restart();
    let (log, report) = reopen(&disk, small(), Shutdown::Unclean, 0);
    assert_eq!(contents(&log), expected[..base]);
    assert!(report.first_fault.unwrap().contains("does not join"));
}

#[test]
fn rule_97_missing_indexes_are_built_anew_and_equal_the_old_ones() {
    let disk = SimDisk::new(1);
    let mut log = create(&disk, small());
    fill(&mut log, 40);
    log.close().unwrap();
    let index_files: Vec<String> = files(&disk)
        .into_iter()
        .filter(|name| name.ends_with("index"))
        .collect();
    let read_all = || {
        index_files
            .iter()
            .map(|name| disk.read(&path(name)).unwrap())
            .collect::<Vec<_>>()
    };
    let before = read_all();
    assert!(before.iter().any(|content| content.len() > 16));
    for name in &index_files {
        disk.remove_file(&path(name)).unwrap();
    }
    let (log, report) = reopen(&disk, small(), Shutdown::Clean, 40);
    assert_eq!(report.rebuilt_indexes, log.segment_count() - 1);
    assert_eq!(
        report.recovered_segments, 1,
        "the newest segment has no index to go by"
    );
    log.close().unwrap();
    assert_eq!(read_all(), before);
    let (_, report) = reopen(&disk, small(), Shutdown::Clean, 40);
    assert_eq!(report, RecoveryReport::default());
}

#[test]
fn indexes_are_as_long_as_they_may_grow_while_active_and_trimmed_after() {
    let disk = SimDisk::new(1);
    let mut log = create(&disk, small());
    fill(&mut log, 12);
    let size = |name: &str| disk.len(&path(name)).unwrap();
    let newest = segments(&disk).last().unwrap()[..20].to_owned();
    assert_eq!(size(&format!("{newest}.index")), 4096);
    assert_eq!(size(&format!("{newest}.timeindex")), 4092);
    assert!(size("00000000000000000000.index") < 200);
    log.close().unwrap();
    assert!(size(&format!("{newest}.index")) < 200);
    assert_eq!(size(&format!("{newest}.timeindex")) % 12, 0);
}

#[test]
fn a_long_index_is_written_in_portions_and_found_in_its_file() {
    let disk = SimDisk::new(1);
    let config = LogConfig {
        segment_bytes: 1 << 24,
        segment_index_bytes: 1 << 20,
        index_interval_bytes: 0,
        ..LogConfig::default()
    };
    let mut log = create(&disk, config.clone());
    for n in 0..3000 {
        append(&mut log, &timed(&[NOW + n], wire::records::Compression::NONE));
    }
    let check = |log: &Log| {
        for offset in [0, 1, 2, 511, 512, 513, 1500, 2400, 2900, 2999] {
            let read = log
                .read(Offset(offset), 1, Offset(3000), FirstBatch::Whole)
                .unwrap();
            let bytes = read.records.to_bytes().unwrap();
            let found = wire::records::batches(&bytes).next().unwrap().unwrap();
            assert_eq!(found.header().base_offset, Offset(offset));
            assert_eq!(
                log.offset_by_timestamp(NOW + offset).unwrap().unwrap().offset,
                Offset(offset)
            );
        }
    };
    check(&log);
    log.close().unwrap();
    assert_eq!(disk.len(&path("00000000000000000000.index")).unwrap(), 2999 * 8);
    let (mut log, report) = reopen(&disk, config.clone(), Shutdown::Clean, 3000);
    assert_eq!(report, RecoveryReport::default());
    check(&log);
    append(&mut log, &timed(&[NOW + 3000], wire::records::Compression::NONE));
    sync(&mut log);
    disk.crash();
    let (log, _) = reopen(&disk, config, Shutdown::Unclean, 3001);
    check(&log);
    log.close().unwrap();
    assert_eq!(disk.len(&path("00000000000000000000.index")).unwrap(), 3000 * 8);
}

#[test]
fn rule_99_leftovers_of_crashes_are_removed_and_swaps_completed() {
    let disk = SimDisk::new(1);
    let (expected, end) = left(&disk);
    for name in [
        "00000000000000000000.log.deleted",
        "00000000000000000007.index",
        "00000000000000000007.timeindex",
        "00000000000000000007.txnindex",
        "leader-epoch-checkpoint.tmp",
    ] {
        disk.write(&path(name), b"rubbish").unwrap();
    }
    // Compaction had merged the first two segments and was about to put the result in place.
    let old = segments(&disk);
    let merged = [
        disk.read(&path(&old[0])).unwrap(),
        disk.read(&path(&old[1])).unwrap(),
    ]
    .concat();
    disk.write(&path(&format!("{}.swap", old[0])), &merged).unwrap();
    let (log, report) = reopen(&disk, small(), Shutdown::Unclean, end);
    assert_eq!(contents(&log), expected);
    assert_eq!(segments(&disk).len(), old.len() - 1);
    assert_eq!(report.rebuilt_indexes, 1);
    let left: Vec<String> = files(&disk);
    assert!(
        left.iter()
            .all(|name| !name.contains("00000007.") && name.len() <= 33),
        "{left:?}"
    );
    assert!(
        left.iter()
            .all(|name| !name.ends_with("deleted") && !name.ends_with("swap")),
        "{left:?}"
    );
}

#[test]
fn a_swap_that_compaction_had_not_decided_is_rolled_back() {
    let disk = SimDisk::new(1);
    let (expected, end) = left(&disk);
    disk.write(&path("00000000000000000000.log.swap"), b"half")
        .unwrap();
    disk.write(&path("00000000000000000000.log.cleaned"), b"half")
        .unwrap();
    let (log, _) = reopen(&disk, small(), Shutdown::Unclean, end);
    assert_eq!(contents(&log), expected);
    assert!(
        files(&disk)
            .iter()
            .all(|name| !name.ends_with("swap") && !name.ends_with("cleaned"))
    );
}

#[test]
fn rule_100_a_start_above_the_end_begins_the_log_there() {
    let disk = SimDisk::new(1);
    left(&disk);
    let checkpoint = LogCheckpoint {
        recovery_point: Offset(40),
        log_start_offset: Offset(100),
        shutdown: Shutdown::Unclean,
    };
    let (mut log, _) = Log::open(place(&disk), checkpoint, small().into(), NOW).unwrap();
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset()),
        (Offset(100), Offset(100))
    );
    assert_eq!(log.segment_count(), 1);
    assert_eq!(append(&mut log, &batch(&["x"])).first_offset, Offset(100));
}

#[test]
fn a_start_inside_the_log_is_kept() {
    let disk = SimDisk::new(1);
    let (expected, end) = left(&disk);
    let checkpoint = LogCheckpoint {
        recovery_point: Offset(end),
        log_start_offset: Offset(17),
        shutdown: Shutdown::Unclean,
    };
    let (log, _) = Log::open(place(&disk), checkpoint, small().into(), NOW).unwrap();
    let read: Vec<(i64, String)> = contents(&log);
    assert_eq!(read, expected[17..]);
}

#[test]
fn an_empty_folder_becomes_an_empty_log() {
    for shutdown in [Shutdown::Clean, Shutdown::Unclean] {
        let disk = SimDisk::new(1);
        disk.create_dir_all(Path::new("/data/t-0")).unwrap();
        let (mut log, report) = reopen(&disk, small(), shutdown, 0);
        assert_eq!(
            (log.log_end_offset(), report),
            (Offset(0), RecoveryReport::default())
        );
        assert_eq!(log.topic_id(), None);
        append(&mut log, &batch(&["x"]));
    }
}

#[test]
fn lost_epochs_are_found_in_the_batches() {
    let disk = SimDisk::new(1);
    let (_, end) = left(&disk);
    for content in [None, Some(&b"rubbish"[..])] {
        match content {
            None => disk.remove_file(&path("leader-epoch-checkpoint")).unwrap(),
            Some(content) => drop(disk.write(&path("leader-epoch-checkpoint"), content).unwrap()),
        }
        disk.restart();
        let (log, _) = reopen(&disk, small(), Shutdown::Unclean, end);
        assert_eq!(
            (log.latest_epoch(), log.epoch_of(Offset(0))),
            (Some(EPOCH), Some(EPOCH))
        );
    }
}

#[test]
fn epochs_above_the_recovered_end_are_forgotten() {
    let disk = SimDisk::new(1);
    let (_, end) = left(&disk);
    let epochs = format!("0\n3\n3 0\n5 {end}\n6 {}\n", end + 1);
    disk.write(&path("leader-epoch-checkpoint"), epochs.as_bytes())
        .unwrap();
    let (log, _) = reopen(&disk, small(), Shutdown::Unclean, end);
    assert_eq!(log.latest_epoch(), Some(LeaderEpoch(5)));
    assert_eq!(
        disk.read(&path("leader-epoch-checkpoint")).unwrap(),
        format!("0\n2\n3 0\n5 {end}\n").as_bytes()
    );
}

#[test]
fn a_clean_end_that_was_none_is_noticed() {
    let disk = SimDisk::new(1);
    let (expected, end) = left(&disk);
    let newest = path(segments(&disk).last().unwrap());
    let content = disk.read(&newest).unwrap();
    disk.write(&newest, &content[..content.len() - 1]).unwrap();
    let (log, report) = reopen(&disk, small(), Shutdown::Clean, end);
    assert_eq!(contents(&log), expected[..expected.len() - 1]);
    assert!(report.first_fault.is_some() && report.truncated_bytes > 0);
}

#[test]
fn legacy_messages_of_an_old_broker_are_kept_and_found() {
    // One message of magic 1 each, uncompressed, as an old broker has stored it.
    let message = |offset: i64, value: &[u8]| {
        let mut body = vec![1u8, 0];
        body.extend_from_slice(&(NOW + offset).to_be_bytes());
        body.extend_from_slice(&(-1i32).to_be_bytes());
        body.extend_from_slice(&(value.len() as i32).to_be_bytes());
        body.extend_from_slice(value);
        let mut crc = flate2_crc(&body).to_be_bytes().to_vec();
        crc.extend_from_slice(&body);
        let mut whole = offset.to_be_bytes().to_vec();
        whole.extend_from_slice(&(crc.len() as i32).to_be_bytes());
        whole.extend_from_slice(&crc);
        whole
    };
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/data/t-0")).unwrap();
    let old: Vec<u8> = (0..3).flat_map(|offset| message(offset, b"old")).collect();
    disk.write(&path("00000000000000000000.log"), &old).unwrap();
    let (mut log, report) = reopen(&disk, small(), Shutdown::Unclean, 0);
    assert_eq!((report.truncated_bytes, log.log_end_offset()), (0, Offset(3)));
    append(&mut log, &batch(&["new"]));
    let read = log
        .read(Offset(1), 1 << 20, Offset(4), FirstBatch::Whole)
        .unwrap()
        .records
        .to_bytes()
        .unwrap();
    let offsets: Vec<i64> = wire::records::entries(&read)
        .map(|entry| entry.unwrap().last_offset().0)
        .collect();
    assert_eq!(offsets, [1, 2, 3]);
    let mut damaged = old.clone();
    damaged[40] ^= 1;
    disk.write(&path("00000000000000000000.log"), &damaged).unwrap();
    let (log, _) = reopen(&disk, small(), Shutdown::Unclean, 0);
    assert_eq!(log.log_end_offset(), Offset(1));
}

/// CRC-32, bit by bit: messages of magic 0 and 1 carry it.
fn flate2_crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn a_folder_that_a_killed_process_had_made_survives_a_power_cut() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.create_dir_all(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        disk.create_dir_all(Path::new("/data/t-0")).unwrap();
        disk.restart();
        let mut log = create(&disk, small());
        append(&mut log, &batch(&["kept"]));
        sync(&mut log);
        disk.crash();
        assert!(disk.exists(Path::new("/data/t-0")).unwrap(), "seed {seed}");
        let (log, _) = reopen(&disk, small(), Shutdown::Unclean, 0);
        assert_eq!(contents(&log), [(0, "kept".to_owned())], "seed {seed}");
    }
}

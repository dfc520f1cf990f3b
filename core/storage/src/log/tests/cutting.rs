//! Truncation, retention, and the start of the log (rules 32, 38, 70, 73, 122).

use std::path::Path;

use model::{LeaderEpoch, Offset};
use wire::records::ControlRecordType;

use super::support::*;
use crate::disk::{Disk, SimDisk};
use crate::log::*;

fn filled(disk: &SimDisk, config: LogConfig, count: i64) -> Log {
    let mut log = create(disk, config);
    for n in 0..count {
        append(
            &mut log,
            &produced(1, 0, n as i32 * 2, &[&format!("{n} a"), &format!("{n} b")]),
        );
    }
    log
}

#[test]
fn truncation_removes_whole_batches_and_the_state_behind_them() {
    for target in [59, 58, 41, 40, 7, 1, 0] {
        let disk = SimDisk::new(1);
        let mut log = filled(&disk, small(), 30);
        let before = contents(&log);
        log.truncate_to(Offset(target), NOW).unwrap();
        let end = target - target % 2;
        assert_eq!(
            log.log_end_offset(),
            Offset(end),
            "a batch that holds {target} goes as a whole"
        );
        assert_eq!(contents(&log), before[..end as usize]);
        let last = log
            .active_producers()
            .first()
            .map_or(-1, |producer| i64::from(producer.last_sequence));
        assert_eq!(last, end - 1);
        let snapshots: Vec<i64> = files(&disk)
            .iter()
            .filter_map(|name| name.strip_suffix(".snapshot")?.parse().ok())
            .collect();
        assert!(
            snapshots.iter().all(|offset| *offset <= end),
            "rule 32: {snapshots:?}"
        );
        disk.crash();
        let (mut log, _) = reopen(&disk, small(), Shutdown::Unclean, end.min(log.synced_offset().0));
        assert!(
            log.log_end_offset() <= Offset(end),
            "what was cut never comes back"
        );
        log.truncate_to(Offset(0), NOW).unwrap();
        append(&mut log, &produced(1, 0, 0, &["again"]));
    }
}

#[test]
fn a_sync_from_before_a_truncation_counts_for_nothing() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, small(), 3);
    let unsynced = log.dirty().unwrap();
    unsynced.sync().unwrap();
    log.truncate_to(Offset(2), NOW).unwrap();
    append(&mut log, &produced(1, 0, 2, &["x", "y"]));
    append(&mut log, &produced(1, 0, 4, &["z", "z"]));
    log.mark_synced(&unsynced);
    assert!(log.synced_offset() <= Offset(2));
    sync(&mut log);
    assert_eq!(log.synced_offset(), Offset(6));
}

#[test]
fn truncation_cuts_the_epochs_and_open_transactions_too() {
    let disk = SimDisk::new(1);
    let mut log = create(&disk, small());
    append(&mut log, &transactional(1, 0, &["a"]));
    append_marker(&mut log, &marker(1, ControlRecordType::Abort));
    log.begin_epoch(LeaderEpoch(7)).unwrap();
    append_in_seven(&mut log, &transactional(2, 0, &["b"]));
    assert_eq!(log.last_stable_offset(Offset(3)), Offset(2));
    log.truncate_to(Offset(2), NOW).unwrap();
    assert_eq!(
        (log.last_stable_offset(Offset(2)), log.latest_epoch()),
        (Offset(2), Some(EPOCH))
    );
    assert_eq!(log.aborted_transactions(Offset(0), Offset(2)).unwrap().len(), 1);
    log.truncate_to(Offset(1), NOW).unwrap();
    assert_eq!(log.last_stable_offset(Offset(1)), Offset(0), "open again");
    assert_eq!(log.aborted_transactions(Offset(0), Offset(1)).unwrap(), []);
}

fn append_in_seven(log: &mut Log, batch: &bytes::Bytes) {
    log.append_as_leader(batch, Origin::Client, LeaderEpoch(7), NOW)
        .unwrap();
}

#[test]
fn rule_73_epochs_are_cut_also_where_the_records_end_before() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, small(), 1);
    log.begin_epoch(LeaderEpoch(9)).unwrap();
    log.truncate_to(Offset(2), NOW).unwrap();
    assert_eq!(
        (log.log_end_offset(), log.latest_epoch()),
        (Offset(2), Some(EPOCH))
    );
}

#[test]
fn rule_70_a_log_starts_again_at_another_offset() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, small(), 30);
    log.truncate_fully_and_start_at(Offset(1000), NOW).unwrap();
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset(), log.size()),
        (Offset(1000), Offset(1000), 0)
    );
    assert!(log.active_producers().is_empty() && log.latest_epoch().is_none());
    disk.crash();
    let (mut log, _) = reopen(&disk, small(), Shutdown::Unclean, 1000);
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset()),
        (Offset(1000), Offset(1000))
    );
    assert_eq!(append(&mut log, &batch(&["x"])).first_offset, Offset(1000));
}

#[test]
fn rule_38_the_start_only_moves_up_and_never_past_the_end() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, small(), 30);
    assert!(log.set_log_start_offset(Offset(31)));
    assert!(!log.set_log_start_offset(Offset(31)));
    assert!(!log.set_log_start_offset(Offset(5)));
    assert!(!log.set_log_start_offset(Offset(61)));
    assert_eq!(log.log_start_offset(), Offset(31));
    assert_eq!(log.epoch_of(Offset(30)), None);
    assert_eq!(log.epoch_of(Offset(31)), Some(EPOCH));
    assert_eq!(
        contents(&log).first().unwrap().0,
        30,
        "the batch that holds the start is read whole"
    );
    let removed = log.delete_old_segments(NOW, Offset(60)).unwrap();
    assert!(removed > 0);
    assert_eq!(log.log_start_offset(), Offset(31));
}

fn keep(config: &LogConfig, retention_ms: Option<i64>, retention_bytes: Option<u64>) -> LogConfig {
    LogConfig {
        retention_ms,
        retention_bytes,
        file_delete_delay_ms: 100,
        ..config.clone()
    }
}

#[test]
fn rule_122_by_time_whole_segments_below_the_high_watermark_go() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, keep(&small(), Some(1000), None), 30);
    let segments = log.segment_count();
    assert_eq!(log.delete_old_segments(NOW + 1000, Offset(60)).unwrap(), 0);
    assert_eq!(
        log.delete_old_segments(NOW + 1002, Offset(0)).unwrap(),
        0,
        "nothing is replicated"
    );
    let removed = log.delete_old_segments(NOW + 1002, Offset(30)).unwrap();
    assert!(0 < removed && removed < segments - 1, "{removed} of {segments}");
    assert!(log.log_start_offset() <= Offset(30));
    log.delete_old_segments(NOW + 1002, Offset(60)).unwrap();
    assert_eq!(
        (log.log_start_offset(), log.segment_count()),
        (Offset(60), 1),
        "the active one too, after a roll"
    );
    assert_eq!(append(&mut log, &batch(&["x"])).first_offset, Offset(60));
}

#[test]
fn retention_by_time_spares_other_policies_and_empty_logs() {
    let compact = CleanupPolicy {
        delete: false,
        compact: true,
    };
    let disk = SimDisk::new(1);
    let mut log = filled(
        &disk,
        LogConfig {
            cleanup: compact,
            ..keep(&small(), Some(1), None)
        },
        30,
    );
    assert_eq!(log.delete_old_segments(i64::MAX, Offset(60)).unwrap(), 0);
    let mut empty = create(&SimDisk::new(1), keep(&small(), Some(1), Some(0)));
    assert_eq!(empty.delete_old_segments(i64::MAX, Offset(0)).unwrap(), 0);
    assert_eq!(empty.segment_count(), 1);
}

#[test]
fn rule_122_by_size_the_oldest_go_until_what_is_left_is_allowed() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, keep(&small(), None, Some(1500)), 60);
    let before = log.size();
    log.delete_old_segments(NOW, Offset(120)).unwrap();
    assert!(log.size() >= 1500 && log.size() < 1500 + 1000 && log.size() < before);
    assert_eq!(contents(&log).last().unwrap().0, 119);
}

#[test]
fn deleted_segments_leave_the_disk_after_the_delay_oldest_first() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, keep(&small(), Some(1), None), 30);
    sync(&mut log);
    let before = files(&disk);
    log.delete_old_segments(NOW + 1000, Offset(60)).unwrap();
    sync(&mut log);
    assert!(log.take_deleted(NOW + 1099).is_none());
    assert!(before.iter().all(|name| files(&disk).contains(name)));
    let deleted = log.take_deleted(NOW + 1100).unwrap();
    assert!(deleted.len() > 2 && !deleted.is_empty());
    deleted.remove().unwrap();
    assert!(log.take_deleted(i64::MAX).is_none());
    let left = files(&disk);
    assert_eq!(left.iter().filter(|name| name.ends_with(".log")).count(), 1);
    assert!(
        left.iter().all(|name| !name.starts_with("00000000000000000000")),
        "{left:?}"
    );
}

#[test]
fn segments_stay_until_the_snapshots_that_replace_them_are_durable() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, keep(&small(), Some(1), None), 30);
    log.delete_old_segments(NOW + 1000, Offset(60)).unwrap();
    assert!(log.take_deleted(i64::MAX).is_none());
    // A sync that began before the last roll does not cover its snapshot.
    let early = log.dirty().unwrap();
    append(&mut log, &batch(&["x"]));
    log.delete_old_segments(NOW + 2000, log.log_end_offset()).unwrap();
    early.sync().unwrap();
    log.mark_synced(&early);
    let first = log.take_deleted(i64::MAX).unwrap();
    assert!(log.take_deleted(i64::MAX).is_none());
    sync(&mut log);
    let rest = log.take_deleted(i64::MAX).unwrap();
    assert!(first.len() > 2 && rest.len() == 1);
}

#[test]
fn a_crash_while_segments_are_removed_leaves_no_hole() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let mut log = filled(&disk, keep(&small(), Some(1), None), 30);
        sync(&mut log);
        let expected = contents(&log);
        log.delete_old_segments(NOW + 1000, Offset(60)).unwrap();
        sync(&mut log);
        // The machine stops somewhere on the way: a failing sync of the folder ends the removal there.
        let faults = crate::disk::SimFaults {
            sync_errors: 300_000,
            ..crate::disk::SimFaults::default()
        };
        disk.set_faults(faults);
        let _ = log.take_deleted(i64::MAX).unwrap().remove();
        disk.set_faults(crate::disk::SimFaults::default());
        disk.crash();
        let (log, report) = reopen(&disk, small(), Shutdown::Unclean, 60);
        let start = log.log_start_offset().0 as usize;
        assert_eq!(contents(&log), expected[start..], "seed {seed}");
        assert_eq!(
            report.truncated_bytes + report.removed_segments as u64,
            0,
            "seed {seed}"
        );
    }
}

#[test]
fn closing_removes_what_waits_and_leaves_a_snapshot_at_the_end() {
    let disk = SimDisk::new(1);
    let mut log = filled(&disk, keep(&small(), Some(1), None), 30);
    log.delete_old_segments(NOW + 1000, Offset(60)).unwrap();
    log.close().unwrap();
    let left = files(&disk);
    let expected = [
        "00000000000000000060.index",
        "00000000000000000060.log",
        "00000000000000000060.snapshot",
        "00000000000000000060.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ];
    assert_eq!(left, expected);
    let epochs = disk.read(Path::new("/data/t-0/leader-epoch-checkpoint")).unwrap();
    assert_eq!(epochs, b"0\n1\n3 60\n");
}

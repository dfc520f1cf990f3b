//! Rules 21 to 31 on a log: what the state does on its own is tested beside it.

use model::{ErrorCode, Offset, ProducerId};
use wire::records::ControlRecordType;

use super::support::*;
use crate::disk::SimDisk;
use crate::log::*;

fn code(log: &mut Log, batch: &bytes::Bytes) -> ErrorCode {
    log.append_as_leader(batch, Origin::Client, EPOCH, NOW)
        .unwrap_err()
        .code()
}

#[test]
fn case_21_a_retry_gets_its_first_offset_and_is_not_stored_again() {
    let mut log = create(&SimDisk::new(1), small());
    for sequence in 0..6 {
        append(&mut log, &produced(1, 0, sequence, &[&format!("v{sequence}")]));
    }
    let size = log.size();
    for sequence in 1..6 {
        let again = append(&mut log, &produced(1, 0, sequence, &[&format!("v{sequence}")]));
        assert_eq!(
            (again.first_offset, again.duplicate),
            (Offset(i64::from(sequence)), true)
        );
    }
    assert_eq!(
        code(&mut log, &produced(1, 0, 0, &["v0"])),
        ErrorCode::OutOfOrderSequenceNumber
    );
    assert_eq!((log.size(), log.log_end_offset()), (size, Offset(6)));
}

#[test]
fn the_dedupe_window_survives_a_clean_stop_and_a_crash_right_after_a_roll() {
    for (seed, shutdown) in (0..20).flat_map(|seed| [(seed, Shutdown::Clean), (seed, Shutdown::Unclean)]) {
        let disk = SimDisk::new(seed);
        let config = LogConfig {
            segment_bytes: 200,
            ..small()
        };
        let mut log = create(&disk, config.clone());
        for sequence in 0..9 {
            append(&mut log, &produced(1, 0, sequence, &["0123456789"]));
        }
        assert!(log.segment_count() > 3);
        sync(&mut log);
        match shutdown {
            Shutdown::Clean => log.close().unwrap(),
            Shutdown::Unclean => disk.crash(),
        }
        let (mut log, _) = reopen(&disk, config, shutdown, 9);
        for sequence in 4..9 {
            assert!(
                append(&mut log, &produced(1, 0, sequence, &["0123456789"])).duplicate,
                "{shutdown:?} {sequence}"
            );
        }
        assert_eq!(
            append(&mut log, &produced(1, 0, 9, &["next"])).first_offset,
            Offset(9)
        );
    }
}

#[test]
fn case_22_a_producer_that_expired_may_go_on_with_any_sequence() {
    let mut log = create(
        &SimDisk::new(1),
        LogConfig {
            producer_id_expiration_ms: 1000,
            ..small()
        },
    );
    append(&mut log, &produced(1, 0, 0, &["a"]));
    assert_eq!(
        code(&mut log, &produced(1, 0, 7, &["b"])),
        ErrorCode::OutOfOrderSequenceNumber
    );
    log.expire_producers(NOW + 1000);
    append(&mut log, &produced(1, 0, 7, &["b"]));
}

#[test]
fn rules_29_and_37_the_stable_offset_stops_at_an_open_transaction() {
    let mut log = create(&SimDisk::new(1), small());
    append(&mut log, &batch(&["plain"]));
    append(&mut log, &transactional(1, 0, &["a"]));
    append(&mut log, &transactional(2, 0, &["b"]));
    assert_eq!(log.last_stable_offset(Offset(3)), Offset(1));
    assert_eq!(log.last_stable_offset(Offset(0)), Offset(0));
    append_marker(&mut log, &marker(1, ControlRecordType::Commit));
    assert_eq!(log.last_stable_offset(Offset(4)), Offset(2));
    append_marker(&mut log, &marker(2, ControlRecordType::Abort));
    assert_eq!(
        log.last_stable_offset(Offset(4)),
        Offset(2),
        "the marker is not replicated yet"
    );
    assert_eq!(log.last_stable_offset(Offset(5)), Offset(5));
    log.high_watermark_moved(Offset(5));
    let aborted = log.aborted_transactions(Offset(0), Offset(5)).unwrap();
    let expected = AbortedTransaction {
        producer_id: ProducerId(2),
        first_offset: Offset(2),
        last_offset: Offset(4),
        last_stable_offset: Offset(5),
    };
    assert_eq!(aborted, [expected]);
    assert_eq!(log.aborted_transactions(Offset(0), Offset(2)).unwrap(), []);
    assert_eq!(
        log.aborted_transactions(Offset(4), Offset(5)).unwrap(),
        [expected]
    );
    assert_eq!(log.aborted_transactions(Offset(5), Offset(5)).unwrap(), []);
}

#[test]
fn aborted_transactions_are_found_across_segments_and_restarts() {
    let disk = SimDisk::new(3);
    let mut log = create(&disk, small());
    for round in 0..30 {
        let id = round % 3;
        append(&mut log, &transactional(id, (round / 3) as i32, &["0123456789"]));
        let kind = if round % 2 == 0 {
            ControlRecordType::Abort
        } else {
            ControlRecordType::Commit
        };
        append_marker(&mut log, &marker(id, kind));
    }
    assert!(log.segment_count() > 3);
    let end = log.log_end_offset();
    let aborted = log.aborted_transactions(Offset(0), end).unwrap();
    assert_eq!(aborted.len(), 15);
    assert_eq!(
        log.aborted_transactions(Offset(10), Offset(21)).unwrap(),
        aborted[3..6]
    );
    sync(&mut log);
    disk.crash();
    let (log, _) = reopen(&disk, small(), Shutdown::Unclean, 0);
    assert_eq!(log.aborted_transactions(Offset(0), end).unwrap(), aborted);
    log.close().unwrap();
    let (log, report) = reopen(&disk, small(), Shutdown::Clean, 0);
    assert_eq!(report, RecoveryReport::default());
    assert_eq!(log.aborted_transactions(Offset(0), end).unwrap(), aborted);
}

#[test]
fn an_open_transaction_survives_restarts() {
    let disk = SimDisk::new(3);
    let mut log = create(&disk, small());
    append(&mut log, &batch(&["plain"]));
    append(&mut log, &transactional(1, 0, &["a"]));
    log.close().unwrap();
    let (mut log, _) = reopen(&disk, small(), Shutdown::Clean, 0);
    assert_eq!(log.last_stable_offset(Offset(2)), Offset(1));
    append(&mut log, &transactional(1, 1, &["b"]));
    sync(&mut log);
    disk.crash();
    let (mut log, _) = reopen(&disk, small(), Shutdown::Unclean, 0);
    assert_eq!(log.last_stable_offset(Offset(3)), Offset(1));
    assert_eq!(
        log.active_producers()[0].current_transaction_first_offset,
        Some(Offset(1))
    );
    append_marker(&mut log, &marker(1, ControlRecordType::Commit));
    assert_eq!(log.last_stable_offset(Offset(4)), Offset(4));
}

#[test]
fn rule_30_a_damaged_snapshot_is_removed_and_the_state_rebuilt_from_the_log() {
    let disk = SimDisk::new(3);
    let mut log = create(&disk, small());
    for sequence in 0..30 {
        append(&mut log, &produced(1, 0, sequence, &["0123456789"]));
    }
    let known = log.active_producers();
    log.close().unwrap();
    let snapshots: Vec<String> = files(&disk)
        .into_iter()
        .filter(|name| name.ends_with(".snapshot"))
        .collect();
    assert!(snapshots.len() > 2);
    for name in &snapshots {
        disk.flip_bit(&std::path::Path::new("/data/t-0").join(name), 20, 1)
            .unwrap();
    }
    let (log, _) = reopen(&disk, small(), Shutdown::Clean, 0);
    assert_eq!(log.active_producers(), known);
    assert!(files(&disk).iter().all(|name| !name.ends_with(".snapshot")));
}

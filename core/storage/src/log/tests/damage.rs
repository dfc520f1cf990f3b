//! What somebody did to the files of a log while nobody had it open: each is told of in words, whatever becomes of it.

use std::path::Path;

use model::Offset;

use super::support::*;
use crate::disk::{Disk, SimDisk};
use crate::log::*;

/// A log of several segments that was closed in order, and the names of its segments.
fn closed(disk: &SimDisk) -> Vec<String> {
    let mut log = create(disk, small());
    for n in 0..40 {
        append(&mut log, &batch(&[&format!("value {n} 0123456789")]));
    }
    sync(&mut log);
    log.close().unwrap();
    let mut names = files(disk);
    names.retain(|name| name.ends_with(".log"));
    assert!(names.len() > 3);
    names
}

fn open_from(disk: &SimDisk, log_start_offset: i64) -> (Log, RecoveryReport) {
    let checkpoint = LogCheckpoint {
        recovery_point: Offset(40),
        log_start_offset: Offset(log_start_offset),
        shutdown: Shutdown::Clean,
    };
    Log::open(place(disk), checkpoint, small().into(), NOW).unwrap()
}

#[test]
fn records_that_a_checkpoint_makes_vanish_are_told_of() {
    let disk = SimDisk::new(1);
    closed(&disk);
    let (log, report) = open_from(&disk, 99_999);
    assert_eq!(log.log_end_offset(), Offset(99_999));
    assert_eq!(
        report.first_fault.unwrap(),
        "it begins at 99999 by its checkpoint: records 0 to 40 are removed"
    );
    drop(log);
    // Once is enough: nothing is removed the next time.
    disk.restart();
    let (_, report) = open_from(&disk, 99_999);
    assert_eq!(report.first_fault, None);
}

#[test]
fn a_segment_in_the_middle_that_lost_its_records_is_told_of() {
    let disk = SimDisk::new(1);
    let names = closed(&disk);
    let second = Path::new("/data/t-0").join(&names[1]);
    disk.remove_file(&second).unwrap();
    disk.open_or_create(&second).unwrap();
    let (log, report) = open_from(&disk, 0);
    let base: i64 = names[1][..20].parse().unwrap();
    assert_eq!(
        report.first_fault.unwrap(),
        format!("segment {base} is empty although others follow: its records are lost")
    );
    // What is sound is served.
    assert_eq!(log.log_end_offset(), Offset(40));
    assert_eq!(contents(&log).first().unwrap().0, 0);
    assert_eq!(contents(&log).last().unwrap().0, 39);
}

#[test]
fn a_sound_log_has_nothing_to_tell() {
    let disk = SimDisk::new(1);
    closed(&disk);
    let (log, report) = open_from(&disk, 0);
    assert_eq!((report.first_fault, contents(&log).len()), (None, 40));
}

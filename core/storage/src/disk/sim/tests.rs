//! What only the simulated disk does: lose, tear, fail, fill up, and do it again by seed.

use std::io::{ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;

use super::{SimDisk, SimFaults};
use crate::disk::{Disk, DiskFile};

const FILE: &str = "/d/f";

fn with_file(seed: u64) -> (SimDisk, Arc<dyn DiskFile>) {
    let disk = SimDisk::new(seed);
    disk.create_dir_all(Path::new("/d")).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    let file = disk.open_or_create(Path::new(FILE)).unwrap();
    (disk, file)
}

fn write(file: &Arc<dyn DiskFile>, position: u64, bytes: &[u8]) {
    file.write_all_at(&[IoSlice::new(bytes)], position).unwrap();
}

#[test]
fn what_was_synced_survives_every_crash() {
    for seed in 0..200 {
        let (disk, file) = with_file(seed);
        write(&file, 0, &[1; 6000]);
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        write(&file, 6000, &[2; 9000]);
        disk.crash();
        let content = disk.read(Path::new(FILE)).unwrap();
        assert!(content.len() >= 6000, "seed {seed}");
        assert!(content[..6000].iter().all(|byte| *byte == 1), "seed {seed}");
        assert_eq!(
            file.len().unwrap_err().to_string(),
            "the file was opened before the crash"
        );
    }
}

#[test]
fn what_was_not_synced_is_kept_lost_and_torn() {
    let (mut kept, mut lost, mut torn) = (0, 0, 0);
    for seed in 0..300 {
        let (disk, file) = with_file(seed);
        write(&file, 0, &[0; 4096]);
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        write(&file, 0, &[7; 4096]);
        disk.crash();
        let content = disk.read(Path::new(FILE)).unwrap();
        match content.iter().filter(|byte| **byte == 7).count() {
            4096 => kept += 1,
            0 => lost += 1,
            sectors => {
                assert_eq!(sectors % 512, 0);
                torn += 1;
            }
        }
    }
    assert!(kept > 50 && lost > 50 && torn > 50, "{kept} {lost} {torn}");
}

#[test]
fn a_name_that_was_not_synced_may_vanish_even_if_its_bytes_were() {
    let vanished = (0..100).filter(|seed| {
        let (disk, file) = with_file(*seed);
        write(&file, 0, b"synced");
        file.sync_data().unwrap();
        disk.crash();
        !disk.exists(Path::new(FILE)).unwrap()
    });
    assert!((20..80).contains(&vanished.count()));
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one_whatever_happens() {
    for seed in 0..300 {
        let (disk, _) = with_file(seed);
        let path = Path::new(FILE);
        disk.replace(path, b"old").unwrap();
        disk.set_faults(SimFaults {
            sync_errors: 400_000,
            write_errors: 300_000,
            ..SimFaults::default()
        });
        let replaced = disk.replace(path, b"newer");
        disk.set_faults(SimFaults::default());
        disk.crash();
        let content = disk.read(path).unwrap();
        assert!(
            content == b"newer" || (content == b"old" && replaced.is_err()),
            "seed {seed}: {content:?}"
        );
    }
}

#[test]
fn a_failed_sync_forgets_and_the_next_one_succeeds() {
    let lost = (0..100).filter(|seed| {
        let (disk, file) = with_file(*seed);
        disk.sync_dir(Path::new("/d")).unwrap();
        write(&file, 0, b"data");
        disk.set_faults(SimFaults {
            sync_errors: 1_000_000,
            ..SimFaults::default()
        });
        assert!(file.sync_data().is_err());
        disk.set_faults(SimFaults::default());
        file.sync_data().unwrap();
        disk.crash();
        disk.read(Path::new(FILE)).unwrap() != b"data"
    });
    assert_eq!(lost.count(), 100);
}

#[test]
fn without_descriptors_nothing_is_opened_and_what_is_open_works() {
    let (disk, file) = with_file(1);
    disk.set_faults(SimFaults {
        open_errors: 1_000_000,
        ..SimFaults::default()
    });
    write(&file, 0, b"data");
    file.sync_data().unwrap();
    let path = Path::new(FILE);
    let refused = [
        disk.open(path).err(),
        disk.open_or_create(path).err(),
        disk.read(path).err(),
        disk.list(Path::new("/d")).err(),
        disk.sync_dir(Path::new("/d")).err(),
    ];
    for error in refused {
        assert_eq!(error.and_then(|error| error.raw_os_error()), Some(24));
    }
}

#[test]
fn a_reload_shows_what_a_failed_sync_has_lost() {
    let (disk, file) = with_file(1);
    write(&file, 0, b"data");
    disk.set_faults(SimFaults {
        sync_errors: 1_000_000,
        ..SimFaults::default()
    });
    assert!(file.sync_data().is_err());
    assert_eq!(disk.read(Path::new(FILE)).unwrap(), b"data");
    disk.set_faults(SimFaults::default());
    file.reload(0).unwrap();
    assert_eq!(
        disk.read(Path::new(FILE)).unwrap(),
        [0; 4],
        "the length was kept, the page was not"
    );
}

#[test]
fn a_full_disk_takes_what_fits_and_more_after_a_removal() {
    let (disk, file) = with_file(3);
    disk.set_faults(SimFaults {
        capacity: 8192,
        ..SimFaults::default()
    });
    write(&file, 0, &[1; 4000]);
    let full = file
        .write_all_at(&[IoSlice::new(&[2; 10_000])], 4000)
        .unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 8192);
    write(&file, 100, &[3; 50]);
    file.set_len(4096).unwrap();
    assert_eq!(disk.used(), 4096);
    disk.remove_file(Path::new(FILE)).unwrap();
    assert_eq!(disk.used(), 0);
}

#[test]
fn a_sync_of_the_file_system_covers_files_and_names_or_loses_them() {
    for (fails, seed) in (0..40).flat_map(|seed| [(false, seed), (true, seed)]) {
        let (disk, file) = with_file(seed);
        let lock = disk.lock_dir(Path::new("/d")).unwrap().unwrap();
        write(&file, 0, b"data");
        let sync_errors = if fails { 1_000_000 } else { 0 };
        disk.set_faults(SimFaults {
            sync_errors,
            ..SimFaults::default()
        });
        assert_eq!(lock.sync_file_system().is_err(), fails);
        disk.set_faults(SimFaults::default());
        disk.crash();
        let kept = disk.read(Path::new(FILE)).is_ok_and(|content| content == b"data");
        assert_eq!(kept, !fails);
        assert!(lock.sync_file_system().is_err(), "the lock is void");
    }
}

#[test]
fn a_flipped_bit_stays_flipped() {
    let (disk, file) = with_file(3);
    write(&file, 0, &[0; 10]);
    disk.flip_bit(Path::new(FILE), 4, 3).unwrap();
    assert_eq!(
        disk.read(Path::new(FILE)).unwrap(),
        [0, 0, 0, 0, 8, 0, 0, 0, 0, 0]
    );
    assert!(disk.flip_bit(Path::new(FILE), 10, 0).is_err());
}

#[test]
fn a_restart_keeps_the_cache_and_frees_the_lock() {
    let (disk, file) = with_file(3);
    write(&file, 0, b"not synced");
    let _lock = disk.lock_dir(Path::new("/d")).unwrap().unwrap();
    disk.restart();
    assert_eq!(disk.read(Path::new(FILE)).unwrap(), b"not synced");
    assert!(disk.lock_dir(Path::new("/d")).unwrap().is_some());
}

#[test]
fn one_seed_gives_one_trace() {
    let run = |seed| {
        let (disk, file) = with_file(seed);
        write(&file, 0, &[1; 9000]);
        disk.crash();
        disk.create_dir_all(Path::new("/d")).unwrap();
        let file = disk.open_or_create(Path::new(FILE)).unwrap();
        let mut buffer = [0; 100];
        file.read_at(&mut buffer, 0).unwrap();
        (disk.trace(), disk.read(Path::new(FILE)).unwrap())
    };
    assert_eq!(run(5), run(5));
    assert!((0..50).map(run).any(|other| other.1 != run(5).1));
}

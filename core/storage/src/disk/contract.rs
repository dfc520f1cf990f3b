//! What every disk must do: one suite for the real and the simulated one.

use std::io::{ErrorKind, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{DirEntry, Disk, RealDisk, SimDisk};

/// Runs a test on both disks, each with a folder of its own.
fn on_both(test: impl Fn(Arc<dyn Disk>, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    test(Arc::new(RealDisk), folder.path());
    let disk = SimDisk::new(1);
    let root = PathBuf::from("/data");
    disk.create_dir_all(&root).unwrap();
    test(Arc::new(disk), &root);
}

fn names(disk: &dyn Disk, dir: &Path) -> Vec<String> {
    disk.list(dir)
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

#[test]
fn slices_are_written_one_after_the_other_and_read_back() {
    on_both(|disk, dir| {
        let file = disk.open_or_create(&dir.join("a")).unwrap();
        assert!(file.is_empty().unwrap());
        file.write_all_at(
            &[IoSlice::new(b"one"), IoSlice::new(b""), IoSlice::new(b"two")],
            0,
        )
        .unwrap();
        file.write_all_at(&[IoSlice::new(b"NE")], 1).unwrap();
        assert_eq!(file.len().unwrap(), 6);
        let mut buffer = [0; 8];
        assert_eq!(file.read_at(&mut buffer, 0).unwrap(), 6);
        assert_eq!(&buffer[..6], b"oNEtwo");
        assert_eq!(file.read_at(&mut buffer, 6).unwrap(), 0);
        assert_eq!(file.read_at(&mut buffer, 60).unwrap(), 0);
        let mut exact = [0; 3];
        file.clone().as_source().read_exact_at(&mut exact, 3).unwrap();
        assert_eq!(&exact, b"two");
        let past = file.read_exact_at(&mut exact, 4).unwrap_err();
        assert_eq!(past.kind(), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn many_slices_are_written_whole() {
    on_both(|disk, dir| {
        let file = disk.open_or_create(&dir.join("a")).unwrap();
        let parts: Vec<[u8; 3]> = (0..3000u32).map(|n| [n as u8, (n >> 8) as u8, 7]).collect();
        let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        file.write_all_at(&slices, 5).unwrap();
        let content = disk.read(&dir.join("a")).unwrap();
        assert_eq!(content.len(), 9005);
        assert_eq!(&content[..5], [0; 5]);
        assert_eq!(content[5..].as_chunks::<3>().0, parts);
    });
}

#[test]
fn a_gap_and_an_extension_read_as_zeros_also_after_a_cut() {
    on_both(|disk, dir| {
        let path = dir.join("a");
        let file = disk.open_or_create(&path).unwrap();
        file.write_all_at(&[IoSlice::new(&[9; 5000])], 0).unwrap();
        file.set_len(10).unwrap();
        file.set_len(9000).unwrap();
        file.write_all_at(&[IoSlice::new(b"x")], 10_000).unwrap();
        let content = disk.read(&path).unwrap();
        assert_eq!(disk.len(&path).unwrap(), 10_001);
        assert!(content[..10].iter().all(|byte| *byte == 9));
        assert!(content[10..10_000].iter().all(|byte| *byte == 0));
        assert_eq!(content[10_000], b'x');
    });
}

#[test]
fn what_is_not_there_is_not_found() {
    on_both(|disk, dir| {
        let path = dir.join("none");
        assert_eq!(disk.open(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.open_read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.read(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.len(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.list(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.sync_dir(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.remove_file(&path).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            disk.remove_dir_all(&path).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(
            disk.rename(&path, &dir.join("b")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert!(disk.open_or_create(&path.join("inner")).is_err());
        assert!(!disk.exists(&path).unwrap());
        assert_eq!(disk.read_if_there(&path).unwrap(), None);
        disk.remove_file_if_there(&path).unwrap();
    });
}

#[test]
fn folders_list_their_names_in_order() {
    on_both(|disk, dir| {
        disk.create_dir_all(&dir.join("b/c")).unwrap();
        disk.create_dir_all(&dir.join("b/c")).unwrap();
        disk.open_or_create(&dir.join("c")).unwrap();
        disk.open_or_create(&dir.join("a")).unwrap();
        let entry = |name: &str, is_dir| DirEntry {
            name: name.to_owned(),
            is_dir,
        };
        assert_eq!(
            disk.list(dir).unwrap(),
            [entry("a", false), entry("b", true), entry("c", false)]
        );
        disk.rename(&dir.join("b"), &dir.join("d")).unwrap();
        assert!(disk.exists(&dir.join("d/c")).unwrap());
        disk.sync_dir(dir).unwrap();
        disk.remove_dir_all(&dir.join("d")).unwrap();
        assert_eq!(names(&*disk, dir), ["a", "c"]);
    });
}

#[test]
fn a_removed_file_is_still_there_for_who_has_it_open() {
    on_both(|disk, dir| {
        let path = dir.join("a");
        let file = disk.write(&path, b"kept").unwrap();
        disk.remove_file(&path).unwrap();
        assert!(!disk.exists(&path).unwrap());
        let mut buffer = [0; 4];
        file.read_exact_at(&mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"kept");
    });
}

#[test]
fn replacing_leaves_the_new_content_and_no_temporary_file() {
    on_both(|disk, dir| {
        let path = dir.join("checkpoint");
        disk.replace(&path, b"first, and longer").unwrap();
        disk.write(
            &dir.join("checkpoint.tmp"),
            b"left by a crash, and much longer than the rest",
        )
        .unwrap();
        disk.replace(&path, b"second").unwrap();
        assert_eq!(disk.read(&path).unwrap(), b"second");
        assert_eq!(names(&*disk, dir), ["checkpoint"]);
    });
}

#[test]
fn a_folder_is_locked_by_one_holder() {
    on_both(|disk, dir| {
        let held = disk.lock_dir(dir).unwrap();
        held.as_ref().unwrap().sync_file_system().unwrap();
        assert!(disk.lock_dir(dir).unwrap().is_none());
        drop(held);
        assert!(disk.lock_dir(dir).unwrap().is_some());
    });
}

#[test]
fn a_reload_shows_what_was_written_and_makes_it_durable() {
    on_both(|disk, dir| {
        let file = disk.write(&dir.join("a"), &[5; 10_000]).unwrap();
        file.reload(5000).unwrap();
        assert_eq!(disk.read(&dir.join("a")).unwrap(), [5; 10_000]);
    });
}

#[test]
fn what_is_written_back_stays_what_it_was() {
    on_both(|disk, dir| {
        let file = disk.write(&dir.join("a"), &[5; 10_000]).unwrap();
        file.write_all_at(&[IoSlice::new(&[6; 5_000])], 7_000).unwrap();
        for range in [7_000..12_000, 0..i64::MAX as u64, 12_000..20_000, 5..5] {
            file.write_back(range).unwrap();
        }
        let content = disk.read(&dir.join("a")).unwrap();
        assert_eq!((content.len(), content[6_999], content[7_000]), (12_000, 5, 6));
    });
}

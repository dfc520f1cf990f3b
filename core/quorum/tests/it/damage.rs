//! Files that were damaged after they were durable: refused in words, never cut off in silence.

use std::sync::Arc;

use metadata::MetadataLog as _;
use metadata::snapshot::SnapshotId;
use quorum::{Bootstrap, OpenError, QuorumConfig};
use storage::{Disk, SimDisk, SimFaults};

use super::{NOW, Node, folder, format, log_dir, topic, try_open};

const LOG: &str = "00000000000000000000.log";

/// A node that made topics 0 to 9 and was closed in order.
fn used(config: QuorumConfig) -> SimDisk {
    let disk = SimDisk::new(3);
    format(&disk).unwrap();
    let mut node = Node::start(Arc::new(disk.clone()), config).unwrap();
    for number in 0..10 {
        node.now_ms += 1;
        node.write(&topic(number, 1)).unwrap();
        node.maintain().unwrap();
    }
    node.log.close(NOW).unwrap();
    disk.restart();
    disk
}

#[test]
fn no_flipped_bit_in_the_log_makes_a_topic_vanish() {
    let length = Disk::len(&used(QuorumConfig::default()), &folder().join(LOG)).unwrap();
    let mut refused = 0;
    for position in (0..length).step_by(7) {
        let disk = used(QuorumConfig::default());
        disk.flip_bit(&folder().join(LOG), position, (position % 8) as u8)
            .unwrap();
        match try_open(Arc::new(disk.clone()), QuorumConfig::default()) {
            // The epoch of a batch lies outside its checksum and says nothing about the cluster.
            Ok(opened) => assert_eq!(opened.replay.image().topics.len(), 10, "byte {position}"),
            Err(error) => {
                refused += 1;
                assert!(
                    matches!(error, OpenError::Lost { .. }),
                    "byte {position}: {error}"
                );
                assert_eq!(
                    Disk::len(&disk, &folder().join(LOG)).unwrap(),
                    length,
                    "nothing was cut off"
                );
            }
        }
    }
    assert!(refused > 200, "{refused} of {} places", length / 7);
}

#[test]
fn a_log_that_is_shorter_than_it_was_durable_is_refused() {
    let disk = used(QuorumConfig::default());
    let path = folder().join(LOG);
    let length = Disk::len(&disk, &path).unwrap();
    disk.open(&path).unwrap().set_len(length - 10).unwrap();
    let error = try_open(Arc::new(disk), QuorumConfig::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("restore /data/__cluster_metadata-0 from a copy"),
        "{error}"
    );
}

#[test]
fn records_without_the_file_that_says_whose_they_are_are_kept() {
    let metadata = folder().join("partition.metadata");
    for damage in [None, Some("version: 9"), Some("")] {
        let disk = used(QuorumConfig::default());
        let sound = disk.read(&metadata).unwrap();
        disk.remove_file(&metadata).unwrap();
        if let Some(text) = damage {
            disk.replace(&metadata, text.as_bytes()).unwrap();
        }
        let opened = try_open(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
        assert_eq!(opened.replay.image().topics.len(), 10, "{damage:?}");
        assert_eq!(opened.warnings.len(), 1, "{damage:?}");
        assert!(opened.warnings[0].ends_with("partition.metadata was missing or damaged: written again"));
        drop(opened);
        // As it was, and durably so.
        disk.crash();
        assert_eq!(disk.read(&metadata).unwrap(), sound, "{damage:?}");
        let opened = try_open(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
        assert_eq!(opened.replay.image().topics.len(), 10, "{damage:?}");
        assert!(opened.warnings.is_empty(), "{:?}", opened.warnings);
    }
}

#[test]
fn a_torn_tail_that_nobody_was_told_of_is_cut_off() {
    let disk = used(QuorumConfig::default());
    let path = folder().join(LOG);
    let length = Disk::len(&disk, &path).unwrap();
    let file = disk.open(&path).unwrap();
    file.write_all_at(&[std::io::IoSlice::new(&[0xab; 50])], length)
        .unwrap();
    let node = Node::start(Arc::new(disk), QuorumConfig::default()).unwrap();
    assert_eq!(node.image().topics.len(), 10);
}

fn with_snapshots() -> QuorumConfig {
    QuorumConfig {
        bytes_between_snapshots: 300,
        ..QuorumConfig::default()
    }
}

#[test]
fn an_older_snapshot_stands_in_for_a_damaged_one() {
    let disk = used(with_snapshots());
    let newest = disk
        .list(&folder())
        .unwrap()
        .iter()
        .filter_map(|entry| SnapshotId::parse(&entry.name))
        .max()
        .unwrap();
    disk.flip_bit(&folder().join(newest.file_name()), 100, 3).unwrap();
    let opened = try_open(Arc::new(disk), QuorumConfig::default()).unwrap();
    assert_eq!(opened.replay.image().topics.len(), 10);
    assert_eq!(opened.warnings.len(), 1);
    assert!(
        opened.warnings[0].contains(&newest.file_name()),
        "{:?}",
        opened.warnings
    );
}

#[test]
fn without_a_sound_snapshot_the_log_must_go_back_to_its_beginning() {
    let config = QuorumConfig {
        segment_bytes: 400,
        retention_bytes: Some(0),
        ..with_snapshots()
    };
    let disk = SimDisk::new(3);
    format(&disk).unwrap();
    let mut node = Node::start(Arc::new(disk.clone()), config.clone()).unwrap();
    for number in 0..10 {
        node.now_ms += 61_000;
        node.write(&topic(number, 1)).unwrap();
        node.maintain().unwrap();
    }
    node.log.close(NOW).unwrap();
    disk.restart();
    assert!(
        !disk.exists(&folder().join(LOG)).unwrap(),
        "the first segment is gone"
    );
    let only = disk
        .list(&folder())
        .unwrap()
        .iter()
        .filter_map(|entry| SnapshotId::parse(&entry.name))
        .max()
        .unwrap();
    disk.flip_bit(&folder().join(only.file_name()), 100, 3).unwrap();
    let error = try_open(Arc::new(disk.clone()), config.clone()).unwrap_err();
    assert!(error.to_string().contains("restore it from a copy"), "{error}");
    disk.remove_file(&folder().join(only.file_name())).unwrap();
    let error = try_open(Arc::new(disk), config).unwrap_err();
    assert!(matches!(error, OpenError::Gap { .. }), "{error}");
}

#[test]
fn a_quorum_state_that_names_no_epoch_is_not_guessed_at() {
    let disk = used(QuorumConfig::default());
    let path = folder().join("quorum-state");
    disk.replace(&path, b"").unwrap();
    let error = try_open(Arc::new(disk.clone()), QuorumConfig::default()).unwrap_err();
    assert!(error.to_string().contains("quorum-state is damaged"), "{error}");
    disk.restart();
    disk.remove_file(&path).unwrap();
    let opened = try_open(Arc::new(disk), QuorumConfig::default()).unwrap();
    use metadata::MetadataLog as _;
    assert_eq!(
        opened.quorum.leader_epoch().0,
        2,
        "the log knows the last epoch too"
    );
}

#[test]
fn what_apache_kafkas_format_loses_at_a_power_cut_is_no_obstacle() {
    for content in [Some(&b""[..]), Some(&[0; 411][..]), None] {
        let disk = SimDisk::new(1);
        format(&disk).unwrap();
        let path = log_dir().join("bootstrap.checkpoint");
        disk.remove_file(&path).unwrap();
        if let Some(content) = content {
            disk.replace(&path, content).unwrap();
        }
        let opened = try_open(Arc::new(disk), QuorumConfig::default()).unwrap();
        assert_eq!(opened.bootstrap, Some(Bootstrap::Missing));
    }
    let disk = SimDisk::new(1);
    format(&disk).unwrap();
    disk.flip_bit(&log_dir().join("bootstrap.checkpoint"), 200, 1)
        .unwrap();
    let error = try_open(Arc::new(disk), QuorumConfig::default()).unwrap_err();
    assert!(
        error.to_string().contains("format the directory again"),
        "{error}"
    );
}

#[test]
fn a_failed_sync_ends_the_leadership() {
    let disk = SimDisk::new(3);
    format(&disk).unwrap();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    node.write(&topic(1, 1)).unwrap();
    disk.set_faults(SimFaults {
        sync_errors: 1_000_000,
        ..SimFaults::default()
    });
    assert!(node.write(&topic(2, 1)).is_err());
    disk.set_faults(SimFaults::default());
    assert!(
        node.write(&topic(3, 1)).is_err(),
        "a sync that failed is not tried again as if it could succeed"
    );
    disk.crash();
    let node = Node::start(Arc::new(disk), QuorumConfig::default()).unwrap();
    assert!(node.topic_names().contains(&"topic-000001".to_owned()));
}

#[test]
fn what_a_failed_sync_left_in_the_cache_is_not_taken_for_durable() {
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        format(&disk).unwrap();
        let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
        node.write(&topic(1, 1)).unwrap();
        disk.set_faults(SimFaults {
            sync_errors: 1_000_000,
            ..SimFaults::default()
        });
        assert!(node.write(&topic(2, 3)).is_err());
        disk.set_faults(SimFaults::default());
        // The process starts anew with the cache of the old one, is told of nothing, and takes what it read for true.
        disk.restart();
        let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
        let seen = node.topic_names();
        node.write(&topic(3, 1)).unwrap();
        disk.crash();
        let node = Node::start(Arc::new(disk), QuorumConfig::default()).unwrap();
        assert!(
            seen.iter().all(|name| node.topic_names().contains(name)),
            "seed {seed}: {seen:?} were seen"
        );
        assert!(
            node.topic_names().contains(&"topic-000003".to_owned()),
            "seed {seed}"
        );
    }
}

#[test]
fn a_full_disk_refuses_what_does_not_fit_and_goes_on_once_there_is_room() {
    let disk = SimDisk::new(3);
    format(&disk).unwrap();
    let mut node = Node::start(Arc::new(disk.clone()), with_snapshots()).unwrap();
    node.write(&topic(1, 1)).unwrap();
    disk.set_faults(SimFaults {
        capacity: disk.used(),
        ..SimFaults::default()
    });
    let mut refused = 0;
    for number in 2..200 {
        node.now_ms += 1_000;
        let before = node.log.next_offset();
        let Err(error) = node.write(&topic(number, 3)) else {
            continue;
        };
        assert!(error.is_full(), "{error}");
        assert_eq!(node.log.next_offset(), before, "as if it had not been tried");
        refused += 1;
        if let Err(error) = node.maintain() {
            assert!(error.is_full(), "{error}");
        }
    }
    assert!(refused > 100, "{refused} commands found no room");
    let names = disk.list(&folder()).unwrap();
    assert!(
        names.iter().all(|entry| !entry.name.ends_with(".part")),
        "{names:?}"
    );

    disk.set_faults(SimFaults::default());
    node.now_ms += 61_000;
    node.write(&topic(1000, 1)).unwrap();
    node.maintain().unwrap();
    let newest = disk
        .list(&folder())
        .unwrap()
        .iter()
        .filter_map(|entry| SnapshotId::parse(&entry.name))
        .max();
    assert_eq!(
        newest,
        Some(SnapshotId::at(node.image().position)),
        "the snapshot is made up for"
    );
    let names = node.topic_names();
    disk.crash();
    assert_eq!(
        Node::start(Arc::new(disk), with_snapshots())
            .unwrap()
            .topic_names(),
        names
    );
}

#[test]
fn a_large_decision_without_room_for_its_end_leaves_nothing_behind() {
    let disk = SimDisk::new(3);
    format(&disk).unwrap();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    node.write(&topic(1, 1)).unwrap();
    let room = metadata::batch::BATCH_BYTES_MAX as u64 * 3 / 2;
    disk.set_faults(SimFaults {
        capacity: disk.used() + room,
        ..SimFaults::default()
    });
    let before = node.log.next_offset();
    let error = node.write(&topic(2, 300_000)).unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!(node.log.next_offset(), before);
    node.write(&topic(3, 1)).unwrap();
    disk.crash();
    let node = Node::start(Arc::new(disk), QuorumConfig::default()).unwrap();
    assert_eq!(node.topic_names(), ["topic-000001", "topic-000003"]);
}

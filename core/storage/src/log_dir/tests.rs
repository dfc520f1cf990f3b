//! A directory as a whole: taken, left, found again.

use std::path::Path;
use std::sync::Arc;

use model::{BrokerEpoch, BrokerId, Offset, TopicPartition, Uuid};

use super::*;
use crate::disk::SimDisk;

const DIR: &str = "/var/data/gracchus";

fn open(disk: &SimDisk) -> LogDir {
    LogDir::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap()
}

fn meta() -> MetaProperties {
    MetaProperties {
        cluster_id: "c".to_owned(),
        node_id: BrokerId(3),
        directory_id: None,
    }
}

#[test]
fn a_directory_has_one_holder() {
    let disk = SimDisk::new(1);
    let held = open(&disk);
    let second = LogDir::open(Arc::new(disk.clone()), Path::new(DIR)).unwrap_err();
    assert!(matches!(second, OpenError::Locked { .. }), "{second}");
    drop(held);
    open(&disk);
}

#[test]
fn identity_and_checkpoints_survive_a_power_cut_as_soon_as_they_are_written() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        if seed % 2 == 1 {
            // Made by a process that was killed before it synced the name.
            disk.create_dir_all(Path::new(DIR)).unwrap();
            disk.sync_dir(Path::new("/")).unwrap();
            disk.sync_dir(Path::new("/var")).unwrap();
        }
        let dir = open(&disk);
        assert_eq!(dir.meta_properties().unwrap(), None);
        dir.write_meta_properties(&meta()).unwrap();
        let offsets = OffsetMap::from([(TopicPartition::new("t", 0), Offset(7))]);
        dir.write_recovery_points(&offsets).unwrap();
        dir.write_high_watermarks(&offsets).unwrap();
        dir.write_log_start_offsets(&offsets).unwrap();
        disk.crash();
        let dir = open(&disk);
        assert_eq!(dir.meta_properties().unwrap(), Some(meta()));
        let checkpoints = dir.checkpoints().unwrap();
        assert_eq!(checkpoints.recovery_points, offsets);
        assert_eq!(checkpoints.high_watermarks, offsets);
        assert_eq!(checkpoints.log_start_offsets, offsets);
    }
}

#[test]
fn the_clean_marker_counts_once_and_carries_the_broker_epoch() {
    let disk = SimDisk::new(1);
    let dir = open(&disk);
    let unclean = LastShutdown {
        shutdown: Shutdown::Unclean,
        broker_epoch: None,
    };
    assert_eq!(dir.take_last_shutdown().unwrap(), unclean);
    dir.mark_clean_shutdown(BrokerEpoch(13)).unwrap();
    let marker = dir.path().join(".kafka_cleanshutdown");
    assert_eq!(disk.read(&marker).unwrap(), b"{\"version\":0,\"brokerEpoch\":13}");
    let clean = LastShutdown {
        shutdown: Shutdown::Clean,
        broker_epoch: Some(BrokerEpoch(13)),
    };
    assert_eq!(dir.take_last_shutdown().unwrap(), clean);
    disk.crash();
    assert_eq!(open(&disk).take_last_shutdown().unwrap(), unclean);
    disk.write(&marker, b"").unwrap();
    let old = LastShutdown {
        shutdown: Shutdown::Clean,
        broker_epoch: None,
    };
    assert_eq!(open(&disk).take_last_shutdown().unwrap(), old);
}

#[test]
fn an_unreadable_checkpoint_counts_as_empty_but_not_that_of_the_high_watermarks() {
    let disk = SimDisk::new(1);
    let dir = open(&disk);
    disk.write(&dir.path().join("recovery-point-offset-checkpoint"), b"rubbish")
        .unwrap();
    disk.write(&dir.path().join("log-start-offset-checkpoint"), b"0\n5\n")
        .unwrap();
    let checkpoints = dir.checkpoints().unwrap();
    assert!(checkpoints.recovery_points.is_empty() && checkpoints.log_start_offsets.is_empty());
    assert_eq!(checkpoints.unreadable.len(), 2);
    disk.write(&dir.path().join("replication-offset-checkpoint"), b"rubbish")
        .unwrap();
    let refused = dir.checkpoints().unwrap_err();
    assert!(matches!(refused, OpenError::Content { .. }));
    let told = refused.to_string();
    assert!(
        told.ends_with("; restore it, or remove it to go by the ends of the logs"),
        "{told}"
    );
}

#[test]
fn a_deleted_folder_is_out_of_use_durably_and_then_gone() {
    let disk = SimDisk::new(1);
    let dir = open(&disk);
    let path = dir.partition_path(&TopicPartition::new("t", 0));
    disk.create_dir_all(&path).unwrap();
    disk.write(&path.join("x"), b"x").unwrap();
    disk.create_dir_all(&dir.path().join("not a partition")).unwrap();
    disk.sync_dir(dir.path()).unwrap();
    let retired = dir
        .retire_folder(&path, FolderKind::Deleted, Uuid([7; 16]))
        .unwrap();
    disk.crash();
    let dir = open(&disk);
    let folders = dir.partition_folders().unwrap();
    assert_eq!(folders.len(), 1);
    assert_eq!(
        (folders[0].kind, &folders[0].path),
        (FolderKind::Deleted, &retired)
    );
    dir.remove_folder(&retired).unwrap();
    dir.sync_names().unwrap();
    disk.crash();
    assert_eq!(open(&disk).partition_folders().unwrap(), []);
}

#[test]
fn the_topic_id_of_a_folder_is_read_as_kafka_writes_it() {
    let content = b"version: 0\ntopic_id: 4cb2kGkcTHWjjnMF4d5Paw";
    let metadata = PartitionMetadata::parse(content).unwrap();
    assert_eq!(metadata.render().as_bytes(), content);
    for bad in [
        "",
        "version: 1\ntopic_id: 4cb2kGkcTHWjjnMF4d5Paw",
        "version: 0\ntopic_id: x",
        "version: 0\n",
    ] {
        assert_eq!(PartitionMetadata::parse(bad.as_bytes()), None, "{bad:?}");
    }
    let zero = format!("version: 0\ntopic_id: {}", Uuid::ZERO);
    assert_eq!(PartitionMetadata::parse(zero.as_bytes()), None);
}

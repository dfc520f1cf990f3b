//! Starts, snapshots, retention, and who may lead.

use std::sync::Arc;

use metadata::batch::BATCH_BYTES_MAX;
use metadata::image::METADATA_VERSION;
use metadata::snapshot::SnapshotId;
use metadata::{MetadataLog, MetadataRecord};
use model::{LeaderEpoch, Offset, Uuid};
use quorum::{Bootstrap, OpenError, OpenQuorum, QuorumConfig, Voter, write_bootstrap};
use storage::{Disk, SimDisk};
use wire::internal::metadata_log::{FeatureLevelRecord, NoOpRecord};

use super::{NOW, Node, folder, format, log_dir, topic, try_open, voter};

fn formatted() -> SimDisk {
    let disk = SimDisk::new(1);
    format(&disk).unwrap();
    disk
}

fn snapshots(disk: &SimDisk) -> Vec<SnapshotId> {
    disk.list(&folder())
        .unwrap()
        .iter()
        .filter_map(|entry| SnapshotId::parse(&entry.name))
        .collect()
}

fn read(disk: &SimDisk, name: &str) -> String {
    String::from_utf8(disk.read(&folder().join(name)).unwrap()).unwrap()
}

#[test]
fn a_new_log_begins_as_that_of_apache_kafka() {
    let disk = formatted();
    let node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    // The leader's epoch, the level of kraft.version, the voters; then the first records in one transaction.
    assert_eq!(node.log.next_offset(), Offset(3 + 9));
    assert_eq!(node.log.leader_epoch(), LeaderEpoch(1));
    let state = read(&disk, "quorum-state");
    assert!(
        state.starts_with("{\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\"votedDirectoryId\""),
        "{state}"
    );
    assert!(read(&disk, "partition.metadata").contains("topic_id: AAAAAAAAAAAAAAAAAAAAAQ"));
}

#[test]
fn every_start_leads_in_a_new_epoch_and_finds_everything() {
    let disk = formatted();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    node.write(&topic(1, 3)).unwrap();
    let image = node.image().clone();
    node.log.close(NOW).unwrap();
    disk.restart();
    for epoch in 2..5 {
        let node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
        assert_eq!(node.log.leader_epoch(), LeaderEpoch(epoch));
        assert_eq!(node.image().topics, image.topics);
        assert_eq!(node.image().features, image.features);
        // One control record for the epoch: the voters stand in the log already.
        assert_eq!(node.log.next_offset(), Offset(12 + 4 + i64::from(epoch) - 1));
        disk.restart();
    }
}

#[test]
fn a_voter_that_moved_to_another_address_says_so_in_the_log() {
    let disk = formatted();
    Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    disk.restart();
    let mut moved = voter();
    moved.endpoints[0].port = 1234;
    let open = |voter: Voter, disk: &SimDisk| {
        let open = OpenQuorum {
            disk: Arc::new(disk.clone()),
            log_dir: log_dir(),
            voter,
            configured_voter: false,
            config: QuorumConfig::default(),
        };
        open.open(NOW).unwrap().quorum.next_offset()
    };
    assert_eq!(open(moved.clone(), &disk), Offset(12 + 3));
    disk.restart();
    assert_eq!(open(moved, &disk), Offset(12 + 3 + 1));
}

#[test]
fn snapshots_take_the_place_of_old_records() {
    let disk = formatted();
    let config = QuorumConfig {
        bytes_between_snapshots: 2_000,
        segment_bytes: 4_000,
        retention_bytes: Some(12_000),
        ..QuorumConfig::default()
    };
    let mut node = Node::start(Arc::new(disk.clone()), config.clone()).unwrap();
    for number in 0..60 {
        node.now_ms += 61_000;
        node.write(&topic(number, 3)).unwrap();
        node.maintain().unwrap();
    }
    let ids = snapshots(&disk);
    assert!(
        !ids.is_empty() && ids[0].end_offset > Offset::ZERO,
        "{ids:?}: the first, of the format, is gone"
    );
    let names = disk.list(&folder()).unwrap().into_iter().map(|entry| entry.name);
    let kept = names.filter(|name| name.ends_with(".log") || name.ends_with(".checkpoint"));
    let size: u64 = kept
        .map(|name| Disk::len(&disk, &folder().join(name)).unwrap())
        .sum();
    assert!(size < 30_000, "{size} bytes are kept");
    let image = node.image().clone();
    disk.crash();
    let mut node = Node::start(Arc::new(disk.clone()), config.clone()).unwrap();
    assert_eq!(node.image().topics, image.topics);
    assert_eq!(node.image().configs, image.configs);
    node.now_ms += 61_000 * 61;
    node.write(&topic(1000, 1)).unwrap();
    disk.crash();
    let node = Node::start(Arc::new(disk), config).unwrap();
    assert_eq!(node.image().topics.len(), 61);
}

#[test]
fn a_snapshot_is_taken_in_time_even_when_little_happens() {
    let disk = formatted();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    node.maintain().unwrap();
    assert_eq!(
        snapshots(&disk),
        [SnapshotId::default()],
        "the interval counts from the last snapshot of this node"
    );
    node.now_ms += 3_600_000;
    node.write(&topic(1, 1)).unwrap();
    node.maintain().unwrap();
    let taken = snapshots(&disk);
    assert_eq!(taken.last(), Some(&SnapshotId::at(node.image().position)));
    node.now_ms += 3_600_000;
    node.maintain().unwrap();
    assert_eq!(snapshots(&disk), taken, "nothing happened since");
}

#[test]
fn old_snapshots_are_kept_as_long_as_the_retention_says() {
    let disk = formatted();
    let config = QuorumConfig {
        bytes_between_snapshots: 1,
        retention_ms: Some(10_000),
        ..QuorumConfig::default()
    };
    let mut node = Node::start(Arc::new(disk.clone()), config).unwrap();
    for number in 0..30 {
        node.now_ms += 1_000;
        node.write(&topic(number, 1)).unwrap();
        node.maintain().unwrap();
    }
    let kept = snapshots(&disk).len();
    assert!(
        (10..=13).contains(&kept),
        "{kept} snapshots, one a second, for ten seconds"
    );
}

#[test]
fn a_decision_too_large_for_a_batch_counts_whole_or_not_at_all() {
    let disk = formatted();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    let small = topic(1, 1);
    let record_bytes = 75;
    let large = topic(2, (BATCH_BYTES_MAX / record_bytes) as i32 + 20_000);
    node.write(&small).unwrap();
    node.write(&large).unwrap();
    let next = node.log.next_offset();
    disk.crash();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    assert_eq!(node.image().topics.partition_count(), 1 + large.len() - 1);

    // The power goes behind the first batch of such a decision.
    let end = node.log.next_offset();
    assert!(end > next);
    let half = [
        MetadataRecord::BeginTransaction(Default::default()),
        topic(3, 0).remove(0),
    ];
    let versions = metadata::RecordVersions::at(30);
    node.log.append(&half, versions, NOW).unwrap();
    node.log.commit().unwrap();
    disk.crash();
    let node = Node::start(Arc::new(disk), QuorumConfig::default()).unwrap();
    assert_eq!(node.image().topics.len(), 2);
    assert!(!node.replay.in_transaction(), "the new leader aborted it");
}

#[test]
fn only_the_one_voter_leads() {
    let disk = formatted();
    let refused = |voter: Voter, disk: &SimDisk| {
        let open = OpenQuorum {
            disk: Arc::new(disk.clone()),
            log_dir: log_dir(),
            voter,
            configured_voter: true,
            config: QuorumConfig::default(),
        };
        let error = open.open(NOW).unwrap_err();
        assert!(matches!(error, OpenError::Voters(_)), "{error}");
        error.to_string()
    };
    let text = refused(Voter { id: 2, ..voter() }, &disk);
    assert!(
        text.contains("the one voter of this quorum is node 1") && text.contains("check node.id"),
        "{text}"
    );
    refused(
        Voter {
            directory_id: Uuid([6; 16]),
            ..voter()
        },
        &disk,
    );
    assert!(
        !disk.exists(&folder().join("quorum-state")).unwrap(),
        "nothing was written"
    );
}

#[test]
fn without_voters_anywhere_nobody_leads() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(&log_dir()).unwrap();
    write_bootstrap(&disk, &log_dir(), &[], NOW).unwrap();
    let error = try_open(Arc::new(disk.clone()), QuorumConfig::default()).unwrap_err();
    assert!(error.to_string().contains("--standalone"), "{error}");
    let open = OpenQuorum {
        disk: Arc::new(disk),
        log_dir: log_dir(),
        voter: voter(),
        configured_voter: true,
        config: QuorumConfig::default(),
    };
    let opened = open.open(NOW).unwrap();
    assert_eq!(
        opened.bootstrap,
        Some(Bootstrap::Records(vec![])),
        "the configuration names this node"
    );
}

#[test]
fn a_log_of_a_later_time_is_left_alone() {
    let disk = formatted();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    node.write(&[FeatureLevelRecord {
        name: METADATA_VERSION.into(),
        feature_level: 31,
    }
    .into()])
        .unwrap();
    disk.restart();
    let before = read(&disk, "quorum-state");
    let error = try_open(Arc::new(disk.clone()), QuorumConfig::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("metadata.version at level 31, this version knows levels up to 30"),
        "{error}"
    );
    assert_eq!(read(&disk, "quorum-state"), before);
}

#[test]
fn an_append_is_not_committed_before_it_is_synced() {
    let disk = formatted();
    let mut node = Node::start(Arc::new(disk.clone()), QuorumConfig::default()).unwrap();
    let syncs = disk.sync_count();
    let versions = metadata::RecordVersions::at(30);
    node.log.append(&[NoOpRecord.into()], versions, NOW).unwrap();
    assert_eq!(disk.sync_count(), syncs);
    node.log.commit().unwrap();
    assert!(disk.sync_count() > syncs);
    let synced = disk.sync_count();
    node.log.commit().unwrap();
    assert_eq!(disk.sync_count(), synced, "nothing to do");
}

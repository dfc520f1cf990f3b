//! Directories that Apache Kafka 4.3.1 formatted and used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metadata::{MetadataLog, Replay};
use model::{LeaderEpoch, Offset};
use quorum::{Bootstrap, OpenQuorum, Opened, QuorumConfig, Voter};
use storage::{Disk, RealDisk};

use super::NOW;

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../metadata/tests/data")
}

fn copy(name: &str, to: &Path) {
    std::fs::copy(data().join(name), to).unwrap();
}

/// A log directory with some of the files of Apache Kafka.
fn directory(log: Option<&str>, snapshots: &[&str], quorum_state: Option<&str>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy("bootstrap.checkpoint", &dir.path().join("bootstrap.checkpoint"));
    let folder = dir.path().join("__cluster_metadata-0");
    std::fs::create_dir(&folder).unwrap();
    if let Some(log) = log {
        copy(log, &folder.join("00000000000000000000.log"));
        std::fs::write(
            folder.join("partition.metadata"),
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
        )
        .unwrap();
        std::fs::write(folder.join("leader-epoch-checkpoint"), "0\n1\n1 0\n").unwrap();
    }
    for name in snapshots {
        copy(name, &folder.join(name));
    }
    if let Some(state) = quorum_state {
        std::fs::write(folder.join("quorum-state"), state).unwrap();
    }
    dir
}

fn open(dir: &Path, id: i32, directory_id: &str, configured_voter: bool) -> Opened {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let voter = Voter {
        id,
        directory_id: directory_id.parse().unwrap(),
        endpoints: Vec::new(),
    };
    OpenQuorum {
        disk,
        log_dir: dir.to_owned(),
        voter,
        configured_voter,
        config: QuorumConfig::default(),
    }
    .open(NOW)
    .unwrap()
}

const STATIC_STATE: &str = "{\"clusterId\":\"\",\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\"appliedOffset\":0,\
                            \"currentVoters\":[{\"voterId\":1}],\"data_version\":0}";
const DYNAMIC_STATE: &str = "{\"leaderId\":7,\"leaderEpoch\":1,\"votedId\":-1,\
                             \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
const DYNAMIC_DIRECTORY: &str = "Gb3mWQmMTfCB4zD6vbqyDg";

#[test]
fn a_log_with_static_voters_opens_and_goes_on() {
    let dir = directory(Some("static-quorum.log"), &[], Some(STATIC_STATE));
    let opened = open(dir.path(), 1, "Jtflsnh6DUEpc2Xx0hyhLw", true);
    assert_eq!(opened.replay.image().topics.len(), 11);
    assert_eq!(opened.bootstrap, None);
    assert_eq!(opened.quorum.leader_epoch(), LeaderEpoch(2));
    assert_eq!(opened.quorum.next_offset(), Offset(118 + 1));
    let state = std::fs::read_to_string(dir.path().join("__cluster_metadata-0/quorum-state")).unwrap();
    assert_eq!(
        state,
        STATIC_STATE.replace("\"leaderEpoch\":1", "\"leaderEpoch\":2")
    );
    opened.quorum.close(NOW).unwrap();
    let again = open(dir.path(), 1, "Jtflsnh6DUEpc2Xx0hyhLw", true);
    assert_eq!(again.replay.image().topics, opened.replay.image().topics);
}

#[test]
fn a_log_with_voters_of_its_own_opens_from_each_of_its_snapshots() {
    let first = "00000000000000000000-0000000000.checkpoint";
    let mut images = Vec::new();
    for snapshots in [
        &[first][..],
        &[first, "00000000000000000138-0000000001.checkpoint"],
        &[first, "00000000000000000225-0000000001.checkpoint"],
        &[
            "00000000000000000138-0000000001.checkpoint",
            "00000000000000000225-0000000001.checkpoint",
        ],
    ] {
        let dir = directory(Some("dynamic-quorum.log"), snapshots, Some(DYNAMIC_STATE));
        let opened = open(dir.path(), 7, DYNAMIC_DIRECTORY, false);
        let mut image = opened.replay.image().clone();
        // The time of this start is in it.
        image.position.timestamp_ms = 0;
        images.push(image);
    }
    assert_eq!(images[0].topics.len(), 2);
    assert!(images.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_snapshot_alone_is_enough() {
    let dir = directory(None, &["00000000000000000225-0000000001.checkpoint"], None);
    let opened = open(dir.path(), 7, DYNAMIC_DIRECTORY, false);
    assert_eq!(opened.replay.image().topics.len(), 2);
    // Its controller has moved: two more records say where.
    assert_eq!(opened.quorum.next_offset(), Offset(225 + 3));
    let image = opened.replay.image().clone();
    opened.quorum.close(NOW).unwrap();
    let again = open(dir.path(), 7, DYNAMIC_DIRECTORY, false);
    assert_eq!(again.replay.image().topics, image.topics);
    assert_eq!(again.quorum.next_offset(), Offset(225 + 4));
}

#[test]
fn a_directory_that_was_only_formatted_begins_with_what_the_format_left() {
    for (snapshots, configured_voter) in [
        (&["00000000000000000000-0000000000.checkpoint"][..], false),
        (&[], true),
    ] {
        let dir = directory(None, snapshots, None);
        let directory_id = if configured_voter {
            "Jtflsnh6DUEpc2Xx0hyhLw"
        } else {
            DYNAMIC_DIRECTORY
        };
        let opened = open(dir.path(), 7, directory_id, configured_voter);
        let Some(Bootstrap::Records(records)) = opened.bootstrap else {
            panic!("no records")
        };
        assert_eq!(records.len(), 6);
        let mut replay = Replay::default();
        replay.apply_batch(&records, Default::default()).unwrap();
        assert_eq!(replay.image().features.metadata_version(), Some(30));
    }
}

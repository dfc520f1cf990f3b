//! The metadata log on disks that lose power, and on the files of Apache Kafka.

// Helpers outside `#[test]` functions may unwrap as tests may.
#![cfg(test)]

mod crashes;
mod cut_disk;
mod damage;
mod kafka_files;
mod lifecycle;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use controller::{ChosenLevels, bootstrap_records, default_levels, format_records};
use metadata::{Image, MetadataLog, MetadataRecord, RecordVersions, Replay};
use model::Uuid;
use quorum::{
    Bootstrap, LogError, OpenError, OpenQuorum, Opened, QuorumConfig, QuorumOfOne, Voter, VoterEndpoint,
    write_bootstrap, write_first_voter,
};
use storage::Disk;
use wire::internal::metadata_log::{PartitionRecord, TopicRecord};

pub(crate) const NOW: i64 = 1_800_000_000_000;

pub(crate) fn log_dir() -> PathBuf {
    PathBuf::from("/data")
}

pub(crate) fn folder() -> PathBuf {
    log_dir().join("__cluster_metadata-0")
}

pub(crate) fn voter() -> Voter {
    let endpoint = VoterEndpoint {
        name: "CONTROLLER".into(),
        host: "localhost".into(),
        port: 9093,
    };
    Voter {
        id: 1,
        directory_id: Uuid([5; 16]),
        endpoints: vec![endpoint],
    }
}

/// Formats a directory for a quorum that keeps its voters itself.
pub(crate) fn format(disk: &dyn Disk) -> Result<(), LogError> {
    let failed = |error| LogError::Disk {
        path: log_dir(),
        error,
    };
    disk.create_dir_all(&log_dir()).map_err(failed)?;
    disk.sync_dir(Path::new("/")).map_err(failed)?;
    let levels = default_levels(None, &ChosenLevels::new()).unwrap();
    write_bootstrap(disk, &log_dir(), &format_records(&levels), NOW)?;
    write_first_voter(disk, &log_dir(), &voter(), NOW)
}

pub(crate) fn try_open(disk: Arc<dyn Disk>, config: QuorumConfig) -> Result<Opened, OpenError> {
    OpenQuorum {
        disk,
        log_dir: log_dir(),
        voter: voter(),
        configured_voter: false,
        config,
    }
    .open(NOW)
}

/// A node's use of its log: the loop of the broker's controller, without its thread.
pub(crate) struct Node {
    pub(crate) log: QuorumOfOne,
    pub(crate) replay: Replay,
    pub(crate) now_ms: i64,
}

impl Node {
    /// Opens the log and begins it where it is new.
    pub(crate) fn start(disk: Arc<dyn Disk>, config: QuorumConfig) -> Result<Node, OpenError> {
        let opened = try_open(disk, config)?;
        let mut node = Node {
            log: opened.quorum,
            replay: opened.replay,
            now_ms: NOW,
        };
        if let Some(bootstrap) = opened.bootstrap {
            let Bootstrap::Records(records) = bootstrap else {
                panic!("a format that was whole left no records")
            };
            node.write(&bootstrap_records(&records, 1))?;
        }
        Ok(node)
    }

    pub(crate) fn image(&self) -> &Image {
        self.replay.image()
    }

    /// Appends, applies and commits one decision.
    pub(crate) fn write(&mut self, records: &[MetadataRecord]) -> Result<(), LogError> {
        let versions = RecordVersions::of(&self.image().features);
        let position = self.log.append(records, versions, self.now_ms)?;
        self.replay.apply_batch(records, position).unwrap();
        self.log.commit()
    }

    /// Upkeep, with snapshots written at once.
    pub(crate) fn maintain(&mut self) -> Result<(), LogError> {
        if let Some(job) = self.log.maintain(&self.replay.image().clone(), self.now_ms)? {
            job.run();
            self.log.maintain(&self.replay.image().clone(), self.now_ms)?;
        }
        Ok(())
    }

    pub(crate) fn topic_names(&self) -> Vec<String> {
        self.image()
            .topics
            .iter()
            .map(|topic| topic.name.to_string())
            .collect()
    }
}

/// The records of a topic with some partitions.
pub(crate) fn topic(number: u32, partitions: i32) -> Vec<MetadataRecord> {
    let topic_id = Uuid(
        [number.to_be_bytes(), [1; 4], [2; 4], [3; 4]]
            .concat()
            .try_into()
            .unwrap(),
    );
    let name = format!("topic-{number:06}");
    let mut records: Vec<MetadataRecord> = vec![
        TopicRecord {
            name: name.into(),
            topic_id,
        }
        .into(),
    ];
    records.extend((0..partitions).map(|partition_id| {
        PartitionRecord {
            partition_id,
            topic_id,
            replicas: vec![1],
            isr: vec![1],
            leader: 1,
            leader_epoch: 0,
            partition_epoch: 0,
            directories: vec![voter().directory_id],
            ..PartitionRecord::default()
        }
        .into()
    }));
    records
}

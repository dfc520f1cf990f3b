//! What a format leaves for the first start, in the directory of the metadata log: the first records, and for a quorum
//! that keeps its voters itself the first snapshot (KIP-853).
//!
//! Everything is durable when a call returns. Apache Kafka's own format is not: after a power cut its file may be empty.

use std::path::Path;

use bytes::Bytes;
use metadata::batch::BatchWriter;
use metadata::snapshot::{self, SnapshotError, SnapshotFrame, SnapshotId};
use metadata::{MetadataRecord, RecordVersions};
use model::{CLUSTER_METADATA, LeaderEpoch, Offset};
use storage::Disk;

use crate::error::{LogError, OpenError, disk, log_disk};
use crate::snapshots::encode_whole;
use crate::voters::Voter;

/// The file with the first records.
pub const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";

/// The folder of the metadata log.
pub(crate) fn folder() -> String {
    format!("{CLUSTER_METADATA}-0")
}

/// Writes the first records.
pub fn write_bootstrap(
    disk: &dyn Disk,
    log_dir: &Path,
    records: &[MetadataRecord],
    now_ms: i64,
) -> Result<(), LogError> {
    let content = encode_whole(|out| {
        let mut writer = BatchWriter::new(Offset::ZERO, LeaderEpoch(0), now_ms);
        let versions = RecordVersions::at(metadata::image::METADATA_VERSION_MAX);
        let all = |out: &mut dyn FnMut(MetadataRecord)| records.iter().cloned().for_each(out);
        snapshot::write_records(&mut writer, &SnapshotFrame::default(), versions, all, out)
    })?;
    let path = log_dir.join(BOOTSTRAP_CHECKPOINT);
    disk.replace(&path, &content).map_err(log_disk(&path))
}

/// Makes this node the only voter of a quorum that keeps its voters itself.
pub fn write_first_voter(
    disk: &dyn Disk,
    log_dir: &Path,
    voter: &Voter,
    now_ms: i64,
) -> Result<(), LogError> {
    let dir = log_dir.join(folder());
    disk.create_dir_all(&dir).map_err(log_disk(&dir))?;
    disk.sync_dir(log_dir).map_err(log_disk(log_dir))?;
    let content = encode_whole(|out| {
        let mut writer = BatchWriter::new(Offset::ZERO, LeaderEpoch(0), now_ms);
        let frame = SnapshotFrame {
            last_contained_log_timestamp_ms: now_ms,
            quorum: voter.records().to_vec(),
        };
        let versions = RecordVersions::at(metadata::image::METADATA_VERSION_MAX);
        snapshot::write_records(&mut writer, &frame, versions, |_| {}, out)
    })?;
    let path = dir.join(SnapshotId::default().file_name());
    disk.replace(&path, &content).map_err(log_disk(&path))
}

/// What a format left.
#[derive(Clone, Debug, PartialEq)]
pub enum Bootstrap {
    /// These records.
    Records(Vec<MetadataRecord>),
    /// Nothing, or a file that was never whole: Apache Kafka's format does not survive a power cut.
    Missing,
}

/// Reads the first records.
pub(crate) fn read_bootstrap(disk_of: &dyn Disk, log_dir: &Path) -> Result<Bootstrap, OpenError> {
    let path = log_dir.join(BOOTSTRAP_CHECKPOINT);
    let Some(content) = disk_of.read_if_there(&path).map_err(disk(&path))? else {
        return Ok(Bootstrap::Missing);
    };
    let never_written = content.iter().all(|byte| *byte == 0);
    let mut all = Vec::new();
    let read = snapshot::read_records(&Bytes::from(content), &mut |records| {
        all.extend(records);
        Ok::<(), SnapshotError>(())
    });
    match read {
        Ok(_) => Ok(Bootstrap::Records(all)),
        Err(_) if never_written => Ok(Bootstrap::Missing),
        Err(error) => {
            let what = format!("{error}; the cluster holds nothing yet, so format the directory again");
            Err(OpenError::File { path, what })
        }
    }
}

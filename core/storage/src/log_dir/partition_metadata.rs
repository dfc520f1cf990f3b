//! `partition.metadata`: the topic id of a partition's folder (rules 17, 105).

use std::io;
use std::path::Path;

use model::Uuid;

use crate::disk::Disk;
use crate::log::OpenError;

const PARTITION_METADATA: &str = "partition.metadata";

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// The topic's id.
    pub topic_id: Uuid,
}

impl PartitionMetadata {
    /// Reads the content; `None` when it makes no sense.
    pub fn parse(content: &[u8]) -> Option<PartitionMetadata> {
        let mut lines = std::str::from_utf8(content).ok()?.lines();
        let version = lines.next()?.strip_prefix("version:")?.trim();
        let topic_id = lines.next()?.strip_prefix("topic_id:")?.trim();
        let topic_id: Uuid = topic_id.parse().ok()?;
        (version == "0" && !topic_id.is_zero()).then_some(PartitionMetadata { topic_id })
    }

    /// The content.
    pub fn render(&self) -> String {
        format!("version: 0\ntopic_id: {}", self.topic_id)
    }

    /// Reads the file in the folder of a partition; `None` when there is none.
    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<PartitionMetadata>, OpenError> {
        let path = dir.join(PARTITION_METADATA);
        let content = disk.read_if_there(&path).map_err(|error| OpenError::Disk {
            path: path.display().to_string(),
            error,
        })?;
        let Some(content) = content else { return Ok(None) };
        match PartitionMetadata::parse(&content) {
            Some(metadata) => Ok(Some(metadata)),
            None => Err(OpenError::Content {
                path: path.display().to_string(),
                what: "expected the lines `version: 0` and `topic_id: ` with an id".to_owned(),
            }),
        }
    }

    /// Writes the file, durably.
    pub(crate) fn write(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        disk.replace(&dir.join(PARTITION_METADATA), self.render().as_bytes())
    }
}

//! How far the log is known to be durable: a lower bound, noted now and then beside the log.
//!
//! A torn tail is cut off at the next start, as it must be: nobody was told of it. Damage below this bound is not a torn
//! tail, and cutting it off would lose topics in silence; then the node does not start.

use std::path::Path;

use model::{CLUSTER_METADATA, Offset, TopicPartition};
use storage::{Disk, OffsetMap, parse_offsets, render_offsets};

use crate::error::{LogError, OpenError, disk, log_disk};

/// In the format of Kafka's checkpoint files; Apache Kafka leaves the file alone.
const SYNCED_OFFSET: &str = "synced-offset-checkpoint";

/// What was noted; 0 for nothing, or for a file that cannot be read.
pub(crate) fn read(disk_of: &dyn Disk, dir: &Path) -> Result<Offset, OpenError> {
    let path = dir.join(SYNCED_OFFSET);
    let Some(content) = disk_of.read_if_there(&path).map_err(disk(&path))? else {
        return Ok(Offset::ZERO);
    };
    let offsets = parse_offsets(&content).unwrap_or_default();
    Ok(offsets.get(&partition()).copied().unwrap_or(Offset::ZERO))
}

pub(crate) fn write(disk: &dyn Disk, dir: &Path, offset: Offset) -> Result<(), LogError> {
    let path = dir.join(SYNCED_OFFSET);
    let offsets: OffsetMap = [(partition(), offset)].into_iter().collect();
    disk.replace(&path, render_offsets(&offsets).as_bytes())
        .map_err(log_disk(&path))
}

fn partition() -> TopicPartition {
    TopicPartition::new(CLUSTER_METADATA, 0)
}

//! Snapshots as files: found, read, written and removed (rule 92).

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use metadata::Image;
use metadata::batch::{ControlRecord, WriteError};
use metadata::snapshot::{self, SnapshotFrame, SnapshotId};
use storage::Disk;

use crate::error::{LogError, OpenError, disk, log_disk};

/// A file that is still written, or was when its process ended.
const UNFINISHED: &str = ".checkpoint.part";
/// A small one that a format wrote.
const UNFINISHED_FORMAT: &str = ".checkpoint.tmp";
/// A file that Apache Kafka was about to remove.
const REMOVED: &str = ".checkpoint.deleted";

/// Removes what a crash left behind.
pub(crate) fn remove_leftovers(disk_of: &dyn Disk, dir: &Path) -> Result<(), OpenError> {
    for entry in disk_of.list(dir).map_err(disk(dir))? {
        if [UNFINISHED, UNFINISHED_FORMAT, REMOVED]
            .iter()
            .any(|ending| entry.name.ends_with(ending))
        {
            let path = dir.join(&entry.name);
            disk_of.remove_file_if_there(&path).map_err(disk(&path))?;
        }
    }
    Ok(())
}

/// The snapshots in the folder, oldest first.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<SnapshotId>> {
    let mut ids: Vec<SnapshotId> = disk
        .list(dir)?
        .iter()
        .filter_map(|entry| SnapshotId::parse(&entry.name))
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

/// The newest snapshot that can be read whole, and what is wrong with newer ones.
pub(crate) struct Newest {
    pub(crate) snapshot: Option<(SnapshotId, Image, SnapshotFrame)>,
    pub(crate) damaged: Vec<String>,
}

pub(crate) fn read_newest(disk_of: &dyn Disk, dir: &Path, ids: &[SnapshotId]) -> Result<Newest, OpenError> {
    let mut newest = Newest {
        snapshot: None,
        damaged: Vec::new(),
    };
    for id in ids.iter().rev() {
        let path = dir.join(id.file_name());
        let bytes = Bytes::from(disk_of.read(&path).map_err(disk(&path))?);
        match snapshot::read_image(&bytes, *id) {
            Ok((image, frame)) => {
                newest.snapshot = Some((*id, image, frame));
                break;
            }
            Err(error) => newest
                .damaged
                .push(format!("{} is damaged: {error}", path.display())),
        }
    }
    Ok(newest)
}

/// What became of a snapshot that is written on another thread.
pub(crate) type Outcome = Arc<Mutex<Option<Result<SnapshotId, LogError>>>>;

/// A snapshot to be written: may be done on any thread, while the log goes on.
pub struct SnapshotJob {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) image: Image,
    pub(crate) quorum: Vec<ControlRecord>,
    pub(crate) now_ms: i64,
    pub(crate) outcome: Outcome,
}

impl std::fmt::Debug for SnapshotJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotJob")
            .field("position", &self.image.position)
            .finish_non_exhaustive()
    }
}

impl SnapshotJob {
    /// Writes the snapshot; the log learns of it when it is maintained the next time.
    pub fn run(self) {
        let id = SnapshotId::at(self.image.position);
        let written = write(&*self.disk, &self.dir, id, &mut |out| {
            snapshot::write_image(&self.image, self.quorum.clone(), self.now_ms, out)
        });
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(written.map(|()| id));
    }
}

/// Takes the pieces of a snapshot as they are encoded.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Bytes) -> Result<(), LogError>;

/// Writes a snapshot so that it is there whole or not at all: under another name, synced, then renamed.
pub(crate) fn write(
    disk: &dyn Disk,
    dir: &Path,
    id: SnapshotId,
    encode: &mut dyn FnMut(Sink<'_>) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let path = dir.join(id.file_name());
    let unfinished = path.with_extension("checkpoint.part");
    let written = write_unfinished(disk, &unfinished, encode);
    if written.is_err() {
        // The room is needed elsewhere; what cannot be removed goes at the next start.
        let _ = disk.remove_file_if_there(&unfinished);
    }
    written?;
    disk.rename(&unfinished, &path).map_err(log_disk(&path))?;
    disk.sync_dir(dir).map_err(log_disk(&path))
}

fn write_unfinished(
    disk: &dyn Disk,
    path: &Path,
    encode: &mut dyn FnMut(Sink<'_>) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let failed = log_disk(path);
    let file = disk.open_or_create(path).map_err(&failed)?;
    file.set_len(0).map_err(&failed)?;
    let mut position = 0;
    encode(&mut |piece| {
        file.write_all_at(&[IoSlice::new(&piece)], position)
            .map_err(log_disk(path))?;
        position += piece.len() as u64;
        Ok(())
    })?;
    file.sync_data().map_err(&failed)
}

/// The bytes of a snapshot of a few records, in one piece.
pub(crate) fn encode_whole(
    encode: impl FnOnce(&mut dyn FnMut(Bytes) -> Result<(), WriteError>) -> Result<(), WriteError>,
) -> Result<Vec<u8>, WriteError> {
    let mut whole = Vec::new();
    encode(&mut |piece| {
        whole.extend_from_slice(&piece);
        Ok(())
    })?;
    Ok(whole)
}

//! Reads the segments of the metadata log as files, before the log is opened: what opening it would cut off must be
//! known before it is gone.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use model::Offset;
use storage::{Disk, DiskFile};
use wire::records::{Batch, batches};

use crate::error::{Fault, OpenError, disk};

/// How much is read at a time.
const WINDOW_BYTES: u64 = 1 << 20;

/// Where the sound part of the log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SoundEnd {
    /// Where the first segment begins; `None` without segments.
    pub(crate) start: Option<Offset>,
    /// The offset after the last sound batch.
    pub(crate) end: Offset,
    /// What follows it, if anything does.
    pub(crate) fault: Fault,
}

/// Hands out every batch up to the first that is not whole, not sound or not in its place.
pub(crate) fn read_sound(
    disk: &dyn Disk,
    dir: &Path,
    out: &mut dyn FnMut(Batch) -> Result<(), OpenError>,
) -> Result<SoundEnd, OpenError> {
    let segments = segments(disk, dir)?;
    let start = segments.first().map(|(base, _)| *base);
    let mut sound = SoundEnd {
        start,
        end: start.unwrap_or(Offset::ZERO),
        fault: Fault::default(),
    };
    for (base, path) in segments {
        if base != sound.end {
            sound.fault = Fault(Some(format!("offsets {} to {base} are missing", sound.end)));
            break;
        }
        read_segment(disk, &path, &mut sound, out)?;
        if sound.fault.0.is_some() {
            break;
        }
    }
    Ok(sound)
}

fn segments(disk: &dyn Disk, dir: &Path) -> Result<Vec<(Offset, PathBuf)>, OpenError> {
    let entries = disk.list(dir).map_err(crate::error::disk(dir))?;
    let base = |name: &str| -> Option<Offset> {
        let digits = name.strip_suffix(".log").filter(|digits| digits.len() == 20)?;
        digits.parse().ok().map(Offset)
    };
    let named = entries.iter().filter(|entry| !entry.is_dir);
    Ok(named
        .filter_map(|entry| Some((base(&entry.name)?, dir.join(&entry.name))))
        .collect())
}

fn read_segment(
    disk_of: &dyn Disk,
    path: &Path,
    sound: &mut SoundEnd,
    out: &mut dyn FnMut(Batch) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    let file = disk_of.open(path).map_err(disk(path))?;
    // Without this the cache may show what a failed sync of an earlier life has not brought to the disk (rule 109).
    file.reload(0).map_err(disk(path))?;
    let length = file.len().map_err(disk(path))?;
    let (mut position, mut window_bytes) = (0, WINDOW_BYTES);
    while position < length {
        let window = read_window(&*file, path, position, window_bytes.min(length - position))?;
        let mut used = 0;
        let mut fault = None;
        for batch in batches(&window) {
            match batch.and_then(|batch| batch.verify_crc().map(|()| batch)) {
                Ok(batch) if batch.header().base_offset == sound.end => {
                    used += batch.bytes().len() as u64;
                    sound.end = batch.header().next_offset();
                    out(batch)?;
                }
                Ok(batch) => {
                    fault = Some(format!(
                        "offset {} where {} belongs",
                        batch.header().base_offset,
                        sound.end
                    ));
                    break;
                }
                Err(error) => {
                    fault = Some(error.to_string());
                    break;
                }
            }
        }
        position += used;
        let window_ends_inside = (window.len() as u64) < length - (position - used);
        match fault {
            // A batch that goes on behind the window.
            Some(_) if used > 0 && window_ends_inside => window_bytes = WINDOW_BYTES,
            Some(_) if window_ends_inside => window_bytes = window_bytes.saturating_mul(2),
            Some(what) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                sound.fault = Fault(Some(format!("{name}, byte {position}: {what}")));
                return Ok(());
            }
            None => window_bytes = WINDOW_BYTES,
        }
    }
    Ok(())
}

fn read_window(file: &dyn DiskFile, path: &Path, position: u64, length: u64) -> Result<Bytes, OpenError> {
    let mut window = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while let Some(rest) = window.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let count = file.read_at(rest, position + filled as u64).map_err(disk(path))?;
        if count == 0 {
            break;
        }
        filled += count;
    }
    window.truncate(filled);
    Ok(window.into())
}

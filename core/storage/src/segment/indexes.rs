//! The indexes of an active segment: fed with each batch, by the same rule whether it is appended or recovered.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use model::Offset;

use super::files::SegmentFiles;
use super::index::{ActiveIndex, Floor, IndexEntry, OffsetEntry, TimeEntry, absolute, relative};
use super::scan::Scanned;
use crate::disk::{Disk, DiskFile};

/// The newest batches whose places are remembered: who reads at the end of a log needs no index.
const RECENT: usize = 64;

/// How far index files may grow (`segment.index.bytes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexLimits {
    pub(crate) bytes: u32,
}

impl IndexLimits {
    fn entries<E: IndexEntry>(self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX) / E::SIZE
    }

    /// The size of an `.index` file while its segment is active.
    pub(crate) fn offset_bytes(self) -> u64 {
        (self.entries::<OffsetEntry>() * OffsetEntry::SIZE) as u64
    }

    /// The size of a `.timeindex` file while its segment is active.
    pub(crate) fn time_bytes(self) -> u64 {
        (self.entries::<TimeEntry>() * TimeEntry::SIZE) as u64
    }
}

/// A batch and its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) position: u64,
    pub(crate) size: u64,
    pub(crate) base_offset: Offset,
    pub(crate) last_offset: Offset,
    pub(crate) max_timestamp: i64,
}

impl Placed {
    pub(crate) fn next_offset(&self) -> Offset {
        Offset(self.last_offset.0.saturating_add(1))
    }
}

impl From<&Scanned> for Placed {
    fn from(entry: &Scanned) -> Placed {
        Placed {
            position: entry.position,
            size: entry.size,
            base_offset: entry.base_offset,
            last_offset: entry.last_offset,
            max_timestamp: entry.max_timestamp,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Indexes {
    base_offset: Offset,
    pub(super) offsets: ActiveIndex<OffsetEntry>,
    pub(super) times: ActiveIndex<TimeEntry>,
    bytes_since_entry: u64,
    largest: Option<(i64, Offset)>,
    pub(super) recent: VecDeque<Placed>,
}

impl Indexes {
    pub(crate) fn new(base_offset: Offset) -> Indexes {
        Indexes {
            base_offset,
            offsets: ActiveIndex::new(),
            times: ActiveIndex::new(),
            bytes_since_entry: 0,
            largest: None,
            recent: VecDeque::new(),
        }
    }

    /// The indexes that a clean end has left; `None` where a file is missing or is no index.
    pub(crate) fn load(disk: &dyn Disk, files: &SegmentFiles) -> io::Result<Option<Indexes>> {
        let open = |path| match disk.open_read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => file.map(Some),
        };
        let (Some(offsets), Some(times)) = (open(&files.offset_index())?, open(&files.time_index())?) else {
            return Ok(None);
        };
        let odd = offsets.len()? % OffsetEntry::SIZE as u64 + times.len()? % TimeEntry::SIZE as u64;
        if odd > 0 {
            return Ok(None);
        }
        let mut indexes = Indexes::new(files.base_offset);
        indexes.offsets = ActiveIndex::load(&*offsets)?;
        indexes.times = ActiveIndex::load(&*times)?;
        let last = indexes.times.last();
        indexes.largest = last.map(|entry| {
            (
                entry.timestamp,
                absolute(files.base_offset, entry.relative_offset),
            )
        });
        Ok(Some(indexes))
    }

    /// Whether nothing of it is in the files: what they hold is of no use.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.offsets.is_unwritten() && self.times.is_unwritten()
    }

    /// The place of the batch that the last entry names, and its last offset.
    pub(crate) fn last_position(&self) -> Option<(u64, Offset)> {
        let entry = self.offsets.last()?;
        Some((
            u64::from(entry.position),
            absolute(self.base_offset, entry.relative_offset),
        ))
    }

    /// The largest timestamp and the last offset of its batch.
    pub(crate) fn largest(&self) -> Option<(i64, Offset)> {
        self.largest
    }

    /// Takes the next batch in: an entry is due once more than `interval` bytes lie behind the last.
    pub(crate) fn take(&mut self, batch: &Placed, interval: u32) {
        self.note(batch);
        if self.bytes_since_entry > u64::from(interval) {
            let place = relative(self.base_offset, batch.last_offset).zip(u32::try_from(batch.position).ok());
            if let Some((relative_offset, position)) = place {
                self.offsets.push(OffsetEntry {
                    relative_offset,
                    position,
                });
            }
            self.push_largest();
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry = self.bytes_since_entry.saturating_add(batch.size);
    }

    /// Takes a batch in that was there before the indexes were loaded: its entry, if it was due, is there too.
    pub(crate) fn take_known(&mut self, batch: &Placed, interval: u32) {
        if self
            .last_position()
            .is_some_and(|(position, _)| position == batch.position)
        {
            self.bytes_since_entry = 0;
            self.note(batch);
            self.bytes_since_entry = batch.size;
        } else {
            self.take(batch, interval);
        }
    }

    fn note(&mut self, batch: &Placed) {
        if batch.max_timestamp > self.largest.map_or(-1, |(timestamp, _)| timestamp) {
            self.largest = Some((batch.max_timestamp, batch.last_offset));
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(*batch);
    }

    fn push_largest(&mut self) {
        if let Some((timestamp, offset)) = self.largest
            && let Some(relative_offset) = relative(self.base_offset, offset)
        {
            self.times.push(TimeEntry {
                timestamp,
                relative_offset,
            });
        }
    }

    /// Whether a file has no room for another entry; the time index keeps one for the end.
    pub(crate) fn is_full(&self, limits: IndexLimits) -> bool {
        self.offsets.len() >= limits.entries::<OffsetEntry>()
            || self.times.len() >= limits.entries::<TimeEntry>().saturating_sub(1)
    }

    /// Writes entries to the files once enough have gathered.
    pub(crate) fn write_portions(&mut self, disk: &dyn Disk, files: &SegmentFiles) -> io::Result<()> {
        if self.offsets.has_portion() {
            self.offsets.write_rest(&*disk.open(&files.offset_index())?)?;
        }
        if self.times.has_portion() {
            self.times.write_rest(&*disk.open(&files.time_index())?)?;
        }
        Ok(())
    }

    /// Completes the indexes: the last time entry, the rest of both, no zeros. Yields the files.
    pub(crate) fn finish(
        &mut self,
        disk: &dyn Disk,
        files: &SegmentFiles,
    ) -> io::Result<[Arc<dyn DiskFile>; 2]> {
        self.push_largest();
        let offsets = disk.open_or_create(&files.offset_index())?;
        self.offsets.write_rest(&*offsets)?;
        offsets.set_len(self.offsets.file_size())?;
        let times = disk.open_or_create(&files.time_index())?;
        self.times.write_rest(&*times)?;
        times.set_len(self.times.file_size())?;
        Ok([offsets, times])
    }

    /// The place of the batch that holds an offset or follows it, when it is among the newest.
    pub(super) fn recent(&self, offset: Offset) -> Option<Placed> {
        self.recent
            .front()
            .filter(|oldest| oldest.base_offset <= offset)?;
        let index = self.recent.partition_point(|batch| batch.last_offset < offset);
        self.recent.get(index).copied()
    }

    /// The entry to begin a scan for an offset at.
    pub(super) fn floor_offset(&self, offset: Offset) -> Floor<OffsetEntry> {
        match relative(self.base_offset, offset) {
            Some(relative) => self.offsets.floor(relative),
            None if offset < self.base_offset => Floor::Before,
            None => self.offsets.floor(u32::MAX),
        }
    }
}

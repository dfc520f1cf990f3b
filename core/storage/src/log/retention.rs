//! Rolling to a new segment, and letting the oldest go (rules 102, 122).
//!
//! A segment that leaves the log keeps its files for `file.delete.delay.ms`, under their names: the start of the log
//! says that they no longer count. They are removed oldest first, each durably before the next, so that no crash can
//! leave a hole between what is there.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use model::Offset;

use super::{AppendError, Log, ReadError};
use crate::disk::{Disk, DiskFile};
use crate::producers::encode_snapshot;
use crate::segment::{FileKind, Segment, SegmentFiles};

/// A segment that left the log.
#[derive(Clone, Debug)]
pub(super) struct Retired {
    segment: Arc<Segment>,
    due_ms: i64,
    /// Snapshots of producers up to this change know what only this segment says besides.
    after_change: u64,
}

/// Segments that left the log, whose files wait to be removed. Removed without any lock held.
#[derive(Debug)]
pub struct DeletedSegments {
    disk: Arc<dyn Disk>,
    dir: std::path::PathBuf,
    segments: VecDeque<Arc<Segment>>,
}

impl DeletedSegments {
    /// Removes the files, oldest segment first, each durably before the next: a crash leaves no hole.
    pub fn remove(mut self) -> io::Result<()> {
        while self.remove_oldest()? {}
        Ok(())
    }

    /// Removes the files of the oldest segment, durably. `false` when there is none.
    pub fn remove_oldest(&mut self) -> io::Result<bool> {
        let Some(segment) = self.segments.pop_front() else {
            return Ok(false);
        };
        segment.remove_files()?;
        self.disk.sync_dir(&self.dir)?;
        Ok(true)
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

impl Log {
    /// Seals the active segment and begins another at `base_offset`. On an error the active segment stays, and what may
    /// be there of the other has to go before anything is appended: [`Log::remove_orphan`].
    pub(super) fn roll_to(&mut self, base_offset: Offset, now_ms: i64) -> io::Result<()> {
        let active = self.active();
        let empty = active.size() == 0;
        if empty && active.base_offset() == base_offset {
            return Ok(());
        }
        self.orphan = Some(base_offset);
        let limits = self.index_limits();
        let next = Arc::new(Segment::create(
            &self.place.disk,
            &self.dir,
            base_offset,
            limits,
            now_ms,
        )?);
        let mut files = vec![next.log_file()?];
        files.extend(self.take_snapshot()?);
        if !empty {
            files.extend(active.seal()?);
        }
        self.durability.add(files);
        let segments = Arc::make_mut(&mut self.view.segments);
        // An empty segment that cannot hold the offset: nothing of it is needed.
        self.orphan = empty.then_some(active.base_offset());
        segments.retain(|segment| !empty || segment.base_offset() != active.base_offset());
        segments.push(next);
        self.remove_orphan()
    }

    /// Removes a segment that does not belong to the log: appending goes on only when it is gone, for recovery would
    /// take it for a part. That it is gone is durable with the next sync.
    pub(super) fn remove_orphan(&mut self) -> io::Result<()> {
        let Some(base_offset) = self.orphan else {
            return Ok(());
        };
        let files = SegmentFiles::new(&self.dir, base_offset);
        for kind in FileKind::ALL
            .into_iter()
            .filter(|kind| *kind != FileKind::Snapshot)
        {
            self.place.disk.remove_file_if_there(&files.path(kind))?;
        }
        self.durability.add(Vec::new());
        self.orphan = None;
        Ok(())
    }

    /// Writes the state of the producers at the end of the log, unless it is there already (rule 30). Yields the file.
    pub(super) fn take_snapshot(&mut self) -> io::Result<Option<Arc<dyn DiskFile>>> {
        let end = self.view.log_end_offset;
        if self.snapshot_offset.unwrap_or(Offset::ZERO) >= end {
            return Ok(None);
        }
        let content = encode_snapshot(&self.producers).map_err(io::Error::other)?;
        let file = self
            .place
            .disk
            .write(&SegmentFiles::new(&self.dir, end).snapshot(), &content)?;
        self.snapshot_offset = Some(end);
        Ok(Some(file))
    }

    /// Moves the start up (rule 38); an offset that is not above it, or one above the end, changes nothing. Whether it
    /// moved. The caller keeps it at or below the high watermark, and writes the checkpoint.
    pub fn set_log_start_offset(&mut self, offset: Offset) -> bool {
        if offset <= self.view.log_start_offset || offset > self.view.log_end_offset {
            return false;
        }
        self.view.log_start_offset = offset;
        // The file follows with the next epoch or at the end; opening cuts it as this does.
        Arc::make_mut(&mut self.view.epochs).truncate_start(offset);
        self.producers.truncate_start(offset);
        true
    }

    /// Retention by time, size and log start (rule 122): takes whole segments below the high watermark out of the log.
    /// Their files wait for [`Log::take_deleted`]. Returns the number of segments.
    pub fn delete_old_segments(&mut self, now_ms: i64, high_watermark: Offset) -> Result<usize, ReadError> {
        let mut count = self.count_below_start();
        if self.config.cleanup.delete {
            count = count.max(self.count_expired(now_ms, high_watermark)?);
            count = count.max(self.count_beyond_size(high_watermark));
        }
        if count == 0 {
            return Ok(0);
        }
        if count == self.view.segments.len() {
            self.roll_to(self.view.log_end_offset, now_ms)?;
        }
        let due_ms = now_ms.saturating_add(self.config.file_delete_delay_ms);
        let after_change = self.durability.newest_change();
        let segments = Arc::make_mut(&mut self.view.segments);
        let gone = segments.drain(..count.min(segments.len().saturating_sub(1)));
        self.retired.extend(gone.map(|segment| Retired {
            segment,
            due_ms,
            after_change,
        }));
        if let Some(first) = self.view.segments.first().map(|segment| segment.base_offset()) {
            self.set_log_start_offset(first);
        }
        Ok(count)
    }

    /// The offset after a segment.
    fn end_of(&self, index: usize) -> Offset {
        let next = self.view.segments.get(index.saturating_add(1));
        next.map_or(self.view.log_end_offset, |next| next.base_offset())
    }

    /// How many of the oldest segments fit `goes`, are below the high watermark, and hold anything at all.
    fn count_while(
        &self,
        high_watermark: Offset,
        mut goes: impl FnMut(&Segment) -> Result<bool, ReadError>,
    ) -> Result<usize, ReadError> {
        for (index, segment) in self.view.segments.iter().enumerate() {
            if segment.size() == 0 || self.end_of(index) > high_watermark || !goes(segment)? {
                return Ok(index);
            }
        }
        Ok(self.view.segments.len())
    }

    fn count_below_start(&self) -> usize {
        let below = |index: &usize| self.end_of(*index) <= self.view.log_start_offset;
        (0..self.view.segments.len().saturating_sub(1))
            .take_while(below)
            .count()
    }

    fn count_expired(&self, now_ms: i64, high_watermark: Offset) -> Result<usize, ReadError> {
        let Some(retention_ms) = self.config.retention_ms else {
            return Ok(0);
        };
        self.count_while(high_watermark, |segment| {
            let largest = segment.largest_timestamp()?;
            Ok(largest.is_some_and(|(timestamp, _)| now_ms.saturating_sub(timestamp) > retention_ms))
        })
    }

    fn count_beyond_size(&self, high_watermark: Offset) -> usize {
        let Some(retention_bytes) = self.config.retention_bytes else {
            return 0;
        };
        let mut beyond = self.size().saturating_sub(retention_bytes);
        let counted = self.count_while(high_watermark, |segment| {
            let goes = segment.size() <= beyond;
            beyond = beyond.saturating_sub(segment.size());
            Ok(goes)
        });
        counted.unwrap_or(0)
    }

    /// Whether segments left the log whose files are still there.
    pub fn has_deleted(&self) -> bool {
        !self.retired.is_empty()
    }

    /// The segments whose `file.delete.delay.ms` is over, and without which all that the log says is durable. What is not
    /// yet waits for whoever syncs [`Log::dirty`]: a sync here might take the report of a failure from that one, whose own
    /// sync would then succeed for what is lost (rule 109).
    pub fn take_deleted(&mut self, now_ms: i64) -> Option<DeletedSegments> {
        let durability = &self.durability;
        let due = self.retired.partition_point(|retired| {
            retired.due_ms <= now_ms && durability.is_durable(retired.after_change)
        });
        if due == 0 {
            return None;
        }
        let segments = self.retired.drain(..due).map(|retired| retired.segment).collect();
        Some(DeletedSegments {
            disk: Arc::clone(&self.place.disk),
            dir: self.place.dir.clone(),
            segments,
        })
    }
}

impl From<ReadError> for AppendError {
    fn from(error: ReadError) -> AppendError {
        match error {
            ReadError::Disk(error) => AppendError::Disk(error),
            other => AppendError::Disk(io::Error::other(other)),
        }
    }
}

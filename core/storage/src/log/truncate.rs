//! Cutting a log at its end (rules 32, 70, 73). Rare, and done on no network thread: everything is synced on the way,
//! newest first, so that a crash in the middle leaves a shorter log and never one with a hole.

use std::io;
use std::sync::Arc;

use model::Offset;

use super::recovery::remove_segments;
use super::replay::{Rebuild, Replay, drop_snapshots_above};
use super::{Log, ReadError};
use crate::producers::Producers;
use crate::segment::{Checksums, RecoverHow, Segment};

impl Log {
    /// Removes everything from `offset` on, durably. Where `offset` is inside a batch, the whole batch goes: the end is
    /// then where it began. The caller has lowered the recovery point in its checkpoint before: what is appended below
    /// the old one afterwards would not be recovered.
    pub fn truncate_to(&mut self, offset: Offset, now_ms: i64) -> Result<(), ReadError> {
        self.clear_leftovers()?;
        let first = self
            .view
            .segments
            .first()
            .map_or(Offset::ZERO, |segment| segment.base_offset());
        if offset < first {
            return Ok(self.truncate_fully_and_start_at(offset.max(Offset::ZERO), now_ms)?);
        }
        if offset < self.view.log_end_offset {
            let result = self.cut_at(offset, now_ms);
            if result.is_err() {
                self.set_offline();
            }
            result?;
        }
        let mut epochs = (*self.view.epochs).clone();
        if epochs.truncate_end(self.view.log_end_offset) {
            epochs.store(&*self.place.disk)?;
            self.view.epochs = Arc::new(epochs);
        }
        Ok(())
    }

    fn cut_at(&mut self, offset: Offset, now_ms: i64) -> Result<(), ReadError> {
        let holder = self
            .view
            .segments
            .partition_point(|segment| segment.base_offset() <= offset)
            .saturating_sub(1);
        let segments = Arc::make_mut(&mut self.view.segments);
        let newer = segments.split_off(holder.saturating_add(1));
        let segment = self.active();
        let (located, size) = segment.locate(offset)?;
        let (position, end) = located.map_or((size, offset), |batch| {
            (batch.position, batch.base_offset.min(offset))
        });
        self.view.log_end_offset = end;
        self.durability.truncated(end);
        let disk = Arc::clone(&self.place.disk);
        remove_segments(&*disk, &self.place.dir, newer)?;
        segment.cut(position)?;
        drop_snapshots_above(&*disk, &self.place.dir, end)?;
        // They are gone for good before what is appended next counts as durable.
        self.durability.add(Vec::new());
        self.reindex(&segment, now_ms)?;
        self.view.log_start_offset = self.view.log_start_offset.min(end);
        Ok(())
    }

    /// Reads the segment that is the last now: its indexes and the producers follow from what is in it.
    fn reindex(&mut self, segment: &Segment, now_ms: i64) -> Result<(), ReadError> {
        let how = RecoverHow {
            interval: self.config.index_interval_bytes,
            limits: self.index_limits(),
            now_ms,
            checksums: Checksums::Skipped,
            doubted_from: None,
        };
        let replay = Replay {
            disk: Arc::clone(&self.place.disk),
            dir: Arc::clone(&self.dir),
            segments: self.view.segments.to_vec(),
            window: self.dedupe_window(),
            now_ms,
            expiration_ms: self.config.producer_id_expiration_ms,
        };
        let end = self.view.log_end_offset;
        let mut rebuild = Rebuild::new(replay, segment.base_offset(), end)?;
        segment.recover(&how, |entry, file| rebuild.take(entry, file))?;
        let producers = rebuild.finish(end);
        self.snapshot_offset = producers.snapshot_offset;
        self.producers = producers.state;
        Ok(())
    }

    /// Removes everything; the log starts again at `offset`.
    pub fn truncate_fully_and_start_at(&mut self, offset: Offset, now_ms: i64) -> io::Result<()> {
        let disk = Arc::clone(&self.place.disk);
        self.durability.truncated(offset);
        let gone = self.view.segments.to_vec();
        let emptied = remove_segments(&*disk, &self.place.dir, gone).and_then(|()| {
            drop_snapshots_above(&*disk, &self.place.dir, Offset::NONE)?;
            let segment = Segment::create(&disk, &self.dir, offset, self.index_limits(), now_ms)?;
            segment.log_file()?.sync_data()?;
            disk.sync_dir(&self.place.dir)?;
            Ok(segment)
        });
        let segment = emptied.inspect_err(|_| self.set_offline())?;
        self.start_over(Arc::new(segment), offset);
        let mut epochs = (*self.view.epochs).clone();
        epochs.clear();
        epochs.store(&*disk)?;
        self.view.epochs = Arc::new(epochs);
        Ok(())
    }

    fn start_over(&mut self, segment: Arc<Segment>, offset: Offset) {
        *Arc::make_mut(&mut self.view.segments) = vec![segment];
        self.view.log_start_offset = offset;
        self.view.log_end_offset = offset;
        self.producers = Producers::default();
        self.snapshot_offset = None;
    }
}

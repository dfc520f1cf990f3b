//! What of a log is durable, and what has to be synced for the rest.
//!
//! A sync runs while appends go on. What is handed out names the end of the log at that moment; what comes back counts
//! only if the log was not truncated in between.
//!
//! There are two ends: up to the one everything is durable somewhere, in the log's files or in the journal of the
//! directory, and up to the other in the files. Who waits for an acknowledgement goes by the first, recovery points and
//! the removal of files by the second.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use model::Offset;

use super::Log;
use crate::disk::{Disk, DiskFile};

/// Files that hold what is not durable yet. Synced without any lock held, then given back to [`Log::mark_synced`].
#[derive(Clone, Debug)]
pub struct Unsynced {
    disk: Arc<dyn Disk>,
    files: Vec<Arc<dyn DiskFile>>,
    dir: Option<PathBuf>,
    /// What is durable already, in the files or in a journal.
    from: Offset,
    upto: Offset,
    /// The bytes between the two.
    tail: Option<Vec<Piece>>,
    end: Place,
    /// The last change that is covered.
    change: u64,
    generation: u64,
}

/// A segment, by its base offset, and a position in its file.
type Place = (Offset, u64);

/// A range of a segment's file.
#[derive(Clone, Debug)]
pub struct Piece {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) range: Range<u64>,
}

impl Piece {
    /// The same in parts of so many bytes at most.
    pub fn parts(self, bytes: usize) -> impl Iterator<Item = Piece> {
        let Piece { file, range } = self;
        let end = range.end;
        range.step_by(bytes).map(move |start| Piece {
            file: Arc::clone(&file),
            range: start..end.min(start + bytes as u64),
        })
    }

    /// Has the disk write it; see [`DiskFile::write_back`].
    pub fn write_back(&self) -> io::Result<()> {
        self.file.write_back(self.range.clone())
    }
}

impl Unsynced {
    /// Makes all of it durable. A failure is final for the directory: never call it again (rule 109).
    pub fn sync(&self) -> io::Result<()> {
        for file in &self.files {
            file.sync_data()?;
        }
        match &self.dir {
            Some(dir) => self.disk.sync_dir(dir),
            None => Ok(()),
        }
    }

    /// The end of the log that is durable once this is.
    pub fn upto(&self) -> Offset {
        self.upto
    }

    /// The end of the log that is durable already.
    pub fn from(&self) -> Offset {
        self.from
    }

    /// The bytes that are not durable anywhere; `None` where they cannot be told from the others.
    pub fn tail_bytes(&self) -> Option<u64> {
        let bytes = |piece: &Piece| piece.range.end.saturating_sub(piece.range.start);
        Some(self.tail.as_ref()?.iter().map(bytes).sum())
    }

    pub(crate) fn tail(&self) -> &[Piece] {
        self.tail.as_deref().unwrap_or_default()
    }

    /// The number of files.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }
}

/// The state behind it.
#[derive(Debug)]
pub(super) struct Durability {
    /// Everything below is durable, in the files or in a journal.
    synced_offset: Offset,
    /// Everything below is durable in the files.
    flushed_offset: Offset,
    /// Where `synced_offset` lies, unless the log was cut since.
    synced_place: Option<Place>,
    /// The same of `flushed_offset`.
    flushed_place: Option<Place>,
    /// Files beside the active segment's, with the change that made them so.
    files: Vec<(u64, Arc<dyn DiskFile>)>,
    /// The change after which the folder's names were not synced yet.
    names_changed: Option<u64>,
    change: u64,
    /// The last change that is durable.
    synced_change: u64,
    generation: u64,
}

impl Durability {
    pub(super) fn new(synced_offset: Offset, synced_place: Option<Place>) -> Durability {
        Durability {
            synced_offset,
            flushed_offset: synced_offset,
            flushed_place: synced_place,
            synced_place,
            files: Vec::new(),
            names_changed: None,
            change: 0,
            synced_change: 0,
            generation: 0,
        }
    }

    pub(super) fn synced_offset(&self) -> Offset {
        self.synced_offset
    }

    pub(super) fn flushed_offset(&self) -> Offset {
        self.flushed_offset
    }

    /// The newest change to files beside the active segment's.
    pub(super) fn newest_change(&self) -> u64 {
        self.change
    }

    /// Whether a change and all before it are durable.
    pub(super) fn is_durable(&self, change: u64) -> bool {
        change <= self.synced_change
    }

    /// Files that are to be synced, and whose names may be new.
    pub(super) fn add(&mut self, files: Vec<Arc<dyn DiskFile>>) {
        self.change += 1;
        self.files
            .extend(files.into_iter().map(|file| (self.change, file)));
        self.names_changed = Some(self.change);
    }

    /// The log was cut to `end`, durably: what is handed out counts no more.
    pub(super) fn truncated(&mut self, end: Offset) {
        self.generation += 1;
        self.synced_offset = self.synced_offset.min(end);
        self.flushed_offset = self.flushed_offset.min(end);
        self.synced_place = None;
        self.flushed_place = None;
    }

    fn is_clean(&self) -> bool {
        self.files.is_empty() && self.names_changed.is_none()
    }

    /// It is in a journal, and no more durable in the files than before. Whether it counts.
    fn take_journaled(&mut self, synced: &Unsynced) -> bool {
        if synced.generation != self.generation {
            return false;
        }
        if synced.upto >= self.synced_offset {
            self.synced_offset = synced.upto;
            self.synced_place = Some(synced.end);
        }
        true
    }

    fn take_back(&mut self, synced: &Unsynced) {
        if !self.take_journaled(synced) {
            return;
        }
        if synced.upto >= self.flushed_offset {
            self.flushed_offset = synced.upto;
            self.flushed_place = Some(synced.end);
        }
        self.synced_change = self.synced_change.max(synced.change);
        self.files.retain(|(change, _)| *change > synced.change);
        self.names_changed = self.names_changed.filter(|change| *change > synced.change);
    }
}

impl Log {
    /// What is not durable yet; `None` when all is, or when the log is offline: after a failed sync a later one that
    /// succeeds says nothing (rule 109).
    pub fn dirty(&self) -> Option<Unsynced> {
        if self.is_offline() {
            return None;
        }
        let clean = self.durability.is_clean() && self.durability.flushed_offset >= self.view.log_end_offset;
        (!clean).then(|| self.unsynced())
    }

    pub(super) fn unsynced(&self) -> Unsynced {
        let durability = &self.durability;
        let mut files: Vec<_> = durability
            .files
            .iter()
            .map(|(_, file)| Arc::clone(file))
            .collect();
        // The active segment's file is open: this does not fail, nor look at the disk.
        let active = self.active();
        files.extend(active.log_file());
        Unsynced {
            disk: Arc::clone(&self.place.disk),
            files,
            dir: durability.names_changed.map(|_| self.place.dir.clone()),
            from: durability.synced_offset,
            upto: self.view.log_end_offset,
            tail: self.pieces_behind(durability.synced_place),
            end: (active.base_offset(), active.size()),
            change: durability.change,
            generation: durability.generation,
        }
    }

    /// What the files hold that is not durable in them, as far as that is known.
    pub fn unflushed(&self) -> Vec<Piece> {
        self.pieces_behind(self.durability.flushed_place)
            .unwrap_or_default()
    }

    /// The bytes behind a place. Their files are open: sealed ones that are not durable are kept so.
    fn pieces_behind(&self, place: Option<Place>) -> Option<Vec<Piece>> {
        let (base_offset, position) = place?;
        let segments = &self.view.segments;
        let first = segments.partition_point(|segment| segment.base_offset() < base_offset);
        let mut pieces = Vec::new();
        for segment in segments.get(first..)? {
            let start = if segment.base_offset() == base_offset {
                position
            } else {
                0
            };
            let range = start..segment.size();
            if !range.is_empty() {
                let file = segment.log_file().ok()?;
                pieces.push(Piece { file, range });
            }
        }
        Some(pieces)
    }

    /// What [`Log::dirty`] gave out is durable now, in the log's files.
    pub fn mark_synced(&mut self, synced: &Unsynced) {
        if !self.is_offline() {
            self.durability.take_back(synced);
        }
    }

    /// What [`Log::dirty`] gave out can be brought back from a journal that is durable. Its files still wait to be
    /// synced.
    pub fn mark_journaled(&mut self, synced: &Unsynced) {
        if !self.is_offline() {
            self.durability.take_journaled(synced);
        }
    }
}

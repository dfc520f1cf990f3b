//! What of a log is durable, and what has to be synced for the rest.
//!
//! A sync runs while appends go on. What is handed out names the end of the log at that moment; what comes back counts
//! only if the log was not truncated in between.

use std::io;
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
    upto: Offset,
    /// The last change that is covered.
    change: u64,
    generation: u64,
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

    /// The number of files.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }
}

/// The state behind it.
#[derive(Debug)]
pub(super) struct Durability {
    synced_offset: Offset,
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
    pub(super) fn new(synced_offset: Offset) -> Durability {
        Durability {
            synced_offset,
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
    }

    fn is_clean(&self) -> bool {
        self.files.is_empty() && self.names_changed.is_none()
    }

    fn take_back(&mut self, synced: &Unsynced, log_end_offset: Offset) {
        if synced.generation != self.generation {
            return;
        }
        self.synced_offset = self.synced_offset.max(synced.upto.min(log_end_offset));
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
        let clean = self.durability.is_clean() && self.durability.synced_offset >= self.view.log_end_offset;
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
        files.extend(self.active().log_file());
        Unsynced {
            disk: Arc::clone(&self.place.disk),
            files,
            dir: durability.names_changed.map(|_| self.place.dir.clone()),
            upto: self.view.log_end_offset,
            change: durability.change,
            generation: durability.generation,
        }
    }

    /// What [`Log::dirty`] gave out is durable now.
    pub fn mark_synced(&mut self, synced: &Unsynced) {
        if self.is_offline() {
            return;
        }
        self.durability.take_back(synced, self.view.log_end_offset);
    }
}

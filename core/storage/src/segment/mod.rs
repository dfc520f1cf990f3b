//! A segment of a log: a `.log` file of batches, and the indexes beside it.
//!
//! The newest segment of a log is active: appended to, its indexes partly in memory. The others are sealed and never
//! change. A segment is shared between the one who appends and those who read: no lock is held over a read of a file.

mod files;
mod index;
mod indexes;
mod lookup;
mod scan;
mod transactions;

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use model::Offset;

use crate::disk::{Disk, DiskFile};
use crate::log::AbortedTransaction;
pub(crate) use files::{FileKind, SegmentFiles, parse_name};
pub(crate) use index::decode_entries;
use index::relative;
pub use index::{OffsetEntry, TimeEntry};
pub(crate) use indexes::{IndexLimits, Indexes, Placed};
pub(crate) use lookup::Located;
pub(crate) use scan::{Scanned, Scanner, Step, load, verify};
pub use transactions::{TransactionIndexError, decode_transactions};

/// A segment; see the module.
#[derive(Debug)]
pub(crate) struct Segment {
    disk: Arc<dyn Disk>,
    files: SegmentFiles,
    handle: Mutex<Handle>,
    state: RwLock<State>,
    aborted: Mutex<Aborted>,
}

/// The `.log` file: kept open while active, and while somebody reads it.
#[derive(Debug)]
enum Handle {
    Kept(Arc<dyn DiskFile>),
    Loose(Option<Weak<dyn DiskFile>>),
}

#[derive(Debug)]
struct State {
    /// The bytes of whole batches.
    size: u64,
    /// The largest timestamp and the last offset of its batch; the outer `None` where it was not looked up yet.
    largest: Option<Option<(i64, Offset)>>,
    /// While active.
    active: Option<ActiveState>,
}

#[derive(Debug)]
struct ActiveState {
    indexes: Indexes,
    /// The offset after the last record.
    next_offset: Offset,
    created_ms: i64,
    /// The largest timestamp of the first batch, which rolling by time goes by.
    first_timestamp: Option<i64>,
}

/// The aborted transactions of a segment.
#[derive(Clone, Debug)]
enum Aborted {
    /// In the file, not read yet.
    InFile,
    /// In memory too.
    Known(Arc<Vec<AbortedTransaction>>),
}

/// What a full scan has found.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// The offset after the last sound batch.
    pub(crate) next_offset: Offset,
    /// The bytes behind it that were cut off, and why.
    pub(crate) cut: Option<(u64, String)>,
}

impl Segment {
    /// Makes the files of a new segment. Their names are not durable yet.
    pub(crate) fn create(
        disk: &Arc<dyn Disk>,
        dir: &Arc<Path>,
        base_offset: Offset,
        limits: IndexLimits,
        now_ms: i64,
    ) -> io::Result<Segment> {
        let files = SegmentFiles::new(dir, base_offset);
        let log = disk.open_or_create(&files.log())?;
        log.set_len(0)?;
        disk.remove_file_if_there(&files.transaction_index())?;
        let segment = Segment {
            disk: Arc::clone(disk),
            files,
            handle: Mutex::new(Handle::Kept(log)),
            state: RwLock::new(State {
                size: 0,
                largest: Some(None),
                active: None,
            }),
            aborted: Mutex::new(Aborted::Known(Arc::default())),
        };
        segment.activate(Indexes::new(base_offset), base_offset, now_ms, limits)?;
        Ok(segment)
    }

    /// A segment of a log that is opened, sealed as yet.
    pub(crate) fn existing(
        disk: &Arc<dyn Disk>,
        dir: &Arc<Path>,
        base_offset: Offset,
        has_aborted: bool,
    ) -> io::Result<Segment> {
        let files = SegmentFiles::new(dir, base_offset);
        let size = disk.len(&files.log())?;
        let aborted = if has_aborted {
            Aborted::InFile
        } else {
            Aborted::Known(Arc::default())
        };
        Ok(Segment {
            disk: Arc::clone(disk),
            files,
            handle: Mutex::new(Handle::Loose(None)),
            state: RwLock::new(State {
                size,
                largest: None,
                active: None,
            }),
            aborted: Mutex::new(aborted),
        })
    }

    pub(crate) fn base_offset(&self) -> Offset {
        self.files.base_offset
    }

    pub(crate) fn files(&self) -> &SegmentFiles {
        &self.files
    }

    pub(crate) fn size(&self) -> u64 {
        self.read().size
    }

    /// The `.log` file.
    pub(crate) fn log_file(&self) -> io::Result<Arc<dyn DiskFile>> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match &*handle {
            Handle::Kept(file) => Some(Arc::clone(file)),
            Handle::Loose(file) => file.as_ref().and_then(Weak::upgrade),
        };
        if let Some(file) = known {
            return Ok(file);
        }
        let file = self.disk.open(&self.files.log())?;
        *handle = Handle::Loose(Some(Arc::downgrade(&file)));
        Ok(file)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the segment the active one, its index files as long as they may grow.
    fn activate(
        &self,
        indexes: Indexes,
        next_offset: Offset,
        now_ms: i64,
        limits: IndexLimits,
    ) -> io::Result<()> {
        let file = self.log_file()?;
        for (path, size) in [
            (self.files.offset_index(), limits.offset_bytes()),
            (self.files.time_index(), limits.time_bytes()),
        ] {
            let index = self.disk.open_or_create(&path)?;
            if indexes.is_unwritten() {
                index.set_len(0)?;
            }
            index.set_len(size.max(index.len()?))?;
        }
        let first_timestamp = self.first_timestamp()?;
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = Handle::Kept(file);
        let mut state = self.write();
        state.largest = Some(indexes.largest());
        state.active = Some(ActiveState {
            indexes,
            next_offset,
            created_ms: now_ms,
            first_timestamp,
        });
        Ok(())
    }

    fn first_timestamp(&self) -> io::Result<Option<i64>> {
        let file = self.log_file()?;
        match Scanner::new(&*file, 0, self.size()).step()? {
            Step::Entry(first) => Ok(Some(first.max_timestamp)),
            Step::End | Step::Broken(_) => Ok(None),
        }
    }

    /// Appends slices that hold these batches, whose positions are where they will lie. On an error nothing counts as
    /// appended, but bytes may lie behind the end: [`Segment::cut_to_size`] removes them.
    pub(crate) fn append(&self, slices: &[IoSlice<'_>], batches: &[Placed], interval: u32) -> io::Result<()> {
        let file = self.log_file()?;
        let size = self.size();
        file.write_all_at(slices, size)?;
        let mut state = self.write();
        let state = &mut *state;
        let Some(active) = &mut state.active else {
            return Err(io::Error::other("the segment is sealed"));
        };
        for batch in batches {
            active.indexes.take(batch, interval);
            active.next_offset = batch.next_offset();
            active.first_timestamp.get_or_insert(batch.max_timestamp);
            state.size = batch.position + batch.size;
        }
        state.largest = Some(active.indexes.largest());
        // An index that cannot be written now is written when the segment is sealed; the append stands (rule 19).
        let _ = active.indexes.write_portions(&*self.disk, &self.files);
        Ok(())
    }

    /// Cuts off what a failed append may have left behind the end (rule 112).
    pub(crate) fn cut_to_size(&self) -> io::Result<()> {
        self.cut(self.size())
    }

    /// When the segment is full, or of age, for `bytes` more with that largest timestamp and last offset (rule 102).
    pub(crate) fn should_roll(&self, ask: &RollQuestion) -> bool {
        let state = self.read();
        let Some(active) = &state.active else { return true };
        let since = match active.first_timestamp.filter(|first| *first >= 0) {
            Some(first) => ask.max_timestamp.saturating_sub(first),
            None => ask.now_ms.saturating_sub(active.created_ms),
        };
        let outgrown = state.size > ask.segment_bytes.saturating_sub(ask.bytes);
        state.size > 0 && (outgrown || since > ask.segment_ms)
            || active.indexes.is_full(ask.limits)
            || relative(self.files.base_offset, ask.last_offset).is_none()
    }

    /// Ends appending: the indexes are completed and trimmed. Yields the files that are to be synced.
    pub(crate) fn seal(&self) -> io::Result<Vec<Arc<dyn DiskFile>>> {
        let log = self.log_file()?;
        let mut files = vec![Arc::clone(&log)];
        let aborted = self.aborted()?;
        files.extend(transactions::replace(
            &*self.disk,
            &self.files.transaction_index(),
            &aborted,
        )?);
        let mut state = self.write();
        if let Some(active) = &mut state.active {
            files.extend(active.indexes.finish(&*self.disk, &self.files)?);
        }
        state.active = None;
        drop(state);
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) =
            Handle::Loose(Some(Arc::downgrade(&log)));
        Ok(files)
    }

    /// Makes a sealed segment active again after a clean end: reads the newest index entries and the batches behind
    /// the last of them. Yields the offset after the last record; `None` where what it finds makes no sense.
    pub(crate) fn reopen(
        &self,
        limits: IndexLimits,
        interval: u32,
        now_ms: i64,
    ) -> io::Result<Option<Offset>> {
        let (size, base) = (self.size(), self.files.base_offset);
        let Some(mut indexes) = Indexes::load(&*self.disk, &self.files)? else {
            return Ok(None);
        };
        let (position, mut next_offset) = match indexes.last_position() {
            Some((position, _)) if position >= size => return Ok(None),
            Some((position, offset)) => (position, offset),
            None => (0, base),
        };
        let file = self.log_file()?;
        let mut scanner = Scanner::new(&*file, position, size);
        loop {
            match scanner.step()? {
                Step::End => break,
                Step::Broken(_) => return Ok(None),
                Step::Entry(entry) if entry.last_offset < next_offset => return Ok(None),
                Step::Entry(entry) => {
                    next_offset = entry.next_offset();
                    indexes.take_known(&Placed::from(&entry), interval);
                }
            }
        }
        self.activate(indexes, next_offset, now_ms, limits)?;
        Ok(Some(next_offset))
    }

    /// Reads the whole segment, keeping it up to the first batch that is not sound, and builds its indexes anew
    /// (rules 94, 95). `take` sees each batch that is kept, and yields what it aborts. The segment is active then.
    pub(crate) fn recover(
        &self,
        how: &RecoverHow,
        mut take: impl FnMut(&Scanned, &dyn DiskFile) -> io::Result<Vec<AbortedTransaction>>,
    ) -> io::Result<Recovered> {
        let file = self.log_file()?;
        let mut length = file.len()?;
        let mut scanner = Scanner::new(&*file, 0, length);
        let mut indexes = Indexes::new(self.files.base_offset);
        let mut aborted = Vec::new();
        let mut next_offset = self.files.base_offset;
        let mut doubted_from = how.doubted_from;
        let fault = loop {
            let position = scanner.position();
            let step = scanner.step()?;
            let reached = |from: Offset| !matches!(&step, Step::Entry(entry) if entry.last_offset < from);
            if doubted_from.take_if(|from| reached(*from)).is_some() {
                file.reload(position)?;
                length = file.len()?;
                scanner.reread(position, length);
                continue;
            }
            let entry = match step {
                Step::End => break None,
                Step::Broken(error) => break Some(error.to_string()),
                Step::Entry(entry) => entry,
            };
            if let Some(fault) = self.fault(&entry, next_offset, &*file, how)? {
                scanner.reread(position, length);
                break Some(fault);
            }
            aborted.extend(take(&entry, &*file)?);
            indexes.take(&Placed::from(&entry), how.interval);
            next_offset = entry.next_offset();
        };
        let sound = scanner.position();
        if sound < length {
            self.cut(sound)?;
        }
        self.write().size = sound;
        *self.aborted.lock().unwrap_or_else(PoisonError::into_inner) = Aborted::Known(Arc::new(aborted));
        self.activate(indexes, next_offset, how.now_ms, how.limits)?;
        Ok(Recovered {
            next_offset,
            cut: fault.map(|fault| (length - sound, fault)),
        })
    }

    /// What is wrong with an entry that a scan has found.
    fn fault(
        &self,
        entry: &Scanned,
        next_offset: Offset,
        file: &dyn DiskFile,
        how: &RecoverHow,
    ) -> io::Result<Option<String>> {
        // A legacy wrapper's first offset is inside it.
        let first = if entry.header.is_some() {
            entry.base_offset
        } else {
            entry.last_offset
        };
        if first < next_offset || relative(self.files.base_offset, entry.last_offset).is_none() {
            return Ok(Some(format!("offset {first} does not follow {next_offset}")));
        }
        match how.checksums {
            Checksums::Verified => Ok(verify(file, entry)?.err().map(|error| error.to_string())),
            Checksums::Skipped => Ok(None),
        }
    }

    /// Cuts the file at a position where a batch begins, durably: were it not, a crash after the next append could leave
    /// the old bytes with the new length, and bring back a batch that was gone.
    pub(crate) fn cut(&self, position: u64) -> io::Result<()> {
        let file = self.log_file()?;
        file.set_len(position)?;
        file.sync_data()
    }

    /// Builds the indexes of a sealed segment anew (rule 97). Yields the files to be synced.
    pub(crate) fn rebuild_indexes(&self, how: &RecoverHow) -> io::Result<[Arc<dyn DiskFile>; 2]> {
        let file = self.log_file()?;
        let mut scanner = Scanner::new(&*file, 0, self.size());
        let mut indexes = Indexes::new(self.files.base_offset);
        while let Step::Entry(entry) = scanner.step()? {
            indexes.take(&Placed::from(&entry), how.interval);
        }
        indexes.finish(&*self.disk, &self.files)
    }

    /// The aborted transactions whose marker is in this segment.
    pub(crate) fn aborted(&self) -> io::Result<Arc<Vec<AbortedTransaction>>> {
        let mut aborted = self.aborted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Aborted::Known(known) = &*aborted {
            return Ok(Arc::clone(known));
        }
        let content = self
            .disk
            .read_if_there(&self.files.transaction_index())?
            .unwrap_or_default();
        let known = Arc::new(decode_transactions(&content).map_err(io::Error::other)?);
        *aborted = Aborted::Known(Arc::clone(&known));
        Ok(known)
    }

    /// Notes transactions that an append has aborted. They reach the file when the segment is sealed; before that an
    /// unclean end has them found in the log.
    pub(crate) fn add_aborted(&self, entries: &[AbortedTransaction]) {
        if entries.is_empty() {
            return;
        }
        let mut aborted = self.aborted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Aborted::Known(known) = &mut *aborted {
            Arc::make_mut(known).extend_from_slice(entries);
        }
    }

    /// Whether the file of aborted transactions makes sense.
    pub(crate) fn has_sound_aborted(&self) -> io::Result<bool> {
        match self.aborted() {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .get_ref()
                    .is_some_and(|inner| inner.is::<TransactionIndexError>()) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the file of aborted transactions anew; yields it to be synced.
    pub(crate) fn replace_aborted(
        &self,
        entries: Vec<AbortedTransaction>,
    ) -> io::Result<Option<Arc<dyn DiskFile>>> {
        let file = transactions::replace(&*self.disk, &self.files.transaction_index(), &entries)?;
        *self.aborted.lock().unwrap_or_else(PoisonError::into_inner) = Aborted::Known(Arc::new(entries));
        Ok(file)
    }

    /// Removes the files, the log first: what is left of the rest is an orphan that opening removes.
    pub(crate) fn remove_files(&self) -> io::Result<()> {
        for kind in FileKind::ALL {
            self.disk.remove_file_if_there(&self.files.path(kind))?;
        }
        Ok(())
    }
}

/// What rolling depends on (rule 102).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RollQuestion {
    /// The size of what is to be appended.
    pub(crate) bytes: u64,
    /// Its largest timestamp.
    pub(crate) max_timestamp: i64,
    /// Its last offset.
    pub(crate) last_offset: Offset,
    /// The time.
    pub(crate) now_ms: i64,
    /// The largest size of a segment.
    pub(crate) segment_bytes: u64,
    /// The greatest age of a segment.
    pub(crate) segment_ms: i64,
    /// How far the indexes may grow.
    pub(crate) limits: IndexLimits,
}

/// How a segment is recovered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecoverHow {
    pub(crate) interval: u32,
    pub(crate) limits: IndexLimits,
    pub(crate) now_ms: i64,
    pub(crate) checksums: Checksums,
    /// From this offset on, what the cache shows may not be what the disk holds.
    pub(crate) doubted_from: Option<Offset>,
}

/// Whether a scan computes checksums: not of what this process has written itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksums {
    Verified,
    Skipped,
}

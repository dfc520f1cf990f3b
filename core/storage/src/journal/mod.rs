//! The journal of a log directory: the newest batches of dirty partitions go once more, one after the other, into one
//! file of written blocks, and one sync of that file makes all of them durable. The segments follow in the background.
//!
//! Two files of fixed size are written in turn, each in rounds of entries. When one is full, the other takes over, and
//! everything that the full one holds is made durable in the segments before it is written again: a *checkpoint*. What
//! counts as durable, and why:
//!
//! - A round counts when its file is synced, and never before. A round cut in the middle was acknowledged to nobody; its
//!   first entry that is not sound ends the file. Rounds begin at a page of their own, so that writing one cannot harm
//!   those before it.
//! - An entry holds what its log had beyond its durable end, in the files or here. So what is in no file is in an
//!   unbroken row of entries, and replaying them in order on what recovery has found brings all of it back, whatever
//!   of it had reached the files by itself: what the log has is passed over.
//! - A file is written again only after a checkpoint, and its first page is blanked before: a first round of several
//!   pages that a power cut tears could otherwise show an old entry without the one that declared it void. The old
//!   entries behind the new ones do not follow them in sequence, and end it.
//! - Files, names and snapshots that a log had not synced stay on its list when its batches are journaled: syncing a log
//!   by itself, between two rounds, makes all of it durable, sealed segments and names included. Recovery points and the
//!   removal of old segments go by what the files hold.
//! - An entry that is missing though later ones are there is damage, and is told. What follows in the same log does not
//!   fit then; other logs are brought back. The files are kept under other names, since they may hold the only copy.
//! - A roll needs no entry: recovery cuts at the first segment that is not whole, and replaying rolls where it must.
//!   Neither does a new start of the log: it is applied after replaying.
//! - What leaves a log at its end, and a log that is deleted, must not come back: before the first, after the second and
//!   before anything has the place again, [`Journal::void`] says durably that earlier entries of the partition count no
//!   more. Whoever truncates holds the journal from before the log is synced until it is cut, so that no round
//!   writes what is cut. A topic made anew under its old name has another id.
//! - The files are removed only when all that they hold is durable in the segments: after a clean end before its mark is
//!   written, after a crash before anybody is served. Crashes on the way find the files again and replay once more.
//!
//! A failed sync or write is final for the directory, as elsewhere (rule 109), but for want of space: then the round is
//! synced file by file, and its place is written again.

mod entry;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use model::Offset;

use crate::disk::{Disk, DiskFile};
use crate::log::Unsynced;
use entry::PAGE;
pub use entry::{InRound, JournalHead, JournalKey, JournalKind};
pub use replay::{
    JournalContent, JournalEntry, JournalReader, JournalRows, Replayed, has_journal, is_journal,
};

/// The names of the two files.
const NAMES: [&str; 2] = ["gracchus-journal-0", "gracchus-journal-1"];
/// So much is gathered for one write.
const CHUNK: usize = 1 << 20;

/// The journal of a directory; see the module.
#[derive(Debug)]
pub struct Journal {
    halves: [Half; 2],
    /// The size of each.
    bytes: u64,
    /// The half that takes entries.
    filling: usize,
    next_sequence: u64,
    buffer: Vec<u8>,
}

/// One of the two files.
#[derive(Debug)]
struct Half {
    file: Arc<dyn DiskFile>,
    /// Where the next round begins.
    end: u64,
    /// Who has entries that replaying would find here.
    holds: BTreeSet<JournalKey>,
    /// Whether the segments have all of it.
    flushed: bool,
}

/// Partitions, and what of them is not durable.
pub type Round = [(JournalKey, Unsynced)];

/// Whether a round can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// It can.
    Now,
    /// When a checkpoint has ended.
    Later,
    /// It is larger than a file.
    Never,
}

impl Journal {
    /// Makes the files, of `bytes` each, filled with zeros, so that writing to them changes no metadata of the file
    /// system. There must be none: what a crash left has been replayed and removed.
    ///
    /// `entropy` is where entries are numbered from. Nobody who sends records may know it, or he could write into them
    /// what a start takes for an entry of some other partition.
    pub fn create(disk: &dyn Disk, dir: &Path, bytes: u64, entropy: u64) -> io::Result<Journal> {
        if has_journal_files(disk, dir)? {
            return Err(io::Error::other("there is a journal already"));
        }
        let made = || -> io::Result<[Half; 2]> {
            let halves = [
                Half::create(disk, &dir.join(NAMES[0]), bytes)?,
                Half::create(disk, &dir.join(NAMES[1]), bytes)?,
            ];
            disk.sync_dir(dir)?;
            Ok(halves)
        };
        let halves = made().inspect_err(|_| {
            // What is left takes room and says nothing.
            let _ = remove_files(disk, dir);
        })?;
        Ok(Journal {
            halves,
            bytes,
            filling: 0,
            // No journal is used for so long that this ends.
            next_sequence: entropy >> 2,
            buffer: Vec::new(),
        })
    }

    /// Whether a round can be written now.
    pub fn takes(&self, round: &Round) -> Takes {
        self.has_room(round_size(round))
    }

    fn has_room(&self, size: u64) -> Takes {
        let [filling, other] = [self.filling, 1 - self.filling].map(|index| &self.halves[index]);
        if size > self.bytes {
            Takes::Never
        } else if filling.end.saturating_add(size) <= self.bytes || other.flushed {
            Takes::Now
        } else {
            Takes::Later
        }
    }

    /// Writes what of each log is durable nowhere, and makes it durable; [`crate::Log::mark_journaled`] has it counted.
    /// Only what [`Journal::takes`] may be written.
    pub fn write(&mut self, round: &Round) -> io::Result<()> {
        let written = self.write_round(round);
        if written.is_err() {
            // Some of it may be there, and would be found.
            let holds = &mut self.halves[self.filling].holds;
            holds.extend(round.iter().map(|(key, _)| key.clone()));
        }
        written
    }

    fn write_round(&mut self, round: &Round) -> io::Result<()> {
        self.make_room(round_size(round))?;
        let mut position = self.halves[self.filling].end;
        let mut sequence = self.next_sequence;
        for (key, unsynced) in round {
            let start = self.buffer.len();
            let number = (sequence, self.in_round(sequence));
            entry::begin(
                &mut self.buffer,
                number,
                JournalKind::Batches,
                key,
                unsynced.from(),
            );
            for piece in unsynced.tail() {
                let length =
                    usize::try_from(piece.range.end - piece.range.start).map_err(io::Error::other)?;
                let at = self.buffer.len();
                self.buffer.resize(at + length, 0);
                let place = self.buffer.get_mut(at..).unwrap_or_default();
                piece.file.read_exact_at(place, piece.range.start)?;
            }
            entry::finish(&mut self.buffer, start);
            sequence += 1;
            if self.buffer.len() >= CHUNK {
                position = self.write_buffer(position)?;
            }
        }
        self.end_round(position, sequence, round.iter().map(|(key, _)| key))
    }

    /// Says durably that what was written of these partitions before counts no more. `false` when a checkpoint has to end
    /// first.
    pub fn void(&mut self, keys: &[JournalKey]) -> io::Result<bool> {
        let shown = |key: &&JournalKey| self.halves.iter().any(|half| half.holds.contains(key));
        let keys: Vec<_> = keys.iter().filter(shown).cloned().collect();
        if keys.is_empty() {
            return Ok(true);
        }
        let size = pages(keys.iter().map(|key| entry::entry_size(key, 0)).sum());
        if self.has_room(size) == Takes::Later {
            return Ok(false);
        }
        self.make_room(size)?;
        let position = self.halves[self.filling].end;
        let mut sequence = self.next_sequence;
        for key in &keys {
            let start = self.buffer.len();
            let number = (sequence, self.in_round(sequence));
            entry::begin(&mut self.buffer, number, JournalKind::Void, key, Offset::ZERO);
            entry::finish(&mut self.buffer, start);
            sequence += 1;
        }
        self.end_round(position, sequence, keys.iter())?;
        Ok(true)
    }

    /// Ends the half that is being filled, where the other one is free, so that a checkpoint can begin.
    pub fn seal(&mut self) {
        if !self.halves[self.filling].flushed && self.halves[1 - self.filling].flushed {
            self.switch();
        }
    }

    /// Whose segments have to be made durable before the file that is full can be used again; `None` when none is.
    pub fn to_checkpoint(&self) -> Option<Vec<JournalKey>> {
        let full = &self.halves[1 - self.filling];
        (!full.flushed).then(|| full.holds.iter().cloned().collect())
    }

    /// All that [`Journal::to_checkpoint`] named is durable in the segments.
    pub fn checkpointed(&mut self) {
        self.halves[1 - self.filling].flushed = true;
    }

    /// Removes the files, durably. All that they hold is durable in the segments.
    pub fn remove(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        if remove_files(disk, dir)? {
            disk.sync_dir(dir)?;
        }
        Ok(())
    }

    fn switch(&mut self) {
        self.halves[self.filling].flushed = false;
        self.filling = 1 - self.filling;
        // What it shows is written over by the next round, and stays noted until then.
        self.halves[self.filling].end = 0;
    }

    /// Goes over to the other half where a round does not fit.
    fn make_room(&mut self, size: u64) -> io::Result<()> {
        self.buffer.clear();
        if self.has_room(size) != Takes::Now {
            return Err(io::Error::other("no room in the journal for a round"));
        }
        if self.halves[self.filling].end.saturating_add(size) > self.bytes {
            self.switch();
        }
        self.halves[self.filling].blank()
    }

    /// Where an entry of that number is in the round that is being written.
    fn in_round(&self, sequence: u64) -> InRound {
        match sequence == self.next_sequence {
            true => InRound::First,
            false => InRound::Later,
        }
    }

    fn write_buffer(&mut self, position: u64) -> io::Result<u64> {
        let file = &self.halves[self.filling].file;
        file.write_all_at(&[IoSlice::new(&self.buffer)], position)?;
        let end = position + self.buffer.len() as u64;
        self.buffer.clear();
        Ok(end)
    }

    /// Fills the last page, so that it need not be read, and makes the round durable.
    fn end_round<'a>(
        &mut self,
        position: u64,
        next_sequence: u64,
        keys: impl Iterator<Item = &'a JournalKey>,
    ) -> io::Result<()> {
        let unfilled = pages(position + self.buffer.len() as u64) - position;
        self.buffer
            .resize(usize::try_from(unfilled).map_err(io::Error::other)?, 0);
        let end = self.write_buffer(position)?;
        self.buffer.shrink_to(2 * CHUNK);
        let half = &mut self.halves[self.filling];
        half.file.sync_data()?;
        if half.flushed {
            // The first round: what was here before is not shown any more.
            half.flushed = false;
            half.holds.clear();
        }
        half.end = end;
        for key in keys {
            if !half.holds.contains(key) {
                half.holds.insert(key.clone());
            }
        }
        self.next_sequence = next_sequence;
        Ok(())
    }
}

impl Half {
    fn create(disk: &dyn Disk, path: &Path, bytes: u64) -> io::Result<Half> {
        let file = disk.open_or_create(path)?;
        file.set_len(0)?;
        let zeros = vec![0; CHUNK];
        let mut position = 0;
        while position < bytes {
            let length = usize::try_from(bytes - position).map_or(CHUNK, |left| left.min(CHUNK));
            file.write_all_at(&[IoSlice::new(zeros.get(..length).unwrap_or_default())], position)?;
            position += length as u64;
        }
        file.sync_data()?;
        Ok(Half {
            file,
            end: 0,
            holds: BTreeSet::new(),
            flushed: true,
        })
    }

    /// Before the first round: nothing that was here may be read with only a part of it.
    fn blank(&self) -> io::Result<()> {
        if self.end > 0 || self.holds.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&[IoSlice::new(&[0; PAGE as usize])], 0)?;
        self.file.sync_data()
    }
}

fn pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE)
}

fn round_size(round: &Round) -> u64 {
    let sizes = round
        .iter()
        .map(|(key, unsynced)| entry::entry_size(key, unsynced.tail_bytes().unwrap_or(0)));
    pages(sizes.sum())
}

fn has_journal_files(disk: &dyn Disk, dir: &Path) -> io::Result<bool> {
    Ok(disk.exists(&dir.join(NAMES[0]))? || disk.exists(&dir.join(NAMES[1]))?)
}

/// Whether there was any.
fn remove_files(disk: &dyn Disk, dir: &Path) -> io::Result<bool> {
    let mut found = false;
    for name in NAMES {
        let path = dir.join(name);
        if disk.exists(&path)? {
            found = true;
            disk.remove_file(&path)?;
        }
    }
    Ok(found)
}

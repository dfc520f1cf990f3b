//! Reading what a journal holds: for a recovery, and for tools.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use model::Offset;

use super::entry::{self, FIXED, InRound, JournalHead, JournalKey, JournalKind};
use super::{Journal, NAMES, PAGE, pages};
use crate::disk::{Disk, DiskFile};
use crate::log::Shutdown;

/// Entries whose partition could not be opened when the journal was replayed.
const KEPT: &str = "gracchus-journal-kept";

/// What is behind the name of a file that was set aside because it is damaged.
const DAMAGED: &str = ".damaged";

/// Whether a name is that of a file of a journal, set aside or not.
pub fn is_journal(name: &str) -> bool {
    let Some(aside) = name.strip_suffix(DAMAGED) else {
        return is_in_use(name);
    };
    is_in_use(aside) || aside.rsplit_once('.').is_some_and(|(name, _)| is_in_use(name))
}

/// Where a file is set aside, beside those that were before.
fn aside(disk: &dyn Disk, dir: &Path, name: &str) -> io::Result<PathBuf> {
    let mut path = dir.join(format!("{name}{DAMAGED}"));
    let mut number = 2;
    while disk.exists(&path)? {
        path = dir.join(format!("{name}.{number}{DAMAGED}"));
        number += 1;
    }
    Ok(path)
}

fn is_in_use(name: &str) -> bool {
    NAMES.contains(&name) || name == KEPT
}

/// Whether a directory has files of a journal that the next start reads.
pub fn has_journal(disk: &dyn Disk, dir: &Path) -> io::Result<bool> {
    Ok(disk.list(dir)?.iter().any(|entry| is_in_use(&entry.name)))
}

/// An entry, as it lies in a file of the journal.
#[derive(Clone, Debug)]
pub struct JournalEntry {
    /// The place of its first byte.
    pub position: u64,
    /// What it says, and of whom.
    pub head: JournalHead,
    /// The batches.
    pub batches: Bytes,
}

/// Steps over the entries of one file. What is not sound, or does not follow, ends it: the last round may have been cut.
/// But a later round behind it tells of damage, since a round is written when the one before is durable: that is noted,
/// and the later rounds are read.
pub struct JournalReader {
    file: Arc<dyn DiskFile>,
    position: u64,
    end: u64,
    expected: Option<u64>,
    /// The number that the first entry says it has, where it is not sound.
    claimed: Option<u64>,
    damage: Option<u64>,
}

impl JournalReader {
    /// Opens a file of a journal.
    pub fn open(disk: &dyn Disk, path: &Path) -> io::Result<JournalReader> {
        let file = disk.open_read(path)?;
        Ok(JournalReader {
            end: file.len()?,
            file,
            position: 0,
            expected: None,
            claimed: None,
            damage: None,
        })
    }

    /// Where the first entry is missing that must have been there, by those behind it; known at the end.
    pub fn damage(&self) -> Option<u64> {
        self.damage
    }

    /// The file, where one has that name.
    fn open_if_there(disk: &dyn Disk, path: &Path) -> io::Result<Option<JournalReader>> {
        match JournalReader::open(disk, path) {
            Ok(reader) => Ok(Some(reader)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn entry_at(&self, position: u64) -> io::Result<Option<JournalEntry>> {
        let left = self.end.saturating_sub(position);
        if left < FIXED as u64 {
            return Ok(None);
        }
        let mut start = [0; 8];
        self.file.read_exact_at(&mut start, position)?;
        let Some(size) = entry::size_of(&start).filter(|size| *size as u64 <= left) else {
            return Ok(None);
        };
        let mut bytes = vec![0; size];
        self.file.read_exact_at(&mut bytes, position)?;
        let Some((head, batches)) = entry::parse(&bytes) else {
            return Ok(None);
        };
        Ok(Some(JournalEntry {
            position,
            head,
            batches: Bytes::from(bytes).slice(batches..),
        }))
    }

    /// The entry at a place, if it is the next one.
    fn next_at(&self, position: u64) -> io::Result<Option<JournalEntry>> {
        let found = self.entry_at(position)?;
        Ok(found.filter(|entry| {
            self.expected
                .is_none_or(|expected| expected == entry.head.sequence)
        }))
    }

    /// The first entry of a round at a page, if by its number the round can be the next one or a later one: between it
    /// and what was read last, there is room for those that are missing.
    fn round_at(&self, page: u64, expected: Option<u64>) -> io::Result<Option<JournalEntry>> {
        if let Some(expected) = expected {
            // Not read whole for nothing: what a client wrote may look like the start of many an entry.
            let missing_max = (page - self.position) / FIXED as u64;
            let mut start = [0; FIXED];
            let length = FIXED.min(usize::try_from(self.end - page).unwrap_or(FIXED));
            let start = start.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(start, page)?;
            let missing = entry::claimed_sequence(start).and_then(|found| found.checked_sub(expected));
            if missing.is_none_or(|missing| missing > missing_max) {
                return Ok(None);
            }
        }
        let found = self.entry_at(page)?;
        Ok(found.filter(|entry| entry.head.in_round == InRound::First))
    }

    /// Where nothing follows: a later round, should there be one.
    fn behind_damage(&mut self) -> io::Result<Option<JournalEntry>> {
        let mut first = vec![0; PAGE.min(self.end) as usize];
        self.file.read_exact_at(&mut first, 0)?;
        // New, or about to be written again.
        if self.expected.is_none() && first.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if self.expected.is_none() {
            self.claimed = entry::claimed_sequence(&first);
        }
        let expected = self.expected.or(self.claimed);
        let mut page = pages(self.position + 1);
        while page < self.end {
            match (self.round_at(page, expected)?, expected) {
                // What the file held before the damaged page was written again would look the same: it is not replayed.
                (Some(_), None) => {
                    self.damage.get_or_insert(0);
                    return Ok(None);
                }
                (Some(entry), Some(expected)) if entry.head.sequence > expected => {
                    self.damage.get_or_insert(self.position);
                    return Ok(Some(entry));
                }
                _ => page += PAGE,
            }
        }
        Ok(None)
    }

    fn next_entry(&mut self) -> io::Result<Option<JournalEntry>> {
        let mut found = self.next_at(self.position)?;
        if found.is_none() && self.position > 0 {
            // The next round begins at the next page.
            let round = self.next_at(pages(self.position))?;
            found = round.filter(|entry| entry.head.in_round == InRound::First);
        }
        if found.is_none() {
            found = self.behind_damage()?;
        }
        if let Some(entry) = &found {
            let size = entry::entry_size(&entry.head.key, entry.batches.len() as u64);
            self.position = entry.position + size;
            self.expected = entry.head.sequence.checked_add(1);
        }
        Ok(found)
    }
}

impl Iterator for JournalReader {
    type Item = io::Result<JournalEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().transpose()
    }
}

/// What a journal holds of one partition, oldest first.
#[derive(Clone, Debug, Default)]
pub struct JournalRows(Vec<Row>);

#[derive(Clone, Debug)]
struct Row {
    base_offset: Offset,
    file: Arc<dyn DiskFile>,
    range: Range<u64>,
}

impl JournalRows {
    /// Where the log ended before the first batches.
    pub(crate) fn first_base(&self) -> Option<Offset> {
        self.0.first().map(|row| row.base_offset)
    }

    /// The batches of each entry, with where the log ended before them.
    pub(crate) fn batches(&self) -> impl Iterator<Item = io::Result<(Offset, Bytes)>> {
        self.0.iter().map(|row| {
            let length = usize::try_from(row.range.end - row.range.start).map_err(io::Error::other)?;
            let mut bytes = vec![0; length];
            row.file.read_exact_at(&mut bytes, row.range.start)?;
            Ok((row.base_offset, Bytes::from(bytes)))
        })
    }
}

/// What one file holds.
struct Content {
    name: &'static str,
    entries: Vec<(JournalHead, Row)>,
    /// See [`JournalReader`].
    claimed: Option<u64>,
    damage: Option<u64>,
}

impl Content {
    /// `None` where there is no such file.
    fn read(disk: &dyn Disk, dir: &Path, name: &'static str) -> io::Result<Option<Content>> {
        let read = || {
            let Some(mut reader) = JournalReader::open_if_there(disk, &dir.join(name))? else {
                return Ok(None);
            };
            let mut entries = Vec::new();
            while let Some(entry) = reader.next_entry()? {
                let row = Row {
                    base_offset: entry.head.base_offset,
                    file: Arc::clone(&reader.file),
                    range: reader.position - entry.batches.len() as u64..reader.position,
                };
                entries.push((entry.head, row));
            }
            // Written in one piece, and never in part.
            let is_cut = name == KEPT && reader.position < reader.end;
            Ok(Some(Content {
                name,
                entries,
                claimed: reader.claimed,
                damage: reader.damage.or(is_cut.then_some(reader.position)),
            }))
        };
        // Which of the files it is about.
        read().map_err(|error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}")))
    }

    fn first(&self) -> Option<u64> {
        self.entries
            .first()
            .map(|(head, _)| head.sequence)
            .or(self.claimed)
    }

    /// The number of the first entry that is not there.
    fn next(&self) -> Option<u64> {
        match self.entries.last() {
            Some((head, _)) => head.sequence.checked_add(1),
            None => self.claimed,
        }
    }
}

/// What an unclean end left in the journal of a directory.
#[derive(Debug, Default)]
pub struct JournalContent {
    rows: BTreeMap<JournalKey, JournalRows>,
    /// Whether there are files to be removed.
    present: bool,
    /// Whether what was kept at an earlier start is damaged.
    is_kept_damaged: bool,
    damage: Vec<String>,
}

/// What becomes of the files of a journal that was replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// The segments have everything: they go.
    Whole,
    /// Something could not be replayed: they are kept under other names, for somebody to look at.
    InPart,
}

impl JournalContent {
    /// Reads it: what could not be replayed at an earlier start, and both files in the order of their entries. Batches
    /// stay on the disk. After a clean end the files say nothing: a broker that knows no journal has written since.
    pub fn read(disk: &dyn Disk, dir: &Path, shutdown: Shutdown) -> io::Result<JournalContent> {
        let mut content = JournalContent::default();
        if let Some(kept) = Content::read(disk, dir, KEPT)? {
            content.present = true;
            content.is_kept_damaged = kept.damage.is_some();
            content.take(kept);
        }
        let mut files = Vec::new();
        for name in NAMES {
            match Content::read(disk, dir, name)? {
                Some(file) if shutdown == Shutdown::Unclean => files.push(file),
                found => content.present |= found.is_some(),
            }
        }
        content.present |= !files.is_empty();
        files.sort_by_key(Content::first);
        let mut next = None;
        for file in files {
            if let (Some(next), Some(first)) = (next, file.first())
                && first > next
            {
                let (last, name) = (first - 1, file.name);
                content
                    .damage
                    .push(format!("entries {next} to {last} are missing before {name}"));
            }
            next = file.next();
            content.take(file);
        }
        Ok(content)
    }

    fn take(&mut self, file: Content) {
        if let Some(position) = file.damage {
            self.damage
                .push(format!("{} is damaged at byte {position}", file.name));
        }
        for (head, row) in file.entries {
            match head.kind {
                JournalKind::Void => {
                    self.rows.remove(&head.key);
                }
                JournalKind::Batches => self.rows.entry(head.key).or_default().0.push(row),
            }
        }
    }

    /// What is damaged of it, a line each.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Whether nothing is to be replayed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whose batches it holds.
    pub fn keys(&self) -> impl Iterator<Item = &JournalKey> {
        self.rows.keys()
    }

    /// What it holds of a partition.
    pub fn rows(&self, key: &JournalKey) -> JournalRows {
        self.rows.get(key).cloned().unwrap_or_default()
    }

    /// Removes the journal, or sets it aside: all that was replayed is durable in the segments. What belongs to `kept`,
    /// partitions that could not be opened, is there at the next start.
    pub fn finish(
        self,
        disk: &dyn Disk,
        dir: &Path,
        kept: &BTreeSet<JournalKey>,
        replayed: Replayed,
    ) -> io::Result<()> {
        // A start that had no room for it left one.
        disk.remove_file_if_there(&dir.join(format!("{KEPT}.tmp")))?;
        if !self.present {
            return Ok(());
        }
        let mut content = Vec::new();
        let mut sequence = 0;
        for (key, rows) in self.rows.iter().filter(|(key, _)| kept.contains(key)) {
            for row in rows.batches() {
                let (base_offset, batches) = row?;
                let start = content.len();
                let number = (sequence, InRound::Later);
                entry::begin(&mut content, number, JournalKind::Batches, key, base_offset);
                content.extend_from_slice(&batches);
                entry::finish(&mut content, start);
                sequence += 1;
            }
        }
        let path = dir.join(KEPT);
        if self.is_kept_damaged {
            disk.replace(&aside(disk, dir, KEPT)?, &disk.read(&path)?)?;
        }
        if !content.is_empty() {
            disk.replace(&path, &content)?;
        } else if disk.exists(&path)? {
            disk.remove_file(&path)?;
            disk.sync_dir(dir)?;
        }
        if replayed == Replayed::InPart {
            for name in NAMES {
                if disk.exists(&dir.join(name))? {
                    disk.rename(&dir.join(name), &aside(disk, dir, name)?)?;
                }
            }
            disk.sync_dir(dir)?;
        }
        Journal::remove(disk, dir)
    }
}

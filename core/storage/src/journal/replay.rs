//! Reading what a journal holds: for a recovery, and for tools.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use model::Offset;

use super::entry::{self, FIXED, JournalHead, JournalKey, JournalKind};
use super::{Journal, NAMES, pages};
use crate::disk::{Disk, DiskFile};
use crate::log::Shutdown;

/// Entries whose partition could not be opened when the journal was replayed.
const KEPT: &str = "gracchus-journal-kept";

/// Whether a name is that of a file of a journal.
pub fn is_journal(name: &str) -> bool {
    NAMES.contains(&name) || name == KEPT
}

/// Whether a directory has files of a journal.
pub fn has_journal(disk: &dyn Disk, dir: &Path) -> io::Result<bool> {
    Ok(disk.list(dir)?.iter().any(|entry| is_journal(&entry.name)))
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

/// Steps over the entries of one file, up to the first that is not sound or does not follow.
pub struct JournalReader {
    file: Arc<dyn DiskFile>,
    position: u64,
    end: u64,
    expected: Option<u64>,
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
        })
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
        if self.expected.is_some_and(|expected| expected != head.sequence) {
            return Ok(None);
        }
        Ok(Some(JournalEntry {
            position,
            head,
            batches: Bytes::from(bytes).slice(batches..),
        }))
    }

    fn next_entry(&mut self) -> io::Result<Option<JournalEntry>> {
        let mut found = self.entry_at(self.position)?;
        if found.is_none() && self.position > 0 {
            // The next round begins at the next page.
            found = self.entry_at(pages(self.position))?;
        }
        if let Some(entry) = &found {
            let size = entry::entry_size(&entry.head.key, entry.batches.len() as u64);
            self.position = entry.position + size;
            self.expected = Some(entry.head.sequence + 1);
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

/// What an unclean end left in the journal of a directory.
#[derive(Debug, Default)]
pub struct JournalContent {
    rows: BTreeMap<JournalKey, JournalRows>,
    /// Whether there are files to be removed.
    present: bool,
}

impl JournalContent {
    /// Reads it: what could not be replayed at an earlier start, and both files in the order of their entries. Batches
    /// stay on the disk. After a clean end the files say nothing: a broker that knows no journal has written since.
    pub fn read(disk: &dyn Disk, dir: &Path, shutdown: Shutdown) -> io::Result<JournalContent> {
        let mut content = JournalContent::default();
        let mut files = Vec::new();
        for name in NAMES {
            if let Some(reader) = JournalReader::open_if_there(disk, &dir.join(name))? {
                content.present = true;
                if shutdown == Shutdown::Clean {
                    continue;
                }
                let first = reader.entry_at(0)?.map(|entry| entry.head.sequence);
                files.push((first, reader));
            }
        }
        files.sort_by_key(|(first, _)| *first);
        let kept = JournalReader::open_if_there(disk, &dir.join(KEPT))?;
        content.present |= kept.is_some();
        for reader in kept
            .into_iter()
            .chain(files.into_iter().map(|(_, reader)| reader))
        {
            content.take(reader)?;
        }
        Ok(content)
    }

    fn take(&mut self, mut reader: JournalReader) -> io::Result<()> {
        while let Some(entry) = reader.next_entry()? {
            match entry.head.kind {
                JournalKind::Void => {
                    self.rows.remove(&entry.head.key);
                }
                JournalKind::Batches => {
                    let row = Row {
                        base_offset: entry.head.base_offset,
                        file: Arc::clone(&reader.file),
                        range: reader.position - entry.batches.len() as u64..reader.position,
                    };
                    self.rows.entry(entry.head.key).or_default().0.push(row);
                }
            }
        }
        Ok(())
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

    /// Removes the journal: all that was replayed is durable in the segments. What belongs to `kept`, partitions that
    /// could not be opened, is there at the next start.
    pub fn finish(self, disk: &dyn Disk, dir: &Path, kept: &BTreeSet<JournalKey>) -> io::Result<()> {
        if !self.present {
            return Ok(());
        }
        let mut content = Vec::new();
        let mut sequence = 0;
        for (key, rows) in self.rows.iter().filter(|(key, _)| kept.contains(key)) {
            for row in rows.batches() {
                let (base_offset, batches) = row?;
                let start = content.len();
                entry::begin(&mut content, sequence, JournalKind::Batches, key, base_offset);
                content.extend_from_slice(&batches);
                entry::finish(&mut content, start);
                sequence += 1;
            }
        }
        let path = dir.join(KEPT);
        if !content.is_empty() {
            disk.replace(&path, &content)?;
        } else if disk.exists(&path)? {
            disk.remove_file(&path)?;
            disk.sync_dir(dir)?;
        }
        Journal::remove(disk, dir)
    }
}

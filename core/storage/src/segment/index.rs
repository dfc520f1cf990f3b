//! The offset index and the time index of a segment: sparse, sorted, entries of fixed size.
//!
//! While a segment is active the newest entries lie in memory and reach their files in portions; the files are as long
//! as they may grow, full of zeros, as Kafka's are. Everything else is searched by positioned reads. An index is a
//! hint: what it points to is checked, and a wrong one costs time, never records.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;

use model::Offset;

use crate::disk::{Disk, DiskFile};

/// How many entries are written to the file at once.
const PORTION: usize = 512;

/// An entry of fixed size that is sorted by a key.
pub(crate) trait IndexEntry: Copy {
    /// The bytes of an entry.
    const SIZE: usize;
    /// What the index is sorted by.
    type Key: Ord + Copy;
    fn key(&self) -> Self::Key;
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(bytes: &[u8]) -> Option<Self>;
    /// Whether it may follow `previous`.
    fn follows(&self, previous: &Self) -> bool;
}

/// An entry of `.index`: the last offset of a batch, relative to the segment's base, and where the batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetEntry {
    /// The offset minus the base offset of the segment.
    pub relative_offset: u32,
    /// The place in the `.log` file.
    pub position: u32,
}

/// An entry of `.timeindex`: the largest timestamp so far, and the last offset of the batch that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEntry {
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The offset minus the base offset of the segment.
    pub relative_offset: u32,
}

impl IndexEntry for OffsetEntry {
    const SIZE: usize = 8;
    type Key = u32;

    fn key(&self) -> u32 {
        self.relative_offset
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.relative_offset.to_be_bytes());
        out.extend_from_slice(&self.position.to_be_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<OffsetEntry> {
        let (offset, rest) = bytes.split_first_chunk()?;
        let position = rest.first_chunk()?;
        Some(OffsetEntry {
            relative_offset: u32::from_be_bytes(*offset),
            position: u32::from_be_bytes(*position),
        })
    }

    fn follows(&self, previous: &OffsetEntry) -> bool {
        self.relative_offset > previous.relative_offset && self.position > previous.position
    }
}

impl IndexEntry for TimeEntry {
    const SIZE: usize = 12;
    type Key = i64;

    fn key(&self) -> i64 {
        self.timestamp
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.relative_offset.to_be_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<TimeEntry> {
        let (timestamp, rest) = bytes.split_first_chunk()?;
        let offset = rest.first_chunk()?;
        Some(TimeEntry {
            timestamp: i64::from_be_bytes(*timestamp),
            relative_offset: u32::from_be_bytes(*offset),
        })
    }

    fn follows(&self, previous: &TimeEntry) -> bool {
        self.timestamp > previous.timestamp && self.relative_offset >= previous.relative_offset
    }
}

/// The offset of an entry: the base of the segment plus what the entry says.
pub(crate) fn absolute(base: Offset, relative: u32) -> Offset {
    Offset(base.0.saturating_add(i64::from(relative)))
}

/// The offset relative to a base; `None` where no segment may hold it (case 59).
pub(crate) fn relative(base: Offset, offset: Offset) -> Option<u32> {
    let relative = offset.0.checked_sub(base.0)?;
    u32::try_from(relative)
        .ok()
        .filter(|relative| *relative < i32::MAX.cast_unsigned())
}

/// The entries of a file, without the zeros behind them. What does not follow the entry before it ends the index.
pub(crate) fn decode_entries<E: IndexEntry>(content: &[u8]) -> Vec<E> {
    let is_padding = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let mut entries: Vec<E> = Vec::new();
    // One entry of zeros may be a record of the year 1970; two are a file made ready for entries to come.
    if content.len() > E::SIZE && content.get(..2 * E::SIZE).is_none_or(is_padding) {
        return entries;
    }
    for bytes in content.chunks_exact(E::SIZE) {
        let Some(entry) = E::decode(bytes) else { break };
        if entries.last().is_some_and(|previous| !entry.follows(previous)) {
            break;
        }
        entries.push(entry);
    }
    entries
}

/// The index of an active segment: the newest entries in memory, older ones only in the file.
#[derive(Debug)]
pub(crate) struct ActiveIndex<E> {
    /// Entries that are only in the file.
    dropped: usize,
    /// Of those, one a portion, with its number: what lies between two is read at once.
    marks: Vec<(usize, E)>,
    /// The entries after those.
    entries: Vec<E>,
    /// How many of all entries are in the file.
    written: usize,
}

/// Where the entry asked for is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Floor<E> {
    /// In memory.
    Found(E),
    /// Nowhere: all keys are above.
    Before,
    /// Among these entries of the file.
    InFile(Range<usize>),
}

impl<E: IndexEntry> ActiveIndex<E> {
    pub(crate) fn new() -> ActiveIndex<E> {
        ActiveIndex {
            dropped: 0,
            marks: Vec::new(),
            entries: Vec::new(),
            written: 0,
        }
    }

    /// The index that a file holds after a clean end: only its newest entries are read.
    pub(crate) fn load(file: &dyn DiskFile) -> io::Result<ActiveIndex<E>> {
        let count = usize::try_from(file.len()? / E::SIZE as u64).map_err(io::Error::other)?;
        let dropped = count.saturating_sub(PORTION);
        let mut content = vec![0; (count - dropped) * E::SIZE];
        file.read_exact_at(&mut content, (dropped * E::SIZE) as u64)?;
        let entries = decode_entries(&content);
        Ok(ActiveIndex {
            dropped,
            marks: Vec::new(),
            written: dropped + entries.len(),
            entries,
        })
    }

    pub(crate) fn last(&self) -> Option<&E> {
        self.entries.last()
    }

    pub(crate) fn len(&self) -> usize {
        self.dropped + self.entries.len()
    }

    /// Whether the file holds no entry of it.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.written == 0
    }

    /// Adds an entry; one that does not follow the last is left out.
    pub(crate) fn push(&mut self, entry: E) {
        if self.entries.last().is_none_or(|last| entry.follows(last)) {
            self.entries.push(entry);
        }
    }

    /// The last entry whose key is at most `key`.
    pub(crate) fn floor(&self, key: E::Key) -> Floor<E> {
        let after = self.entries.partition_point(|entry| entry.key() <= key);
        match after.checked_sub(1).and_then(|index| self.entries.get(index)) {
            Some(entry) => Floor::Found(*entry),
            None => match self.portion(key) {
                numbers if numbers.is_empty() => Floor::Before,
                numbers => Floor::InFile(numbers),
            },
        }
    }

    /// The entries of the file that the last one whose key is at most `key` is among.
    fn portion(&self, key: E::Key) -> Range<usize> {
        let after = self.marks.partition_point(|(_, entry)| entry.key() <= key);
        let number = |index: usize| self.marks.get(index).map(|(number, _)| *number);
        let start = after.checked_sub(1).and_then(number).unwrap_or(0);
        start..number(after).unwrap_or(self.dropped)
    }

    /// The first entry in memory for which `is_after` holds, when it holds for the later ones too.
    pub(crate) fn first(&self, is_after: impl Fn(&E) -> bool) -> Option<E> {
        let index = self.entries.partition_point(|entry| !is_after(entry));
        self.entries.get(index).copied()
    }

    /// Whether enough entries have gathered to be written.
    pub(crate) fn has_portion(&self) -> bool {
        self.len() - self.written >= PORTION
    }

    /// Writes to the file what it does not hold yet, and keeps a portion in memory.
    pub(crate) fn write_rest(&mut self, file: &dyn DiskFile) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in self
            .entries
            .get(self.written.saturating_sub(self.dropped)..)
            .unwrap_or_default()
        {
            entry.encode(&mut bytes);
        }
        if !bytes.is_empty() {
            file.write_all_at(&[IoSlice::new(&bytes)], (self.written * E::SIZE) as u64)?;
        }
        self.written = self.len();
        let old = self.entries.len().saturating_sub(PORTION);
        let oldest = self.entries.drain(..old).next();
        self.marks.extend(oldest.map(|entry| (self.dropped, entry)));
        self.dropped += old;
        Ok(())
    }

    /// The size of the file when it holds all entries and no zeros.
    pub(crate) fn file_size(&self) -> u64 {
        (self.len() * E::SIZE) as u64
    }
}

/// The last of some entries of a file whose key is at most `key`: by positioned reads, the last of them of a portion.
pub(crate) fn floor_in_file<E: IndexEntry>(
    file: &dyn DiskFile,
    numbers: Range<u64>,
    key: E::Key,
) -> io::Result<Option<E>> {
    let Range {
        start: mut low,
        end: mut high,
    } = numbers;
    let mut found = None;
    while high.saturating_sub(low) > PORTION as u64 {
        let middle = low + (high - low) / 2;
        match entry_at::<E>(file, middle)? {
            Some(entry) if entry.key() <= key => {
                found = Some(entry);
                low = middle + 1;
            }
            _ => high = middle,
        }
    }
    let mut bytes = vec![0; usize::try_from(high.saturating_sub(low)).unwrap_or(0) * E::SIZE];
    let read = file.read_at(&mut bytes, low.saturating_mul(E::SIZE as u64))?;
    let portion = bytes.get(..read).unwrap_or_default().chunks_exact(E::SIZE);
    let up_to_key = portion
        .map_while(E::decode)
        .take_while(|entry| entry.key() <= key);
    Ok(up_to_key.last().or(found))
}

/// The entry of that number; `None` past the end.
fn entry_at<E: IndexEntry>(file: &dyn DiskFile, number: u64) -> io::Result<Option<E>> {
    let mut bytes = [0; 16];
    let Some(bytes) = bytes.get_mut(..E::SIZE) else {
        return Ok(None);
    };
    match file.read_exact_at(bytes, number.saturating_mul(E::SIZE as u64)) {
        Ok(()) => Ok(E::decode(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last entry of a sealed index file.
pub(crate) fn last_in_file<E: IndexEntry>(disk: &dyn Disk, path: &Path) -> io::Result<Option<E>> {
    let file = match disk.open_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match (file.len()? / E::SIZE as u64).checked_sub(1) {
        Some(number) => entry_at(&*file, number),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SimDisk;

    /// An index of many portions, and the file that has the older ones.
    fn written() -> (ActiveIndex<OffsetEntry>, std::sync::Arc<dyn DiskFile>) {
        let file = SimDisk::new(1).open_or_create(Path::new("/index")).unwrap();
        let mut index = ActiveIndex::new();
        for number in 0..10 * PORTION as u32 {
            index.push(entry(number));
            if index.has_portion() {
                index.write_rest(&*file).unwrap();
            }
        }
        (index, file)
    }

    fn entry(number: u32) -> OffsetEntry {
        OffsetEntry {
            relative_offset: 10 * number + 5,
            position: number,
        }
    }

    fn found(index: &ActiveIndex<OffsetEntry>, file: &dyn DiskFile, key: u32) -> Option<OffsetEntry> {
        match index.floor(key) {
            Floor::Found(entry) => Some(entry),
            Floor::Before => None,
            Floor::InFile(numbers) => {
                floor_in_file(file, numbers.start as u64..numbers.end as u64, key).unwrap()
            }
        }
    }

    #[test]
    fn an_entry_far_back_is_among_those_of_one_portion() {
        let (index, file) = written();
        for number in 0..10 * PORTION as u32 {
            let key = 10 * number + 7;
            assert_eq!(found(&index, &*file, key), Some(entry(number)));
            if let Floor::InFile(numbers) = index.floor(key) {
                assert!(numbers.len() <= PORTION, "{numbers:?}");
            }
        }
        assert_eq!(
            index.floor(4),
            Floor::Before,
            "before the first, the file need not be looked at"
        );
    }

    #[test]
    fn an_index_that_was_read_from_its_file_finds_the_same() {
        let (_, file) = written();
        let index = ActiveIndex::load(&*file).unwrap();
        assert!(matches!(index.floor(7), Floor::InFile(_)));
        for number in 0..10 * PORTION as u32 {
            assert_eq!(found(&index, &*file, 10 * number + 5), Some(entry(number)));
        }
        assert_eq!(found(&index, &*file, 4), None);
    }
}

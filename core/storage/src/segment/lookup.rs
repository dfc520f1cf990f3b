//! Finding things in a segment: the batch that holds an offset, the batch that has a time.

use std::io;
use std::ops::Range;

use model::Offset;
use wire::records::BatchError;

use super::Segment;
use super::index::{
    Floor, IndexEntry, OffsetEntry, TimeEntry, absolute, floor_in_file, last_in_file, relative,
};
use super::scan::{Scanned, Scanner, Step};
use crate::disk::DiskFile;
use crate::log::ReadError;

/// The place of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) position: u64,
    pub(crate) size: u64,
    pub(crate) base_offset: Offset,
}

impl Segment {
    /// The first batch that holds `offset` or lies behind it, and the size of the segment; `None` where there is none.
    pub(crate) fn locate(&self, offset: Offset) -> Result<(Option<Located>, u64), ReadError> {
        let (size, hint) = {
            let state = self.read();
            match &state.active {
                Some(active) if offset >= active.next_offset => return Ok((None, state.size)),
                Some(active) => {
                    if let Some(batch) = active.indexes.recent(offset) {
                        let (position, size, base_offset) = (batch.position, batch.size, batch.base_offset);
                        return Ok((
                            Some(Located {
                                position,
                                size,
                                base_offset,
                            }),
                            state.size,
                        ));
                    }
                    (state.size, Some(active.indexes.floor_offset(offset)))
                }
                None => (state.size, None),
            }
        };
        let start = self.start_of_scan(offset, hint)?;
        let file = self.log_file()?;
        let found = match self.scan_for(&*file, start, size, |entry| entry.last_offset >= offset) {
            // The index led astray: what it points to is no batch, or one behind the offset.
            Err(ReadError::Corrupt { .. }) if start > 0 => {
                self.scan_for(&*file, 0, size, |entry| entry.last_offset >= offset)?
            }
            Ok(Some(entry)) if start > 0 && entry.position == start && entry.base_offset > offset => {
                self.scan_for(&*file, 0, size, |entry| entry.last_offset >= offset)?
            }
            found => found?,
        };
        let located = found.map(|entry| Located {
            position: entry.position,
            size: entry.size,
            base_offset: entry.base_offset,
        });
        Ok((located, size))
    }

    /// Where a scan for an offset begins. `hint` is what the index in memory says; a sealed segment has none.
    fn start_of_scan(&self, offset: Offset, hint: Option<Floor<OffsetEntry>>) -> io::Result<u64> {
        let portion = match hint {
            Some(Floor::Found(entry)) => return Ok(u64::from(entry.position)),
            Some(Floor::Before) => return Ok(0),
            Some(Floor::InFile(portion)) => Some(portion),
            None => None,
        };
        let Some(key) = relative(self.base_offset(), offset) else {
            return Ok(0);
        };
        let index = match self.disk.open_read(&self.files.offset_index()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            index => index?,
        };
        let numbers = numbers::<OffsetEntry>(&*index, portion)?;
        Ok(floor_in_file::<OffsetEntry>(&*index, numbers, key)?.map_or(0, |entry| u64::from(entry.position)))
    }

    /// The first entry from `start` on that fits.
    pub(crate) fn scan_for(
        &self,
        file: &dyn DiskFile,
        start: u64,
        end: u64,
        fits: impl Fn(&Scanned) -> bool,
    ) -> Result<Option<Scanned>, ReadError> {
        let mut scanner = Scanner::new(file, start, end);
        loop {
            match scanner.step()? {
                Step::Entry(entry) if fits(&entry) => return Ok(Some(entry)),
                Step::Entry(_) => {}
                Step::End => return Ok(None),
                Step::Broken(error) => return Err(self.corrupt(scanner.position(), error)),
            }
        }
    }

    pub(crate) fn corrupt(&self, position: u64, error: BatchError) -> ReadError {
        ReadError::Corrupt {
            segment: self.base_offset(),
            position,
            error,
        }
    }

    /// An offset above all those before `position`, from the index in memory.
    pub(crate) fn upper_offset(&self, position: u64) -> Option<Offset> {
        let state = self.read();
        let active = state.active.as_ref()?;
        let entry = active
            .indexes
            .offsets
            .first(|entry| u64::from(entry.position) >= position)?;
        Some(absolute(self.base_offset(), entry.relative_offset))
    }

    /// The largest timestamp and the last offset of its batch; `None` where no record has one.
    pub(crate) fn largest_timestamp(&self) -> Result<Option<(i64, Offset)>, ReadError> {
        if let Some(known) = self.read().largest {
            return Ok(known);
        }
        let entry = last_in_file::<TimeEntry>(&*self.disk, &self.files.time_index())?;
        let largest = match entry {
            Some(entry) => Some((
                entry.timestamp,
                absolute(self.base_offset(), entry.relative_offset),
            )),
            None => self.scan_largest()?,
        };
        self.write().largest = Some(largest);
        Ok(largest)
    }

    fn scan_largest(&self) -> Result<Option<(i64, Offset)>, ReadError> {
        let file = self.log_file()?;
        let mut scanner = Scanner::new(&*file, 0, self.size());
        let mut largest: Option<(i64, Offset)> = None;
        loop {
            match scanner.step()? {
                Step::Entry(entry)
                    if entry.max_timestamp > largest.map_or(-1, |(timestamp, _)| timestamp) =>
                {
                    largest = Some((entry.max_timestamp, entry.last_offset));
                }
                Step::Entry(_) => {}
                Step::End => return Ok(largest),
                Step::Broken(error) => return Err(self.corrupt(scanner.position(), error)),
            }
        }
    }

    /// Where a scan for the first batch with `timestamp` or later begins.
    pub(crate) fn start_for_timestamp(&self, timestamp: i64) -> Result<u64, ReadError> {
        let hint = self
            .read()
            .active
            .as_ref()
            .map(|active| active.indexes.times.floor(timestamp));
        let portion = match hint {
            Some(Floor::Found(entry)) => return self.start_before(entry),
            Some(Floor::Before) => return Ok(0),
            Some(Floor::InFile(portion)) => Some(portion),
            None => None,
        };
        let index = match self.disk.open_read(&self.files.time_index()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            index => index?,
        };
        let numbers = numbers::<TimeEntry>(&*index, portion)?;
        match floor_in_file::<TimeEntry>(&*index, numbers, timestamp)? {
            Some(entry) => self.start_before(entry),
            None => Ok(0),
        }
    }

    /// The place of the batch that a time entry names.
    fn start_before(&self, entry: TimeEntry) -> Result<u64, ReadError> {
        let offset = absolute(self.base_offset(), entry.relative_offset);
        let (located, _) = self.locate(offset)?;
        Ok(located.map_or(0, |located| located.position))
    }
}

/// The entries of an index file to look among: those that the index in memory names, or all of a sealed one.
fn numbers<E: IndexEntry>(index: &dyn DiskFile, portion: Option<Range<usize>>) -> io::Result<Range<u64>> {
    Ok(match portion {
        Some(portion) => portion.start as u64..portion.end as u64,
        None => 0..index.len()? / E::SIZE as u64,
    })
}

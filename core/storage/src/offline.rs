//! The files of a log as they lie there, for tools: no recovery, nothing repaired, nothing written.

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::Offset;
use wire::records::{BatchError, Entry};

use crate::disk::{Disk, DiskFile};
use crate::segment::{OffsetEntry, Scanner, Step, TimeEntry, decode_entries, load, parse_name};

/// A batch or message, and where it lies in its file.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// The place of its first byte.
    pub position: u64,
    /// The batch; its checksum has not been looked at.
    pub entry: Entry,
}

/// What a step through a segment comes upon.
#[derive(Debug, thiserror::Error)]
pub enum SegmentFault {
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// Bytes that are no entry: nothing behind them can be read.
    #[error("no batch at byte {position}: {error}")]
    Broken {
        /// The place.
        position: u64,
        /// What is wrong.
        error: BatchError,
    },
}

/// Steps over the entries of a `.log` file. Ends after the first fault.
pub struct SegmentReader {
    file: Arc<dyn DiskFile>,
    position: u64,
    end: u64,
}

impl SegmentReader {
    /// Opens a `.log` file, or a snapshot of the metadata log: both are batches one after the other.
    pub fn open(disk: &dyn Disk, path: &Path) -> io::Result<SegmentReader> {
        let file = disk.open_read(path)?;
        let end = file.len()?;
        Ok(SegmentReader {
            file,
            position: 0,
            end,
        })
    }

    fn next_entry(&mut self) -> Result<Option<StoredEntry>, SegmentFault> {
        let position = self.position;
        let broken = |error| SegmentFault::Broken { position, error };
        let scanned = match Scanner::new(&*self.file, position, self.end).step()? {
            Step::End => return Ok(None),
            Step::Broken(error) => return Err(broken(error)),
            Step::Entry(scanned) => scanned,
        };
        let entry = load(&*self.file, &scanned)?.map_err(broken)?;
        self.position = scanned.end();
        Ok(Some(StoredEntry { position, entry }))
    }
}

impl Iterator for SegmentReader {
    type Item = Result<StoredEntry, SegmentFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.next_entry().transpose();
        if !matches!(found, Some(Ok(_))) {
            self.position = self.end;
        }
        found
    }
}

/// The base offset that the name of a segment's file says, also of an index or a snapshot.
pub fn base_offset_of(path: &Path) -> Option<Offset> {
    parse_name(path.file_name()?.to_str()?).map(|(base_offset, _)| base_offset)
}

/// The entries of an `.index` file, without the zeros behind them.
pub fn decode_offset_index(content: &[u8]) -> Vec<OffsetEntry> {
    decode_entries(content)
}

/// The entries of a `.timeindex` file, without the zeros behind them.
pub fn decode_time_index(content: &[u8]) -> Vec<TimeEntry> {
    decode_entries(content)
}

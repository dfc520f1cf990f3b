//! Steps over the entries of a segment's file, oldest first. Memory is bounded by the chunk, whatever lengths the file
//! claims: a checksum is computed chunk by chunk.

use std::io;

use bytes::Bytes;
use model::{LeaderEpoch, Offset};
use wire::records::{BATCH_HEADER_SIZE, BatchError, BatchHeader, ENTRY_PREFIX_SIZE, Entry, EntryPrefix};

use crate::disk::DiskFile;

/// What a header hop reads at once: an index interval.
const HOP_CHUNK: usize = 4 << 10;
/// What a checksum reads at once.
const SUM_CHUNK: usize = 256 << 10;
/// Where the checksum's cover begins.
const CRC_START: u64 = 21;
/// The largest message of magic 0 or 1 that is loaded to be checked.
const LEGACY_MAX: usize = 64 << 20;

/// An entry, as its first bytes describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Where it begins in the file.
    pub(crate) position: u64,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The first offset; of a legacy wrapper the last, for only its records know the first.
    pub(crate) base_offset: Offset,
    /// The offset of its last record.
    pub(crate) last_offset: Offset,
    /// The largest timestamp in the header; -1 without one.
    pub(crate) max_timestamp: i64,
    /// The epoch of the leader that appended it.
    pub(crate) leader_epoch: LeaderEpoch,
    /// The header of a batch; `None` for a message of magic 0 or 1.
    pub(crate) header: Option<BatchHeader>,
}

impl Scanned {
    /// The offset after it.
    pub(crate) fn next_offset(&self) -> Offset {
        Offset(self.last_offset.0.saturating_add(1))
    }

    /// Where the next one begins.
    pub(crate) fn end(&self) -> u64 {
        self.position.saturating_add(self.size)
    }
}

/// A step of a scan: an entry, the end of the file, or bytes that are no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Entry(Scanned),
    End,
    Broken(BatchError),
}

/// Hops from header to header in a file.
pub(crate) struct Scanner<'a> {
    file: &'a dyn DiskFile,
    position: u64,
    end: u64,
    buffer: Vec<u8>,
    buffer_start: u64,
}

impl<'a> Scanner<'a> {
    /// Steps over what lies from `position` to `end`.
    pub(crate) fn new(file: &'a dyn DiskFile, position: u64, end: u64) -> Scanner<'a> {
        Scanner {
            file,
            position,
            end,
            buffer: Vec::new(),
            buffer_start: 0,
        }
    }

    /// Steps from here on over the file as it is now, up to `end`.
    pub(crate) fn reread(&mut self, position: u64, end: u64) {
        self.position = position;
        self.end = end;
        self.buffer.clear();
    }

    /// Where the next step begins.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next entry; the scanner moves behind it.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        let left = self.end.saturating_sub(self.position);
        if left == 0 {
            return Ok(Step::End);
        }
        let wanted = BATCH_HEADER_SIZE.min(usize::try_from(left).unwrap_or(usize::MAX));
        let position = self.position;
        let bytes = self.bytes_at(position, wanted)?;
        let scanned = match parse(bytes, position, left) {
            Ok(scanned) => scanned,
            Err(error) => return Ok(Step::Broken(error)),
        };
        self.position = scanned.end();
        Ok(Step::Entry(scanned))
    }

    /// `wanted` bytes from `position` on, or what is there.
    fn bytes_at(&mut self, position: u64, wanted: usize) -> io::Result<&[u8]> {
        let within = |buffer: &Vec<u8>, start: u64| {
            let from = usize::try_from(position.checked_sub(start)?).ok()?;
            (from.checked_add(wanted)? <= buffer.len()).then_some(from)
        };
        let from = match within(&self.buffer, self.buffer_start) {
            Some(from) => from,
            None => {
                let left = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
                self.buffer.resize(HOP_CHUNK.max(wanted).min(left), 0);
                let read = read_full(self.file, &mut self.buffer, position)?;
                self.buffer.truncate(read);
                self.buffer_start = position;
                0
            }
        };
        let until = from.saturating_add(wanted).min(self.buffer.len());
        Ok(self.buffer.get(from..until).unwrap_or_default())
    }
}

fn parse(bytes: &[u8], position: u64, left: u64) -> Result<Scanned, BatchError> {
    let available = usize::try_from(left).unwrap_or(usize::MAX);
    if bytes.len() < ENTRY_PREFIX_SIZE {
        return Err(BatchError::Truncated {
            needed: ENTRY_PREFIX_SIZE,
            available: bytes.len(),
        });
    }
    let prefix = EntryPrefix::parse(bytes)?;
    if prefix.size > available {
        return Err(BatchError::Truncated {
            needed: prefix.size,
            available,
        });
    }
    let header = if prefix.magic == 2 {
        Some(BatchHeader::parse(bytes)?)
    } else {
        None
    };
    if let Some(header) = &header
        && (header.last_offset_delta < 0
            || header
                .base_offset
                .0
                .checked_add(i64::from(header.last_offset_delta))
                .is_none())
    {
        return Err(BatchError::Count {
            count: header.record_count,
            last_offset_delta: header.last_offset_delta,
        });
    }
    Ok(Scanned {
        position,
        size: prefix.size as u64,
        base_offset: prefix.offset,
        last_offset: header.map_or(prefix.offset, |header| header.last_offset()),
        max_timestamp: header.map_or(-1, |header| header.max_timestamp),
        leader_epoch: header.map_or(LeaderEpoch::NONE, |header| header.leader_epoch),
        header,
    })
}

/// Fills the buffer, or as much of it as the file has.
pub(crate) fn read_full(file: &dyn DiskFile, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, position.saturating_add(done as u64))? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}

/// Loads an entry whole.
pub(crate) fn load(file: &dyn DiskFile, scanned: &Scanned) -> io::Result<Result<Entry, BatchError>> {
    let mut bytes = vec![0; usize::try_from(scanned.size).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, scanned.position)?;
    Ok(Entry::parse(&Bytes::from(bytes)))
}

/// Computes the checksum of an entry and compares it with the one it carries.
pub(crate) fn verify(file: &dyn DiskFile, scanned: &Scanned) -> io::Result<Result<(), BatchError>> {
    let Some(header) = &scanned.header else {
        let size = usize::try_from(scanned.size).unwrap_or(usize::MAX);
        if size > LEGACY_MAX {
            return Ok(Err(BatchError::Truncated {
                needed: size,
                available: LEGACY_MAX,
            }));
        }
        return Ok(load(file, scanned)?.and_then(|entry| entry.verify_crc()));
    };
    let mut computed = 0;
    let mut position = scanned.position.saturating_add(CRC_START);
    let mut buffer = Vec::new();
    while position < scanned.end() {
        let left = usize::try_from(scanned.end() - position).unwrap_or(usize::MAX);
        buffer.resize(SUM_CHUNK.min(left), 0);
        file.read_exact_at(&mut buffer, position)?;
        computed = crc32c::crc32c_append(computed, &buffer);
        position += buffer.len() as u64;
    }
    match computed == header.crc {
        true => Ok(Ok(())),
        false => Ok(Err(BatchError::Checksum {
            stored: header.crc,
            computed,
        })),
    }
}

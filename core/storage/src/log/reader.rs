//! Reading a log, with or without the one who appends: a reader holds the list of segments as it was, and the segments
//! themselves are shared. What it gives out are ranges of files; no lock is held while a disk is waited for.

use std::sync::Arc;

use model::{LeaderEpoch, Offset};
use wire::records::{DecompressionLimit, Entry, Record};
use wire::{FileRange, Records, Segment as WireSegment};

use super::{AbortedTransaction, EpochEnd, ReadError};
use crate::epochs::LeaderEpochs;
use crate::segment::{Located, Scanned, Segment, load};

/// Whether the first batch of a read is returned whole though it is larger than asked for (KIP-74, rule 59).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstBatch {
    /// Whole, whatever its size.
    Whole,
    /// Not at all.
    Limited,
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Batches, from the one that holds the offset asked for; the last may be cut off. Ranges of files: nothing has
    /// been read.
    pub records: Records,
    /// An offset above all those in `records`: what a list of aborted transactions has to cover.
    pub upper_offset: Offset,
}

/// A record found by its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampOffset {
    /// Its time.
    pub timestamp: i64,
    /// Its offset.
    pub offset: Offset,
    /// The epoch of the leader that appended it.
    pub leader_epoch: LeaderEpoch,
}

/// A log as it was at one moment. Cheap to clone, and of use without any lock.
#[derive(Clone, Debug)]
pub struct LogReader {
    pub(super) segments: Arc<Vec<Arc<Segment>>>,
    pub(super) epochs: Arc<LeaderEpochs>,
    pub(super) log_start_offset: Offset,
    pub(super) log_end_offset: Offset,
    pub(super) limit: DecompressionLimit,
}

impl LogReader {
    /// The first offset.
    pub fn log_start_offset(&self) -> Offset {
        self.log_start_offset
    }

    /// The offset after the last record.
    pub fn log_end_offset(&self) -> Offset {
        self.log_end_offset
    }

    /// The newest leader epoch with records, or begun.
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.latest()
    }

    /// The epoch that holds an offset.
    pub fn epoch_of(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.epochs.epoch_of(offset)
    }

    /// Where an epoch ends (KIP-101, KIP-279); `None` when the log knows no epoch up to it.
    pub fn end_offset_for_epoch(&self, leader_epoch: LeaderEpoch) -> Option<EpochEnd> {
        self.epochs.end_of(leader_epoch, self.log_end_offset)
    }

    /// Batches from `offset` on, below `upto`, at most about `max_bytes` of them.
    pub fn read(
        &self,
        offset: Offset,
        max_bytes: usize,
        upto: Offset,
        first: FirstBatch,
    ) -> Result<Read, ReadError> {
        if offset < self.log_start_offset || offset > self.log_end_offset {
            return Err(ReadError::OutOfRange {
                offset,
                log_start_offset: self.log_start_offset,
                log_end_offset: self.log_end_offset,
            });
        }
        let upto = upto.min(self.log_end_offset);
        let nothing = Read {
            records: Records::empty(),
            upper_offset: offset,
        };
        if offset >= upto {
            return Ok(nothing);
        }
        for (index, segment) in self.segments_from(offset) {
            if segment.base_offset() >= upto {
                break;
            }
            let (Some(located), size) = segment.locate(offset)? else {
                continue;
            };
            if located.base_offset >= upto {
                break;
            }
            let next_base = self.segments.get(index + 1).map(|next| next.base_offset());
            let end = match next_base {
                Some(base) if base <= upto => size,
                _ => segment.locate(upto)?.0.map_or(size, |beyond| beyond.position),
            };
            let wanted = match first {
                FirstBatch::Whole => located.size.max(max_bytes as u64),
                FirstBatch::Limited if located.size > max_bytes as u64 => break,
                FirstBatch::Limited => max_bytes as u64,
            };
            return range(
                segment,
                located,
                wanted.min(end.saturating_sub(located.position)),
                upto,
                next_base,
            );
        }
        Ok(nothing)
    }

    /// The segments that may hold `offset` or what follows it, with their place in the list.
    fn segments_from(&self, offset: Offset) -> impl Iterator<Item = (usize, &Arc<Segment>)> {
        let after = self
            .segments
            .partition_point(|segment| segment.base_offset() <= offset);
        self.segments.iter().enumerate().skip(after.saturating_sub(1))
    }

    /// The aborted transactions that touch offsets from `from` to below `to`, in the order of their markers.
    pub fn aborted_transactions(
        &self,
        from: Offset,
        to: Offset,
    ) -> Result<Vec<AbortedTransaction>, ReadError> {
        let mut found = Vec::new();
        for (_, segment) in self.segments_from(from) {
            let aborted = segment.aborted()?;
            let from_here = aborted.partition_point(|entry| entry.last_offset < from);
            for entry in aborted.get(from_here..).unwrap_or_default() {
                if entry.first_offset < to {
                    found.push(*entry);
                }
                // All transactions that begin below the stable offset have ended by then: none is left to find.
                if entry.last_stable_offset >= to {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }

    /// The first record whose time is `timestamp` or later (cases 34, 35). Markers are not records to a client.
    pub fn offset_by_timestamp(&self, timestamp: i64) -> Result<Option<TimestampOffset>, ReadError> {
        let is_asked_for =
            |record: &Record| record.timestamp >= timestamp && record.offset >= self.log_start_offset;
        for (_, segment) in self.segments_from(self.log_start_offset) {
            let Some((largest, _)) = segment.largest_timestamp()? else {
                continue;
            };
            if largest < timestamp {
                continue;
            }
            let mut start = segment.start_for_timestamp(timestamp)?;
            let file = segment.log_file()?;
            let fits = |entry: &Scanned| {
                let control = entry.header.is_some_and(|header| header.attributes.is_control());
                entry.max_timestamp >= timestamp && entry.last_offset >= self.log_start_offset && !control
            };
            while let Some(entry) = segment.scan_for(&*file, start, segment.size(), fits)? {
                if entry.base_offset >= self.log_end_offset {
                    break;
                }
                if let Some(found) = self.record_in(segment, &entry, is_asked_for)? {
                    return Ok(Some(found));
                }
                start = entry.end();
            }
        }
        Ok(None)
    }

    /// The first record with the largest time of all, markers included, as Apache Kafka counts (ListOffsets -3).
    pub fn offset_of_max_timestamp(&self) -> Result<Option<TimestampOffset>, ReadError> {
        let mut best: Option<(i64, Offset, &Arc<Segment>)> = None;
        for (_, segment) in self.segments_from(self.log_start_offset) {
            let Some((timestamp, offset)) = segment.largest_timestamp()? else {
                continue;
            };
            if best.is_none_or(|(largest, ..)| timestamp > largest) {
                best = Some((timestamp, offset, segment));
            }
        }
        let Some((timestamp, offset, segment)) = best else {
            return Ok(None);
        };
        let (Some(located), size) = segment.locate(offset)? else {
            return Ok(None);
        };
        let file = segment.log_file()?;
        let Some(entry) = segment.scan_for(&*file, located.position, size, |_| true)? else {
            return Ok(None);
        };
        self.record_in(segment, &entry, |record| record.timestamp >= timestamp)
    }

    /// The first record of a batch that fits.
    fn record_in(
        &self,
        segment: &Segment,
        scanned: &Scanned,
        fits: impl Fn(&Record) -> bool,
    ) -> Result<Option<TimestampOffset>, ReadError> {
        let file = segment.log_file()?;
        let entry = load(&*file, scanned)?.map_err(|error| segment.corrupt(scanned.position, error))?;
        let unreadable = |error| ReadError::CorruptRecords(scanned.base_offset, error);
        let found = match &entry {
            Entry::Batch(batch) => {
                let mut found = None;
                for record in batch.records(self.limit).map_err(unreadable)? {
                    let record = record.map_err(unreadable)?;
                    if fits(&record) {
                        found = Some(record);
                        break;
                    }
                }
                found
            }
            Entry::Message(message) => message
                .records(self.limit)
                .map_err(unreadable)?
                .into_iter()
                .find(fits),
        };
        Ok(found.map(|record| TimestampOffset {
            timestamp: record.timestamp,
            offset: record.offset,
            leader_epoch: scanned.leader_epoch,
        }))
    }

    /// The bytes of all segments.
    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size()).sum()
    }
}

fn range(
    segment: &Segment,
    located: Located,
    length: u64,
    upto: Offset,
    next_base: Option<Offset>,
) -> Result<Read, ReadError> {
    let upper = segment
        .upper_offset(located.position.saturating_add(length))
        .or(next_base);
    let range = FileRange {
        source: segment.log_file()?.as_source(),
        position: located.position,
        length: usize::try_from(length).unwrap_or(usize::MAX),
    };
    Ok(Read {
        records: Records::from_segments(vec![WireSegment::File(range)]),
        upper_offset: upper.map_or(upto, |upper| upper.min(upto)),
    })
}

//! The producers' state from what is on disk: snapshots, and the batches behind them (rules 30, 32).

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::Offset;
use wire::records::{Batch, Entry};

use super::{AbortedTransaction, ReadError};
use crate::disk::{Disk, DiskFile};
use crate::producers::{Producers, decode_snapshot, encode_snapshot, producer_batch};
use crate::segment::{FileKind, Scanned, Scanner, Segment, SegmentFiles, Step, load, parse_name};

/// The largest control batch that is read: a marker has 78 bytes.
const CONTROL_MAX: u64 = 64 << 10;

/// The producers of a log at an offset.
#[derive(Default)]
pub(super) struct ProducersAt {
    pub(super) state: Producers,
    /// The newest snapshot up to there.
    pub(super) snapshot_offset: Option<Offset>,
    /// What could not be read on the way.
    pub(super) fault: Option<String>,
}

/// What there is to build the state from.
pub(super) struct Replay {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: Arc<Path>,
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) window: usize,
    pub(super) now_ms: i64,
    pub(super) expiration_ms: i64,
}

impl Replay {
    /// The state at an offset: the newest sound snapshot up to it, and the batches from there on.
    pub(super) fn producers_at(&self, offset: Offset) -> Result<ProducersAt, ReadError> {
        let mut found = self.newest_snapshot(offset)?;
        let from = found.snapshot_offset.unwrap_or(Offset::ZERO);
        for segment in self
            .segments
            .iter()
            .filter(|segment| segment.base_offset() < offset)
        {
            let (located, size) = segment.locate(from)?;
            let Some(located) = located else { continue };
            let file = segment.log_file()?;
            let mut scanner = Scanner::new(&*file, located.position, size);
            loop {
                match scanner.step()? {
                    Step::Entry(entry) if entry.base_offset < offset => {
                        self.take(&mut found.state, &entry, &*file)?;
                    }
                    Step::Entry(_) | Step::End => break,
                    Step::Broken(error) => {
                        found.fault = Some(segment.corrupt(scanner.position(), error).to_string());
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    fn newest_snapshot(&self, offset: Offset) -> io::Result<ProducersAt> {
        let mut offsets = snapshot_offsets(&*self.disk, &self.dir)?;
        offsets.retain(|taken| *taken <= offset);
        while let Some(taken) = offsets.pop() {
            let path = SegmentFiles::new(&self.dir, taken).snapshot();
            match decode_snapshot(&self.disk.read(&path)?) {
                Ok(entries) => {
                    let state = Producers::from_snapshot(&entries, self.now_ms, self.expiration_ms);
                    return Ok(ProducersAt {
                        state,
                        snapshot_offset: Some(taken),
                        fault: None,
                    });
                }
                // Damaged: the one before it, and the batches in between, say the same (rule 30).
                Err(_) => self.disk.remove_file(&path)?,
            }
        }
        Ok(ProducersAt::default())
    }

    /// Takes an entry of the log in; yields what it aborts.
    pub(super) fn take(
        &self,
        producers: &mut Producers,
        entry: &Scanned,
        file: &dyn DiskFile,
    ) -> io::Result<Vec<AbortedTransaction>> {
        let Some(header) = &entry.header else {
            return Ok(Vec::new());
        };
        let load = || load_control(entry, file);
        let produced = producer_batch(header, entry.base_offset, header.max_timestamp, load)?;
        Ok(produced.map_or(Vec::new(), |batch| {
            producers.replay(&batch, self.window, self.now_ms)
        }))
    }
}

/// The state while segments are read from their start on.
///
/// It is built from the batches, for the index of aborted transactions needs it at each of them. But batches whose
/// producers nothing else mentions may have left the log: a snapshot that was durable knows more than what is left.
pub(super) struct Rebuild {
    replay: Replay,
    from_batches: ProducersAt,
    from_snapshot: Option<ProducersAt>,
}

impl Rebuild {
    /// Before the segment at `base` is read. Snapshots up to `sound_upto` are of this log.
    pub(super) fn new(replay: Replay, base: Offset, sound_upto: Offset) -> Result<Rebuild, ReadError> {
        let newest = replay.newest_snapshot(sound_upto)?;
        let from_snapshot = (newest.snapshot_offset > Some(base)).then_some(newest);
        let from_batches = replay.producers_at(base)?;
        Ok(Rebuild {
            replay,
            from_batches,
            from_snapshot,
        })
    }

    /// Takes an entry in; yields what it aborts.
    pub(super) fn take(
        &mut self,
        entry: &Scanned,
        file: &dyn DiskFile,
    ) -> io::Result<Vec<AbortedTransaction>> {
        if let Some(newer) = &mut self.from_snapshot
            && Some(entry.base_offset) >= newer.snapshot_offset
        {
            self.replay.take(&mut newer.state, entry, file)?;
        }
        self.replay.take(&mut self.from_batches.state, entry, file)
    }

    /// The state at `end`, up to which everything was read, where the snapshot tells it.
    fn known_at(&mut self, end: Offset) -> Option<&mut ProducersAt> {
        self.from_snapshot
            .as_mut()
            .filter(|newer| newer.snapshot_offset <= Some(end))
    }

    /// Writes the state at `end`, unless a snapshot is there already; yields the file to be synced.
    pub(super) fn write_snapshot(&mut self, end: Offset) -> io::Result<Arc<dyn DiskFile>> {
        let path = SegmentFiles::new(&self.replay.dir, end).snapshot();
        let there = self.replay.disk.read_if_there(&path)?;
        let known = match self.known_at(end) {
            Some(newer) => newer,
            None => &mut self.from_batches,
        };
        known.snapshot_offset = Some(end);
        if there.is_some_and(|content| decode_snapshot(&content).is_ok()) {
            // It can be read, but perhaps only until the next loss of power.
            return self.replay.disk.open(&path);
        }
        let content = encode_snapshot(&known.state).map_err(io::Error::other)?;
        self.replay.disk.write(&path, &content)
    }

    /// The state at the end of the log.
    pub(super) fn finish(mut self, end: Offset) -> ProducersAt {
        let fault = self.from_batches.fault.take();
        match self.known_at(end).map(std::mem::take) {
            Some(newer) => ProducersAt { fault, ..newer },
            None => ProducersAt {
                fault,
                ..self.from_batches
            },
        }
    }
}

fn load_control(entry: &Scanned, file: &dyn DiskFile) -> io::Result<Option<Batch>> {
    if entry.size > CONTROL_MAX {
        return Ok(None);
    }
    match load(file, entry)? {
        Ok(Entry::Batch(batch)) => Ok(Some(batch)),
        _ => Ok(None),
    }
}

/// The offsets of the snapshots in a folder, lowest first.
fn snapshot_offsets(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Offset>> {
    let names = disk.list(dir)?;
    let snapshots = names.iter().filter_map(|entry| match parse_name(&entry.name)? {
        (offset, FileKind::Snapshot) => Some(offset),
        _ => None,
    });
    Ok(snapshots.collect())
}

/// Removes the snapshots above an offset (rule 32). That they are gone is durable with the next sync of the folder.
pub(super) fn drop_snapshots_above(disk: &dyn Disk, dir: &Path, offset: Offset) -> io::Result<()> {
    let shared: Arc<Path> = Arc::from(dir);
    for taken in snapshot_offsets(disk, dir)?
        .into_iter()
        .filter(|taken| *taken > offset)
    {
        disk.remove_file(&SegmentFiles::new(&shared, taken).snapshot())?;
    }
    Ok(())
}

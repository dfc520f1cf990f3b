//! The leader epochs of a log: at which offset each began (`leader-epoch-checkpoint`; KIP-101, rule 43).
//!
//! Epochs and offsets rise strictly. A change is durable before the call returns: what a follower or consumer is told
//! about epochs decides what they throw away.

use std::io;
use std::path::PathBuf;

use model::{LeaderEpoch, Offset};

use crate::checkpoint::{CheckpointError, parse_lines, render_lines};
use crate::disk::Disk;
use crate::log::EpochEnd;

pub(crate) const EPOCH_FILE: &str = "leader-epoch-checkpoint";

/// Where an epoch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub leader_epoch: LeaderEpoch,
    /// The offset of its first record.
    pub start_offset: Offset,
}

/// The epochs of one log, and the file they lie in.
#[derive(Clone, Debug)]
pub(crate) struct LeaderEpochs {
    path: PathBuf,
    entries: Vec<EpochStart>,
}

/// Reads the content of a `leader-epoch-checkpoint`.
pub fn parse_epochs(text: &[u8]) -> Result<Vec<EpochStart>, CheckpointError> {
    parse_lines(text, |fields| match fields {
        [epoch, offset] => Some(EpochStart {
            leader_epoch: LeaderEpoch(epoch.parse().ok().filter(|epoch| *epoch >= 0)?),
            start_offset: Offset(offset.parse().ok().filter(|offset| *offset >= 0)?),
        }),
        _ => None,
    })
}

impl LeaderEpochs {
    pub(crate) fn empty(path: PathBuf) -> LeaderEpochs {
        LeaderEpochs {
            path,
            entries: Vec::new(),
        }
    }

    /// Reads the file; a file that is missing or makes no sense counts as empty, and what recovery finds in the log
    /// takes its place.
    pub(crate) fn load(disk: &dyn Disk, path: PathBuf) -> io::Result<LeaderEpochs> {
        let content = disk.read_if_there(&path)?.unwrap_or_default();
        let mut epochs = LeaderEpochs::empty(path);
        for entry in parse_epochs(&content).unwrap_or_default() {
            epochs.push(entry);
        }
        Ok(epochs)
    }

    /// Adds an epoch in memory. One that is not above the newest changes nothing; one that begins at or before others
    /// puts an end to them, for they hold no record.
    fn push(&mut self, entry: EpochStart) -> bool {
        if self.latest().is_some_and(|latest| latest >= entry.leader_epoch) {
            return false;
        }
        self.entries
            .retain(|older| older.start_offset < entry.start_offset);
        self.entries.push(entry);
        true
    }

    /// Notes an epoch found in the log, without writing the file: recovery and appends from a leader write it once.
    pub(crate) fn note(&mut self, leader_epoch: LeaderEpoch, start_offset: Offset) -> bool {
        leader_epoch.0 >= 0
            && self.push(EpochStart {
                leader_epoch,
                start_offset,
            })
    }

    fn render(&self) -> String {
        render_lines(
            self.entries
                .iter()
                .map(|entry| format!("{} {}", entry.leader_epoch, entry.start_offset)),
        )
    }

    /// Writes the file, durably.
    pub(crate) fn store(&self, disk: &dyn Disk) -> io::Result<()> {
        disk.replace(&self.path, self.render().as_bytes())
    }

    /// Writes the file at a clean end, where it says something else: a thousand partitions that nothing happened to need
    /// no three thousand syncs.
    pub(crate) fn store_changes(&self, disk: &dyn Disk) -> io::Result<()> {
        match disk.read_if_there(&self.path)? {
            Some(content) if content == self.render().as_bytes() => Ok(()),
            _ => self.store(disk),
        }
    }

    pub(crate) fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.leader_epoch)
    }

    /// The epoch whose records hold an offset.
    pub(crate) fn epoch_of(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start_offset <= offset);
        self.entries
            .get(after.checked_sub(1)?)
            .map(|entry| entry.leader_epoch)
    }

    /// The end of the largest epoch up to `leader_epoch`; the newest one ends at the end of the log. An epoch below
    /// all known ones ends where the first known one begins, under the number asked for (KIP-279).
    pub(crate) fn end_of(&self, leader_epoch: LeaderEpoch, log_end_offset: Offset) -> Option<EpochEnd> {
        if leader_epoch.0 < 0 || self.latest()? < leader_epoch {
            return None;
        }
        let after = self
            .entries
            .partition_point(|entry| entry.leader_epoch <= leader_epoch);
        let found = after.checked_sub(1).and_then(|index| self.entries.get(index));
        let next = self.entries.get(after).map(|entry| entry.start_offset);
        Some(EpochEnd {
            leader_epoch: found.map_or(leader_epoch, |entry| entry.leader_epoch),
            end_offset: next.unwrap_or(log_end_offset),
        })
    }

    /// Forgets epochs that begin at or after the end of the log. Whether that changed anything.
    pub(crate) fn truncate_end(&mut self, log_end_offset: Offset) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.start_offset < log_end_offset);
        self.entries.len() != before
    }

    /// Forgets epochs that begin after the end of the log, which recovery has found. One that begins there holds no
    /// record yet, but has begun. Whether that changed anything.
    pub(crate) fn recovered_end(&mut self, log_end_offset: Offset) -> bool {
        self.truncate_end(Offset(log_end_offset.0.saturating_add(1)))
    }

    /// Forgets epochs that end at or before the start of the log; the one that holds the start begins there. Whether
    /// that changed anything.
    pub(crate) fn truncate_start(&mut self, log_start_offset: Offset) -> bool {
        let after = self
            .entries
            .partition_point(|entry| entry.start_offset <= log_start_offset);
        let Some(holder) = after.checked_sub(1) else {
            return false;
        };
        self.entries.drain(..holder);
        match self.entries.first_mut() {
            Some(first) if first.start_offset < log_start_offset => {
                first.start_offset = log_start_offset;
                true
            }
            _ => holder > 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn entries(&self) -> &[EpochStart] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SimDisk;
    use std::path::Path;

    fn epochs(entries: &[(i32, i64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs {
            path: PathBuf::from("/leader-epoch-checkpoint"),
            entries: Vec::new(),
        };
        for (epoch, offset) in entries {
            assert!(epochs.note(LeaderEpoch(*epoch), Offset(*offset)));
        }
        epochs
    }

    fn pairs(epochs: &LeaderEpochs) -> Vec<(i32, i64)> {
        epochs
            .entries()
            .iter()
            .map(|entry| (entry.leader_epoch.0, entry.start_offset.0))
            .collect()
    }

    #[test]
    fn the_file_is_kafkas_and_reads_back() {
        let disk = SimDisk::new(1);
        let written = epochs(&[(0, 0), (3, 17)]);
        written.store(&disk).unwrap();
        let path = Path::new("/leader-epoch-checkpoint");
        assert_eq!(disk.read(path).unwrap(), b"0\n2\n0 0\n3 17\n");
        assert_eq!(
            pairs(&LeaderEpochs::load(&disk, path.to_owned()).unwrap()),
            [(0, 0), (3, 17)]
        );
        disk.write(path, b"0\n2\n0 0\nrubbish\n").unwrap();
        assert_eq!(pairs(&LeaderEpochs::load(&disk, path.to_owned()).unwrap()), []);
    }

    #[test]
    fn an_older_epoch_changes_nothing_and_a_newer_one_ends_the_empty_ones() {
        let mut epochs = epochs(&[(1, 0), (2, 10)]);
        assert!(!epochs.note(LeaderEpoch(2), Offset(20)));
        assert!(!epochs.note(LeaderEpoch(-1), Offset(20)));
        assert!(epochs.note(LeaderEpoch(5), Offset(10)));
        assert_eq!(pairs(&epochs), [(1, 0), (5, 10)]);
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let epochs = epochs(&[(2, 5), (4, 10), (7, 30)]);
        let end = |epoch| {
            epochs
                .end_of(LeaderEpoch(epoch), Offset(40))
                .map(|end| (end.leader_epoch.0, end.end_offset.0))
        };
        assert_eq!(end(7), Some((7, 40)));
        assert_eq!(end(5), Some((4, 30)));
        assert_eq!(end(2), Some((2, 10)));
        assert_eq!(end(1), Some((1, 5)));
        assert_eq!(end(8), None);
        assert_eq!(end(-1), None);
        assert_eq!(epochs.epoch_of(Offset(9)), Some(LeaderEpoch(2)));
        assert_eq!(epochs.epoch_of(Offset(4)), None);
    }

    #[test]
    fn both_ends_are_cut_with_the_log() {
        let mut epochs = epochs(&[(2, 5), (4, 10), (7, 30)]);
        assert!(epochs.truncate_start(Offset(12)));
        assert!(!epochs.truncate_start(Offset(12)));
        assert_eq!(pairs(&epochs), [(4, 12), (7, 30)]);
        assert!(epochs.truncate_end(Offset(30)));
        assert!(!epochs.truncate_end(Offset(30)));
        assert_eq!(pairs(&epochs), [(4, 12)]);
    }
}

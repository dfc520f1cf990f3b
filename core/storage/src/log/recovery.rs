//! From what lies in a folder to a log: leftovers removed, the end found, the producers' state rebuilt.
//!
//! After a clean end the newest segment is picked up where its index ends. After any other, every segment from the
//! recovery point on is read whole: the first batch that is not sound ends the log, whatever lies behind it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{Offset, Uuid};

use super::durability::Durability;
use super::open::{LogCheckpoint, LogPlace, RecoveryReport, Shutdown};
use super::replay::{ProducersAt, Rebuild, Replay, drop_snapshots_above};
use super::{Log, LogConfig, LogReader, ReadError, WriteState};
use crate::disk::{Disk, DiskFile};
use crate::epochs::{EPOCH_FILE, LeaderEpochs};
use crate::producers::DEDUPE_WINDOW;
use crate::segment::{
    Checksums, FileKind, IndexLimits, RecoverHow, Scanner, Segment, SegmentFiles, Step, parse_name,
};

/// Removes segments from the end of a log, newest first, each durably before the next.
pub(super) fn remove_segments(
    disk: &dyn Disk,
    dir: &Path,
    mut segments: Vec<Arc<Segment>>,
) -> io::Result<()> {
    while let Some(segment) = segments.pop() {
        segment.remove_files()?;
        disk.sync_dir(dir)?;
    }
    Ok(())
}

/// A folder on its way to being a log.
pub(super) struct Opening {
    place: LogPlace,
    dir: Arc<Path>,
    config: Arc<LogConfig>,
    now_ms: i64,
    report: RecoveryReport,
    segments: Vec<Arc<Segment>>,
    epochs: LeaderEpochs,
    log_end_offset: Offset,
    producers: ProducersAt,
    /// Where the log ended before what the journal has of it: nothing above was compacted.
    pub(super) journal_from: Option<Offset>,
    /// Files that were written here and are not durable.
    files: Vec<Arc<dyn DiskFile>>,
}

impl Opening {
    pub(super) fn new(place: LogPlace, config: Arc<LogConfig>, now_ms: i64) -> Opening {
        let dir: Arc<Path> = Arc::from(place.dir.as_path());
        Opening {
            epochs: LeaderEpochs::empty(dir.join(EPOCH_FILE)),
            place,
            dir,
            config,
            now_ms,
            report: RecoveryReport::default(),
            segments: Vec::new(),
            log_end_offset: Offset::ZERO,
            producers: ProducersAt::default(),
            journal_from: None,
            files: Vec::new(),
        }
    }

    fn limits(&self) -> IndexLimits {
        IndexLimits {
            bytes: self.config.segment_index_bytes,
        }
    }

    fn how(&self, checksums: Checksums) -> RecoverHow {
        RecoverHow {
            interval: self.config.index_interval_bytes,
            limits: self.limits(),
            now_ms: self.now_ms,
            checksums,
            doubted_from: None,
        }
    }

    fn checksums(&self) -> Checksums {
        #[cfg(feature = "planted-bugs")]
        if self.config.planted.recovery_skips_checksums {
            return Checksums::Skipped;
        }
        Checksums::Verified
    }

    fn replay(&self, segments: &[Arc<Segment>]) -> Replay {
        #[cfg(feature = "planted-bugs")]
        let window = DEDUPE_WINDOW - usize::from(self.config.planted.dedupe_window_of_four);
        #[cfg(not(feature = "planted-bugs"))]
        let window = DEDUPE_WINDOW;
        Replay {
            disk: Arc::clone(&self.place.disk),
            dir: Arc::clone(&self.dir),
            segments: segments.to_vec(),
            window,
            now_ms: self.now_ms,
            expiration_ms: self.config.producer_id_expiration_ms,
        }
    }

    /// Removes what crashes have left behind, completes what compaction had decided, and lists the segments (rule 99).
    pub(super) fn tidy_folder(&mut self) -> Result<(), ReadError> {
        let disk = Arc::clone(&self.place.disk);
        let mut names: Vec<String> = disk
            .list(&self.dir)?
            .into_iter()
            .filter(|entry| !entry.is_dir)
            .map(|entry| entry.name)
            .collect();
        let rolled_back = names
            .iter()
            .filter_map(|name| parse_name(name.strip_suffix(".cleaned")?))
            .min();
        let rolled_back = rolled_back.map_or(Offset(i64::MAX), |(base, _)| base);
        names.retain(|name| {
            let swapped = name.strip_suffix(".swap").and_then(parse_name);
            let undone = swapped.is_some_and(|(base, _)| base >= rolled_back);
            let leftover = [".deleted", ".cleaned", ".tmp"]
                .iter()
                .any(|suffix| name.ends_with(suffix));
            !(undone || leftover) || disk.remove_file(&self.dir.join(name)).is_err()
        });
        if names.iter().any(|name| name.ends_with(".swap")) {
            names = self.complete_swaps(names)?;
        }
        let found: BTreeSet<(Offset, FileKind)> = names.iter().filter_map(|name| parse_name(name)).collect();
        for &(base, kind) in &found {
            let has_log = found.contains(&(base, FileKind::Log));
            match kind {
                FileKind::Log => {
                    let has_aborted = found.contains(&(base, FileKind::TransactionIndex));
                    let segment = Segment::existing(&disk, &self.dir, base, has_aborted)?;
                    self.segments.push(Arc::new(segment));
                }
                FileKind::Snapshot => {}
                _ if has_log => {}
                orphan => disk.remove_file(&SegmentFiles::new(&self.dir, base).path(orphan))?,
            }
        }
        Ok(())
    }

    /// Segments that compaction had written and was about to put in place: those they replace go, and they get their
    /// names.
    fn complete_swaps(&mut self, names: Vec<String>) -> Result<Vec<String>, ReadError> {
        let disk = &self.place.disk;
        let mut replaced: Option<(Offset, Offset)> = None;
        for name in names.iter().filter_map(|name| name.strip_suffix(".swap")) {
            let Some((base, FileKind::Log)) = parse_name(name) else {
                continue;
            };
            let file = disk.open_read(&self.dir.join(format!("{name}.swap")))?;
            let mut end = base;
            let mut scanner = Scanner::new(&*file, 0, file.len()?);
            while let Step::Entry(entry) = scanner.step()? {
                end = entry.next_offset();
            }
            let (low, high) = replaced.unwrap_or((base, end));
            replaced = Some((low.min(base), high.max(end)));
        }
        let mut kept = Vec::new();
        for name in names.iter().filter(|name| !name.ends_with(".swap")) {
            let gone = parse_name(name).is_some_and(|(base, kind)| {
                kind != FileKind::Snapshot && replaced.is_some_and(|(low, high)| low <= base && base < high)
            });
            if gone {
                disk.remove_file(&self.dir.join(name))?;
            } else {
                kept.push(name.clone());
            }
        }
        for name in names.iter().filter_map(|name| name.strip_suffix(".swap")) {
            disk.rename(&self.dir.join(format!("{name}.swap")), &self.dir.join(name))?;
            kept.push(name.to_owned());
        }
        disk.sync_dir(&self.dir)?;
        kept.sort();
        Ok(kept)
    }

    /// Reads the epochs; where their file says nothing but the log has batches, those say it.
    pub(super) fn load_epochs(&mut self) -> Result<(), ReadError> {
        self.epochs = LeaderEpochs::load(&*self.place.disk, self.dir.join(EPOCH_FILE))?;
        if !self.epochs.entries().is_empty() {
            return Ok(());
        }
        for segment in &self.segments {
            let file = segment.log_file()?;
            let mut scanner = Scanner::new(&*file, 0, segment.size());
            while let Step::Entry(entry) = scanner.step()? {
                self.epochs.note(entry.leader_epoch, entry.base_offset);
            }
        }
        Ok(())
    }

    /// Builds the indexes of the first `count` segments anew that are missing or cannot be (rule 97). The batches stay
    /// untouched.
    fn check_indexes(&mut self, count: usize) -> Result<(), ReadError> {
        for index in 0..count {
            let Some(segment) = self.segments.get(index).cloned() else {
                break;
            };
            let disk = &self.place.disk;
            let mut sound = true;
            for (path, entry_size) in [
                (segment.files().offset_index(), 8),
                (segment.files().time_index(), 12),
            ] {
                sound &= match disk.len(&path) {
                    Ok(size) => size % entry_size == 0,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                    Err(error) => return Err(error.into()),
                };
            }
            let mut rebuilt = Vec::new();
            if !sound {
                rebuilt.extend(segment.rebuild_indexes(&self.how(Checksums::Skipped))?);
            }
            if !segment.has_sound_aborted()? {
                rebuilt.extend(self.rebuild_aborted(&segment)?);
                sound = false;
            }
            self.files.extend(rebuilt);
            self.report.rebuilt_indexes += usize::from(!sound);
        }
        Ok(())
    }

    fn rebuild_aborted(&self, segment: &Segment) -> Result<Option<Arc<dyn DiskFile>>, ReadError> {
        let replay = self.replay(&self.segments);
        let mut producers = replay.producers_at(segment.base_offset())?.state;
        let mut aborted = Vec::new();
        let file = segment.log_file()?;
        let mut scanner = Scanner::new(&*file, 0, segment.size());
        while let Step::Entry(entry) = scanner.step()? {
            aborted.extend(replay.take(&mut producers, &entry, &*file)?);
        }
        Ok(segment.replace_aborted(aborted)?)
    }

    /// After a clean end.
    pub(super) fn reopen(&mut self) -> Result<(), ReadError> {
        let Some(newest) = self.segments.last().cloned() else {
            return Ok(());
        };
        self.check_indexes(self.segments.len().saturating_sub(1))?;
        self.note_emptied_segment();
        let (limits, interval) = (self.limits(), self.config.index_interval_bytes);
        let end = match newest.has_sound_aborted()? {
            true => newest.reopen(limits, interval, self.now_ms)?,
            false => None,
        };
        let Some(end) = end else {
            let base = newest.base_offset();
            self.report
                .fault(|| format!("segment {base} is not as a clean end leaves it"));
            return self.recover(Offset(base.0.saturating_add(1)));
        };
        self.log_end_offset = end;
        self.producers = self.replay(&self.segments).producers_at(end)?;
        self.note_replay_fault();
        Ok(())
    }

    /// Only the last segment may be empty; what another one held is lost, and nothing else would tell.
    fn note_emptied_segment(&mut self) {
        let Some((_, sealed)) = self.segments.split_last() else {
            return;
        };
        let emptied = sealed.iter().find(|segment| segment.size() == 0);
        if let Some(base) = emptied.map(|segment| segment.base_offset())
            && !self.config.cleanup.compact
        {
            self.report
                .fault(|| format!("segment {base} is empty although others follow: its records are lost"));
        }
    }

    /// Batches that cannot be read below what is recovered: what they said of their producers is not known.
    fn note_replay_fault(&mut self) {
        if let Some(fault) = self.producers.fault.take() {
            self.report.fault(|| fault);
        }
    }

    /// After any other end: reads every segment from the recovery point on (rules 94, 95).
    pub(super) fn recover(&mut self, recovery_point: Offset) -> Result<(), ReadError> {
        // The segment that ends at the recovery point is among them: it may have been sealed after the sync that led
        // there, and its indexes never have reached the disk.
        let holder = self
            .segments
            .partition_point(|segment| segment.base_offset() < recovery_point);
        let first = holder.saturating_sub(1);
        let Some(base) = self.segments.get(first).map(|segment| segment.base_offset()) else {
            return Ok(());
        };
        self.check_indexes(first)?;
        self.place.disk.sync_dir(&self.dir)?;
        let sound_upto = recovery_point.max(base);
        drop_snapshots_above(&*self.place.disk, &self.dir, sound_upto)?;
        let before = self.segments.get(..first).unwrap_or_default();
        let mut rebuild = Rebuild::new(self.replay(before), base, sound_upto)?;
        for index in first..self.segments.len() {
            let Some(segment) = self.segments.get(index).cloned() else {
                break;
            };
            self.log_end_offset = self.recover_segment(&segment, recovery_point, &mut rebuild)?;
            let next = self.segments.get(index + 1).map(|next| next.base_offset());
            if self.ends_here(self.log_end_offset, next) {
                let gone = self.segments.split_off(index + 1);
                self.report.removed_segments = gone.len();
                remove_segments(&*self.place.disk, &self.dir, gone)?;
                break;
            }
            if let Some(next) = next {
                self.files.extend(segment.seal()?);
                self.files.push(rebuild.write_snapshot(next)?);
            }
        }
        self.producers = rebuild.finish(self.log_end_offset);
        self.note_replay_fault();
        Ok(())
    }

    /// Whether the log ends behind a recovered segment although another one follows: it was cut, or what would join
    /// them was lost. Compaction leaves gaps that are none.
    fn ends_here(&mut self, end: Offset, next: Option<Offset>) -> bool {
        let Some(next) = next else { return false };
        let compacted = self.journal_from.is_none_or(|journaled| next <= journaled);
        let joined = if self.config.cleanup.compact && compacted {
            next >= end
        } else {
            next == end
        };
        if !joined {
            self.report.fault(|| {
                format!("the segment at {next} does not join the one before it, which ends at {end}")
            });
        }
        self.report.truncated_bytes > 0 || !joined
    }

    fn recover_segment(
        &mut self,
        segment: &Segment,
        recovery_point: Offset,
        rebuild: &mut Rebuild,
    ) -> Result<Offset, ReadError> {
        let how = RecoverHow {
            doubted_from: Some(recovery_point),
            ..self.how(self.checksums())
        };
        let epochs = &mut self.epochs;
        let recovered = segment.recover(&how, |entry, file| {
            epochs.note(entry.leader_epoch, entry.base_offset);
            rebuild.take(entry, file)
        })?;
        self.report.recovered_segments += 1;
        if let Some((bytes, fault)) = recovered.cut {
            self.report.truncated_bytes += bytes;
            self.report
                .fault(|| format!("segment {}: {fault}", segment.base_offset()));
        }
        Ok(recovered.next_offset)
    }

    /// Puts the log together.
    pub(super) fn finish(
        mut self,
        checkpoint: LogCheckpoint,
        topic_id: Option<Uuid>,
    ) -> Result<(Log, RecoveryReport), ReadError> {
        let disk = Arc::clone(&self.place.disk);
        let base = self
            .segments
            .first()
            .map_or(Offset::ZERO, |segment| segment.base_offset());
        let mut log_start_offset = checkpoint.log_start_offset.max(base);
        if log_start_offset > self.log_end_offset || self.segments.is_empty() {
            // All that was kept is gone, or none of it was (rule 100).
            if log_start_offset > self.log_end_offset && self.log_end_offset > base {
                let end = self.log_end_offset;
                self.report.fault(|| {
                    format!("it begins at {log_start_offset} by its checkpoint: records {base} to {end} are removed")
                });
            }
            log_start_offset = checkpoint.log_start_offset.max(self.log_end_offset);
            remove_segments(&*disk, &self.dir, std::mem::take(&mut self.segments))?;
            drop_snapshots_above(&*disk, &self.dir, Offset::NONE)?;
            self.producers = ProducersAt::default();
            let segment = Segment::create(&disk, &self.dir, log_start_offset, self.limits(), self.now_ms)?;
            self.segments.push(Arc::new(segment));
            self.log_end_offset = log_start_offset;
        }
        drop_snapshots_above(&*disk, &self.dir, self.log_end_offset)?;
        if self.epochs.recovered_end(self.log_end_offset) {
            self.epochs.store(&*disk)?;
        }
        self.epochs.truncate_start(log_start_offset);
        let synced = match checkpoint.shutdown {
            Shutdown::Clean if self.report.recovered_segments == 0 => self.log_end_offset,
            _ => checkpoint.recovery_point.min(self.log_end_offset),
        };
        let end = self
            .segments
            .last()
            .map(|active| (active.base_offset(), active.size()));
        let mut durability = Durability::new(synced, end.filter(|_| synced == self.log_end_offset));
        // After an unclean end not even the names that are there are known to be durable.
        if !self.files.is_empty() || checkpoint.shutdown == Shutdown::Unclean {
            durability.add(std::mem::take(&mut self.files));
        }
        let mut producers = self.producers.state;
        producers.truncate_start(log_start_offset);
        let view = LogReader {
            segments: Arc::new(self.segments),
            epochs: Arc::new(self.epochs),
            log_start_offset,
            log_end_offset: self.log_end_offset,
            limit: self.config.decompression_limit,
        };
        let log = Log {
            place: self.place,
            dir: self.dir,
            topic_id,
            config: self.config,
            view,
            producers,
            snapshot_offset: self.producers.snapshot_offset,
            durability,
            retired: Vec::new(),
            orphan: None,
            state: WriteState::Sound,
        };
        Ok((log, self.report))
    }
}

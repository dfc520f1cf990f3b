//! Indexes: their entries, and whether the log they belong to agrees.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use storage::{Disk, SegmentReader, base_offset_of, decode_offset_index, decode_time_index};

use super::{Findings, Indexes, note};

/// The size of an entry of each.
const OFFSET_ENTRY: usize = 8;
const TIME_ENTRY: usize = 12;

/// A batch of the log, as far as indexes speak of it.
struct Place {
    position: u64,
    last_offset: i64,
    max_timestamp: i64,
}

/// The batches of the log that an index belongs to.
fn batches_of(disk: &dyn Disk, index: &Path) -> anyhow::Result<Vec<Place>> {
    let log = index.with_extension("log");
    let reader = SegmentReader::open(disk, &log)
        .with_context(|| format!("{} is needed to check the index beside it", log.display()))?;
    let sound = reader.map_while(Result::ok).map(|stored| Place {
        position: stored.position,
        last_offset: stored.entry.last_offset().0,
        max_timestamp: stored.entry.max_timestamp(),
    });
    Ok(sound.collect())
}

fn base_offset(path: &Path) -> anyhow::Result<i64> {
    let base = base_offset_of(path).map(|offset| offset.0);
    base.with_context(|| {
        format!(
            "{}: the name of an index is its first offset in 20 digits",
            path.display()
        )
    })
}

pub(super) fn dump_offsets(
    disk: &dyn Disk,
    path: &Path,
    how: Indexes,
    findings: &mut Findings,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let base = base_offset(path)?;
    let content = std::fs::read(path)?;
    let entries = decode_offset_index(&content);
    let offsets: Vec<i64> = entries
        .iter()
        .map(|entry| base + i64::from(entry.relative_offset))
        .collect();
    if entries.is_empty() {
        writeln!(out, "{} is empty.", path.display())?;
        return Ok(());
    }
    if how == Indexes::SanityCheck {
        return say_sane(
            path,
            content.len() % OFFSET_ENTRY == 0 && offsets.is_sorted(),
            out,
        );
    }
    let batches = batches_of(disk, path)?;
    for (entry, offset) in entries.iter().zip(offsets) {
        let position = u64::from(entry.position);
        let found = batches
            .iter()
            .find(|batch| batch.position == position)
            .map_or(-1, |batch| batch.last_offset);
        if found != offset {
            note(&mut findings.index_offsets, path, (offset, found));
        }
        if how == Indexes::Print {
            writeln!(out, "offset: {offset} position: {position}")?;
        }
    }
    Ok(())
}

pub(super) fn dump_times(
    disk: &dyn Disk,
    path: &Path,
    how: Indexes,
    findings: &mut Findings,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let base = base_offset(path)?;
    let content = std::fs::read(path)?;
    let entries = decode_time_index(&content);
    if how == Indexes::SanityCheck {
        let is_sorted = entries.is_sorted_by_key(|entry| entry.timestamp);
        return say_sane(path, content.len() % TIME_ENTRY == 0 && is_sorted, out);
    }
    let batches = batches_of(disk, path)?;
    let mut previous = -1;
    for entry in entries {
        let offset = base + i64::from(entry.relative_offset);
        match batches.iter().find(|batch| batch.last_offset >= offset) {
            Some(batch) if batch.last_offset == offset => {
                if batch.max_timestamp != entry.timestamp {
                    note(
                        &mut findings.index_timestamps,
                        path,
                        (entry.timestamp, batch.max_timestamp),
                    );
                }
                if previous >= entry.timestamp {
                    note(
                        &mut findings.unordered_timestamps,
                        path,
                        (entry.timestamp, previous),
                    );
                }
            }
            other => {
                let found = other.map_or(-1, |batch| batch.last_offset);
                note(&mut findings.missing_offsets, path, (offset, found));
            }
        }
        if how == Indexes::Print {
            writeln!(out, "timestamp: {} offset: {offset}", entry.timestamp)?;
        }
        previous = entry.timestamp;
    }
    Ok(())
}

fn say_sane(path: &Path, is_sane: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    anyhow::ensure!(
        is_sane,
        "{} is corrupt; a broker rebuilds it when it starts",
        path.display()
    );
    writeln!(out, "{} passed sanity check.", path.display())?;
    Ok(())
}

//! The files of a data directory as text, line by line as `kafka-dump-log` prints them.
//!
//! Nothing is changed and nothing repaired: a file that is damaged is shown as far as it goes, and what is wrong is said
//! at the end.

use std::fmt;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use storage::{
    JournalEntry, JournalKind, JournalReader, RealDisk, decode_snapshot, decode_transactions, is_journal,
    parse_epochs, parse_offsets,
};
use wire::records::batches;

mod decoder;
mod index;
mod segment;

#[cfg(test)]
mod tests;

pub(crate) use decoder::{Decoder, Text};

/// What is printed of each kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) records: Records,
    /// Keys and values only, and nothing of control records.
    pub(crate) without_metadata: bool,
    /// The most bytes read of a log.
    pub(crate) max_bytes: Option<u64>,
    pub(crate) indexes: Indexes,
    pub(crate) texts: Texts,
}

/// What to do with files that are text already, which Kafka's tool does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// Print them, checkpoints with their columns named.
    Print,
    /// Leave them out.
    Ignore,
}

/// How deep to look into a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// Batches only.
    None,
    /// Records without their contents.
    Outlines,
    /// Records with keys and values.
    Contents(Decoder),
}

/// What to do with an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexes {
    /// Print it and compare it with its log.
    Print,
    /// Only compare it.
    Verify,
    /// Only look whether a broker would rebuild it.
    SanityCheck,
}

/// What was found to be wrong, over all files.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Offsets of an index beside those in the log, by file.
    index_offsets: Vec<(String, Vec<(i64, i64)>)>,
    /// Timestamps of a time index beside those in the log.
    index_timestamps: Vec<(String, Vec<(i64, i64)>)>,
    /// Timestamps of a time index that do not rise.
    unordered_timestamps: Vec<(String, Vec<(i64, i64)>)>,
    /// Offsets of a time index that end no batch.
    missing_offsets: Vec<(String, Vec<(i64, i64)>)>,
    /// Offsets that do not follow each other.
    gaps: Vec<(String, Vec<(i64, i64)>)>,
}

/// Adds a pair to those of a file.
fn note(found: &mut Vec<(String, Vec<(i64, i64)>)>, path: &Path, pair: (i64, i64)) {
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = file.display().to_string();
    match found.last_mut() {
        Some((last, pairs)) if *last == file => pairs.push(pair),
        _ => found.push((file, vec![pair])),
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (file, pairs) in &self.index_offsets {
            writeln!(f, "Mismatches in :{file}")?;
            for (index, log) in pairs {
                writeln!(f, "  Index offset: {index}, log offset: {log}")?;
            }
        }
        for (file, pairs) in &self.index_timestamps {
            writeln!(f, "Found timestamp mismatch in :{file}")?;
            for (index, log) in pairs {
                writeln!(f, "  Index timestamp: {index}, log timestamp: {log}")?;
            }
        }
        for (file, pairs) in &self.unordered_timestamps {
            writeln!(f, "Found out of order timestamp in :{file}")?;
            for (timestamp, before) in pairs {
                writeln!(
                    f,
                    "  Index timestamp: {timestamp}, Previously indexed timestamp: {before}"
                )?;
            }
        }
        for (file, pairs) in &self.missing_offsets {
            writeln!(f, "The following indexed offsets are not found in :{file}")?;
            for (index, log) in pairs {
                writeln!(f, "Indexed offset: {index}, found log offset: {log}")?;
            }
        }
        for (file, pairs) in &self.gaps {
            writeln!(f, "Non-consecutive offsets in {file}")?;
            for (before, after) in pairs {
                writeln!(f, "  {before} is followed by {after}")?;
            }
        }
        Ok(())
    }
}

/// Prints one file. `false` for a file that is of no kind known here.
pub(crate) fn dump_file(
    path: &Path,
    options: &Options,
    findings: &mut Findings,
    out: &mut dyn Write,
) -> anyhow::Result<bool> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let content = || std::fs::read(path).with_context(|| path.display().to_string());
    let disk = RealDisk;
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "log" | "checkpoint" => segment::dump(&disk, path, options, findings, out)?,
        "index" => index::dump_offsets(&disk, path, options.indexes, findings, out)?,
        "timeindex" => index::dump_times(&disk, path, options.indexes, findings, out)?,
        "txnindex" => dump_transactions(&content()?, out)?,
        "snapshot" => dump_producers(&content()?, out)?,
        _ if is_journal(&name) => dump_journal(path, out)?,
        _ if options.texts == Texts::Print => return dump_text(&name, content, out),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The entries of a journal's file, with their batches in short: which are of use depends on what the logs hold.
fn dump_journal(path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    for entry in JournalReader::open(&RealDisk, path)? {
        let JournalEntry {
            position,
            head,
            batches: bytes,
        } = entry?;
        write!(
            out,
            "position: {position} sequence: {} partition: {} topicId: {} ",
            head.sequence, head.key.topic_partition, head.key.topic_id
        )?;
        match head.kind {
            JournalKind::Void => writeln!(out, "void")?,
            JournalKind::Batches => {
                let last = batches(&bytes).map_while(Result::ok).last();
                let last = last.map_or(-1, |batch| batch.header().next_offset().0 - 1);
                writeln!(
                    out,
                    "baseOffset: {} lastOffset: {last} size: {}",
                    head.base_offset,
                    bytes.len()
                )?;
            }
        }
    }
    Ok(())
}

fn dump_transactions(content: &[u8], out: &mut dyn Write) -> anyhow::Result<()> {
    for aborted in decode_transactions(content)? {
        writeln!(
            out,
            "version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
            aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset
        )?;
    }
    Ok(())
}

/// An optional number, as Java prints it.
struct OptionalLong(Option<i64>);

impl fmt::Display for OptionalLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "OptionalLong[{number}]"),
            None => f.write_str("OptionalLong.empty"),
        }
    }
}

fn dump_producers(content: &[u8], out: &mut dyn Write) -> anyhow::Result<()> {
    for producer in decode_snapshot(content)? {
        write!(
            out,
            "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: {} lastTimestamp: {} ",
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            OptionalLong(producer.current_transaction_first_offset.map(|offset| offset.0)),
            producer.last_timestamp
        )?;
        if let Some(batch) = producer.batch {
            write!(
                out,
                "firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
                batch.first_sequence(),
                batch.last_sequence,
                batch.last_offset,
                batch.offset_delta,
                batch.timestamp
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Checkpoints with their columns named, other texts as they are.
fn dump_text(
    name: &str,
    content: impl FnOnce() -> anyhow::Result<Vec<u8>>,
    out: &mut dyn Write,
) -> anyhow::Result<bool> {
    match name {
        "leader-epoch-checkpoint" => {
            for epoch in parse_epochs(&content()?)? {
                writeln!(
                    out,
                    "epoch: {} startOffset: {}",
                    epoch.leader_epoch, epoch.start_offset
                )?;
            }
        }
        "recovery-point-offset-checkpoint"
        | "replication-offset-checkpoint"
        | "log-start-offset-checkpoint"
        | "cleaner-offset-checkpoint" => {
            for (partition, offset) in parse_offsets(&content()?)? {
                writeln!(out, "partition: {partition} offset: {offset}")?;
            }
        }
        "meta.properties" | "partition.metadata" | "quorum-state" | ".kafka_cleanshutdown" => {
            out.write_all(&content()?)?;
            writeln!(out)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

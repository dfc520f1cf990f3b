//! A `.log` file, or a snapshot of the metadata log: batches, and as far as is wanted their records.

use std::io::Write;
use std::path::Path;

use metadata::batch::ControlRecord;
use metadata::snapshot::SnapshotId;
use storage::{Disk, SegmentFault, SegmentReader, StoredEntry, base_offset_of};
use wire::records::{
    Codec, ControlRecordType, DecompressionLimit, EndTransactionMarker, Entry, Record, TimestampType,
};

use super::{Findings, OptionalLong, Options, Records, note};

/// What the offset before the first one counts as.
const BEFORE_FIRST: i64 = -1;

pub(super) fn dump(
    disk: &dyn Disk,
    path: &Path,
    options: &Options,
    findings: &mut Findings,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    say_where_it_starts(path, out)?;
    let length = std::fs::metadata(path)?.len();
    let end = options.max_bytes.unwrap_or(length).min(length);
    let mut read = 0;
    let mut last_offset = BEFORE_FIRST;
    for stored in SegmentReader::open(disk, path)? {
        let stored = match stored {
            Ok(stored) => stored,
            Err(SegmentFault::Broken { .. }) => break,
            Err(SegmentFault::Disk(error)) => return Err(error.into()),
        };
        let size = stored.entry.bytes().len() as u64;
        if stored.position + size > end {
            break;
        }
        writeln!(out, "{}", batch_line(&stored))?;
        if options.records != Records::None {
            dump_records(path, &stored.entry, options, (&mut last_offset, findings), out)?;
        }
        read = stored.position + size;
    }
    if options.max_bytes.is_none() && read < length {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        writeln!(out, "Found {} invalid bytes at the end of {name}", length - read)?;
    }
    Ok(())
}

fn say_where_it_starts(path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if let Some(snapshot) = SnapshotId::parse(&name) {
        writeln!(
            out,
            "Snapshot end offset: {}, epoch: {}",
            snapshot.end_offset, snapshot.epoch
        )?;
    } else if name == "bootstrap.checkpoint" {
        writeln!(out, "KRaft bootstrap snapshot")?;
    } else if let Some(offset) = base_offset_of(path) {
        writeln!(out, "Log starting offset: {offset}")?;
    } else {
        anyhow::bail!(
            "{}: the name of a segment is its first offset in 20 digits",
            path.display()
        );
    }
    Ok(())
}

fn codec_name(codec: Codec) -> &'static str {
    match codec {
        Codec::None => "none",
        Codec::Gzip => "gzip",
        Codec::Snappy => "snappy",
        Codec::Lz4 => "lz4",
        Codec::Zstd => "zstd",
    }
}

fn timestamp_name(kind: Option<TimestampType>) -> &'static str {
    match kind {
        Some(TimestampType::CreateTime) => "CreateTime",
        Some(TimestampType::LogAppendTime) => "LogAppendTime",
        None => "NoTimestampType",
    }
}

/// The checksum of a message of the old formats: behind its offset and length.
fn message_crc(bytes: &[u8]) -> u32 {
    bytes
        .get(12..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |crc| u32::from_be_bytes(*crc))
}

fn batch_line(stored: &StoredEntry) -> String {
    let entry = &stored.entry;
    let (head, codec, crc) = match entry {
        Entry::Batch(batch) => {
            let header = batch.header();
            let attributes = header.attributes;
            let horizon = attributes.has_delete_horizon().then_some(header.base_timestamp);
            let last_sequence = match header.base_sequence {
                -1 => -1,
                base => base.wrapping_add(header.last_offset_delta) & i32::MAX,
            };
            let head = format!(
                "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {last_sequence} producerId: {} \
                 producerEpoch: {} partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {}",
                header.base_offset,
                header.last_offset(),
                header.record_count,
                header.base_sequence,
                header.producer_id,
                header.producer_epoch,
                header.leader_epoch,
                attributes.is_transactional(),
                attributes.is_control(),
                OptionalLong(horizon),
            );
            (head, attributes.codec(), header.crc)
        }
        Entry::Message(message) => {
            let head = format!("offset: {}", message.last_offset());
            (head, message.codec(), message_crc(message.bytes()))
        }
    };
    format!(
        "{head} position: {} {}: {} size: {} magic: {} compresscodec: {} crc: {crc} isvalid: {}",
        stored.position,
        timestamp_name(entry.timestamp_type()),
        entry.max_timestamp(),
        entry.bytes().len(),
        entry.magic(),
        codec.map_or("unknown", codec_name),
        entry.verify_crc().is_ok(),
    )
}

fn dump_records(
    path: &Path,
    entry: &Entry,
    options: &Options,
    (last_offset, findings): (&mut i64, &mut Findings),
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let records = match entry.records(DecompressionLimit::default()) {
        Ok(records) => records,
        Err(error) => {
            writeln!(out, "| the records cannot be read: {error}")?;
            return Ok(());
        }
    };
    let is_control = matches!(entry, Entry::Batch(batch) if batch.header().attributes.is_control());
    for record in &records {
        if record.offset.0 != last_offset.saturating_add(1) {
            note(&mut findings.gaps, path, (*last_offset, record.offset.0));
        }
        *last_offset = record.offset.0;
        let outline = if options.without_metadata {
            String::new()
        } else {
            outline(entry, record, is_control)
        };
        let content = match options.records {
            Records::Contents(decoder) if !is_control => decoder.content(record),
            _ => String::new(),
        };
        writeln!(
            out,
            "{outline}{}{content}",
            if options.without_metadata && !content.is_empty() {
                "|"
            } else {
                ""
            }
        )?;
    }
    Ok(())
}

fn outline(entry: &Entry, record: &Record, is_control: bool) -> String {
    let size = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(-1, |bytes| bytes.len() as i64);
    let mut line = format!(
        "| offset: {} {}: {} keySize: {} valueSize: {}",
        record.offset,
        timestamp_name(entry.timestamp_type()),
        record.timestamp,
        size(&record.key),
        size(&record.value),
    );
    match entry {
        Entry::Batch(_) => {
            let keys: Vec<_> = record
                .headers
                .iter()
                .map(|header| String::from_utf8_lossy(&header.key))
                .collect();
            line += &format!(" sequence: {} headerKeys: [{}]", record.sequence, keys.join(","));
        }
        Entry::Message(message) => {
            line += &format!(
                " isValid: {} crc: {}",
                entry.verify_crc().is_ok(),
                message_crc(message.bytes())
            );
        }
    }
    if is_control {
        line += &control(record);
    }
    line
}

fn control(record: &Record) -> String {
    let key = record.key.as_deref().unwrap_or_default();
    let value = record.value.as_deref().unwrap_or_default();
    if let Some(marker) = EndTransactionMarker::parse(key, value) {
        let kind = match marker.kind {
            ControlRecordType::Commit => "COMMIT",
            _ => "ABORT",
        };
        return format!(
            " endTxnMarker: {kind} coordinatorEpoch: {}",
            marker.coordinator_epoch
        );
    }
    match ControlRecord::read(record) {
        Ok(Some(control)) => {
            let (name, json) = control.to_json();
            let colon = if name == "LeaderChange" { ":" } else { "" };
            format!(" {name}{colon} {json}")
        }
        _ => " controlType: UNKNOWN".to_owned(),
    }
}

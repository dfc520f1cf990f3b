//! Snapshots of the metadata log (KIP-630): the records that make an image, between a header and a footer, in batches
//! numbered from 0.
//!
//! This is the form only; files, names and durability are the business of who keeps them.

use bytes::Bytes;
use model::{LeaderEpoch, Offset};
use wire::internal::raft::{SnapshotFooterRecord, SnapshotHeaderRecord};
use wire::records::batches;

use crate::batch::{BatchWriter, Contents, ControlRecord, ReadError, WriteError, read_batch};
use crate::image::{ApplyError, Image, LogPosition};
use crate::record::{MetadataRecord, RecordVersions};
use crate::replay::Replay;

/// How many bytes of records one batch of a snapshot holds, about.
const SNAPSHOT_BATCH_BYTES: usize = 512 << 10;
/// How many records are encoded at a time.
const SNAPSHOT_BATCH_RECORDS: usize = 4096;

/// What a snapshot contains: all records below `end_offset`, the last of them written in `epoch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId {
    /// The offset after the last record.
    pub end_offset: Offset,
    /// The epoch of the last record.
    pub epoch: LeaderEpoch,
}

impl SnapshotId {
    /// The snapshot of everything up to a position.
    pub fn at(position: LogPosition) -> SnapshotId {
        SnapshotId {
            end_offset: Offset(position.offset.0.saturating_add(1)),
            epoch: position.epoch,
        }
    }

    /// The name of its file.
    pub fn file_name(self) -> String {
        format!("{:020}-{:010}.checkpoint", self.end_offset.0, self.epoch.0)
    }

    /// The id in a file's name; `None` for any other name.
    pub fn parse(file_name: &str) -> Option<SnapshotId> {
        let (offset, epoch) = file_name.strip_suffix(".checkpoint")?.split_once('-')?;
        let digits =
            |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(offset, 20) || !digits(epoch, 10) {
            return None;
        }
        Some(SnapshotId {
            end_offset: Offset(offset.parse().ok()?),
            epoch: LeaderEpoch(epoch.parse().ok()?),
        })
    }
}

/// Why a file is not a snapshot that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Something in it cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its records contradict each other.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// It does not begin as a snapshot.
    #[error("it does not begin with a snapshot header")]
    NoHeader,
    /// It was not written to its end.
    #[error("it ends without a snapshot footer: it was not written to its end")]
    NoFooter,
    /// Something follows its end.
    #[error("something follows its snapshot footer")]
    AfterFooter,
}

/// What a snapshot says beside the image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotFrame {
    /// When the last record in it was written to the log.
    pub last_contained_log_timestamp_ms: i64,
    /// Control records of the quorum: the level of `kraft.version`, the voters.
    pub quorum: Vec<ControlRecord>,
}

/// Reads a snapshot, handing out its records batch by batch.
///
/// # Errors
/// When it is damaged anywhere, or not complete: nothing of it may be used then.
pub fn read_records<E: From<SnapshotError>>(
    bytes: &Bytes,
    out: &mut dyn FnMut(Vec<MetadataRecord>) -> Result<(), E>,
) -> Result<SnapshotFrame, E> {
    let mut frame = None;
    let mut ended = false;
    for batch in batches(bytes) {
        let batch = batch.map_err(|error| SnapshotError::Read(error.into()))?;
        let (_, contents) = read_batch(&batch).map_err(SnapshotError::Read)?;
        if ended {
            return Err(SnapshotError::AfterFooter.into());
        }
        match contents {
            Contents::Records(_) if frame.is_none() => return Err(SnapshotError::NoHeader.into()),
            Contents::Records(records) => out(records)?,
            Contents::Control(records) => {
                for record in records {
                    ended |= matches!(record, ControlRecord::SnapshotFooter(_));
                    read_control(record, &mut frame)?;
                }
            }
        }
    }
    match frame {
        Some(frame) if ended => Ok(frame),
        Some(_) => Err(SnapshotError::NoFooter.into()),
        None => Err(SnapshotError::NoHeader.into()),
    }
}

fn read_control(record: ControlRecord, frame: &mut Option<SnapshotFrame>) -> Result<(), SnapshotError> {
    match (record, frame) {
        (ControlRecord::SnapshotHeader(header), frame @ None) => {
            *frame = Some(SnapshotFrame {
                last_contained_log_timestamp_ms: header.last_contained_log_timestamp,
                quorum: Vec::new(),
            });
        }
        (ControlRecord::SnapshotHeader(_) | ControlRecord::LeaderChange(_), _) => {
            return Err(SnapshotError::NoHeader);
        }
        (_, None) => return Err(SnapshotError::NoHeader),
        (ControlRecord::SnapshotFooter(_), Some(_)) => {}
        (record, Some(frame)) => frame.quorum.push(record),
    }
    Ok(())
}

/// Reads the image in a snapshot.
pub fn read_image(bytes: &Bytes, id: SnapshotId) -> Result<(Image, SnapshotFrame), SnapshotError> {
    let mut replay = Replay::default();
    let before = LogPosition::default();
    let frame = read_records(bytes, &mut |records| {
        replay.apply_batch(&records, before).map_err(SnapshotError::Apply)
    })?;
    if replay.in_transaction() {
        return Err(SnapshotError::NoFooter);
    }
    let mut image = replay.image().clone();
    image.position = LogPosition {
        offset: Offset(id.end_offset.0.saturating_sub(1)),
        epoch: id.epoch,
        timestamp_ms: frame.last_contained_log_timestamp_ms,
    };
    Ok((image, frame))
}

/// Writes a snapshot of records, handing out its bytes piece by piece.
pub fn write_records<E: From<WriteError>>(
    writer: &mut BatchWriter,
    frame: &SnapshotFrame,
    versions: RecordVersions,
    records: impl FnOnce(&mut dyn FnMut(MetadataRecord)),
    out: &mut dyn FnMut(Bytes) -> Result<(), E>,
) -> Result<(), E> {
    let mut first = vec![ControlRecord::SnapshotHeader(SnapshotHeaderRecord {
        version: 0,
        last_contained_log_timestamp: frame.last_contained_log_timestamp_ms,
    })];
    first.extend(frame.quorum.iter().cloned());
    out(writer.control(&first)?)?;

    let mut pending = Vec::new();
    let mut result = Ok(());
    let mut flush = |pending: &mut Vec<MetadataRecord>, result: &mut Result<(), E>| {
        if result.is_ok() {
            *result = writer
                .records(pending, versions, SNAPSHOT_BATCH_BYTES)
                .map_err(E::from)
                .and_then(|batches| batches.into_iter().try_for_each(&mut *out));
        }
        pending.clear();
    };
    records(&mut |record| {
        pending.push(record);
        if pending.len() == SNAPSHOT_BATCH_RECORDS {
            flush(&mut pending, &mut result);
        }
    });
    flush(&mut pending, &mut result);
    result?;
    out(writer.control(&[ControlRecord::SnapshotFooter(SnapshotFooterRecord { version: 0 })])?)
}

/// Writes a snapshot of an image.
pub fn write_image<E: From<WriteError>>(
    image: &Image,
    quorum: Vec<ControlRecord>,
    now_ms: i64,
    out: &mut dyn FnMut(Bytes) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = BatchWriter::new(Offset::ZERO, image.position.epoch, now_ms);
    let frame = SnapshotFrame {
        last_contained_log_timestamp_ms: image.position.timestamp_ms,
        quorum,
    };
    let versions = RecordVersions::of(&image.features);
    write_records(&mut writer, &frame, versions, |out| image.write(out), out)
}

/// When the last record in a snapshot was written to the log, from its header alone.
pub fn last_contained_timestamp_ms(bytes: &Bytes) -> Option<i64> {
    let first = batches(bytes).next()?.ok()?;
    match read_batch(&first).ok()?.1 {
        Contents::Control(records) => records.into_iter().find_map(|record| match record {
            ControlRecord::SnapshotHeader(header) => Some(header.last_contained_log_timestamp),
            _ => None,
        }),
        Contents::Records(_) => None,
    }
}

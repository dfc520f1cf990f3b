//! Batches of the metadata log: either records or control records.

use bytes::Bytes;
use model::{LeaderEpoch, Offset};
use wire::internal::raft::{
    KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord,
};
use wire::records::{
    Batch, BatchBuilder, BatchError, BuildError, ControlRecordType, DecompressionLimit, Record,
};
use wire::{DecodeError, EncodeError, Message, Reader, Writer};

use crate::image::LogPosition;
use crate::record::{MetadataRecord, RecordError, RecordVersions};

/// The most bytes of records in one batch of the log: what one fetch of a follower can hold, as in Apache Kafka.
pub const BATCH_BYTES_MAX: usize = 8 << 20;

/// Why a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The batch is damaged.
    #[error("damaged batch: {0}")]
    Batch(#[from] BatchError),
    /// The records in it are damaged.
    #[error("damaged batch: {0}")]
    Walk(#[from] wire::records::RecordError),
    /// A record cannot be understood.
    #[error("offset {offset}: {error}")]
    Record {
        /// Where it stands.
        offset: Offset,
        /// What is wrong.
        error: RecordError,
    },
    /// A control record cannot be understood.
    #[error("control record at offset {offset}: {error}")]
    Control {
        /// Where it stands.
        offset: Offset,
        /// What is wrong.
        error: DecodeError,
    },
}

/// Why a batch cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A record does not fit its format.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The records do not make a batch.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// A control record that concerns a quorum.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlRecord {
    /// A leader begins its epoch.
    LeaderChange(LeaderChangeMessage),
    /// A snapshot begins.
    SnapshotHeader(SnapshotHeaderRecord),
    /// A snapshot ends.
    SnapshotFooter(SnapshotFooterRecord),
    /// The level of `kraft.version`.
    KRaftVersion(KRaftVersionRecord),
    /// The voters (KIP-853).
    Voters(VotersRecord),
}

impl ControlRecord {
    fn parts(&self) -> Result<(ControlRecordType, Bytes), EncodeError> {
        match self {
            ControlRecord::LeaderChange(message) => Ok((ControlRecordType::LeaderChange, body(message)?)),
            ControlRecord::SnapshotHeader(message) => Ok((ControlRecordType::SnapshotHeader, body(message)?)),
            ControlRecord::SnapshotFooter(message) => Ok((ControlRecordType::SnapshotFooter, body(message)?)),
            ControlRecord::KRaftVersion(message) => Ok((ControlRecordType::KRaftVersion, body(message)?)),
            ControlRecord::Voters(message) => Ok((ControlRecordType::KRaftVoters, body(message)?)),
        }
    }

    /// The kind and the message in JSON, as Kafka's tools print them.
    pub fn to_json(&self) -> (&'static str, String) {
        let (kind, value) = match self {
            ControlRecord::LeaderChange(message) => ("LeaderChange", message.to_value(0)),
            ControlRecord::SnapshotHeader(message) => ("SnapshotHeader", message.to_value(0)),
            ControlRecord::SnapshotFooter(message) => ("SnapshotFooter", message.to_value(0)),
            ControlRecord::KRaftVersion(message) => ("KRaftVersion", message.to_value(0)),
            ControlRecord::Voters(message) => ("KRaftVoters", message.to_value(0)),
        };
        // The one word whose second letter is large in Kafka.
        (
            kind,
            value.to_string().replace("\"kraftVersion", "\"kRaftVersion"),
        )
    }

    /// Reads a record of a control batch; `None` for a kind that does not concern a quorum, or from a later time.
    pub fn read(record: &Record) -> Result<Option<ControlRecord>, DecodeError> {
        let value = record.value.clone().unwrap_or_default();
        Ok(match ControlRecordType::of(record) {
            Some(ControlRecordType::LeaderChange) => Some(ControlRecord::LeaderChange(parse(value)?)),
            Some(ControlRecordType::SnapshotHeader) => Some(ControlRecord::SnapshotHeader(parse(value)?)),
            Some(ControlRecordType::SnapshotFooter) => Some(ControlRecord::SnapshotFooter(parse(value)?)),
            Some(ControlRecordType::KRaftVersion) => Some(ControlRecord::KRaftVersion(parse(value)?)),
            Some(ControlRecordType::KRaftVoters) => Some(ControlRecord::Voters(parse(value)?)),
            Some(ControlRecordType::Abort | ControlRecordType::Commit) | None => None,
        })
    }
}

/// Control records are written at version 0: the version 1 of a leader change says no more to a quorum of one.
fn body<M: Message>(message: &M) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    message.encode(&mut writer, 0)?;
    writer
        .into_bytes()
        .map_err(|error| EncodeError::Unreadable(error.kind()))
}

/// The first field of each such message is its version; a later version than we know is read as far as we know it.
fn parse<M: Message>(value: Bytes) -> Result<M, DecodeError> {
    let version = Reader::new(value.clone()).read_i16()?;
    M::decode(
        &mut Reader::new(value),
        version.clamp(M::MIN_VERSION, M::MAX_VERSION),
    )
}

/// What a batch of the metadata log holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// Records about the cluster.
    Records(Vec<MetadataRecord>),
    /// Records of the quorum about itself.
    Control(Vec<ControlRecord>),
}

/// Reads a batch, its checksum first. The position is that of its last record.
pub fn read_batch(batch: &Batch) -> Result<(LogPosition, Contents), ReadError> {
    batch.verify_crc()?;
    let header = batch.header();
    let position = LogPosition {
        offset: header.last_offset(),
        epoch: header.leader_epoch,
        timestamp_ms: header.max_timestamp,
    };
    let records = batch.records(DecompressionLimit::default())?;
    let contents = if header.attributes.is_control() {
        let mut control = Vec::new();
        for record in records {
            let record = record?;
            let read = ControlRecord::read(&record);
            control.extend(read.map_err(|error| ReadError::Control {
                offset: record.offset,
                error,
            })?);
        }
        Contents::Control(control)
    } else {
        let mut all = Vec::new();
        for record in records {
            let record = record?;
            let read = record
                .value
                .ok_or(RecordError::NoValue)
                .and_then(MetadataRecord::decode);
            all.push(
                read.map_err(|error| ReadError::Record {
                    offset: record.offset,
                    error,
                })?
                .1,
            );
        }
        Contents::Records(all)
    };
    Ok((position, contents))
}

/// Builds batches one after the other: the offsets go on from batch to batch.
#[derive(Clone, Debug)]
pub struct BatchWriter {
    next_offset: Offset,
    epoch: LeaderEpoch,
    now_ms: i64,
}

impl BatchWriter {
    /// Batches from an offset on, by the leader of that epoch.
    pub fn new(next_offset: Offset, epoch: LeaderEpoch, now_ms: i64) -> BatchWriter {
        BatchWriter {
            next_offset,
            epoch,
            now_ms,
        }
    }

    /// The offset of the next record.
    pub fn next_offset(&self) -> Offset {
        self.next_offset
    }

    fn builder(&self) -> BatchBuilder {
        BatchBuilder::new()
            .with_base_offset(self.next_offset)
            .with_leader_epoch(self.epoch)
    }

    fn build(&mut self, builder: BatchBuilder) -> Result<Bytes, WriteError> {
        let count = i64::from(builder.record_count());
        let batch = builder.build()?;
        self.next_offset = Offset(self.next_offset.0.saturating_add(count));
        Ok(batch)
    }

    /// One control batch.
    pub fn control(&mut self, records: &[ControlRecord]) -> Result<Bytes, WriteError> {
        let mut builder = self.builder();
        for record in records {
            let (kind, value) = record.parts()?;
            builder.append_control(kind, &value, self.now_ms)?;
        }
        self.build(builder)
    }

    /// Records in as few batches as hold them, none larger than `bytes_max` unless a single record is.
    pub fn records(
        &mut self,
        records: &[MetadataRecord],
        versions: RecordVersions,
        bytes_max: usize,
    ) -> Result<Vec<Bytes>, WriteError> {
        let mut batches = Vec::new();
        let mut builder = self.builder();
        for record in records {
            let value = record.encode(versions)?;
            if builder.record_count() > 0 && builder.size().saturating_add(value.len()) > bytes_max {
                let full = std::mem::take(&mut builder);
                batches.push(self.build(full)?);
                builder = self.builder();
            }
            builder.append(self.now_ms, None, Some(&value), &[])?;
        }
        if builder.record_count() > 0 {
            batches.push(self.build(builder)?);
        }
        Ok(batches)
    }
}

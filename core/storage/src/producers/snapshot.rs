//! The snapshot of a log's producers, beside its segments: `NNN.snapshot` holds what was known at offset NNN (rule 30).
//!
//! Kafka's format, version 1, with one thing more: Kafka writes the last batch of each producer only, so that after a
//! restart the four before it are no longer recognised. Here every remembered batch is an entry, oldest first. Kafka
//! keeps the last entry of a producer, which is the one it would have written itself.

use bytes::Bytes;
use model::{Offset, ProducerEpoch, ProducerId};
use wire::internal::snapshot::{ProducerEntry as WireEntry, ProducerSnapshot};
use wire::{DecodeError, EncodeError, Message};

use super::Producers;
use super::entry::{DEDUPE_WINDOW, ProducedBatch, ProducerEntry};

const VERSION: i16 = 1;
/// Version (2) and checksum (4); the checksum covers what follows.
const COVERED_FROM: usize = 6;

/// Why a snapshot cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file ends before its version and checksum do.
    #[error("{0} bytes are no producer snapshot")]
    Short(usize),
    /// A version that is not known here.
    #[error("version {0} of a producer snapshot is not known, only {VERSION}")]
    Version(i16),
    /// The checksum does not match.
    #[error("checksum {computed:#010x} of the producer snapshot differs from {stored:#010x} in it")]
    Checksum {
        /// The one in the file.
        stored: u32,
        /// The one of its bytes.
        computed: u32,
    },
    /// The entries do not fit.
    #[error("malformed producer snapshot: {0}")]
    Malformed(#[from] DecodeError),
}

/// An entry of a snapshot, as it lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerSnapshotEntry {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its newest epoch.
    pub producer_epoch: ProducerEpoch,
    /// The epoch of the coordinator of its last marker; -1 without one.
    pub coordinator_epoch: i32,
    /// When it was last heard of.
    pub last_timestamp: i64,
    /// A batch of it; `None` when only a marker is known.
    pub batch: Option<ProducedBatch>,
    /// Where its open transaction begins.
    pub current_transaction_first_offset: Option<Offset>,
}

/// Reads the content of a snapshot file.
pub fn decode_snapshot(content: &[u8]) -> Result<Vec<ProducerSnapshotEntry>, SnapshotError> {
    let (version, rest) = content
        .split_first_chunk::<2>()
        .ok_or(SnapshotError::Short(content.len()))?;
    let (stored, covered) = rest
        .split_first_chunk::<4>()
        .ok_or(SnapshotError::Short(content.len()))?;
    let version = i16::from_be_bytes(*version);
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let stored = u32::from_be_bytes(*stored);
    let computed = crc32c::crc32c(covered);
    if stored != computed {
        return Err(SnapshotError::Checksum { stored, computed });
    }
    let snapshot = ProducerSnapshot::decode_all(Bytes::copy_from_slice(rest), VERSION)?;
    Ok(snapshot.producer_entries.iter().map(from_wire).collect())
}

fn from_wire(entry: &WireEntry) -> ProducerSnapshotEntry {
    let batch = ProducedBatch {
        last_sequence: entry.last_sequence,
        last_offset: Offset(entry.last_offset),
        offset_delta: entry.offset_delta.max(0),
        timestamp: entry.timestamp,
    };
    let open = entry.current_txn_first_offset;
    ProducerSnapshotEntry {
        producer_id: ProducerId(entry.producer_id),
        producer_epoch: ProducerEpoch(entry.epoch),
        coordinator_epoch: entry.coordinator_epoch,
        last_timestamp: entry.timestamp,
        batch: (entry.last_offset >= 0).then_some(batch),
        current_transaction_first_offset: (open >= 0).then_some(Offset(open)),
    }
}

/// The content of a snapshot file.
pub(crate) fn encode_snapshot(producers: &Producers) -> Result<Vec<u8>, EncodeError> {
    let mut producer_entries = Vec::new();
    for (id, entry) in &producers.entries {
        let last_seen = entry.last_timestamp.max(entry.last_seen_ms);
        let wire = |batch: &ProducedBatch, timestamp| WireEntry {
            producer_id: id.0,
            epoch: entry.epoch.0,
            last_sequence: batch.last_sequence,
            last_offset: batch.last_offset.0,
            offset_delta: batch.offset_delta,
            timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            current_txn_first_offset: entry.transaction_start.map_or(-1, |offset| offset.0),
        };
        let none = ProducedBatch {
            last_sequence: -1,
            last_offset: Offset::NONE,
            offset_delta: 0,
            timestamp: -1,
        };
        let (last, older) = entry.batches().split_last().unwrap_or((&none, &[]));
        producer_entries.extend(older.iter().map(|batch| wire(batch, batch.timestamp)));
        producer_entries.push(wire(last, last_seen));
    }
    let body = ProducerSnapshot {
        crc: 0,
        producer_entries,
    }
    .to_bytes(VERSION)?;
    let mut content = VERSION.to_be_bytes().to_vec();
    content.extend_from_slice(&body);
    let computed = crc32c::crc32c(content.get(COVERED_FROM..).unwrap_or_default());
    if let Some(crc) = content.get_mut(2..COVERED_FROM) {
        crc.copy_from_slice(&computed.to_be_bytes());
    }
    Ok(content)
}

impl Producers {
    /// The state that a snapshot holds, without what the log has dropped since. What has expired is left out.
    pub(crate) fn from_snapshot(
        entries: &[ProducerSnapshotEntry],
        now_ms: i64,
        expiration_ms: i64,
    ) -> Producers {
        let mut producers = Producers::default();
        for found in entries {
            let entry = producers
                .entries
                .entry(found.producer_id)
                .or_insert_with(ProducerEntry::unknown);
            entry.enter_epoch(found.producer_epoch);
            if let Some(batch) = found.batch {
                entry.remember(batch, DEDUPE_WINDOW);
            }
            entry.coordinator_epoch = found.coordinator_epoch;
            entry.last_timestamp = found.last_timestamp;
            entry.last_seen_ms = found.last_timestamp;
            entry.transaction_start = found.current_transaction_first_offset;
        }
        producers.expire(now_ms, expiration_ms);
        let open = producers.entries.iter();
        producers.open = open
            .filter_map(|(id, entry)| Some((entry.transaction_start?, *id)))
            .collect();
        producers
    }
}

//! A shard rebuilt from its partition's log, when this broker begins to lead it (rule 135).

use std::io;
use std::time::Instant;

use model::Offset;
use wire::records::{BatchError, RecordError, batches};

use super::host::Shard;
use super::offsets_log::OffsetsLog;

/// What is read from the log at a time.
const LOAD_BYTES: usize = 4 << 20;
/// So many records that are not understood are told of one by one.
const TOLD_ONE_BY_ONE: usize = 10;

/// Why a partition could not be loaded: its groups are then unavailable here.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("cannot read the log: {0}")]
    Read(#[from] io::Error),
    #[error("a batch at or after offset {from} is damaged: {error}")]
    Batch { from: Offset, error: BatchError },
    #[error("the records of the batch at offset {from} are damaged: {error}")]
    Records { from: Offset, error: RecordError },
}

/// What a load did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    pub(super) records: u64,
    pub(super) bytes: usize,
    pub(super) passed_over: usize,
    pub(super) millis: u128,
}

/// Replays the log to its end. The log of a leader holds what is committed, or will be: only a leader appends to it.
pub(super) fn load(log: &dyn OffsetsLog, shard: &mut Shard) -> Result<Loaded, LoadError> {
    let start = Instant::now();
    let mut loaded = Loaded::default();
    let (mut next, end) = log.bounds()?;
    while next < end {
        let bytes = log.read(next, LOAD_BYTES)?;
        if bytes.is_empty() {
            break;
        }
        loaded.bytes += bytes.len();
        for batch in batches(&bytes) {
            let batch = match batch {
                Ok(batch) => batch,
                // A read may end within a batch.
                Err(BatchError::Truncated { .. }) => break,
                Err(error) => return Err(LoadError::Batch { from: next, error }),
            };
            let header = batch.header();
            let passed = shard.load_batch(&batch);
            let passed = passed.map_err(|error| LoadError::Records {
                from: header.base_offset,
                error,
            })?;
            loaded.records += u64::try_from(header.record_count).unwrap_or_default();
            for (offset, error) in passed {
                loaded.passed_over += 1;
                if loaded.passed_over <= TOLD_ONE_BY_ONE {
                    tracing::warn!(
                        "the record at offset {offset} of __consumer_offsets is passed over: {error}"
                    );
                }
            }
            next = header.next_offset();
        }
    }
    loaded.millis = start.elapsed().as_millis();
    Ok(loaded)
}

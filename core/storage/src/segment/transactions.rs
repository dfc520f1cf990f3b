//! `.txnindex`: the aborted transactions whose marker lies in a segment. Entries of 34 bytes; no file without one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{Offset, ProducerId};

use crate::disk::{Disk, DiskFile};
use crate::log::AbortedTransaction;

const VERSION: i16 = 0;
const ENTRY_SIZE: usize = 34;

/// Why a transaction index cannot be used; it is built anew then (rule 97).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionIndexError {
    /// A version that is not known here.
    #[error("version {0} of an aborted transaction is not known, only {VERSION}")]
    Version(i16),
    /// The size is not a number of entries.
    #[error("{0} bytes are not a number of entries of {ENTRY_SIZE}")]
    Size(usize),
    /// Offsets that cannot be, or entries out of order.
    #[error("entry {0} does not make sense")]
    Entry(usize),
}

fn encode(entry: &AbortedTransaction, out: &mut Vec<u8>) {
    out.extend_from_slice(&VERSION.to_be_bytes());
    for number in [
        entry.producer_id.0,
        entry.first_offset.0,
        entry.last_offset.0,
        entry.last_stable_offset.0,
    ] {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

fn decode_entry(bytes: &[u8], index: usize) -> Result<AbortedTransaction, TransactionIndexError> {
    let malformed = TransactionIndexError::Entry(index);
    let (version, rest) = bytes.split_first_chunk().ok_or(malformed.clone())?;
    let version = i16::from_be_bytes(*version);
    if version != VERSION {
        return Err(TransactionIndexError::Version(version));
    }
    let (numbers, _) = rest.as_chunks::<8>();
    let [producer_id, first, last, stable] = numbers else {
        return Err(malformed);
    };
    let entry = AbortedTransaction {
        producer_id: ProducerId(i64::from_be_bytes(*producer_id)),
        first_offset: Offset(i64::from_be_bytes(*first)),
        last_offset: Offset(i64::from_be_bytes(*last)),
        last_stable_offset: Offset(i64::from_be_bytes(*stable)),
    };
    let sound = entry.first_offset.0 >= 0 && entry.first_offset < entry.last_offset;
    if sound { Ok(entry) } else { Err(malformed) }
}

/// Reads the content of a `.txnindex` file.
pub fn decode_transactions(content: &[u8]) -> Result<Vec<AbortedTransaction>, TransactionIndexError> {
    let chunks = content.chunks_exact(ENTRY_SIZE);
    if !chunks.remainder().is_empty() {
        return Err(TransactionIndexError::Size(content.len()));
    }
    let mut entries: Vec<AbortedTransaction> = Vec::new();
    for (index, bytes) in chunks.enumerate() {
        let entry = decode_entry(bytes, index)?;
        if entries
            .last()
            .is_some_and(|last| entry.last_offset <= last.last_offset)
        {
            return Err(TransactionIndexError::Entry(index));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Makes the file hold these entries, and yields it to be synced; no file for none.
pub(crate) fn replace(
    disk: &dyn Disk,
    path: &Path,
    entries: &[AbortedTransaction],
) -> io::Result<Option<Arc<dyn DiskFile>>> {
    if entries.is_empty() {
        disk.remove_file_if_there(path)?;
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for entry in entries {
        encode(entry, &mut bytes);
    }
    disk.write(path, &bytes).map(Some)
}

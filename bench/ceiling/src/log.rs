//! One partition: a file, and where in it each batch begins.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use anyhow::Result;
use parking_lot::{Condvar, Mutex};

/// The length of a batch's header; the record count is its last field.
const HEADER: usize = 61;
/// What the CRC covers begins here.
const CRC_FROM: usize = 21;

/// A partition.
pub(crate) struct Partition {
    pub(crate) file: File,
    log: Mutex<Log>,
    /// The end of what is on stable storage, as an offset.
    synced: Mutex<i64>,
    synced_more: Condvar,
}

/// Where the batches are.
#[derive(Default)]
struct Log {
    next_offset: i64,
    next_position: u64,
    /// The first offset of each batch, and its place.
    batches: Vec<(i64, u64)>,
    is_dirty: bool,
}

/// What an append gave: the offset of the first record, and the one after the last.
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    pub(crate) end_offset: i64,
    /// Whether everything before it was durable, or on its way to be: a sync must be asked for.
    pub(crate) makes_dirty: bool,
}

/// A piece of the file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) position: u64,
    pub(crate) length: usize,
}

impl Partition {
    pub(crate) fn create(path: &Path) -> Result<Partition> {
        Ok(Partition {
            file: File::options()
                .create(true)
                .read(true)
                .write(true)
                .truncate(true)
                .open(path)?,
            log: Mutex::default(),
            synced: Mutex::new(0),
            synced_more: Condvar::new(),
        })
    }

    /// Checks a batch, gives it offsets and writes it. `None`: it is not one whole batch with the CRC it says.
    pub(crate) fn append(&self, batch: &mut [u8]) -> Result<Option<Appended>> {
        if batch.len() < HEADER
            || number(batch, 8) as usize != batch.len() - 12
            || number(batch, 17)
                != crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &batch[CRC_FROM..]) as u32
        {
            return Ok(None);
        }
        let records = i64::from(number(batch, HEADER - 4));
        let mut log = self.log.lock();
        let base_offset = log.next_offset;
        let position = log.next_position;
        batch[..8].copy_from_slice(&base_offset.to_be_bytes());
        batch[12..16].fill(0); // the leader epoch
        self.file.write_all_at(batch, position)?;
        log.batches.push((base_offset, position));
        log.next_offset += records;
        log.next_position += batch.len() as u64;
        Ok(Some(Appended {
            base_offset,
            end_offset: log.next_offset,
            makes_dirty: !std::mem::replace(&mut log.is_dirty, true),
        }))
    }

    /// The offset after the last record.
    pub(crate) fn end_offset(&self) -> i64 {
        self.log.lock().next_offset
    }

    /// Whole batches from `offset` on, `max_bytes` at most; with `AtLeastOne` the first comes however long it is.
    /// Also the offset after the last record.
    pub(crate) fn read(&self, offset: i64, max_bytes: usize, minimum: Minimum) -> (Range, i64) {
        let log = self.log.lock();
        let nothing = Range {
            position: log.next_position,
            length: 0,
        };
        if offset < 0 || offset >= log.next_offset {
            return (nothing, log.next_offset);
        }
        let first = log.batches.partition_point(|(base, _)| *base <= offset) - 1;
        let position = log.batches[first].1;
        let limit = position + max_bytes as u64;
        let end = if log.next_position <= limit {
            log.next_position
        } else {
            let after = log.batches.partition_point(|(_, place)| *place <= limit) - 1;
            match minimum {
                Minimum::AtLeastOne if after == first => log
                    .batches
                    .get(first + 1)
                    .map_or(log.next_position, |(_, place)| *place),
                _ => log.batches[after].1,
            }
        };
        let length = (end - position) as usize;
        (Range { position, length }, log.next_offset)
    }

    /// Makes durable what was appended before this, and wakes who waits for it.
    pub(crate) fn sync(&self) -> Result<()> {
        let end = {
            let mut log = self.log.lock();
            log.is_dirty = false;
            log.next_offset
        };
        self.file.sync_data()?;
        *self.synced.lock() = end;
        self.synced_more.notify_all();
        Ok(())
    }

    /// Waits until everything before `offset` is on stable storage.
    pub(crate) fn wait_synced(&self, offset: i64) {
        let mut synced = self.synced.lock();
        while *synced < offset {
            self.synced_more.wait(&mut synced);
        }
    }
}

/// Whether a read may come back empty because a batch is too long.
#[derive(Clone, Copy)]
pub(crate) enum Minimum {
    Nothing,
    AtLeastOne,
}

/// Four bytes of a header as a number; the header is known to be whole.
fn number(batch: &[u8], at: usize) -> u32 {
    let bytes = batch[at..].first_chunk::<4>();
    u32::from_be_bytes(*bytes.unwrap_or(&[0; 4]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A batch that is whole as far as its header and CRC say.
    pub(crate) fn batch(records: u32, length: usize) -> Vec<u8> {
        let mut batch = vec![7; length];
        batch[8..12].copy_from_slice(&(length as u32 - 12).to_be_bytes());
        batch[57..61].copy_from_slice(&records.to_be_bytes());
        let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &batch[CRC_FROM..]) as u32;
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        batch
    }

    fn partition(name: &str) -> Partition {
        let path = std::env::temp_dir().join(format!("ceiling-{}-{name}", std::process::id()));
        let partition = Partition::create(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        partition
    }

    #[test]
    fn a_read_returns_whole_batches_within_its_limit() {
        let partition = partition("read");
        for records in [3, 2, 5] {
            partition.append(&mut batch(records, 100)).unwrap().unwrap();
        }
        let read = |offset, limit, minimum| {
            let (range, end) = partition.read(offset, limit, minimum);
            assert_eq!(end, 10);
            (range.position, range.length)
        };
        assert_eq!(read(0, 1000, Minimum::Nothing), (0, 300));
        assert_eq!(read(4, 1000, Minimum::Nothing), (100, 200));
        assert_eq!(read(0, 250, Minimum::Nothing), (0, 200));
        assert_eq!(read(3, 10, Minimum::Nothing), (100, 0));
        assert_eq!(read(3, 10, Minimum::AtLeastOne), (100, 100));
        assert_eq!(read(10, 1000, Minimum::AtLeastOne), (300, 0));
    }

    #[test]
    fn a_damaged_batch_is_refused() {
        let partition = partition("damaged");
        let mut damaged = batch(1, 100);
        damaged[99] ^= 1;
        assert!(partition.append(&mut damaged).unwrap().is_none());
        assert!(partition.append(&mut [0; 30]).unwrap().is_none());
        assert_eq!(partition.end_offset(), 0);
    }
}

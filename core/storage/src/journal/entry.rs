//! How an entry of the journal lies in its file.
//!
//! ```text
//! magic      u32   GJN1
//! size       u32   of the whole entry, in bytes
//! checksum   u32   CRC32C of everything behind it
//! sequence   u64   one more than that of the entry before it; the first of a journal is one that nobody can guess
//! kind       u8    0: batches, 1: what came before about this partition is void; 128 more where a round begins
//! topic id   16 bytes
//! partition  i32
//! name       u16 and as many bytes: the topic's name
//! base       i64   where the log ended before the batches
//! batches          as they lie in the log
//! ```
//!
//! Numbers are big-endian. A round of entries begins at a page of 4 KiB, so that no write touches a page that holds what
//! was acknowledged.
//!
//! The batches are a client's bytes, and may look like entries. None is found among them: one is looked for only where
//! another ends and at pages, and there it needs a number that follows.

use model::{Offset, TopicPartition, Uuid, validate_topic_name};

/// Rounds begin at multiples of this.
pub(super) const PAGE: u64 = 4096;
/// What every entry has, without the topic's name and the batches.
pub(super) const FIXED: usize = 51;
const MAGIC: u32 = u32::from_be_bytes(*b"GJN1");
const CHECKED_FROM: usize = 12;
/// In `kind`: the entry is the first of its round.
const BEGINS_ROUND: u8 = 0x80;
/// Nothing larger is read into memory: a whole file of a journal is not.
const SIZE_MAX: usize = 128 << 20;

/// A partition of a topic: one made anew under an old name is of another topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalKey {
    /// The topic's id.
    pub topic_id: Uuid,
    /// Its name, and the partition.
    pub topic_partition: TopicPartition,
}

/// What an entry says of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalKind {
    /// Batches to be appended where the log does not have them.
    Batches,
    /// All that was said of the partition before is void: the log has it, or must never have it again.
    Void,
}

/// Where an entry is in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRound {
    /// It is the first: all rounds before are durable.
    First,
    /// It is a later one.
    Later,
}

/// The head of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalHead {
    /// Its place in the order of all entries.
    pub sequence: u64,
    /// Its place in its round.
    pub in_round: InRound,
    /// What it says.
    pub kind: JournalKind,
    /// Of whom.
    pub key: JournalKey,
    /// Where the log ended before the batches.
    pub base_offset: Offset,
}

/// The bytes of an entry whose batches have that size.
pub(super) fn entry_size(key: &JournalKey, batches: u64) -> u64 {
    (FIXED + key.topic_partition.topic.len()) as u64 + batches
}

/// Begins an entry at the end of `buffer`; [`finish`] completes it when the batches are behind it.
pub(super) fn begin(
    buffer: &mut Vec<u8>,
    (sequence, in_round): (u64, InRound),
    kind: JournalKind,
    key: &JournalKey,
    base_offset: Offset,
) {
    let topic = key.topic_partition.topic.as_bytes();
    buffer.extend_from_slice(&MAGIC.to_be_bytes());
    buffer.extend_from_slice(&[0; 8]);
    buffer.extend_from_slice(&sequence.to_be_bytes());
    let begins = if in_round == InRound::First {
        BEGINS_ROUND
    } else {
        0
    };
    buffer.push(begins | u8::from(kind == JournalKind::Void));
    buffer.extend_from_slice(&key.topic_id.0);
    buffer.extend_from_slice(&key.topic_partition.partition.to_be_bytes());
    buffer.extend_from_slice(&u16::try_from(topic.len()).unwrap_or(u16::MAX).to_be_bytes());
    buffer.extend_from_slice(topic);
    buffer.extend_from_slice(&base_offset.0.to_be_bytes());
}

/// Completes the entry that begins at `start` and ends with the buffer.
pub(super) fn finish(buffer: &mut [u8], start: usize) {
    let Some(entry) = buffer.get_mut(start..) else {
        return;
    };
    let size = u32::try_from(entry.len()).unwrap_or(u32::MAX);
    let checksum = crc32c::crc32c(entry.get(CHECKED_FROM..).unwrap_or_default());
    let numbers = [size.to_be_bytes(), checksum.to_be_bytes()].concat();
    if let Some(place) = entry.get_mut(4..CHECKED_FROM) {
        place.copy_from_slice(&numbers);
    }
}

/// The size an entry says it has, from its first bytes; `None` where none begins.
pub(super) fn size_of(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let magic = u32::from_be_bytes(take(&mut rest)?);
    let size = usize::try_from(u32::from_be_bytes(take(&mut rest)?)).ok()?;
    (magic == MAGIC && (FIXED..=SIZE_MAX).contains(&size)).then_some(size)
}

/// The number that the entry at the start says it has, sound or not: its first [`FIXED`] bytes tell.
pub(super) fn claimed_sequence(bytes: &[u8]) -> Option<u64> {
    size_of(bytes)?;
    let mut rest = bytes.get(CHECKED_FROM..)?;
    Some(u64::from_be_bytes(take(&mut rest)?))
}

/// Reads a whole entry; `None` when it is not sound. Yields where its batches begin.
pub(super) fn parse(entry: &[u8]) -> Option<(JournalHead, usize)> {
    let mut rest = entry.get(8..)?;
    let checksum = u32::from_be_bytes(take(&mut rest)?);
    if crc32c::crc32c(rest) != checksum {
        return None;
    }
    let sequence = u64::from_be_bytes(take(&mut rest)?);
    let [kind] = take(&mut rest)?;
    let in_round = match kind & BEGINS_ROUND {
        0 => InRound::Later,
        _ => InRound::First,
    };
    let kind = match kind & !BEGINS_ROUND {
        0 => JournalKind::Batches,
        1 => JournalKind::Void,
        _ => return None,
    };
    let topic_id = Uuid(take(&mut rest)?);
    let partition = i32::from_be_bytes(take(&mut rest)?);
    let length = usize::from(u16::from_be_bytes(take(&mut rest)?));
    let (topic, mut rest) = rest.split_at_checked(length)?;
    let topic = std::str::from_utf8(topic).ok()?;
    validate_topic_name(topic).ok()?;
    let base_offset = Offset(i64::from_be_bytes(take(&mut rest)?));
    let head = JournalHead {
        sequence,
        in_round,
        kind,
        key: JournalKey {
            topic_id,
            topic_partition: TopicPartition::new(topic, partition),
        },
        base_offset,
    };
    Some((head, entry.len() - rest.len()))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> JournalHead {
        JournalHead {
            sequence: 7,
            in_round: InRound::First,
            kind: JournalKind::Batches,
            key: JournalKey {
                topic_id: Uuid([3; 16]),
                topic_partition: TopicPartition::new("orders", 4),
            },
            base_offset: Offset(99),
        }
    }

    #[test]
    fn an_entry_reads_back_and_any_other_bit_is_noticed() {
        let mut buffer = vec![1, 2, 3];
        let JournalHead {
            sequence,
            in_round,
            kind,
            key,
            base_offset,
        } = head();
        begin(&mut buffer, (sequence, in_round), kind, &key, base_offset);
        buffer.extend_from_slice(b"batches");
        finish(&mut buffer, 3);
        let entry = buffer.split_off(3);
        assert_eq!(entry.len() as u64, entry_size(&head().key, 7));
        assert_eq!(size_of(&entry), Some(entry.len()));
        assert_eq!(parse(&entry), Some((head(), entry.len() - 7)));
        for position in 0..entry.len() {
            let mut other = entry.clone();
            other[position] ^= 4;
            let sound = size_of(&other) == Some(entry.len()) && parse(&other).is_some();
            assert!(!sound, "byte {position}");
        }
    }
}

//! The records: text of random words that compresses about as real text does, with a stamp in front.

use std::ops::Range;

/// Bytes of text; small enough for the second cache.
const TEXT: usize = 256 << 10;
const WORDS: usize = 600;
/// Bytes that the stamp takes; a record is no shorter.
pub(crate) const STAMP: usize = 16;

/// Text from which records are cut.
pub(crate) struct Payloads {
    text: Vec<u8>,
    size: usize,
    at: usize,
}

/// What stands in front of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// When the record was meant to leave, in nanoseconds on the shared clock; 0 when nobody asks.
    pub(crate) sent: u64,
    /// The number of the record.
    pub(crate) sequence: u64,
}

impl Stamp {
    /// The stamp of a record, if it has one.
    pub(crate) fn of(payload: &[u8]) -> Option<Stamp> {
        let (sent, rest) = payload.split_first_chunk()?;
        Some(Stamp {
            sent: u64::from_le_bytes(*sent),
            sequence: u64::from_le_bytes(*rest.first_chunk()?),
        })
    }
}

impl Payloads {
    /// Records of `size` bytes, 16 at least.
    pub(crate) fn new(size: usize) -> Payloads {
        let mut random = Random(42);
        let words: Vec<Vec<u8>> = (0..WORDS)
            .map(|_| {
                let length = random.within(3..10);
                (0..length).map(|_| b'a' + random.within(0..26) as u8).collect()
            })
            .collect();
        let size = size.max(STAMP);
        let mut text = Vec::with_capacity(TEXT + size);
        while text.len() < TEXT + size {
            text.extend(&words[random.within(0..WORDS)]);
            text.push(b' ');
        }
        Payloads { text, size, at: 0 }
    }

    /// The next record.
    pub(crate) fn next(&mut self, stamp: Stamp) -> &[u8] {
        self.at = (self.at + self.size) % TEXT;
        let record = &mut self.text[self.at..self.at + self.size];
        record[..8].copy_from_slice(&stamp.sent.to_le_bytes());
        record[8..STAMP].copy_from_slice(&stamp.sequence.to_le_bytes());
        record
    }
}

/// A linear congruential generator: every run sends the same text.
struct Random(u64);

impl Random {
    fn within(&mut self, range: Range<usize>) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        range.start + (self.0 >> 33) as usize % range.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_size_and_its_stamp() {
        let mut payloads = Payloads::new(200);
        for sequence in 0..5_000 {
            let stamp = Stamp { sent: 9, sequence };
            let record = payloads.next(stamp);
            assert_eq!(record.len(), 200);
            assert_eq!(Stamp::of(record), Some(stamp));
        }
        assert_eq!(Stamp::of(b"short"), None);
    }
}

//! What the values of records are made of.

/// Values, one for each record.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// Capital letters at random.
    Letters {
        /// The value of the last record, written over by the next.
        value: Vec<u8>,
        random: Random,
    },
    /// One of these, at random.
    OneOf { values: Vec<Vec<u8>>, random: Random },
    /// The number of the record, in decimal.
    Counting(String),
}

impl Payload {
    /// Values of so many letters.
    pub(crate) fn letters(size: usize) -> Payload {
        Payload::Letters {
            value: vec![0; size],
            random: Random::default(),
        }
    }

    /// One of these values, of which there is at least one.
    pub(crate) fn one_of(values: Vec<Vec<u8>>) -> Payload {
        Payload::OneOf {
            values,
            random: Random::default(),
        }
    }

    /// The value of the record of that number.
    pub(crate) fn next(&mut self, index: u64) -> &[u8] {
        match self {
            Payload::Letters { value, random } => {
                for chunk in value.chunks_mut(8) {
                    for (letter, byte) in chunk.iter_mut().zip(random.next().to_le_bytes()) {
                        *letter = b'A' + ((u16::from(byte) * 26) >> 8) as u8;
                    }
                }
                value
            }
            Payload::OneOf { values, random } => {
                let place = random.next() % values.len().max(1) as u64;
                values.get(place as usize).map_or(&[], Vec::as_slice)
            }
            Payload::Counting(text) => {
                *text = index.to_string();
                text.as_bytes()
            }
        }
    }
}

/// A quick source of numbers, the same in every run (SplitMix64).
#[derive(Clone, Debug, Default)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_capitals_of_all_kinds_and_change() {
        let mut payload = Payload::letters(1001);
        let first = payload.next(0).to_vec();
        assert_eq!(first.len(), 1001);
        let kinds: std::collections::BTreeSet<u8> = first.iter().copied().collect();
        assert_eq!(kinds, (b'A'..=b'Z').collect());
        assert_ne!(first, payload.next(1));
    }

    #[test]
    fn values_are_those_given_or_numbers() {
        let mut payload = Payload::one_of(vec![b"a".to_vec(), b"b".to_vec()]);
        let drawn: std::collections::BTreeSet<Vec<u8>> = (0..50).map(|n| payload.next(n).to_vec()).collect();
        assert_eq!(drawn.len(), 2);
        assert_eq!(Payload::Counting(String::new()).next(307), b"307");
    }
}

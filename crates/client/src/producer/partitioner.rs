//! Which partition a record goes to: by its key's murmur2 hash as Java's producer does, or, without a key, one partition
//! for a batch's worth of bytes, then another (KIP-794).

use std::hash::{BuildHasher, RandomState};

/// Kafka's murmur2 of a key.
pub fn murmur2(key: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mut hash = SEED ^ key.len() as u32;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        for (index, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * index);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// The partition of a key among `partitions`, which must be positive. Not the rule that places groups on partitions.
pub fn partition_for_key(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & 0x7fff_ffff) as i32 % partitions.max(1)
}

/// Chooses partitions of one topic for records without a key: stays on one until a batch's worth of bytes went there.
#[derive(Debug)]
pub(crate) struct StickyPartition {
    switch_after_bytes: usize,
    random: RandomState,
    draws: u64,
    /// The partition, and the bytes that went there.
    current: Option<(i32, usize)>,
}

impl StickyPartition {
    pub(crate) fn new(switch_after_bytes: usize) -> StickyPartition {
        StickyPartition {
            switch_after_bytes,
            random: RandomState::new(),
            draws: 0,
            current: None,
        }
    }

    /// The partition for a record of `bytes` bytes; `available` are those with a leader, and not empty.
    pub(crate) fn choose(&mut self, available: &[i32], bytes: usize) -> i32 {
        if let Some((partition, taken)) = &mut self.current
            && *taken < self.switch_after_bytes
            && available.contains(partition)
        {
            *taken += bytes;
            return *partition;
        }
        let previous = self.current.map(|(partition, _)| partition);
        let is_other = |partition: &&i32| Some(**partition) != previous;
        let others = available.iter().filter(is_other).count();
        self.draws += 1;
        let draw = self.random.hash_one(self.draws) as usize % others.max(1);
        let other = available.iter().filter(is_other).nth(draw);
        let partition = other.or(available.first()).copied().unwrap_or(0);
        self.current = Some((partition, bytes));
        partition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_agrees_with_java() {
        for (text, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(text.as_bytes()) as i32, hash, "{text}");
        }
    }

    #[test]
    fn a_key_always_goes_to_the_same_partition_within_range() {
        for n in 0..1000 {
            let key = format!("key {n}");
            let partition = partition_for_key(key.as_bytes(), 7);
            assert!((0..7).contains(&partition));
            assert_eq!(partition, partition_for_key(key.as_bytes(), 7));
        }
    }

    #[test]
    fn records_without_a_key_stay_together_for_a_batch_then_move() {
        let mut sticky = StickyPartition::new(100);
        let available = [0, 1, 2];
        let mut runs = vec![(sticky.choose(&available, 50), 1)];
        for _ in 0..199 {
            let partition = sticky.choose(&available, 50);
            match runs.last_mut() {
                Some((last, count)) if *last == partition => *count += 1,
                _ => runs.push((partition, 1)),
            }
        }
        assert!(runs.iter().all(|(_, count)| *count == 2), "{runs:?}");
        let used: std::collections::BTreeSet<i32> = runs.iter().map(|(partition, _)| *partition).collect();
        assert_eq!(used.len(), 3);
    }

    #[test]
    fn a_partition_that_lost_its_leader_is_left_at_once() {
        let mut sticky = StickyPartition::new(1_000_000);
        let first = sticky.choose(&[0, 1], 1);
        let second = sticky.choose(&[1 - first], 1);
        assert_eq!(second, 1 - first);
    }
}

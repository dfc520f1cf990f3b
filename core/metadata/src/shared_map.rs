//! An ordered map whose clones share their content, and whose changes copy little of it.
//!
//! Entries lie in sorted chunks. A clone copies one pointer; a change to a map that is shared copies the list of chunks,
//! a pointer for some hundred entries, and one chunk. A map that is not shared is changed in place.

use std::borrow::Borrow;
use std::sync::Arc;

/// A chunk with more entries is split.
const CHUNK_MAX: usize = 256;
/// Two neighbours with no more entries together are joined.
const JOIN_MAX: usize = CHUNK_MAX / 2;

type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// The map; see the module.
#[derive(Clone, Debug)]
pub(crate) struct SharedMap<K, V> {
    /// No chunk is empty; all keys of one are below all keys of the next.
    chunks: Arc<Vec<Chunk<K, V>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> SharedMap<K, V> {
        SharedMap {
            chunks: Arc::default(),
            len: 0,
        }
    }
}

/// Maps are equal when their entries are, however those lie in chunks.
impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &SharedMap<K, V>) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Clone, V: Clone + Eq> Eq for SharedMap<K, V> {}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of a key.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (chunk, place) = self.find(key);
        let (_, value) = self.chunks.get(chunk)?.get(place.ok()?)?;
        Some(value)
    }

    /// Whether a key is there.
    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value of a key, to be changed.
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (chunk, place) = self.find(key);
        let place = place.ok()?;
        let chunk = Arc::make_mut(Arc::make_mut(&mut self.chunks).get_mut(chunk)?);
        chunk.get_mut(place).map(|(_, value)| value)
    }

    /// Gives a key a value, and returns the one it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (at, place) = self.find(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(chunk) = chunks.get_mut(at) else {
            chunks.push(Arc::new(vec![(key, value)]));
            self.len += 1;
            return None;
        };
        let chunk = Arc::make_mut(chunk);
        match place {
            Ok(place) => chunk.get_mut(place).map(|(_, old)| std::mem::replace(old, value)),
            Err(place) => {
                chunk.insert(place, (key, value));
                self.len += 1;
                if chunk.len() > CHUNK_MAX {
                    let upper = chunk.split_off(CHUNK_MAX / 2);
                    chunks.insert(at + 1, Arc::new(upper));
                }
                None
            }
        }
    }

    /// Takes an entry out.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let (at, place) = self.find(key);
        let place = place.ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(chunks.get_mut(at)?);
        let entry = chunk.remove(place);
        self.len -= 1;
        if chunk.is_empty() {
            chunks.remove(at);
        } else {
            join(chunks, at);
            join(chunks, at.saturating_sub(1));
        }
        Some(entry)
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks
            .iter()
            .flat_map(|chunk| chunk.iter())
            .map(|(key, value)| (key, value))
    }

    /// The entries from a key on, that one included, in order.
    pub(crate) fn range_from<Q: Ord + ?Sized>(&self, from: &Q) -> impl Iterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (at, place) = self.find(from);
        let place = place.unwrap_or_else(|place| place);
        let first = self
            .chunks
            .get(at)
            .and_then(|chunk| chunk.get(place..))
            .unwrap_or_default();
        let rest = self.chunks.get(at.saturating_add(1)..).unwrap_or_default();
        let entries = first.iter().chain(rest.iter().flat_map(|chunk| chunk.iter()));
        entries.map(|(key, value)| (key, value))
    }

    /// The chunk a key belongs into, and its place there; or where it would be inserted.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> (usize, Result<usize, usize>)
    where
        K: Borrow<Q>,
    {
        let begins_at_or_before =
            |chunk: &Chunk<K, V>| chunk.first().is_some_and(|(first, _)| first.borrow() <= key);
        let at = self.chunks.partition_point(begins_at_or_before).saturating_sub(1);
        let place = match self.chunks.get(at) {
            Some(chunk) => chunk.binary_search_by(|(other, _)| other.borrow().cmp(key)),
            None => Err(0),
        };
        (at, place)
    }
}

/// Joins a chunk and the next one, where both are small.
fn join<K: Clone, V: Clone>(chunks: &mut Vec<Chunk<K, V>>, at: usize) {
    let size = |at: usize| chunks.get(at).map(|chunk| chunk.len());
    if let (Some(size), Some(next)) = (size(at), size(at + 1))
        && size + next <= JOIN_MAX
    {
        let next = chunks.remove(at + 1);
        if let Some(chunk) = chunks.get_mut(at) {
            Arc::make_mut(chunk).extend_from_slice(&next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_shared_map_holds_what_an_ordinary_one_does(
            steps in proptest::collection::vec((0..3u8, 0..900u16), 0..3000),
            from in 0..900u16,
        ) {
            let (mut shared, mut plain) = (SharedMap::default(), BTreeMap::new());
            let mut earlier = Vec::new();
            for (at, (step, key)) in steps.into_iter().enumerate() {
                match step {
                    0 => prop_assert_eq!(shared.remove(&key).map(|(_, value)| value), plain.remove(&key)),
                    1 => prop_assert_eq!(shared.insert(key, at), plain.insert(key, at)),
                    _ => {
                        let (ours, theirs) = (shared.get_mut(&key), plain.get_mut(&key));
                        prop_assert_eq!(ours.map(|value| *value += 1), theirs.map(|value| *value += 1));
                    }
                }
                if at % 500 == 0 {
                    earlier.push((shared.clone(), plain.clone()));
                }
            }
            earlier.push((shared, plain));
            for (shared, plain) in earlier {
                prop_assert_eq!(shared.len(), plain.len());
                prop_assert!(shared.iter().eq(plain.iter()), "a clone does not see later changes");
                prop_assert!(shared.range_from(&from).eq(plain.range(from..)));
                prop_assert_eq!(shared.get(&from), plain.get(&from));
                prop_assert!(shared.chunks.iter().all(|chunk| (1..=CHUNK_MAX).contains(&chunk.len())));
            }
        }
    }

    #[test]
    fn a_change_copies_one_chunk_of_what_is_shared() {
        let mut map = SharedMap::default();
        for key in 0..10_000_u32 {
            map.insert(key, key);
        }
        let before = map.clone();
        *map.get_mut(&5_000).unwrap() = 1;
        let copied = before
            .chunks
            .iter()
            .zip(map.chunks.iter())
            .filter(|(a, b)| !Arc::ptr_eq(a, b));
        assert_eq!(copied.count(), 1);
        assert_eq!((before.get(&5_000), map.get(&5_000)), (Some(&5_000), Some(&1)));
    }

    #[test]
    fn what_is_removed_leaves_no_crumbs() {
        let mut map = SharedMap::default();
        for key in 0..10_000_u32 {
            map.insert(key, ());
        }
        for key in (0..10_000_u32).filter(|key| key % 100 != 0) {
            map.remove(&key);
        }
        assert_eq!(map.len(), 100);
        assert!(map.chunks.len() <= 3, "{} chunks", map.chunks.len());
        assert!(map.iter().map(|(key, ())| *key).eq((0..10_000).step_by(100)));
    }
}

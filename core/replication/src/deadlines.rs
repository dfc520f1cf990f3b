//! Who waits until when.

use std::collections::BTreeMap;

/// Names an entry of [`Deadlines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadlineKey {
    at_ms: i64,
    number: u64,
}

/// Things that happen at a time unless something else happens first.
#[derive(Clone, Debug)]
pub struct Deadlines<T> {
    entries: BTreeMap<DeadlineKey, T>,
    next_number: u64,
}

impl<T> Default for Deadlines<T> {
    fn default() -> Deadlines<T> {
        Deadlines {
            entries: BTreeMap::new(),
            next_number: 0,
        }
    }
}

impl<T> Deadlines<T> {
    /// Adds one; whoever finishes before removes it by the key.
    pub fn add(&mut self, at_ms: i64, what: T) -> DeadlineKey {
        let key = DeadlineKey {
            at_ms,
            number: self.next_number,
        };
        self.next_number += 1;
        self.entries.insert(key, what);
        key
    }

    /// Takes one out; `None` when it was due already.
    pub fn remove(&mut self, key: DeadlineKey) -> Option<T> {
        self.entries.remove(&key)
    }

    /// When the next one is due.
    pub fn next_ms(&self) -> Option<i64> {
        self.entries.first_key_value().map(|(key, _)| key.at_ms)
    }

    /// Takes out one that is due at `now_ms`; call it until there is none.
    pub fn pop_due(&mut self, now_ms: i64) -> Option<T> {
        let first = self.entries.first_entry()?;
        (first.key().at_ms <= now_ms).then(|| first.remove())
    }

    /// Takes out those of which `chosen` is true, in order.
    pub fn take_where(&mut self, chosen: impl Fn(&T) -> bool) -> Vec<T> {
        self.entries
            .extract_if(.., |_, what| chosen(what))
            .map(|(_, what)| what)
            .collect()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_and_what_was_removed_does_not() {
        let mut deadlines = Deadlines::default();
        let removed = deadlines.add(10, "removed");
        deadlines.add(20, "second");
        deadlines.add(10, "first");
        deadlines.add(30, "later");
        assert_eq!(deadlines.remove(removed), Some("removed"));
        assert_eq!(deadlines.remove(removed), None);
        assert_eq!(deadlines.next_ms(), Some(10));
        assert_eq!(deadlines.pop_due(9), None);
        assert_eq!(deadlines.pop_due(20), Some("first"));
        assert_eq!(deadlines.pop_due(20), Some("second"));
        assert_eq!(deadlines.pop_due(20), None);
        assert_eq!((deadlines.len(), deadlines.next_ms()), (1, Some(30)));
        deadlines.add(40, "chosen");
        assert_eq!(deadlines.take_where(|what| *what == "chosen"), ["chosen"]);
        assert_eq!(deadlines.len(), 1);
    }
}

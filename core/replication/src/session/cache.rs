//! The bounded cache of sessions, and who has to leave when it is full: Kafka's rule.
//!
//! A newcomer gets a place when there is one. Else the session that was idle longest leaves, if it was idle longer than
//! `eviction_ms`. Else the least valuable one leaves, if it is not more valuable than the newcomer: followers are worth
//! more than consumers, then more partitions more than fewer. A session younger than `eviction_ms` does not leave for a
//! consumer; nor does a follower's for anyone.
//!
//! Not Kafka's: all sessions together have a bounded number of partitions, since those are what memory goes for. Who asks
//! for more gets no session, or ends the one that grew.

use std::collections::{BTreeMap, BTreeSet};

/// The limits of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// `max.incremental.fetch.session.cache.slots`.
    pub sessions: usize,
    /// The most partitions in all sessions.
    pub partitions: usize,
    /// How long a session is safe; Kafka's broker has 120,000.
    pub eviction_ms: i64,
}

/// What a session is worth; the least leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    privileged: bool,
    size: usize,
    id: i32,
}

#[derive(Debug)]
struct Entry<S> {
    worth: Worth,
    created_ms: i64,
    used_ms: i64,
    session: S,
}

/// The sessions by id; `S` is what the caller keeps of each.
#[derive(Debug)]
pub struct SessionCache<S> {
    limits: CacheLimits,
    sessions: BTreeMap<i32, Entry<S>>,
    /// Ids by the time of last use.
    by_use: BTreeSet<(i64, i32)>,
    by_worth: BTreeSet<Worth>,
    partitions: usize,
    evictions: u64,
}

/// A session to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newcomer {
    /// Whether a follower asks.
    pub privileged: bool,
    /// The number of partitions.
    pub size: usize,
    /// Where the search for a free id begins: should be random, so that a client of an earlier life of the broker does
    /// not meet a session of somebody else.
    pub random: u32,
}

/// A session that was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<S> {
    /// Its id.
    pub id: i32,
    /// The one that had to leave for it.
    pub evicted: Option<S>,
}

impl<S> SessionCache<S> {
    /// An empty cache.
    pub fn new(limits: CacheLimits) -> SessionCache<S> {
        SessionCache {
            limits,
            sessions: BTreeMap::new(),
            by_use: BTreeSet::new(),
            by_worth: BTreeSet::new(),
            partitions: 0,
            evictions: 0,
        }
    }

    /// Takes a session in, if there is or can be made a place for it.
    pub fn open(&mut self, newcomer: Newcomer, now_ms: i64, session: S) -> Option<Opened<S>> {
        let others_max = self.limits.partitions.checked_sub(newcomer.size)?;
        let evicted = if self.sessions.len() < self.limits.sessions && self.partitions <= others_max {
            None
        } else {
            Some(self.evict_for(newcomer, others_max, now_ms)?)
        };
        let id = self.free_id(newcomer.random);
        let worth = Worth {
            privileged: newcomer.privileged,
            size: newcomer.size,
            id,
        };
        self.by_use.insert((now_ms, id));
        self.by_worth.insert(worth);
        self.partitions += newcomer.size;
        self.sessions.insert(
            id,
            Entry {
                worth,
                created_ms: now_ms,
                used_ms: now_ms,
                session,
            },
        );
        Some(Opened { id, evicted })
    }

    /// From 1 on, and around.
    fn free_id(&self, random: u32) -> i32 {
        let mut id = (random >> 1).cast_signed().max(1);
        while self.sessions.contains_key(&id) {
            id = id.checked_add(1).unwrap_or(1);
        }
        id
    }

    /// Has one leave, if that makes room enough.
    fn evict_for(&mut self, newcomer: Newcomer, others_max: usize, now_ms: i64) -> Option<S> {
        let id = self
            .stale(now_ms)
            .or_else(|| self.less_valuable(newcomer, now_ms))?;
        let size = self.sessions.get(&id).map_or(0, |entry| entry.worth.size);
        if self.partitions - size > others_max {
            return None;
        }
        self.evictions += 1;
        self.remove(id)
    }

    fn stale(&self, now_ms: i64) -> Option<i32> {
        let (used_ms, id) = self.by_use.first()?;
        (now_ms.saturating_sub(*used_ms) > self.limits.eviction_ms).then_some(*id)
    }

    fn less_valuable(&self, newcomer: Newcomer, now_ms: i64) -> Option<i32> {
        let may_leave = |worth: &&Worth| {
            let old = self
                .sessions
                .get(&worth.id)
                .is_some_and(|entry| now_ms.saturating_sub(entry.created_ms) > self.limits.eviction_ms);
            // A follower's newcomer also takes the place of a young consumer.
            old && (newcomer.privileged || !worth.privileged) || newcomer.privileged && !worth.privileged
        };
        let least = self.by_worth.iter().find(may_leave)?;
        let newcomer = Worth {
            privileged: newcomer.privileged,
            size: newcomer.size,
            id: 0,
        };
        // Of two equal ones the newcomer, whose id counts as 0, stays outside.
        (newcomer >= *least).then_some(least.id)
    }

    /// The session of an id.
    pub fn get(&self, id: i32) -> Option<&S> {
        self.sessions.get(&id).map(|entry| &entry.session)
    }

    /// A session was used, and now has `size` partitions. Returned is the session if it has to leave for that: it is let
    /// go of after this use, and its client begins another.
    pub fn touch(&mut self, id: i32, size: usize, now_ms: i64) -> Option<S> {
        let entry = self.sessions.get_mut(&id)?;
        if size > entry.worth.size && self.partitions - entry.worth.size + size > self.limits.partitions {
            self.evictions += 1;
            return self.remove(id);
        }
        self.by_use.remove(&(entry.used_ms, id));
        self.by_worth.remove(&entry.worth);
        self.partitions = self.partitions - entry.worth.size + size;
        entry.used_ms = now_ms;
        entry.worth.size = size;
        self.by_use.insert((now_ms, id));
        self.by_worth.insert(entry.worth);
        None
    }

    /// Ends a session.
    pub fn remove(&mut self, id: i32) -> Option<S> {
        let entry = self.sessions.remove(&id)?;
        self.by_use.remove(&(entry.used_ms, id));
        self.by_worth.remove(&entry.worth);
        self.partitions -= entry.worth.size;
        Some(entry.session)
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// The number of partitions in all sessions.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// How many sessions had to leave.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CacheLimits = CacheLimits {
        sessions: 2,
        partitions: 1_000,
        eviction_ms: 100,
    };

    fn consumer(size: usize) -> Newcomer {
        Newcomer {
            privileged: false,
            size,
            random: 10,
        }
    }

    fn follower(size: usize) -> Newcomer {
        Newcomer {
            privileged: true,
            ..consumer(size)
        }
    }

    /// Takes in a session named like its number of partitions; returns its id and who left.
    fn open(
        cache: &mut SessionCache<usize>,
        newcomer: Newcomer,
        now_ms: i64,
    ) -> Option<(i32, Option<usize>)> {
        cache
            .open(newcomer, now_ms, newcomer.size)
            .map(|opened| (opened.id, opened.evicted))
    }

    #[test]
    fn ids_are_above_zero_and_not_taken_twice() {
        let mut cache = SessionCache::new(CacheLimits {
            sessions: 9,
            ..LIMITS
        });
        let mut ids = Vec::new();
        for random in [0, 0, 7, 7, u32::MAX, u32::MAX] {
            let newcomer = Newcomer {
                random,
                ..consumer(1)
            };
            ids.push(open(&mut cache, newcomer, 0).unwrap().0);
        }
        assert_eq!(ids, [1, 2, 3, 4, i32::MAX, 5]);
        assert_eq!((cache.len(), cache.partitions()), (6, 6));
    }

    #[test]
    fn a_full_cache_refuses_while_all_are_young() {
        let mut cache = SessionCache::new(LIMITS);
        open(&mut cache, consumer(1), 0).unwrap();
        open(&mut cache, consumer(1), 0).unwrap();
        assert_eq!(open(&mut cache, consumer(99), 100), None);
        assert_eq!(cache.evictions(), 0);
    }

    #[test]
    fn the_one_idle_longest_leaves_first() {
        let mut cache = SessionCache::new(LIMITS);
        let (first, _) = open(&mut cache, consumer(50), 0).unwrap();
        open(&mut cache, consumer(1), 10).unwrap();
        cache.touch(first, 60, 60);
        assert_eq!(cache.partitions(), 61);
        let (_, evicted) = open(&mut cache, consumer(1), 111).unwrap();
        assert_eq!(evicted, Some(1));
        assert!(cache.get(first).is_some());
        assert_eq!((cache.len(), cache.partitions(), cache.evictions()), (2, 61, 1));
    }

    #[test]
    fn an_old_session_in_use_leaves_for_one_with_more_partitions() {
        let mut cache = SessionCache::new(LIMITS);
        let (small, _) = open(&mut cache, consumer(3), 0).unwrap();
        let (large, _) = open(&mut cache, consumer(9), 0).unwrap();
        cache.touch(small, 3, 150);
        cache.touch(large, 9, 150);
        assert_eq!(
            open(&mut cache, consumer(2), 150),
            None,
            "it has fewer than the smallest"
        );
        assert_eq!(
            open(&mut cache, consumer(3), 150),
            None,
            "it has no more than the smallest"
        );
        let (_, evicted) = open(&mut cache, consumer(4), 150).unwrap();
        assert_eq!(evicted, Some(3));
    }

    #[test]
    fn a_follower_takes_the_place_of_a_young_consumer_but_not_of_a_follower() {
        let mut cache = SessionCache::new(LIMITS);
        let (follower_id, _) = open(&mut cache, follower(1), 0).unwrap();
        open(&mut cache, consumer(500), 0).unwrap();
        let (second, evicted) = open(&mut cache, follower(2), 1).unwrap();
        assert_eq!(evicted, Some(500));
        assert_eq!(open(&mut cache, follower(9), 2), None);
        cache.touch(follower_id, 1, 150);
        cache.touch(second, 2, 150);
        assert_eq!(
            open(&mut cache, consumer(500), 150),
            None,
            "no consumer takes a follower's place"
        );
        assert!(
            open(&mut cache, follower(9), 150).is_some(),
            "an old follower's session is not safe from followers"
        );
    }

    #[test]
    fn all_sessions_together_have_so_many_partitions_at_most() {
        let mut cache = SessionCache::new(CacheLimits {
            sessions: 9,
            ..LIMITS
        });
        assert_eq!(open(&mut cache, consumer(1_001), 0), None);
        let (first, _) = open(&mut cache, consumer(400), 0).unwrap();
        let (second, _) = open(&mut cache, consumer(500), 0).unwrap();
        assert_eq!(open(&mut cache, consumer(101), 0), None);
        let (third, _) = open(&mut cache, consumer(100), 0).unwrap();
        assert_eq!(cache.partitions(), 1_000);
        // One that is used and does not grow stays; one that grows leaves.
        assert_eq!(cache.touch(second, 500, 1), None);
        assert_eq!(cache.touch(third, 101, 1), Some(100));
        assert_eq!((cache.len(), cache.partitions(), cache.evictions()), (2, 900, 1));
        // A stale one leaves where that makes room enough, and only there.
        assert_eq!(open(&mut cache, consumer(501), 101), None);
        assert!(cache.get(first).is_some());
        assert_eq!(open(&mut cache, consumer(500), 101).unwrap().1, Some(400));
        assert_eq!(cache.partitions(), 1_000);
    }

    #[test]
    fn a_removed_session_leaves_nothing_behind() {
        let mut cache = SessionCache::new(LIMITS);
        let (id, _) = open(&mut cache, consumer(4), 0).unwrap();
        assert_eq!(cache.remove(id), Some(4));
        assert_eq!(cache.remove(id), None);
        cache.touch(id, 4, 5);
        assert!(cache.is_empty() && cache.by_use.is_empty() && cache.by_worth.is_empty());
        assert_eq!(cache.partitions(), 0);
    }
}

//! Fetch sessions (KIP-227): what a client fetches is kept, so that a request names only what changes, and an answer
//! only what changed. A round in which nothing happens costs nothing per partition: only those that told of a change
//! are looked at.

mod cache;

use std::collections::BTreeMap;

use model::{ErrorCode, LeaderEpoch, Offset};

pub use cache::{CacheLimits, Newcomer, Opened, SessionCache};

/// The session id of "no session".
const NO_SESSION: i32 = 0;
/// The epoch that opens a session.
const OPEN: i32 = 0;
/// The epoch that closes a session, or asks without one.
const CLOSE: i32 = -1;

/// What a request says about sessions (rule 75).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRequest {
    /// Fetch without a session; one that is named is closed.
    Without {
        /// The session to close.
        closes: Option<i32>,
    },
    /// Fetch everything and open a session, in place of one that is named.
    Open {
        /// The session to close.
        closes: Option<i32>,
    },
    /// The next round of a session.
    Resume {
        /// The session.
        id: i32,
        /// The round.
        epoch: i32,
    },
}

impl SessionRequest {
    /// Of the two numbers in a request.
    pub fn new(id: i32, epoch: i32) -> SessionRequest {
        let closes = (id != NO_SESSION).then_some(id);
        match epoch {
            OPEN => SessionRequest::Open { closes },
            CLOSE => SessionRequest::Without { closes },
            epoch => SessionRequest::Resume { id, epoch },
        }
    }
}

/// Why a session is not resumed: the error of the whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is no such session, or there is none any more.
    #[error("fetch session {0} does not exist")]
    NotFound(i32),
    /// Not the round that comes next.
    #[error("fetch session epoch {found} is not the expected {expected}")]
    Epoch {
        /// The one in the request.
        found: i32,
        /// The one that comes next.
        expected: i32,
    },
    /// The session names topics by id and the request by name, or the other way round.
    #[error("the request names topics in another way than its session")]
    TopicIds,
}

impl SessionError {
    /// What the client is told.
    pub fn code(self) -> ErrorCode {
        match self {
            SessionError::NotFound(_) => ErrorCode::FetchSessionIdNotFound,
            SessionError::Epoch { .. } => ErrorCode::InvalidFetchSessionEpoch,
            SessionError::TopicIds => ErrorCode::FetchSessionTopicIdError,
        }
    }
}

/// How a client names topics: a session does not mix both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicNaming {
    /// By name, before Fetch version 13.
    ByName,
    /// By id.
    ById,
}

/// What a client asks of one partition, kept in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionFetch {
    /// From where on.
    pub offset: Offset,
    /// About how much.
    pub max_bytes: usize,
    /// The leader epoch the client knows.
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record it has.
    pub last_fetched_epoch: Option<LeaderEpoch>,
}

/// A partition's place in a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotId(pub u32);

/// What an answer says about one partition, as far as sessions care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionOutcome {
    /// The bytes of records.
    pub bytes: usize,
    /// Whether there is no record beyond those the client has: not so when the answer was full before its turn.
    pub caught_up: bool,
    /// The watermark.
    pub high_watermark: Offset,
    /// The first offset.
    pub log_start_offset: Offset,
    /// Whether the answer must be given whatever the offsets are: an error, a diverging epoch.
    pub remarkable: bool,
}

impl PartitionOutcome {
    /// Whether the partition can be left alone until it tells of a change.
    fn is_idle(&self) -> bool {
        self.bytes == 0 && self.caught_up && !self.remarkable
    }
}

#[derive(Debug)]
struct Slot<K> {
    key: K,
    fetch: PartitionFetch,
    /// The offsets the client was told last; `None` when it was told an error, or nothing yet.
    told: Option<(Offset, Offset)>,
    /// Its turn; `None` while it is left alone.
    turn: Option<u64>,
}

/// One session: the partitions a client fetches, by a key `K` of the caller's.
#[derive(Debug)]
pub struct Session<K> {
    epoch: i32,
    naming: TopicNaming,
    slots: BTreeMap<SlotId, Slot<K>>,
    by_key: BTreeMap<K, SlotId>,
    /// Those to look at in the next round, in the order in which they come first to the bytes an answer may have.
    turns: BTreeMap<u64, SlotId>,
    next_slot: u32,
    next_turn: u64,
}

impl<K: Ord + Clone> Session<K> {
    /// A session over those partitions, all of which are looked at in the first round.
    pub fn new(naming: TopicNaming, partitions: impl IntoIterator<Item = (K, PartitionFetch)>) -> Session<K> {
        let mut session = Session {
            epoch: OPEN + 1,
            naming,
            slots: BTreeMap::new(),
            by_key: BTreeMap::new(),
            turns: BTreeMap::new(),
            next_slot: 0,
            next_turn: 0,
        };
        for (key, fetch) in partitions {
            session.put(key, fetch);
        }
        session
    }

    /// Begins the round that a request asks for: changes and additions, then removals. Returns the partitions whose
    /// watches no longer hold.
    pub fn resume(
        &mut self,
        epoch: i32,
        naming: TopicNaming,
        changes: impl IntoIterator<Item = (K, PartitionFetch)>,
        forgotten: impl IntoIterator<Item = K>,
    ) -> Result<Vec<SlotId>, SessionError> {
        if epoch != self.epoch {
            return Err(SessionError::Epoch {
                found: epoch,
                expected: self.epoch,
            });
        }
        if naming != self.naming {
            return Err(SessionError::TopicIds);
        }
        // After the largest number comes 1: 0 would open a session anew.
        self.epoch = self.epoch.checked_add(1).unwrap_or(OPEN + 1);
        let mut stale = Vec::new();
        for (key, fetch) in changes {
            stale.push(self.put(key, fetch));
        }
        for key in forgotten {
            stale.extend(self.remove(&key));
        }
        Ok(stale)
    }

    fn put(&mut self, key: K, fetch: PartitionFetch) -> SlotId {
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => self.add(key, fetch),
        };
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.fetch = fetch;
        }
        self.take_turn(id);
        id
    }

    fn add(&mut self, key: K, fetch: PartitionFetch) -> SlotId {
        // Numbers are not used again before four thousand million partitions came and went.
        let mut id = SlotId(self.next_slot);
        while self.slots.contains_key(&id) {
            id = SlotId(id.0.wrapping_add(1));
        }
        self.next_slot = id.0.wrapping_add(1);
        self.by_key.insert(key.clone(), id);
        self.slots.insert(
            id,
            Slot {
                key,
                fetch,
                told: None,
                turn: None,
            },
        );
        id
    }

    fn remove(&mut self, key: &K) -> Option<SlotId> {
        let id = self.by_key.remove(key)?;
        let turn = self.slots.remove(&id)?.turn;
        if let Some(turn) = turn {
            self.turns.remove(&turn);
        }
        Some(id)
    }

    /// Has the partition looked at in the next round: it told of a change. One that was removed is not minded.
    pub fn take_turn(&mut self, id: SlotId) {
        let Some(slot) = self.slots.get_mut(&id).filter(|slot| slot.turn.is_none()) else {
            return;
        };
        slot.turn = Some(self.next_turn);
        self.turns.insert(self.next_turn, id);
        self.next_turn += 1;
    }

    /// The partitions to look at, in order.
    pub fn turns(&self) -> Vec<SlotId> {
        self.turns.values().copied().collect()
    }

    /// A partition and what is asked of it.
    pub fn slot(&self, id: SlotId) -> Option<(&K, &PartitionFetch)> {
        self.slots.get(&id).map(|slot| (&slot.key, &slot.fetch))
    }

    /// Takes note of what an answer says about a partition. Returns whether the answer has to: there are records, or
    /// an offset moved, or something is wrong. A partition with records goes to the end, so that each gets its turn
    /// under a small `max_bytes`; one that is caught up is left alone from now on: the caller watches it.
    pub fn told(&mut self, id: SlotId, outcome: &PartitionOutcome) -> bool {
        let Some(slot) = self.slots.get_mut(&id) else {
            return false;
        };
        let offsets = (outcome.high_watermark, outcome.log_start_offset);
        let must_tell = outcome.bytes > 0 || outcome.remarkable || slot.told != Some(offsets);
        // An error is told again as long as it lasts, and the offsets once it is over.
        slot.told = (!outcome.remarkable).then_some(offsets);
        if outcome.is_idle() || outcome.bytes > 0 {
            if let Some(turn) = slot.turn.take() {
                self.turns.remove(&turn);
            }
            if outcome.bytes > 0 {
                self.take_turn(id);
            }
        }
        must_tell
    }

    /// The number of partitions.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no partition is left: such a session ends.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All partitions.
    pub fn slots(&self) -> impl Iterator<Item = SlotId> {
        self.slots.keys().copied()
    }
}

#[cfg(test)]
mod tests;

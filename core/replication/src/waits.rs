//! Those who wait on one partition: produces for the watermark, fetches for anything new.

use std::collections::{BTreeMap, VecDeque};

use model::Offset;

use super::replica::Isolation;

/// How a waiting produce ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProduceOutcome {
    /// The watermark has passed it.
    Replicated,
    /// The watermark has passed it, but too few replicas are left in sync (rule 55).
    NotEnoughReplicas,
    /// The replica no longer leads (rule 57).
    NotLeader,
    /// The disk has failed (rule 57).
    Offline,
}

/// What happened on a partition that a fetch watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something in the answer would differ, with so many more bytes to read (0 where only an offset moved).
    Changed {
        /// The bytes that became readable, roughly.
        bytes: u64,
    },
    /// The partition cannot be fetched here any more: the answer is an error (rule 58).
    Broken,
}

/// Someone who can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Woken<P, F> {
    /// A produce.
    Produce {
        /// What it was parked with.
        token: P,
        /// How it ended.
        outcome: ProduceOutcome,
    },
    /// A fetch.
    Fetch {
        /// What it watches with.
        token: F,
        /// What happened.
        notice: Notice,
    },
}

/// Produces that wait for the watermark, in the order of the offsets they need.
#[derive(Debug)]
pub(crate) struct ProduceWaits<P> {
    waiting: VecDeque<(Offset, P)>,
}

impl<P> ProduceWaits<P> {
    pub(crate) fn new() -> ProduceWaits<P> {
        ProduceWaits {
            waiting: VecDeque::new(),
        }
    }

    /// Waits until the watermark reaches `required`. Appends come in order, so that only duplicates are sorted in.
    pub(crate) fn park(&mut self, required: Offset, token: P) {
        let place = self.waiting.iter().rposition(|(other, _)| *other <= required);
        self.waiting
            .insert(place.map_or(0, |place| place + 1), (required, token));
    }

    /// Takes out who waits for at most `high_watermark`.
    pub(crate) fn reached(&mut self, high_watermark: Offset) -> Option<P> {
        let (required, _) = self.waiting.front()?;
        if *required > high_watermark {
            return None;
        }
        self.waiting.pop_front().map(|(_, token)| token)
    }

    /// Takes out one, whatever it waits for.
    pub(crate) fn pop(&mut self) -> Option<P> {
        self.waiting.pop_front().map(|(_, token)| token)
    }

    /// Forgets those that `gone` says nobody waits for any more.
    pub(crate) fn forget(&mut self, gone: impl Fn(&P) -> bool) {
        self.waiting.retain(|(_, token)| !gone(token));
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// Names a watch of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WatchId(u64);

#[derive(Debug)]
struct Watch<F> {
    isolation: Isolation,
    /// When so many bytes have been told of, the watch has done its work.
    wanted: u64,
    token: F,
}

/// Fetches that found nothing, or too little.
#[derive(Debug)]
pub(crate) struct Watches<F> {
    watching: BTreeMap<WatchId, Watch<F>>,
    next: u64,
}

impl<F: Clone> Watches<F> {
    pub(crate) fn new() -> Watches<F> {
        Watches {
            watching: BTreeMap::new(),
            next: 0,
        }
    }

    pub(crate) fn add(&mut self, isolation: Isolation, wanted: u64, token: F) -> WatchId {
        let id = WatchId(self.next);
        self.next += 1;
        self.watching.insert(
            id,
            Watch {
                isolation,
                wanted,
                token,
            },
        );
        id
    }

    pub(crate) fn remove(&mut self, id: WatchId) {
        self.watching.remove(&id);
    }

    pub(crate) fn len(&self) -> usize {
        self.watching.len()
    }

    /// Tells every watch how many bytes became readable to it; `None` tells it nothing. Those that have been told of
    /// as much as they want are dropped.
    pub(crate) fn notify<P>(
        &mut self,
        readable: impl Fn(Isolation) -> Option<u64>,
        woken: &mut Vec<Woken<P, F>>,
    ) {
        self.watching.retain(|_, watch| {
            let Some(bytes) = readable(watch.isolation) else {
                return true;
            };
            woken.push(Woken::Fetch {
                token: watch.token.clone(),
                notice: Notice::Changed { bytes },
            });
            watch.wanted = watch.wanted.saturating_sub(bytes);
            watch.wanted > 0
        });
    }

    /// Tells every watch that there is nothing more to watch here.
    pub(crate) fn break_all<P>(&mut self, woken: &mut Vec<Woken<P, F>>) {
        let watches = std::mem::take(&mut self.watching).into_values();
        woken.extend(watches.map(|watch| Woken::Fetch {
            token: watch.token,
            notice: Notice::Broken,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn produces_leave_in_the_order_of_the_offsets_they_need() {
        let mut waits = ProduceWaits::new();
        for (required, token) in [(10, "a"), (20, "b"), (5, "duplicate"), (20, "c"), (30, "d")] {
            waits.park(Offset(required), token);
        }
        let mut left = Vec::new();
        while let Some(token) = waits.reached(Offset(20)) {
            left.push(token);
        }
        assert_eq!(left, ["duplicate", "a", "b", "c"]);
        waits.forget(|token| *token == "d");
        assert_eq!(waits.len(), 0);
    }

    #[test]
    fn a_watch_lasts_until_it_was_told_of_all_the_bytes_it_wants() {
        let mut watches: Watches<&str> = Watches::new();
        watches.add(Isolation::ReadUncommitted, 100, "patient");
        watches.add(Isolation::ReadUncommitted, 1, "eager");
        watches.add(Isolation::ReadCommitted, 1, "committed");
        let mut woken: Vec<Woken<(), &str>> = Vec::new();
        let uncommitted = |bytes| move |isolation| (isolation == Isolation::ReadUncommitted).then_some(bytes);
        watches.notify(uncommitted(60), &mut woken);
        assert_eq!((woken.len(), watches.len()), (2, 2));
        watches.notify(uncommitted(40), &mut woken);
        assert_eq!((woken.len(), watches.len()), (3, 1));
        watches.break_all(&mut woken);
        assert_eq!(
            woken.last(),
            Some(&Woken::Fetch {
                token: "committed",
                notice: Notice::Broken
            })
        );
    }

    #[test]
    fn a_removed_watch_hears_nothing() {
        let mut watches: Watches<&str> = Watches::new();
        let id = watches.add(Isolation::ReadUncommitted, 1, "gone");
        watches.remove(id);
        let mut woken: Vec<Woken<(), &str>> = Vec::new();
        watches.notify(|_| Some(1), &mut woken);
        assert_eq!(woken, []);
    }
}

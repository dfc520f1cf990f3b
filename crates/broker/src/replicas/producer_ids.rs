//! Producer ids: handed out from blocks that the controller gives, each block once (rule 134).

use std::ops::Range;

use model::ProducerId;
use parking_lot::Mutex;

/// Asks the controller for a block; `None` when it gives none now. May block until the block is committed.
pub(crate) type AskForBlock = Box<dyn Fn() -> Option<Range<i64>> + Send + Sync>;

/// The ids of this broker.
pub(crate) struct ProducerIds {
    ask: AskForBlock,
    block: Mutex<Range<i64>>,
    /// Held by the one who asks, so that the others wait for the same block.
    asking: Mutex<()>,
}

impl ProducerIds {
    pub(crate) fn new(ask: AskForBlock) -> ProducerIds {
        ProducerIds {
            ask,
            block: Mutex::new(0..0),
            asking: Mutex::new(()),
        }
    }

    /// An id that nobody had, while the block lasts.
    pub(crate) fn take(&self) -> Option<ProducerId> {
        self.block.lock().next().map(ProducerId)
    }

    /// An id that nobody had; waits for the controller where the block is used up.
    pub(crate) fn take_blocking(&self) -> Option<ProducerId> {
        let _asking = self.asking.lock();
        if let Some(id) = self.take() {
            return Some(id);
        }
        let fresh = (self.ask)()?;
        let mut block = self.block.lock();
        *block = fresh;
        block.next().map(ProducerId)
    }
}

impl std::fmt::Debug for ProducerIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProducerIds").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A controller that gives blocks of three, and none every fourth time.
    fn ids() -> Arc<ProducerIds> {
        let next = AtomicI64::new(0);
        Arc::new(ProducerIds::new(Box::new(move || {
            let number = next.fetch_add(1, Ordering::SeqCst);
            (number % 4 != 3).then(|| number * 1_000..number * 1_000 + 3)
        })))
    }

    #[test]
    fn ids_are_taken_from_one_block_after_the_other() {
        let ids = ids();
        assert_eq!(ids.take(), None);
        let taken: Vec<i64> = (0..4).map(|_| ids.take_blocking().unwrap().0).collect();
        assert_eq!(taken, [0, 1, 2, 1_000]);
        assert_eq!(ids.take(), Some(ProducerId(1_001)));
    }

    #[test]
    fn no_id_is_given_twice_whoever_asks_at_the_same_time() {
        let ids = ids();
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        taken.lock().extend(ids.take_blocking());
                    }
                });
            }
        });
        let taken = taken.into_inner();
        let different: BTreeSet<i64> = taken.iter().map(|id| id.0).collect();
        assert_eq!(different.len(), taken.len());
        assert!(
            taken.len() > 1_000,
            "only where the controller gave no block was there no id"
        );
    }
}

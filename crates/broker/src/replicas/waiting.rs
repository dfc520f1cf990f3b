//! Requests that wait: what they leave on a partition, and what happens when they can go on.
//!
//! Nothing here is called with a partition's lock held (rule 60). What is woken does memory work only: it may run on a
//! network thread or on a syncer.

use std::sync::Arc;

use replication::{ProduceOutcome, Replica, SlotId, Woken};

use super::fetch::{FetchSession, Round};
use super::produce::PendingProduce;

/// What waits for a partition's high watermark.
pub(crate) enum ProduceToken {
    /// One partition of a produce request.
    Request {
        pending: Arc<PendingProduce>,
        slot: usize,
    },
    /// Somebody in this process, a coordinator.
    Internal(Box<dyn FnOnce(ProduceOutcome) + Send>),
}

impl ProduceToken {
    /// Whether nobody waits any more.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            ProduceToken::Request { pending, .. } => pending.is_answered(),
            ProduceToken::Internal(_) => false,
        }
    }
}

/// What watches a partition for a fetch.
#[derive(Clone)]
pub(crate) struct WatchToken {
    pub(super) session: Arc<FetchSession>,
    pub(super) slot: SlotId,
}

/// A replica of this broker.
pub(crate) type HostedReplica = Replica<ProduceToken, WatchToken>;

/// What a replica of this broker gives back.
pub(crate) type Wakes = Vec<Woken<ProduceToken, WatchToken>>;

/// Lets go on who can. Sessions hear of a change before the write that made it is answered: who was acknowledged finds
/// in the next round of any session what was written.
pub(crate) fn wake(woken: Wakes) {
    let ready: Vec<Arc<Round>> = woken.iter().filter_map(tell).collect();
    for woken in woken {
        match woken {
            Woken::Produce {
                token: ProduceToken::Request { pending, slot },
                outcome,
            } => pending.finish(slot, outcome),
            Woken::Produce {
                token: ProduceToken::Internal(then),
                outcome,
            } => then(outcome),
            Woken::Fetch { .. } => {}
        }
    }
    for round in ready {
        round.go_on();
    }
}

/// Tells the session that watches. Returns its round if that can go on.
fn tell(woken: &Woken<ProduceToken, WatchToken>) -> Option<Arc<Round>> {
    match woken {
        Woken::Fetch { token, notice } => token.session.inbox().tell(token.slot, *notice),
        Woken::Produce { .. } => None,
    }
}

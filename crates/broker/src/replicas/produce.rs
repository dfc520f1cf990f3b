//! A produce request with acks=all that waits for the watermark in one or more partitions.

use std::sync::Arc;

use parking_lot::Mutex;
use replication::{DeadlineKey, ProduceOutcome};

use super::partition::HostedPartition;
use super::timers::{AtStop, Timers};

/// How one partition of a waiting request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotEnd {
    /// As the replica says.
    Ended(ProduceOutcome),
    /// The time in the request was up; what was appended stays (rule 57).
    TimedOut,
}

/// Gives the answer: the ends of the partitions that waited, by the slots they were added with.
pub(crate) type ProduceReply = Box<dyn FnOnce(Vec<(usize, SlotEnd)>) + Send>;

/// The request while it waits.
#[derive(Default)]
pub(crate) struct PendingProduce {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<(usize, Arc<HostedPartition>)>,
    ended: Vec<(usize, SlotEnd)>,
    stage: Stage,
}

#[derive(Default)]
enum Stage {
    /// Partitions are still appended to.
    #[default]
    Appending,
    /// The answer will be given by the last partition, or by the clock.
    Waiting {
        reply: ProduceReply,
        timeout: Timeout,
    },
    Answered,
}

struct Timeout {
    timers: Arc<Timers>,
    key: DeadlineKey,
}

impl PendingProduce {
    /// One more partition waits.
    pub(crate) fn add(&self, slot: usize, partition: Arc<HostedPartition>) {
        self.state.lock().waiting.push((slot, partition));
    }

    /// All partitions are appended to: from now on the answer may be given.
    pub(crate) fn wait(self: &Arc<Self>, timers: &Arc<Timers>, deadline_ms: i64, reply: ProduceReply) {
        let mut state = self.state.lock();
        if state.waiting.is_empty() {
            state.stage = Stage::Answered;
            let ended = std::mem::take(&mut state.ended);
            drop(state);
            return reply(ended);
        }
        let pending = self.clone();
        let key = timers.add(deadline_ms, AtStop::Wait, Box::new(move || pending.time_out()));
        state.stage = Stage::Waiting {
            reply,
            timeout: Timeout {
                timers: timers.clone(),
                key,
            },
        };
    }

    /// A partition's wait has ended.
    pub(super) fn finish(&self, slot: usize, outcome: ProduceOutcome) {
        let mut state = self.state.lock();
        let Some(place) = state.waiting.iter().position(|(waiting, _)| *waiting == slot) else {
            return;
        };
        state.waiting.swap_remove(place);
        state.ended.push((slot, SlotEnd::Ended(outcome)));
        if !state.waiting.is_empty() || !matches!(state.stage, Stage::Waiting { .. }) {
            return;
        }
        let stage = std::mem::replace(&mut state.stage, Stage::Answered);
        let ended = std::mem::take(&mut state.ended);
        drop(state);
        if let Stage::Waiting { reply, timeout } = stage {
            timeout.timers.remove(timeout.key);
            reply(ended);
        }
    }

    fn time_out(&self) {
        let mut state = self.state.lock();
        let Stage::Waiting { reply, .. } = std::mem::replace(&mut state.stage, Stage::Answered) else {
            return;
        };
        let late = std::mem::take(&mut state.waiting);
        let mut ended = std::mem::take(&mut state.ended);
        drop(state);
        ended.extend(late.iter().map(|(slot, _)| (*slot, SlotEnd::TimedOut)));
        reply(ended);
        for (_, partition) in late {
            partition.forget_abandoned();
        }
    }

    /// Whether the answer was given.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self.state.lock().stage, Stage::Answered)
    }
}

//! The thread that lets time pass in the shards, and its alarm.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::clock::Clock;

/// When the shards must be looked at next. Anybody may bring it forward.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By the steady clock.
    next_ms: Option<i64>,
    stopped: bool,
}

impl Alarm {
    /// Rings at `at_ms` at the latest.
    pub(super) fn at(&self, at_ms: Option<i64>) {
        let Some(at_ms) = at_ms else { return };
        let mut state = self.state.lock();
        if state.next_ms.is_none_or(|next| at_ms < next) {
            state.next_ms = Some(at_ms);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Ends [`Alarm::run`].
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Calls `tick` whenever the alarm rings, until it is stopped. `tick` sets the alarm anew.
    pub(super) fn run(&self, clock: Clock, mut tick: impl FnMut()) {
        let mut state = self.state.lock();
        while !state.stopped {
            let now_ms = clock.now().steady_ms;
            match state.next_ms {
                Some(next_ms) if next_ms <= now_ms => {
                    state.next_ms = None;
                    parking_lot::MutexGuard::unlocked(&mut state, &mut tick);
                }
                Some(next_ms) => {
                    let wait = u64::try_from(next_ms.saturating_sub(now_ms)).unwrap_or(1);
                    self.changed.wait_for(&mut state, Duration::from_millis(wait));
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

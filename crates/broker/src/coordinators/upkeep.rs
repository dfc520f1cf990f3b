//! The thread that lets time pass in the shards, and its alarm.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::clock::Clock;

/// The thread looks at the clock at least this often, to notice that the process was stopped.
const LOOK_MS: i64 = 1_000;
/// A look that comes this much later than it should was held up by more than a busy machine.
const PAUSE_MS: i64 = 2_000;

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
    pub(super) fn run(&self, clock: &Clock, mut tick: impl FnMut()) {
        let mut state = self.state.lock();
        while !state.stopped {
            let now_ms = clock.now().steady_ms;
            match state.next_ms {
                Some(next_ms) if next_ms <= now_ms => {
                    state.next_ms = None;
                    parking_lot::MutexGuard::unlocked(&mut state, &mut tick);
                }
                Some(next_ms) => {
                    let wait_ms = next_ms.saturating_sub(now_ms).min(LOOK_MS);
                    let wait = Duration::from_millis(u64::try_from(wait_ms).unwrap_or(1));
                    self.changed.wait_for(&mut state, wait);
                    clock.was_paused(pause(now_ms + wait_ms, clock.now().steady_ms));
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

/// How long the process was stopped, if the thread that wanted to go on at `due_ms` goes on at `now_ms`.
fn pause(due_ms: i64, now_ms: i64) -> i64 {
    let late_ms = now_ms.saturating_sub(due_ms);
    if late_ms >= PAUSE_MS { late_ms } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_time_of_a_pause_does_not_count() {
        assert_eq!(pause(1_000, 999), 0, "woken early");
        assert_eq!(pause(1_000, 2_999), 0, "a busy machine");
        assert_eq!(pause(1_000, 61_000), 60_000, "stopped for a minute");
        let clock = Clock::start();
        clock.was_paused(60_000);
        assert!(clock.now().steady_ms < 0);
    }

    #[test]
    fn the_alarm_rings_when_it_is_brought_forward_and_ends_when_it_is_stopped() {
        let alarm = Arc::new(Alarm::default());
        let clock = Clock::start();
        let (rang, rings) = channel();
        let thread = std::thread::spawn({
            let (alarm, clock) = (Arc::clone(&alarm), clock.clone());
            move || alarm.run(&clock, || rang.send(()).unwrap_or_default())
        });
        alarm.at(None);
        alarm.at(Some(i64::MAX));
        alarm.at(Some(clock.now().steady_ms));
        assert_eq!(rings.recv(), Ok(()));
        alarm.stop();
        assert!(thread.join().is_ok());
        assert!(rings.try_recv().is_err(), "once");
    }
}

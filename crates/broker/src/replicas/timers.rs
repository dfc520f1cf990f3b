//! One thread for all that waits until a time: parked produces and fetches.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use replication::{DeadlineKey, Deadlines};

use crate::dispatch::steady_ms;
use crate::halt::Halt;

/// What to do when a time has come.
pub(crate) type Due = Box<dyn FnOnce() + Send>;

/// What becomes of an entry when the node begins to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtStop {
    /// It is done at once: a fetch has nothing to wait for any more.
    Do,
    /// It waits on: a produce may still be answered in order.
    Wait,
}

/// Things to do at their time, by the steady clock, unless they are taken back.
#[derive(Default)]
pub(crate) struct Timers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    deadlines: Deadlines<(AtStop, Due)>,
    /// When the thread will look again by itself. Most entries are taken back before they are due: adding one wakes
    /// the thread only if it would sleep past it.
    wakes_at_ms: i64,
    stopped: bool,
}

impl Timers {
    /// Starts the thread; it ends after [`Timers::stop`].
    pub(super) fn start(self: &Arc<Self>, halt: &Arc<Halt>) -> std::io::Result<JoinHandle<()>> {
        let timers = self.clone();
        let guard = halt.on_panic("timers");
        std::thread::Builder::new()
            .name("timers".to_owned())
            .spawn(move || {
                let _guard = guard;
                timers.run();
            })
    }

    /// Does `due` at a time, on the timers' thread: it must not block. After the stop nothing is done any more.
    pub(super) fn add(&self, at_ms: i64, at_stop: AtStop, due: Due) -> DeadlineKey {
        let mut state = self.state.lock();
        let sleeps_past = at_ms < state.wakes_at_ms;
        state.wakes_at_ms = state.wakes_at_ms.min(at_ms);
        let key = state.deadlines.add(at_ms, (at_stop, due));
        drop(state);
        if sleeps_past {
            self.changed.notify_one();
        }
        key
    }

    /// Takes it back; nothing when its time has come already.
    pub(super) fn remove(&self, key: DeadlineKey) {
        // Dropped outside the lock: it may hold the last reference to a request.
        let removed = self.state.lock().deadlines.remove(key);
        drop(removed);
    }

    /// Does now what the beginning of the stop makes due.
    pub(super) fn begin_stop(&self) {
        let due = self
            .state
            .lock()
            .deadlines
            .take_where(|(at_stop, _)| *at_stop == AtStop::Do);
        due.into_iter().for_each(|(_, due)| due());
    }

    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        let left = std::mem::take(&mut state.deadlines);
        drop(state);
        drop(left);
        self.changed.notify_one();
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            let now = steady_ms();
            if let Some((_, due)) = state.deadlines.pop_due(now) {
                parking_lot::MutexGuard::unlocked(&mut state, due);
                continue;
            }
            let next = state.deadlines.next_ms();
            state.wakes_at_ms = next.unwrap_or(i64::MAX);
            match next {
                Some(next) => {
                    let wait = Duration::from_millis(u64::try_from(next - now).unwrap_or(1).max(1));
                    self.changed.wait_for(&mut state, wait);
                }
                None => self.changed.wait(&mut state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_is_due_is_done_in_order_and_what_was_taken_back_is_not() {
        let timers = Arc::new(Timers::default());
        let thread = timers.start(&Arc::default()).unwrap();
        let (done, order) = channel();
        let entry = |name: &'static str| {
            let done = done.clone();
            Box::new(move || done.send(name).unwrap())
        };
        let now = steady_ms();
        timers.add(now + 60, AtStop::Wait, entry("late"));
        let removed = timers.add(now + 20, AtStop::Wait, entry("removed"));
        timers.add(now + 20, AtStop::Wait, entry("early"));
        timers.remove(removed);
        assert_eq!([order.recv().unwrap(), order.recv().unwrap()], ["early", "late"]);
        timers.add(now + 1_000_000, AtStop::Wait, entry("never"));
        timers.add(now + 1_000_000, AtStop::Do, entry("at the stop"));
        timers.begin_stop();
        assert_eq!(order.recv().unwrap(), "at the stop");
        timers.stop();
        thread.join().unwrap();
        assert!(order.try_recv().is_err());
    }
}

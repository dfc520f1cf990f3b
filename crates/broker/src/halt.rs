//! The emergency stop: what a part calls when going on would do harm (rule 108).

use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

/// Ends the process at once, with nothing flushed and no mark of a clean stop: the next start recovers.
#[derive(Debug, Default)]
pub struct Halt {
    reason: OnceLock<String>,
    called: Notify,
}

impl Halt {
    /// Asks for the stop. The first reason is the one that is reported.
    pub fn call(&self, reason: impl Into<String>) {
        let reason = self.reason.get_or_init(|| reason.into());
        tracing::error!("halting: {reason}");
        self.called.notify_one();
    }

    /// For a thread without which the node would only seem to work: the node halts should it panic while it holds this.
    pub(crate) fn on_panic(self: &Arc<Self>, thread: &'static str) -> HaltOnPanic {
        HaltOnPanic {
            halt: self.clone(),
            thread,
        }
    }

    /// Waits until somebody asks for the stop.
    pub(crate) async fn called(&self) -> &str {
        loop {
            if let Some(reason) = self.reason.get() {
                return reason;
            }
            self.called.notified().await;
        }
    }
}

/// See [`Halt::on_panic`].
pub(crate) struct HaltOnPanic {
    halt: Arc<Halt>,
    thread: &'static str,
}

impl Drop for HaltOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.halt.call(format!(
                "the thread `{}` panicked; this is a bug, please report it",
                self.thread
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Halt;

    #[tokio::test]
    async fn a_panic_of_a_thread_that_the_node_needs_halts_it() {
        let halt = Arc::<Halt>::default();
        let (calm, guard) = (halt.on_panic("calm"), halt.on_panic("syncer"));
        std::thread::spawn(move || drop(calm)).join().unwrap();
        let panicked = std::thread::spawn(move || {
            let _guard = guard;
            panic!("planned");
        });
        assert!(panicked.join().is_err());
        assert!(halt.called().await.starts_with("the thread `syncer` panicked"));
    }

    #[tokio::test]
    async fn the_first_reason_is_reported_even_when_nobody_waited_yet() {
        let halt = Halt::default();
        halt.call("the disk failed");
        halt.call("another disk failed");
        assert_eq!(halt.called().await, "the disk failed");
    }
}

//! The emergency stop: what a part calls when going on would do harm (rule 108).

use std::sync::OnceLock;

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

#[cfg(test)]
mod tests {
    use super::Halt;

    #[tokio::test]
    async fn the_first_reason_is_reported_even_when_nobody_waited_yet() {
        let halt = Halt::default();
        halt.call("the disk failed");
        halt.call("another disk failed");
        assert_eq!(halt.called().await, "the disk failed");
    }
}

//! Ctrl-C and SIGTERM, for tools that go on until they are told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for both from now on.
#[derive(Debug)]
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    pub(crate) fn listen() -> anyhow::Result<StopSignals> {
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one; the exit code of a process that it would have ended.
    pub(crate) async fn stopped(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
        }
    }
}

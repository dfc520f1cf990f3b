//! Ctrl-C and SIGTERM, for tools that go on until they are told to stop. The first asks the tool to end in order, which
//! may take as long as a broker that does not answer; the second ends it at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Listens for both from now on.
#[derive(Debug)]
pub(crate) struct StopSignals {
    first: watch::Receiver<Option<u8>>,
}

impl StopSignals {
    pub(crate) fn listen() -> anyhow::Result<StopSignals> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        let (told, first) = watch::channel(None);
        tokio::spawn(pass_on(interrupt, terminate, told));
        Ok(StopSignals { first })
    }

    /// Waits for the first; the exit code of a process that it would have ended.
    pub(crate) async fn stopped(&mut self) -> u8 {
        match self.first.wait_for(Option::is_some).await.map(|code| *code) {
            Ok(Some(code)) => code,
            // Nobody listens any more: none will come.
            _ => std::future::pending().await,
        }
    }
}

async fn pass_on(mut interrupt: Signal, mut terminate: Signal, told: watch::Sender<Option<u8>>) {
    loop {
        let code = tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        };
        if told.send_replace(Some(code)).is_some() {
            std::process::exit(i32::from(code));
        }
    }
}

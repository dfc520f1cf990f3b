//! A node as a process: it runs until a signal, or an emergency, ends it.

use std::io;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::broker::{Broker, StartError};
use crate::config::NodeConfig;

/// How a node ended that had started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// In order: all is flushed and marked clean.
    Clean,
    /// At once, because a second signal asked for it. The next start recovers.
    AtOnce,
}

/// Runs a node until SIGTERM or SIGINT, then stops it in order; a second signal ends the wait for that. The caller ends
/// the process: threads may still run unless the exit was clean.
pub fn serve(config: NodeConfig) -> Result<Exit, StartError> {
    serve_and(config, |_| {})
}

/// The same; `started` is called once the node serves.
pub fn serve_and(config: NodeConfig, started: impl FnOnce(&Broker)) -> Result<Exit, StartError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let Some(broker) = signals
            .or_signal(on_thread("start", || Broker::start(config)))
            .await
        else {
            return Err(StartError::Interrupted);
        };
        let broker = broker??;
        started(&broker);
        let halt = broker.halt();
        tokio::select! {
            () = signals.next() => {}
            reason = halt.called() => return Err(StartError::Halted(reason.to_owned())),
        }
        tracing::info!("stopping; a second signal stops at once");
        match signals.or_signal(on_thread("stop", || broker.stop())).await {
            Some(stopped) => stopped.map(|()| Exit::Clean).map_err(StartError::from),
            None => Ok(Exit::AtOnce),
        }
    })
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// What `work` comes to; `None` when a signal comes first.
    async fn or_signal<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            result = work => Some(result),
            () = self.next() => None,
        }
    }
}

/// Runs what may block on a thread of its own, so that signals are heard meanwhile.
async fn on_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (done, result) = oneshot::channel();
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Nobody waits any more when a signal came first.
        let _ = done.send(work());
    })?;
    result
        .await
        .map_err(|_| io::Error::other(format!("the thread `{name}` panicked")))
}

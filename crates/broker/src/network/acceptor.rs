//! An acceptor: one thread per listener that takes connections and hands each to the processor with the fewest.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::watch;
use transport::TcpOptions;

use super::connection::Accepted;
use super::limits::{ConnectionLimits, Refused};
use super::log_limit::LogLimit;
use super::processor::{Phase, ProcessorHandle};
use crate::dispatch::{ANONYMOUS, ApiTable, ConnectionInfo, ListenerInfo};

/// The pause when the process or the system has no room for another connection (rule 111).
const BACK_OFF: Duration = Duration::from_millis(100);

static NEXT_CONNECTION_ID: AtomicU64 = AtomicU64::new(1);

/// A listener's acceptor.
pub(super) struct Acceptor {
    pub(super) listener: Arc<ListenerInfo>,
    pub(super) apis: Arc<ApiTable>,
    pub(super) options: TcpOptions,
    pub(super) limits: Arc<ConnectionLimits>,
    pub(super) processors: Vec<ProcessorHandle>,
    pub(super) refusals: LogLimit,
}

impl Acceptor {
    /// Starts its thread, which ends with the phase `Serving`.
    pub(super) fn start(
        self,
        socket: std::net::TcpListener,
        phase: watch::Receiver<Phase>,
    ) -> io::Result<JoinHandle<()>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let guard = runtime.enter();
        let socket = TcpListener::from_std(socket)?;
        drop(guard);
        std::thread::Builder::new()
            .name(format!("acceptor-{}", self.listener.name))
            .spawn(move || runtime.block_on(self.run(socket, phase)))
    }

    async fn run(self, socket: TcpListener, mut phase: watch::Receiver<Phase>) {
        let ended = async move {
            // An error means that the reactor is gone.
            let _ = phase.wait_for(|phase| *phase > Phase::Serving).await;
        };
        tokio::select! {
            () = ended => {}
            () = self.accept_for_ever(&socket) => {}
        }
    }

    async fn accept_for_ever(&self, socket: &TcpListener) {
        loop {
            self.limits.wait_for_room().await;
            match socket.accept().await {
                Ok((socket, peer)) => self.accepted(socket, peer).await,
                Err(error) if is_shortage(&error) => {
                    if let Some(left_out) = self.refusals.permit() {
                        tracing::warn!(
                            listener = %self.listener, left_out, %error,
                            "no connection can be accepted; raise the limit of open files (ulimit -n)"
                        );
                    }
                    tokio::time::sleep(BACK_OFF).await;
                }
                // The client is gone already, or a firewall said no: the next one may be well.
                Err(error) => tracing::debug!(listener = %self.listener, %error, "accept failed"),
            }
        }
    }

    async fn accepted(&self, socket: tokio::net::TcpStream, peer: SocketAddr) {
        let wait = self.limits.throttle();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let permit = match self.limits.take(peer.ip()) {
            Ok(permit) => permit,
            Err(Refused::AddressFull(max)) => {
                if let Some(left_out) = self.refusals.permit() {
                    let listener = &self.listener;
                    tracing::warn!(%peer, %listener, left_out, "connection refused: {max} are open from this address");
                }
                return;
            }
        };
        let socket = match self.options.apply(&socket).and_then(|()| socket.into_std()) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::debug!(%peer, %error, "a new connection is gone already");
                return;
            }
        };
        let info = Arc::new(ConnectionInfo {
            id: NEXT_CONNECTION_ID.fetch_add(1, Ordering::Relaxed),
            peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()),
            listener: self.listener.clone(),
            principal: ANONYMOUS.into(),
            software: OnceLock::new(),
        });
        let accepted = Accepted {
            socket,
            info,
            apis: self.apis.clone(),
            permit,
        };
        if let Some(processor) = self.processors.iter().min_by_key(|processor| processor.load()) {
            processor.hand_over(accepted).await;
        }
    }
}

/// Errors that say something about this machine, not about one client.
fn is_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| shortages.contains(&errno))
}

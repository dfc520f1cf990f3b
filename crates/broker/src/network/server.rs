//! The reactor as a whole: its listeners, threads and limits, from the start to the last answer.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use transport::TcpOptions;

use super::acceptor::Acceptor;
use super::deadlines::Timeouts;
use super::limits::{ByteBudget, ConnectionLimits};
use super::log_limit::LogLimit;
use super::processor::{self, Parts, Phase, Settings};
use super::request_queue::{RequestHandlers, RequestQueue};
use crate::config::{Listener, NetworkConfig};
use crate::dispatch::{Api, ApiTable, ListenerInfo, Node};

/// The pause between two looks whether all connections have ended.
const DRAIN_POLL: Duration = Duration::from_millis(5);

/// A listener that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Its host has no address.
    #[error("the host of listener {listener} cannot be resolved ({error}); change it in `listeners`")]
    Resolve {
        /// As configured.
        listener: String,
        /// What the system said.
        error: io::Error,
    },
    /// Another process has the port.
    #[error("the port of listener {0} is in use; stop the process that has it, or change `listeners`")]
    InUse(String),
    /// Anything else.
    #[error("listener {listener} cannot be opened: {error}")]
    Other {
        /// As configured.
        listener: String,
        /// What the system said.
        error: io::Error,
    },
}

/// A listener that is open, though nobody accepts yet: clients that come early wait.
#[derive(Debug)]
pub(crate) struct Bound {
    /// What requests will see of it.
    pub(crate) info: Arc<ListenerInfo>,
    socket: std::net::TcpListener,
}

/// Opens the listeners, in order. Done before anything else starts, so that a port in use costs nothing.
pub(crate) fn bind(listeners: &[Listener], config: &NetworkConfig) -> Result<Vec<Bound>, BindError> {
    listeners
        .iter()
        .map(|listener| bind_one(listener, config))
        .collect()
}

fn bind_one(listener: &Listener, config: &NetworkConfig) -> Result<Bound, BindError> {
    let endpoint = &listener.endpoint;
    let addresses = addresses(&endpoint.host, endpoint.port).map_err(|error| BindError::Resolve {
        listener: endpoint.to_string(),
        error,
    })?;
    let open = || -> io::Result<Bound> {
        let mut result = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
        for address in &addresses {
            result = tcp_options(config).listen(*address, config.socket_listen_backlog_size);
            if result.as_ref().is_err_and(is_without_family) {
                continue;
            }
            break;
        }
        let socket = result?;
        let info = Arc::new(ListenerInfo {
            name: endpoint.name.clone(),
            used_by: listener.used_by,
            address: socket.local_addr()?,
        });
        Ok(Bound { info, socket })
    };
    open().map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(endpoint.to_string()),
        _ => BindError::Other {
            listener: endpoint.to_string(),
            error,
        },
    })
}

/// The addresses to try, IPv4 first as Java has it; for every interface, the one that takes both families.
fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if host.is_empty() {
        return Ok(vec![
            SocketAddr::from(([0u16; 8], port)),
            SocketAddr::from(([0u8; 4], port)),
        ]);
    }
    let mut addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    Ok(addresses)
}

/// A machine without IPv6 says so when a socket is made or bound.
fn is_without_family(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errors = [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL];
    Errno::from_io_error(error).is_some_and(|errno| errors.contains(&errno))
}

fn tcp_options(config: &NetworkConfig) -> TcpOptions {
    TcpOptions {
        send_buffer_bytes: config.socket_send_buffer_bytes,
        receive_buffer_bytes: config.socket_receive_buffer_bytes,
        congestion_control: config.congestion_control.clone(),
    }
}

/// The running reactor.
pub(crate) struct NetworkServer {
    phase: watch::Sender<Phase>,
    acceptors: Vec<JoinHandle<()>>,
    processors: Vec<JoinHandle<()>>,
    handlers: RequestHandlers,
}

impl NetworkServer {
    /// Starts the threads: from now on requests are served.
    pub(crate) fn start(
        bound: Vec<Bound>,
        apis: &'static [Api],
        node: Arc<Node>,
    ) -> io::Result<NetworkServer> {
        let config = &node.config.network;
        let queue = RequestQueue::new(config.queued_max_requests);
        let handlers = RequestHandlers::start(queue.clone(), config.io_threads)?;
        let (phase, phase_receiver) = watch::channel(Phase::Serving);
        let parts = Parts {
            node: node.clone(),
            settings: Settings {
                frame_max: config.socket_request_max_bytes,
                timeouts: Timeouts::new(config),
            },
            budget: Arc::new(ByteBudget::new(config.queued_max_request_bytes)),
            queue,
            end_log: Arc::default(),
        };
        let mut handles = Vec::new();
        let mut processors = Vec::new();
        for number in 0..config.network_threads {
            let (handle, thread) = processor::start(number, parts.clone(), phase_receiver.clone())?;
            handles.push(handle);
            processors.push(thread);
        }
        let limits = Arc::new(ConnectionLimits::new(config));
        let acceptors = bound
            .into_iter()
            .map(|bound| {
                let acceptor = Acceptor {
                    apis: Arc::new(ApiTable::new(apis, bound.info.used_by)),
                    listener: bound.info,
                    options: tcp_options(config),
                    limits: limits.clone(),
                    processors: handles.clone(),
                    refusals: LogLimit::default(),
                };
                acceptor.start(bound.socket, phase_receiver.clone())
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(NetworkServer {
            phase,
            acceptors,
            processors,
            handlers,
        })
    }

    /// Accepts no connection and starts no request any more. What was started goes on.
    pub(crate) fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    /// Waits until all that was started is answered, at most `patience`, and closes what is left.
    pub(crate) fn stop(self, patience: Duration) {
        self.drain();
        for acceptor in self.acceptors {
            let _ = acceptor.join();
        }
        let deadline = Instant::now() + patience;
        while self.processors.iter().any(|processor| !processor.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(DRAIN_POLL);
        }
        self.phase.send_replace(Phase::Closed);
        for processor in self.processors {
            let _ = processor.join();
        }
        self.handlers.stop();
    }
}

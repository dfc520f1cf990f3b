//! A node: starts its parts in order, and stops them in the opposite one.

use std::sync::Arc;
use std::time::Duration;

use crate::config::NodeConfig;
use crate::dispatch::{Api, ListenerInfo, Node};
use crate::halt::Halt;
use crate::handlers::APIS;
use crate::network::{self, BindError, NetworkServer};

/// How long a stop waits for requests that were started.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);

/// Why a node does not start, or does not go on. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system gives no thread, timer or the like.
    #[error("the system does not give what a node needs: {0}")]
    System(#[from] std::io::Error),
    /// A signal came before the node served.
    #[error("stopped by a signal during the start")]
    Interrupted,
    /// Going on would have done harm.
    #[error("halted: {0}")]
    Halted(String),
}

/// A running node.
pub struct Broker {
    node: Arc<Node>,
    listeners: Vec<Arc<ListenerInfo>>,
    network: NetworkServer,
}

impl Broker {
    /// Starts a node and returns once it serves.
    pub fn start(config: NodeConfig) -> Result<Broker, StartError> {
        Broker::start_serving(config, APIS)
    }

    /// The same with a table of its own, for tests of the reactor.
    pub(crate) fn start_serving(config: NodeConfig, apis: &'static [Api]) -> Result<Broker, StartError> {
        let bound = network::bind(&config.listeners, &config.network)?;
        let listeners = bound.iter().map(|bound| bound.info.clone()).collect();
        let node = Arc::new(Node {
            config: Arc::new(config),
            halt: Arc::default(),
        });
        let network = NetworkServer::start(bound, apis, node.clone())?;
        // Harnesses of Apache Kafka wait for this very line.
        tracing::info!(
            "[KafkaRaftServer nodeId={}] Kafka Server started",
            node.config.node_id.0
        );
        Ok(Broker {
            node,
            listeners,
            network,
        })
    }

    /// The listeners, with the addresses they are bound to.
    pub fn listeners(&self) -> &[Arc<ListenerInfo>] {
        &self.listeners
    }

    /// What a part calls in an emergency.
    pub(crate) fn halt(&self) -> Arc<Halt> {
        self.node.halt.clone()
    }

    /// Stops in order: no new connection, no new request, then everything that was started is finished.
    pub fn stop(self) {
        self.network.stop(DRAIN_PATIENCE);
    }
}

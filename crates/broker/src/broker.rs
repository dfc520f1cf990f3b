//! A node: starts its parts in order, and stops them in the opposite one.
//!
//! Start: listeners are opened first, so that a port in use costs nothing; then the directories are locked, the metadata
//! log is replayed, the logs of partitions are opened, the coordinators load, this node is unfenced; only then requests
//! are served. Stop: nothing new is accepted; what waits is answered; the coordinators, the controller and the replicas
//! end, and the mark of a clean stop is written last (rule 93).

use std::sync::Arc;
use std::time::Duration;

use metadata::Delta;
use rustix::io::Errno;
use storage::{Disk, RealDisk};

use crate::config::{Endpoint, NodeConfig};
use crate::controller::{Controller, ControllerError, OpenController, OpenControllerError};
use crate::coordinators::Groups;
use crate::dispatch::{Api, ListenerInfo, Node, now_ms};
use crate::halt::Halt;
use crate::handlers::APIS;
use crate::metadata::Listeners;
use crate::network::{self, BindError, Bound, NetworkServer};
use crate::replicas::{OpenReplicas, ProducerIds, Replicas, ReplicasError};
use crate::storage_dirs::{StorageDirsError, open_log_dirs};

/// How long a stop waits for requests that were started.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);

/// Why a node does not start, or does not go on. Each is one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A log directory is missing, foreign, locked or unwritable.
    #[error(transparent)]
    Directories(#[from] StorageDirsError),
    /// The metadata log cannot be used.
    #[error(transparent)]
    Controller(#[from] OpenControllerError),
    /// A partition's log cannot be used.
    #[error(transparent)]
    Replicas(#[from] ReplicasError),
    /// The controller ended before the node served.
    #[error(transparent)]
    Unfence(#[from] ControllerError),
    /// The system gives no thread, timer or the like.
    #[error("{}", lacking(.0))]
    System(std::io::Error),
    /// A signal came before the node served.
    #[error("stopped by a signal during the start")]
    Interrupted,
    /// Going on would have done harm.
    #[error("halted: {0}")]
    Halted(String),
}

/// No source: its text is in this line already.
impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> StartError {
        StartError::System(error)
    }
}

fn lacking(error: &std::io::Error) -> String {
    let remedy = match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE) => "; raise the limit of open files (ulimit -n)",
        Some(Errno::AGAIN) => {
            "; raise the limit of threads (ulimit -u), or set num.network.threads and num.io.threads lower"
        }
        Some(Errno::NOMEM) => "; free some memory",
        _ => "",
    };
    format!("the system does not give what a node needs: {error}{remedy}")
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
        let node = Arc::new(start_parts(Arc::new(config), &bound)?);
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

    /// Its parts, for tests to look at.
    #[cfg(test)]
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// What a part calls in an emergency.
    pub(crate) fn halt(&self) -> Arc<Halt> {
        self.node.halt.clone()
    }

    /// Stops in order, with everything flushed and marked clean.
    pub fn stop(self) {
        let node = self.node;
        self.network.drain();
        node.groups.begin_stop();
        node.replicas.begin_stop();
        self.network.stop(DRAIN_PATIENCE);
        stop_parts(&node);
        tracing::info!(
            "[KafkaRaftServer nodeId={}] Kafka Server stopped",
            node.config.node_id.0
        );
    }
}

/// Repairs what an unclean end has left and replays the journals, without serving anybody, and leaves the directories as a
/// clean stop does: any broker can go on from there.
pub fn recover(config: NodeConfig) -> Result<(), StartError> {
    let node = start_parts(Arc::new(config), &[])?;
    node.groups.begin_stop();
    node.replicas.begin_stop();
    stop_parts(&node);
    Ok(())
}

/// Everything behind the network, once nothing asks it any more.
fn stop_parts(node: &Node) {
    node.groups.stop();
    node.controller.stop();
    node.replicas.close(node.controller.broker_epoch());
}

/// Everything behind the network, from the directories to the leaderships.
fn start_parts(config: Arc<NodeConfig>, bound: &[Bound]) -> Result<Node, StartError> {
    let halt = Arc::<Halt>::default();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let opened_dirs = open_log_dirs(&disk, &config)?;
    let opening = OpenController {
        disk,
        config: config.clone(),
        advertised: &advertised(&config, bound),
        dirs: &opened_dirs,
    };
    let opened = opening.open(now_ms())?;
    let image = opened.image();
    let replicas = Replicas::open(OpenReplicas {
        config: config.clone(),
        halt: halt.clone(),
        dirs: opened_dirs.log_dirs,
        image: image.clone(),
    })?;
    let groups = Groups::of_replicas(&config, replicas.clone(), &halt)?;
    groups.apply(&image, &Delta::of_whole(&image));
    let controller = opened.start(halt.clone(), listeners(&replicas, &groups))?;
    controller.unfence()?;
    Ok(Node {
        config,
        cluster_id: opened_dirs.cluster_id,
        metadata: controller.cache().clone(),
        producer_ids: Arc::new(producer_ids(controller.clone())),
        controller,
        replicas,
        groups,
        halt,
    })
}

/// Who acts on new metadata.
fn listeners(replicas: &Arc<Replicas>, groups: &Arc<Groups>) -> Listeners {
    let (replicas, groups) = (replicas.clone(), groups.clone());
    let unhosted = replicas.clone();
    Listeners {
        unhosted: Box::new(move || unhosted.unhosted()),
        replicas: Box::new(move |image, delta| replicas.apply(image, delta)),
        coordinators: Box::new(move |image, delta| groups.apply(image, delta)),
    }
}

fn producer_ids(controller: Arc<Controller>) -> ProducerIds {
    ProducerIds::new(Box::new(move || {
        let answer = controller.allocate_producer_ids().blocking_recv();
        let block = answer.ok()?.ok()?.ok()?;
        Some(block.first.0..block.first.0 + i64::from(block.count))
    }))
}

/// What clients are told, with the ports the system chose where it was asked to.
fn advertised(config: &NodeConfig, bound: &[Bound]) -> Vec<Endpoint> {
    let mut endpoints = config.advertised.clone();
    for endpoint in endpoints.iter_mut().filter(|endpoint| endpoint.port == 0) {
        if let Some(bound) = bound.iter().find(|bound| bound.info.name == endpoint.name) {
            endpoint.port = bound.info.address.port();
        }
    }
    endpoints
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn what_the_system_does_not_give_is_told_once_with_its_remedy() {
        let error = StartError::from(std::io::Error::from(Errno::MFILE));
        let text = error.to_string();
        assert!(
            text.ends_with("; raise the limit of open files (ulimit -n)"),
            "{text}"
        );
        assert!(text.contains("Too many open files"), "{text}");
        // Who prints the sources too does not print it twice.
        assert!(error.source().is_none());
        let text = StartError::from(std::io::Error::from(Errno::AGAIN)).to_string();
        assert!(text.contains("ulimit -u"), "{text}");
    }
}

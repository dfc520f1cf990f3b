//! How this node presents itself to its cluster.

use std::sync::Arc;

use controller::{BrokerRegistration, ControllerRegistration};
use metadata::image::{Endpoint, supported_features};
use model::Uuid;
use quorum::{Voter, VoterEndpoint};

use crate::config::{self, ListenerUse, NodeConfig};

/// The addresses clients are told, by the protocol of their listeners.
pub(crate) fn broker(
    config: &NodeConfig,
    advertised: &[config::Endpoint],
    log_dirs: Vec<Uuid>,
    incarnation_id: Uuid,
) -> BrokerRegistration {
    BrokerRegistration {
        id: config.node_id,
        incarnation_id,
        endpoints: advertised
            .iter()
            .map(|endpoint| with_protocol(config, endpoint))
            .collect(),
        features: supported_features(),
        rack: config.rack.as_deref().map(Arc::from),
        log_dirs,
    }
}

/// The addresses other controllers would be told.
pub(crate) fn controller(config: &NodeConfig, incarnation_id: Uuid) -> ControllerRegistration {
    ControllerRegistration {
        id: config.node_id.0,
        incarnation_id,
        endpoints: controller_endpoints(config)
            .map(|endpoint| with_protocol(config, &endpoint))
            .collect(),
        features: supported_features(),
    }
}

/// This node as a voter of its quorum.
pub(crate) fn voter(config: &NodeConfig, directory_id: Uuid) -> Voter {
    let endpoint = |endpoint: config::Endpoint| VoterEndpoint {
        name: endpoint.name.into(),
        host: endpoint.host.into(),
        port: endpoint.port,
    };
    Voter {
        id: config.node_id.0,
        directory_id,
        endpoints: controller_endpoints(config).map(endpoint).collect(),
    }
}

fn controller_endpoints(config: &NodeConfig) -> impl Iterator<Item = config::Endpoint> {
    let bound = config
        .listeners
        .iter()
        .filter(|listener| listener.used_by == ListenerUse::Controller);
    bound.map(|listener| {
        let endpoint = listener.endpoint.clone();
        // An address to call, where the listener takes any.
        let host = if endpoint.host.is_empty() {
            "localhost".to_owned()
        } else {
            endpoint.host
        };
        config::Endpoint { host, ..endpoint }
    })
}

fn with_protocol(config: &NodeConfig, endpoint: &config::Endpoint) -> Endpoint {
    let listener = config
        .listeners
        .iter()
        .find(|listener| listener.endpoint.name == endpoint.name);
    Endpoint {
        name: Arc::from(&*endpoint.name),
        host: Arc::from(&*endpoint.host),
        port: endpoint.port,
        security_protocol: listener.map_or(0, |listener| listener.protocol.id()),
    }
}

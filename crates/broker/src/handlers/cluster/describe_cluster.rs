//! `DescribeCluster`: the id of the cluster and its nodes: brokers on a broker's listener, controllers on a controller's.
//!
//! - v1 (KIP-919): the client says which kind of nodes it wants; the other kind's listener refuses.
//! - v2 (KIP-1073): fenced brokers are listed when asked for.
//! - The controller that brokers' listeners name is a broker, as in Apache Kafka: it forwards what is the controller's.

use std::sync::Arc;

use metadata::image::{Endpoint, Image};
use model::ErrorCode;
use wire::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};

use crate::config::ListenerUse;
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// Kinds of nodes on the wire.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;
/// What may be done to a cluster (KIP-430), a bit for each operation's number: create 5, alter 7, describe 8,
/// cluster action 9, describe configs 10, alter configs 11, idempotent write 12. Without an authorizer, everything.
pub(in crate::handlers) const ALL_OPERATIONS: i32 =
    1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12;

/// The handler.
pub struct DescribeCluster;

impl Handler for DescribeCluster {
    type Request = DescribeClusterRequest;
    const SPEC: ApiSpec = ApiSpec::of::<DescribeClusterRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: DescribeClusterRequest,
    ) -> Reply<DescribeClusterResponse> {
        let expected = match context.listener().used_by {
            ListenerUse::Broker => BROKERS,
            ListenerUse::Controller => CONTROLLERS,
        };
        Reply::Now(
            match refusal(context.api_version, expected, request.endpoint_type) {
                Some((error, message)) => DescribeClusterResponse {
                    error_code: error as i16,
                    error_message: Some(message.into()),
                    ..DescribeClusterResponse::default()
                },
                None => describe(node, context, &request, expected),
            },
        )
    }
}

/// Why this listener does not know the nodes that are asked for.
fn refusal(version: i16, expected: i8, asked: i8) -> Option<(ErrorCode, String)> {
    let name = |kind| if kind == BROKERS { "BROKER" } else { "CONTROLLER" };
    let (error, message) = match asked {
        _ if asked == expected => return None,
        BROKERS | CONTROLLERS => {
            let (expected, asked) = (name(expected), name(asked));
            let message = format!(
                "The request was sent to an endpoint of type {expected}, but we wanted an endpoint of type {asked}"
            );
            (ErrorCode::MismatchedEndpointType, message)
        }
        other => (
            ErrorCode::UnsupportedEndpointType,
            format!("Unsupported endpoint type {other}"),
        ),
    };
    // Version 0 does not know the two codes.
    let error = if version == 0 {
        ErrorCode::InvalidRequest
    } else {
        error
    };
    Some((error, message))
}

fn describe(
    node: &Node,
    context: &RequestContext,
    request: &DescribeClusterRequest,
    kind: i8,
) -> DescribeClusterResponse {
    let image = node.metadata.image();
    let listener = &context.listener().name;
    let brokers = match kind {
        BROKERS => brokers(&image, listener, request.include_fenced_brokers),
        _ => controllers(&image, listener),
    };
    let own_id = node.config.node_id.0;
    let is_listed = brokers.iter().any(|broker| broker.broker_id == own_id);
    DescribeClusterResponse {
        endpoint_type: kind,
        cluster_id: (&*node.cluster_id).into(),
        controller_id: if is_listed { own_id } else { -1 },
        brokers,
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            ALL_OPERATIONS
        } else {
            i32::MIN
        },
        ..DescribeClusterResponse::default()
    }
}

fn brokers(image: &Image, listener: &str, include_fenced: bool) -> Vec<DescribeClusterBroker> {
    let listed = image
        .cluster
        .brokers()
        .filter(|broker| include_fenced || !broker.fenced);
    listed
        .filter_map(|broker| {
            let endpoint = broker.endpoint(listener)?;
            Some(DescribeClusterBroker {
                rack: broker.rack.as_deref().map(Into::into),
                is_fenced: broker.fenced,
                ..described(broker.id.0, endpoint)
            })
        })
        .collect()
}

fn controllers(image: &Image, listener: &str) -> Vec<DescribeClusterBroker> {
    let listed = image.cluster.controllers().filter_map(|controller| {
        let endpoint = controller
            .endpoints
            .iter()
            .find(|endpoint| &*endpoint.name == listener)?;
        Some(described(controller.id, endpoint))
    });
    listed.collect()
}

fn described(id: i32, endpoint: &Endpoint) -> DescribeClusterBroker {
    DescribeClusterBroker {
        broker_id: id,
        host: (&*endpoint.host).into(),
        port: i32::from(endpoint.port),
        ..DescribeClusterBroker::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_refuses_the_other_kind_of_nodes() {
        let error = |version, asked| refusal(version, BROKERS, asked).map(|(error, _)| error);
        assert_eq!(error(1, BROKERS), None);
        assert_eq!(error(1, CONTROLLERS), Some(ErrorCode::MismatchedEndpointType));
        assert_eq!(error(2, 9), Some(ErrorCode::UnsupportedEndpointType));
        assert_eq!(error(0, CONTROLLERS), Some(ErrorCode::InvalidRequest));
    }
}

//! `FindCoordinator`: which broker coordinates a group.
//!
//! - v1: transactional ids too. v4 (KIP-699): several keys. v6 (KIP-932): share partitions.
//!
//! The first question makes `__consumer_offsets`. Kafka answers COORDINATOR_NOT_AVAILABLE meanwhile; here the answer
//! waits until the topic serves. Transactions and share groups are not coordinated yet: INVALID_REQUEST says so.

use std::sync::Arc;

use metadata::Image;
use model::{CONSUMER_OFFSETS, ErrorCode, partition_for_id};
use tokio::sync::oneshot;
use wire::Str;
use wire::messages::find_coordinator::{Coordinator, FindCoordinatorRequest, FindCoordinatorResponse};

use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The type of key that names a group.
const GROUP: i8 = 0;

/// The handler.
pub struct FindCoordinator;

impl Handler for FindCoordinator {
    type Request = FindCoordinatorRequest;
    const SPEC: ApiSpec = ApiSpec::of::<FindCoordinatorRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: FindCoordinatorRequest,
    ) -> Reply<FindCoordinatorResponse> {
        let image = node.metadata.image();
        if request.key_type != GROUP || image.topics.by_name(CONSUMER_OFFSETS).is_some() {
            return Reply::Now(respond(&image, context, &request));
        }
        let (sender, receiver) = oneshot::channel();
        let (cache, context) = (Arc::clone(&node.metadata), context.clone());
        node.controller
            .auto_create_then(&[CONSUMER_OFFSETS.into()], move |_| {
                // Whether it was made shows in the image; if not, the client asks again. A connection that is gone waits
                // for nothing.
                let _ = sender.send(respond(&cache.image(), &context, &request));
            });
        Reply::Later(receiver)
    }
}

fn respond(
    image: &Image,
    context: &RequestContext,
    request: &FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    if context.api_version >= 4 {
        let found =
            request
                .coordinator_keys
                .iter()
                .map(|key| match find(image, context, request.key_type, key) {
                    Ok((node_id, host, port)) => Coordinator {
                        key: key.clone(),
                        node_id,
                        host,
                        port,
                        ..Coordinator::default()
                    },
                    Err(error) => Coordinator {
                        key: key.clone(),
                        node_id: -1,
                        port: -1,
                        error_code: error.code(),
                        ..Coordinator::default()
                    },
                });
        return FindCoordinatorResponse {
            coordinators: found.collect(),
            ..FindCoordinatorResponse::default()
        };
    }
    match find(image, context, request.key_type, &request.key) {
        Ok((node_id, host, port)) => FindCoordinatorResponse {
            error_message: Some(ErrorCode::None.name().into()),
            node_id,
            host,
            port,
            ..FindCoordinatorResponse::default()
        },
        Err(error) => FindCoordinatorResponse {
            error_code: error.code(),
            error_message: Some(error.name().into()),
            node_id: -1,
            port: -1,
            ..FindCoordinatorResponse::default()
        },
    }
}

/// The broker that leads the group's partition, at its address for this listener.
fn find(
    image: &Image,
    context: &RequestContext,
    key_type: i8,
    key: &str,
) -> Result<(i32, Str, i32), ErrorCode> {
    if key_type != GROUP {
        return Err(ErrorCode::InvalidRequest);
    }
    let unavailable = ErrorCode::CoordinatorNotAvailable;
    let topic = image.topics.by_name(CONSUMER_OFFSETS).ok_or(unavailable)?;
    let partitions = i32::try_from(topic.partition_count()).unwrap_or(i32::MAX);
    let partition = topic
        .partition(partition_for_id(key, partitions))
        .ok_or(unavailable)?;
    let leader = partition.leader.ok_or(unavailable)?;
    let broker = image
        .cluster
        .broker(leader)
        .filter(|broker| broker.is_active())
        .ok_or(unavailable)?;
    let endpoint = broker.endpoint(&context.listener().name).ok_or(unavailable)?;
    Ok((leader.0, Str::from(&*endpoint.host), i32::from(endpoint.port)))
}

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
use crate::handlers::data::init_producer_id::log_transactions;

/// The type of key that names a group.
const GROUP: i8 = 0;
/// The type of key that names a transactional producer.
const TRANSACTION: i8 = 1;

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
        if request.key_type == TRANSACTION {
            let id = request.coordinator_keys.first().unwrap_or(&request.key);
            log_transactions(context, id);
        }
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

#[cfg(test)]
mod tests {
    use metadata::{Delta, MetadataRecord};
    use model::Uuid;
    use wire::internal::metadata_log::{BrokerEndpoint, PartitionRecord, RegisterBrokerRecord, TopicRecord};

    use super::*;

    fn image(leader: i32, fenced: bool) -> Image {
        let broker = RegisterBrokerRecord {
            broker_id: 1,
            end_points: vec![BrokerEndpoint {
                name: "PLAINTEXT".into(),
                host: "here".into(),
                port: 9092,
                security_protocol: 0,
            }],
            fenced,
            ..RegisterBrokerRecord::default()
        };
        let topic_id = Uuid([1; 16]);
        let partition = PartitionRecord {
            partition_id: 0,
            topic_id,
            replicas: vec![1],
            isr: vec![1],
            leader,
            leader_epoch: 0,
            partition_epoch: 0,
            directories: vec![Uuid([2; 16])],
            ..PartitionRecord::default()
        };
        let records = [
            MetadataRecord::RegisterBroker(broker),
            MetadataRecord::Topic(TopicRecord {
                name: CONSUMER_OFFSETS.into(),
                topic_id,
            }),
            MetadataRecord::Partition(partition),
        ];
        let (mut image, mut delta) = (Image::default(), Delta::default());
        for record in &records {
            image.apply(record, &mut delta).unwrap();
        }
        image
    }

    #[test]
    fn a_coordinator_is_named_only_while_it_leads_and_serves() {
        let context = RequestContext::for_test(4);
        let found = |image: &Image| {
            find(image, &context, GROUP, "g").map(|(id, host, port)| (id, host.to_string(), port))
        };
        assert_eq!(found(&image(1, false)), Ok((1, "here".to_owned(), 9092)));
        let unavailable = Err(ErrorCode::CoordinatorNotAvailable);
        assert_eq!(found(&Image::default()), unavailable, "no offsets topic");
        assert_eq!(found(&image(-1, false)), unavailable, "no leader");
        assert_eq!(found(&image(7, false)), unavailable, "a leader nobody knows");
        assert_eq!(found(&image(1, true)), unavailable, "a fenced leader");
        assert_eq!(
            find(&image(1, false), &context, 1, "t"),
            Err(ErrorCode::InvalidRequest)
        );
    }

    #[test]
    fn errors_stand_where_their_version_has_a_place_for_them() {
        let request = FindCoordinatorRequest {
            key: "g".into(),
            coordinator_keys: vec!["g".into()],
            ..FindCoordinatorRequest::default()
        };
        let code = ErrorCode::CoordinatorNotAvailable.code();
        let old = respond(&Image::default(), &RequestContext::for_test(3), &request);
        assert_eq!(
            (old.error_code, old.node_id, old.port, old.coordinators.len()),
            (code, -1, -1, 0)
        );
        let new = respond(&Image::default(), &RequestContext::for_test(4), &request);
        let found = &new.coordinators[0];
        assert_eq!(
            (new.error_code, found.error_code, found.node_id, found.port),
            (0, code, -1, -1)
        );
    }
}

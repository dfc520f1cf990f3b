//! `Metadata`: the brokers, and where the partitions of topics are.
//!
//! - v0: an empty list means all topics; v1: null does, and an empty list means none. Brokers have racks, topics say
//!   whether they are internal. v4: the client may forbid that topics are made. v5: offline replicas. v7: leader epochs.
//!   v8 (KIP-430): what the client may do. v10 (KIP-516): topic ids; v12: topics can be asked for by id.
//! - A topic that does not exist is made where broker and client allow it (`auto.create.topics.enable`). Kafka answers
//!   that such a topic is unknown, and expects the question again; here the answer waits until the topic is led, so that
//!   the first produce succeeds (cases 10, 11).
//! - At most 100,000 topics by name or id (bad input 39); each is answered once however often it is asked for.

use std::sync::Arc;

use ::metadata::Image;
use ::metadata::image::{Partition, Topic};
use model::{BrokerId, ErrorCode, Uuid, is_internal, validate_topic_name};
use tokio::sync::oneshot;
use wire::Str;
use wire::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};

use super::{ALL_TOPIC_OPERATIONS, View, distinct};
use crate::controller::may_be_asked_for;
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};
use crate::handlers::cluster::describe_cluster::ALL_OPERATIONS;

/// The most topics one request may name.
const TOPICS_MAX: usize = 100_000;

/// The handler.
pub struct Metadata;

impl Handler for Metadata {
    type Request = MetadataRequest;
    const SPEC: ApiSpec = ApiSpec::of::<MetadataRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: MetadataRequest,
    ) -> Reply<MetadataResponse> {
        if request
            .topics
            .as_ref()
            .is_some_and(|topics| topics.len() > TOPICS_MAX)
        {
            return Reply::Close("more than 100,000 topics in one Metadata request");
        }
        let question = Question {
            version: context.api_version,
            listener: context.listener().name.clone(),
            cluster_id: node.cluster_id.clone(),
            request,
        };
        let image = node.metadata.image();
        let missing = question.to_make(&image, node.config.topics.auto_create);
        if missing.is_empty() {
            return Reply::Now(question.answer(&image));
        }
        let (sender, receiver) = oneshot::channel();
        let cache = node.metadata.clone();
        // Whether the topics were made shows in the image. A connection that is gone waits for nothing.
        node.controller.auto_create_then(&missing, move |_| {
            drop(sender.send(question.answer(&cache.image())))
        });
        Reply::Later(receiver)
    }
}

/// A request and what its answer depends on beside the image.
struct Question {
    version: i16,
    listener: String,
    cluster_id: Arc<str>,
    request: MetadataRequest,
}

impl Question {
    /// The topics that are asked for one by one; `None` for all.
    fn topics(&self) -> Option<&[MetadataRequestTopic]> {
        let topics = self.request.topics.as_deref()?;
        (self.version > 0 || !topics.is_empty()).then_some(topics)
    }

    /// The topics that do not exist and may be made.
    fn to_make(&self, image: &Image, auto_create: bool) -> Vec<Arc<str>> {
        // Before version 4 the client cannot say.
        let allowed = auto_create && (self.version < 4 || self.request.allow_auto_topic_creation);
        if !allowed || self.is_wrong() {
            return Vec::new();
        }
        let topics = self.topics().unwrap_or_default().iter();
        let names = topics
            .filter(|topic| topic.topic_id.is_zero())
            .filter_map(|topic| topic.name.as_ref());
        distinct(names)
            .filter(|name| may_be_asked_for(name) && image.topics.by_name(name).is_none())
            .map(|name| Arc::from(&**name))
            .collect()
    }

    /// Versions 10 and 11 have topic ids in answers only.
    fn is_wrong(&self) -> bool {
        let by_id = |topic: &MetadataRequestTopic| topic.name.is_none() || !topic.topic_id.is_zero();
        self.version < 12 && self.topics().is_some_and(|topics| topics.iter().any(by_id))
    }

    fn answer(&self, image: &Image) -> MetadataResponse {
        let view = View {
            image,
            listener: &self.listener,
        };
        let brokers: Vec<MetadataResponseBroker> = image
            .cluster
            .brokers()
            .filter_map(|broker| describe_broker(&view, broker.id))
            .collect();
        // Controllers do not serve clients (KIP-590): any broker passes on what is the controller's.
        let controller_id = brokers.first().map_or(-1, |broker| broker.node_id);
        let topics = match self.topics() {
            None => image
                .topics
                .iter()
                .map(|topic| self.describe(&view, topic))
                .collect(),
            Some(topics) if self.is_wrong() => topics.iter().map(refused).collect(),
            Some(topics) => {
                let keys: Vec<(Uuid, Option<&Str>)> = topics
                    .iter()
                    .map(|topic| (topic.topic_id, topic.name.as_ref()))
                    .collect();
                distinct(keys.iter())
                    .map(|(id, name)| self.find(&view, *id, *name))
                    .collect()
            }
        };
        let asked = self.request.include_cluster_authorized_operations;
        MetadataResponse {
            throttle_time_ms: 0,
            brokers,
            cluster_id: Some(self.cluster_id.as_ref().into()),
            controller_id,
            topics,
            cluster_authorized_operations: if asked { ALL_OPERATIONS } else { i32::MIN },
            error_code: 0,
        }
    }

    fn find(&self, view: &View<'_>, id: Uuid, name: Option<&Str>) -> MetadataResponseTopic {
        let found = match name {
            _ if !id.is_zero() => view.image.topics.by_id(id),
            Some(name) => view.image.topics.by_name(name),
            None => None,
        };
        if let Some(topic) = found {
            return self.describe(view, topic);
        }
        let (error, name) = match name {
            _ if !id.is_zero() => (ErrorCode::UnknownTopicId, None),
            None => (ErrorCode::InvalidRequest, None),
            Some(name)
                if validate_topic_name(name).is_err() || view.image.topics.colliding_with(name).is_some() =>
            {
                (ErrorCode::InvalidTopicException, Some(name.clone()))
            }
            Some(name) => (ErrorCode::UnknownTopicOrPartition, Some(name.clone())),
        };
        MetadataResponseTopic {
            error_code: error.code(),
            is_internal: name.as_deref().is_some_and(is_internal),
            // Only versions that can ask by id have a null name.
            name: if self.version >= 12 {
                name
            } else {
                Some(name.unwrap_or_default())
            },
            topic_id: id,
            ..MetadataResponseTopic::default()
        }
    }

    fn describe(&self, view: &View<'_>, topic: &Topic) -> MetadataResponseTopic {
        let partitions = topic.partitions.iter();
        let asked = self.request.include_topic_authorized_operations;
        MetadataResponseTopic {
            error_code: 0,
            name: Some(topic.name.as_ref().into()),
            topic_id: topic.id,
            is_internal: is_internal(&topic.name),
            partitions: partitions
                .map(|(index, partition)| self.partition(view, *index, partition))
                .collect(),
            topic_authorized_operations: if asked { ALL_TOPIC_OPERATIONS } else { i32::MIN },
        }
    }

    fn partition(&self, view: &View<'_>, index: i32, partition: &Partition) -> MetadataResponsePartition {
        let without_listener = if self.version >= 6 {
            ErrorCode::ListenerNotFound
        } else {
            ErrorCode::LeaderNotAvailable
        };
        let (leader, mut error) = view.leader(partition, without_listener);
        // Version 0 has no word for replicas that are offline: it leaves them out, and says that some are missing.
        let shown = |brokers: &[BrokerId]| -> Vec<i32> {
            let online = |id: &BrokerId| self.version > 0 || view.broker(*id).is_some();
            brokers.iter().copied().filter(online).map(|id| id.0).collect()
        };
        let (replica_nodes, isr_nodes) = (shown(&partition.replicas), shown(&partition.isr));
        let complete =
            replica_nodes.len() == partition.replicas.len() && isr_nodes.len() == partition.isr.len();
        if error.is_none() && !complete {
            error = ErrorCode::ReplicaNotAvailable;
        }
        MetadataResponsePartition {
            error_code: error.code(),
            partition_index: index,
            leader_id: leader.0,
            leader_epoch: partition.leader_epoch.0,
            replica_nodes,
            isr_nodes,
            offline_replicas: view.offline_replicas(partition),
        }
    }
}

fn describe_broker(view: &View<'_>, id: BrokerId) -> Option<MetadataResponseBroker> {
    let broker = view.broker(id)?;
    let endpoint = broker.endpoint(view.listener)?;
    Some(MetadataResponseBroker {
        node_id: id.0,
        host: endpoint.host.as_ref().into(),
        port: endpoint.port.into(),
        rack: broker.rack.as_deref().map(Into::into),
    })
}

fn refused(topic: &MetadataRequestTopic) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: ErrorCode::InvalidRequest.code(),
        name: Some(topic.name.clone().unwrap_or_default()),
        topic_id: topic.topic_id,
        ..MetadataResponseTopic::default()
    }
}

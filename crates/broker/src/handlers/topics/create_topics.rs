//! `CreateTopics`: each topic succeeds or fails by itself.
//!
//! - v4 (KIP-464): -1 partitions or replicas mean the broker's defaults. v5 (KIP-525): the answer lists partitions,
//!   replicas and every setting of the topic. v7 (KIP-516): the topic's id.
//! - Kafka answers once the topic is in the metadata log; here once its partitions are led, so that a produce right
//!   after it succeeds (case 10). A command whose time-out passes before its turn is not carried out (case 14).

use std::collections::BTreeMap;
use std::sync::Arc;

use ::metadata::Image;
use ::metadata::image::Settings;
use controller::{CreateTopic, CreateTopicsReply, CreatedTopic, Mode, TopicError, create_topics};
use model::config::{ConfigKey, topic_keys};
use model::{BrokerId, ErrorCode};
use tokio::sync::oneshot;
use wire::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};

use super::{controller_code, deadline_ms};
use crate::config::{Layers, NodeConfig};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct CreateTopics;

impl Handler for CreateTopics {
    type Request = CreateTopicsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<CreateTopicsRequest>();

    fn handle(
        node: &Arc<Node>,
        _: &RequestContext,
        request: CreateTopicsRequest,
    ) -> Reply<CreateTopicsResponse> {
        let (sender, receiver) = oneshot::channel();
        let mode = if request.validate_only {
            Mode::ValidateOnly
        } else {
            Mode::Commit
        };
        let commands: Vec<CreateTopic> = request.topics.iter().map(command).collect();
        let (cache, config) = (node.metadata.clone(), node.config.clone());
        node.controller.submit(
            deadline_ms(request.timeout_ms),
            move |context, entropy| create_topics(context, &commands, mode, entropy),
            move |reply| {
                let topics = match reply {
                    Ok(results) => respond(&cache.image(), &config, &request.topics, results),
                    Err(error) => request
                        .topics
                        .iter()
                        .map(|topic| refused(topic, controller_code(error), None))
                        .collect(),
                };
                log(mode, &topics);
                // A connection that is gone waits for nothing.
                let _ = sender.send(CreateTopicsResponse {
                    throttle_time_ms: 0,
                    topics,
                });
            },
        );
        Reply::Later(receiver)
    }
}

fn command(topic: &CreatableTopic) -> CreateTopic {
    let brokers = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect();
    let assignments = topic.assignments.iter();
    let configs = topic.configs.iter();
    CreateTopic {
        name: Arc::from(&*topic.name),
        num_partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: assignments
            .map(|assignment| (assignment.partition_index, brokers(&assignment.broker_ids)))
            .collect(),
        configs: configs
            .map(|config| {
                (
                    Arc::from(&*config.name),
                    config.value.as_ref().map(|value| Arc::from(&**value)),
                )
            })
            .collect(),
    }
}

fn respond(
    image: &Image,
    config: &NodeConfig,
    asked: &[CreatableTopic],
    results: CreateTopicsReply,
) -> Vec<CreatableTopicResult> {
    let by_name: BTreeMap<&str, &CreatableTopic> = asked.iter().map(|topic| (&*topic.name, topic)).collect();
    let result = |(name, result): (Arc<str>, Result<CreatedTopic, TopicError>)| {
        let topic = by_name.get(&*name)?;
        Some(match result {
            Ok(created) => success(image, config, topic, &created),
            Err(error) => refused(topic, error.code(), Some(error.to_string())),
        })
    };
    results.into_iter().filter_map(result).collect()
}

/// With every setting of the topic: those it was given, and what holds for the others.
fn success(
    image: &Image,
    config: &NodeConfig,
    topic: &CreatableTopic,
    created: &CreatedTopic,
) -> CreatableTopicResult {
    let given = topic.configs.iter();
    let settings: Settings = given
        .filter_map(|config| Some((Arc::from(&*config.name), Arc::from(&**config.value.as_ref()?))))
        .collect();
    let layers = Layers::of_topic(image, config, &settings);
    let shown = topic_keys()
        .iter()
        .filter(|key| !key.name.starts_with("internal."));
    CreatableTopicResult {
        name: topic.name.clone(),
        topic_id: created.id,
        error_code: 0,
        error_message: None,
        topic_config_error_code: 0,
        num_partitions: created.num_partitions,
        replication_factor: created.replication_factor,
        configs: Some(shown.map(|key| setting(&layers, key)).collect()),
    }
}

fn setting(layers: &Layers<'_>, key: &'static ConfigKey) -> CreatableTopicConfigs {
    let effective = layers.effective(key);
    CreatableTopicConfigs {
        name: key.name.into(),
        value: effective.value.filter(|_| !key.is_sensitive()).map(Into::into),
        read_only: false,
        config_source: effective.source as i8,
        is_sensitive: key.is_sensitive(),
    }
}

fn refused(topic: &CreatableTopic, error: ErrorCode, message: Option<String>) -> CreatableTopicResult {
    CreatableTopicResult {
        name: topic.name.clone(),
        error_code: error.code(),
        error_message: message.map(Into::into),
        ..CreatableTopicResult::default()
    }
}

fn log(mode: Mode, topics: &[CreatableTopicResult]) {
    for topic in topics
        .iter()
        .filter(|topic| mode == Mode::Commit && topic.error_code == 0)
    {
        tracing::info!(topic = &*topic.name, id = %topic.topic_id, partitions = topic.num_partitions, "topic made");
    }
}

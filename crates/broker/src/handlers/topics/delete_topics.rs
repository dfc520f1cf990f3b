//! `DeleteTopics`: by name, from v6 on (KIP-516) also by id.
//!
//! - v5 (KIP-599): a message with each error. Where `delete.topic.enable` is off, every topic is refused: with
//!   TOPIC_DELETION_DISABLED, which clients know from v3 on.

use std::sync::Arc;

use controller::{DeletedTopic, TopicReference, delete_topics};
use model::{ErrorCode, Uuid};
use tokio::sync::oneshot;
use wire::Str;
use wire::messages::delete_topics::{DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse};

use super::{controller_code, deadline_ms};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct DeleteTopics;

impl Handler for DeleteTopics {
    type Request = DeleteTopicsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<DeleteTopicsRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: DeleteTopicsRequest,
    ) -> Reply<DeleteTopicsResponse> {
        let topics = references(context.api_version, &request);
        if !node.config.topics.delete_enable {
            let error = if context.api_version < 3 {
                ErrorCode::InvalidRequest
            } else {
                ErrorCode::TopicDeletionDisabled
            };
            return Reply::Now(all_refused(&topics, error, "Topic deletion is disabled."));
        }
        let (sender, receiver) = oneshot::channel();
        let commands = topics.clone();
        node.controller.submit(
            deadline_ms(request.timeout_ms),
            move |context, _| delete_topics(context, &commands),
            move |reply| {
                let response = match reply {
                    Ok(results) => respond(results),
                    Err(error) => all_refused(&topics, controller_code(error), &error.to_string()),
                };
                // A connection that is gone waits for nothing.
                let _ = sender.send(response);
            },
        );
        Reply::Later(receiver)
    }
}

fn references(version: i16, request: &DeleteTopicsRequest) -> Vec<TopicReference> {
    let name = |name: &Str| Arc::from(&**name);
    if version < 6 {
        let names = request.topic_names.iter();
        return names
            .map(|topic| TopicReference {
                name: Some(name(topic)),
                id: Uuid::ZERO,
            })
            .collect();
    }
    let topics = request.topics.iter();
    topics
        .map(|topic| TopicReference {
            name: topic.name.as_ref().map(name),
            id: topic.topic_id,
        })
        .collect()
}

fn respond(results: Vec<DeletedTopic>) -> DeleteTopicsResponse {
    let result = |topic: DeletedTopic| {
        let reference = TopicReference {
            name: topic.name,
            id: topic.id,
        };
        match topic.result {
            Ok(()) => {
                tracing::info!(topic = reference.name.as_deref(), id = %reference.id, "topic deleted");
                outcome(&reference, ErrorCode::None, None)
            }
            Err(error) => outcome(&reference, error.code(), Some(&error.to_string())),
        }
    };
    DeleteTopicsResponse {
        throttle_time_ms: 0,
        responses: results.into_iter().map(result).collect(),
    }
}

fn all_refused(topics: &[TopicReference], error: ErrorCode, message: &str) -> DeleteTopicsResponse {
    let responses = topics
        .iter()
        .map(|topic| outcome(topic, error, Some(message)))
        .collect();
    DeleteTopicsResponse {
        throttle_time_ms: 0,
        responses,
    }
}

fn outcome(topic: &TopicReference, error: ErrorCode, message: Option<&str>) -> DeletableTopicResult {
    DeletableTopicResult {
        name: topic.name.as_deref().map(Into::into),
        topic_id: topic.id,
        error_code: error.code(),
        error_message: message.map(Into::into),
    }
}

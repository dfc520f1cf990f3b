//! `CreatePartitions` (KIP-195): more partitions for topics that exist; each succeeds or fails by itself.
//!
//! Like a new topic, the answer comes once the new partitions are led.

use std::sync::Arc;

use controller::{CreatePartitions as Command, Mode, create_partitions};
use model::{BrokerId, ErrorCode};
use tokio::sync::oneshot;
use wire::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsResponse,
    CreatePartitionsTopicResult,
};

use super::{controller_code, deadline_ms};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct CreatePartitions;

impl Handler for CreatePartitions {
    type Request = CreatePartitionsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<CreatePartitionsRequest>();

    fn handle(
        node: &Arc<Node>,
        _: &RequestContext,
        request: CreatePartitionsRequest,
    ) -> Reply<CreatePartitionsResponse> {
        let (sender, receiver) = oneshot::channel();
        let mode = if request.validate_only {
            Mode::ValidateOnly
        } else {
            Mode::Commit
        };
        let commands = commands(&request);
        node.controller.submit(
            deadline_ms(request.timeout_ms),
            move |context, entropy| create_partitions(context, &commands, mode, entropy),
            move |reply| {
                let results = match reply {
                    Ok(results) => results
                        .into_iter()
                        .map(|(name, result)| match result {
                            Ok(()) => outcome(&name, ErrorCode::None, None),
                            Err(error) => outcome(&name, error.code(), Some(error.to_string())),
                        })
                        .collect(),
                    Err(error) => {
                        let refused =
                            |name: &str| outcome(name, controller_code(error), Some(error.to_string()));
                        request.topics.iter().map(|topic| refused(&topic.name)).collect()
                    }
                };
                // A connection that is gone waits for nothing.
                let _ = sender.send(CreatePartitionsResponse {
                    throttle_time_ms: 0,
                    results,
                });
            },
        );
        Reply::Later(receiver)
    }
}

fn commands(request: &CreatePartitionsRequest) -> Vec<Command> {
    let brokers = |assignment: &CreatePartitionsAssignment| {
        assignment
            .broker_ids
            .iter()
            .copied()
            .map(BrokerId)
            .collect::<Vec<_>>()
    };
    let topics = request.topics.iter();
    topics
        .map(|topic| Command {
            name: Arc::from(&*topic.name),
            count: topic.count,
            assignments: topic
                .assignments
                .as_ref()
                .map(|all| all.iter().map(brokers).collect()),
        })
        .collect()
}

fn outcome(name: &str, error: ErrorCode, message: Option<String>) -> CreatePartitionsTopicResult {
    CreatePartitionsTopicResult {
        name: name.into(),
        error_code: error.code(),
        error_message: message.map(Into::into),
    }
}

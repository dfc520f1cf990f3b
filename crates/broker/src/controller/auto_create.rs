//! Topics that nobody made, but somebody asks for: clients for their own (`auto.create.topics.enable`), coordinators for
//! the internal ones.

use std::sync::Arc;

use controller::{CreateTopic, CreateTopicsReply, Mode, TopicError, create_topics};
use model::CONSUMER_OFFSETS;

use super::host::{Controller, Reply};
use crate::config::NodeConfig;
use crate::network::LogLimit;

/// Any client can ask for topics that cannot be made, thousands in one request.
static REFUSALS: LogLimit = LogLimit::new();

/// What became of the topics asked for.
pub(crate) type AutoCreate = Reply<CreateTopicsReply>;

impl Controller {
    /// Has topics made that were asked for by name. `done` runs on the controller's thread, as for
    /// [`Controller::submit`]. A topic that somebody made meanwhile is among the errors as one that exists.
    pub(crate) fn auto_create_then(
        &self,
        names: &[Arc<str>],
        done: impl FnOnce(AutoCreate) + Send + 'static,
    ) {
        let topics: Vec<CreateTopic> = names.iter().map(|name| template(self.config(), name)).collect();
        self.submit(
            None,
            move |context, entropy| create_topics(context, &topics, Mode::Commit, entropy),
            move |reply| {
                for (name, result) in reply.iter().flatten() {
                    match result {
                        Ok(created) => {
                            tracing::info!(topic = &**name, id = %created.id, "topic made on demand")
                        }
                        Err(TopicError::Exists(_)) => {}
                        Err(error) => {
                            if let Some(left_out) = REFUSALS.permit() {
                                let remedy = remedy(name, error);
                                tracing::warn!(
                                    topic = &**name,
                                    left_out,
                                    "topic not made on demand: {error}{remedy}"
                                );
                            }
                        }
                    }
                }
                done(reply);
            },
        );
    }
}

/// What to set so that a topic can be made the next time, where a key decides.
fn remedy(name: &str, error: &TopicError) -> String {
    let key = match name {
        CONSUMER_OFFSETS => "offsets.topic.replication.factor",
        _ => "default.replication.factor",
    };
    match error {
        TopicError::ReplicationFactor(_) => {
            format!(" Set {key}, which asks for that many, to the number of brokers at most, and restart.")
        }
        _ => String::new(),
    }
}

/// What a topic is like that is made on demand.
fn template(config: &NodeConfig, name: &Arc<str>) -> CreateTopic {
    let plain = CreateTopic {
        name: name.clone(),
        num_partitions: -1,
        replication_factor: -1,
        ..CreateTopic::default()
    };
    match &**name {
        CONSUMER_OFFSETS => CreateTopic {
            num_partitions: config.groups.offsets_topic_num_partitions,
            replication_factor: config.groups.offsets_topic_replication_factor,
            configs: settings(&[
                ("compression.type", "producer".to_owned()),
                ("cleanup.policy", "compact".to_owned()),
                (
                    "segment.bytes",
                    config.groups.offsets_topic_segment_bytes.to_string(),
                ),
            ]),
            ..plain
        },
        _ => plain,
    }
}

fn settings(pairs: &[(&str, String)]) -> Vec<(Arc<str>, Option<Arc<str>>)> {
    pairs
        .iter()
        .map(|(name, value)| (Arc::from(*name), Some(Arc::from(value.as_str()))))
        .collect()
}

/// Whether clients may have a topic made by asking for it: a name a topic can have, and of the internal ones only that
/// which this version coordinates.
pub(crate) fn may_be_asked_for(name: &str) -> bool {
    name == CONSUMER_OFFSETS || (model::validate_topic_name(name).is_ok() && !model::is_internal(name))
}

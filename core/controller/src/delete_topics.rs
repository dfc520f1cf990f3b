//! DeleteTopics: by name or by id (KIP-516).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::Uuid;
use wire::internal::metadata_log::RemoveTopicRecord;

use crate::error::TopicError;
use crate::{Context, Decision};

/// A topic that somebody wants to be gone: by name, by id, or wrongly by both or neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicReference {
    /// Its name.
    pub name: Option<Arc<str>>,
    /// Its id; zero when it is named.
    pub id: Uuid,
}

/// The answer for one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedTopic {
    /// The name, where it is known or was given.
    pub name: Option<Arc<str>>,
    /// The id, where it is known or was given.
    pub id: Uuid,
    /// Whether it is gone.
    pub result: Result<(), TopicError>,
}

/// Decides on the end of topics.
pub fn delete_topics(context: &Context<'_>, topics: &[TopicReference]) -> Decision<Vec<DeletedTopic>> {
    let mut decision = Decision::without_records(Vec::new());
    let mut times = BTreeMap::<&TopicReferenceKey, usize>::new();
    let keys: Vec<Result<TopicReferenceKey, TopicError>> = topics.iter().map(TopicReferenceKey::of).collect();
    for key in keys.iter().flatten() {
        *times.entry(key).or_default() += 1;
    }
    // Ids asked for by id: a name of the same topic is one time too many.
    let by_id = |id: &Uuid| times.contains_key(&TopicReferenceKey::Id(*id));
    let mut answered = std::collections::BTreeSet::new();
    for (topic, key) in topics.iter().zip(&keys) {
        let mut answer = DeletedTopic {
            name: topic.name.clone(),
            id: topic.id,
            result: Ok(()),
        };
        match key {
            Err(error) => answer.result = Err(error.clone()),
            Ok(key) if !answered.insert(key) => continue,
            Ok(key) if times.get(key).is_some_and(|count| *count > 1) => {
                answer.result = Err(TopicError::Request(match key {
                    TopicReferenceKey::Name(_) => "Duplicate topic name.",
                    TopicReferenceKey::Id(_) => "Duplicate topic id.",
                }));
            }
            Ok(TopicReferenceKey::Id(id)) => match context.image.topics.by_id(*id) {
                Some(known) => answer.name = Some(known.name.clone()),
                None => answer.result = Err(TopicError::UnknownId(*id)),
            },
            Ok(TopicReferenceKey::Name(name)) => match context.image.topics.by_name(name) {
                Some(known) if by_id(&known.id) => {
                    answer.id = known.id;
                    let text = "The provided topic name maps to an ID that was already supplied.";
                    answer.result = Err(TopicError::Request(text));
                }
                Some(known) => answer.id = known.id,
                None => answer.result = Err(TopicError::UnknownName),
            },
        }
        if answer.result.is_ok() {
            decision
                .records
                .push(RemoveTopicRecord { topic_id: answer.id }.into());
        }
        decision.reply.push(answer);
    }
    decision
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum TopicReferenceKey {
    Name(Arc<str>),
    Id(Uuid),
}

impl TopicReferenceKey {
    fn of(topic: &TopicReference) -> Result<TopicReferenceKey, TopicError> {
        match (&topic.name, topic.id.is_zero()) {
            (Some(name), true) => Ok(TopicReferenceKey::Name(name.clone())),
            (None, false) => Ok(TopicReferenceKey::Id(topic.id)),
            (None, true) => Err(TopicError::Request("Neither topic name nor id were specified.")),
            (Some(_), false) => Err(TopicError::Request(
                "You may not specify both topic name and topic id.",
            )),
        }
    }
}

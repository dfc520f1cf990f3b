//! CreatePartitions: more partitions for a topic, never fewer (KIP-195).

use std::collections::BTreeSet;
use std::sync::Arc;

use metadata::image::{Partition, Topic};
use model::BrokerId;

use crate::assignment::{Directories, check_manual, new_partition, partition_records};
use crate::error::TopicError;
use crate::placement::place;
use crate::{Context, Decision, Entropy, Mode};

/// A topic that somebody wants to have more partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePartitions {
    /// The topic's name.
    pub name: Arc<str>,
    /// How many partitions it shall have in all.
    pub count: i32,
    /// The brokers of each new partition, when they are not to be chosen here.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// The answers to a CreatePartitions, one for each topic, in the order of the request.
pub type CreatePartitionsReply = Vec<(Arc<str>, Result<(), TopicError>)>;

/// Decides on more partitions.
pub fn create_partitions(
    context: &Context<'_>,
    topics: &[CreatePartitions],
    mode: Mode,
    entropy: Entropy<'_>,
) -> Decision<CreatePartitionsReply> {
    let mut decision = Decision::without_records(CreatePartitionsReply::new());
    let mut added = 0;
    let mut directories = Directories::new(context);
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for topic in topics {
        if !seen.insert(&topic.name) {
            twice.insert(&topic.name);
        }
    }
    for topic in topics.iter().filter(|topic| seen.remove(&topic.name)) {
        let result = if twice.contains(&topic.name) {
            Err(TopicError::Request("Duplicate topic name."))
        } else {
            new_partitions(context, topic, added, &mut directories, entropy)
        };
        let result = result.map(|(known, partitions)| {
            added += partitions.len();
            let first = i32::try_from(known.partition_count()).unwrap_or(i32::MAX);
            decision
                .records
                .extend(partition_records(known.id, first, &partitions));
        });
        decision.reply.push((topic.name.clone(), result));
    }
    if mode == Mode::ValidateOnly {
        decision.records.clear();
    }
    decision
}

fn new_partitions<'a>(
    context: &Context<'a>,
    topic: &CreatePartitions,
    added: usize,
    directories: &mut Directories<'_>,
    entropy: Entropy<'_>,
) -> Result<(&'a Topic, Vec<Partition>), TopicError> {
    let known = context
        .image
        .topics
        .by_name(&topic.name)
        .ok_or(TopicError::UnknownName)?;
    let present = known.partition_count();
    let additional = additional(topic, present)?;
    check_limits(context, additional, added)?;
    let replication_factor = known
        .partitions
        .values()
        .next()
        .map_or(1, |partition| partition.replicas.len());
    let partitions: Result<Vec<Partition>, TopicError> = match &topic.assignments {
        Some(assignments) => {
            if assignments.len() != additional {
                return Err(TopicError::Assignment(format!(
                    "Attempted to add {additional} additional partition(s), but only {} assignment(s) were specified.",
                    assignments.len()
                )));
            }
            let first = i32::try_from(present).unwrap_or(i32::MAX);
            (first..)
                .zip(assignments)
                .map(|(index, replicas)| {
                    check_manual(&context.image.cluster, replicas, Some(replication_factor))?;
                    new_partition(directories, replicas.clone()).ok_or(TopicError::inactive_assignment(index))
                })
                .collect()
        }
        None => place(&context.image.cluster, additional, replication_factor, entropy)?
            .into_iter()
            .map(|replicas| {
                new_partition(directories, replicas).ok_or(TopicError::all_inactive(replication_factor))
            })
            .collect(),
    };
    Ok((known, partitions?))
}

fn additional(topic: &CreatePartitions, present: usize) -> Result<usize, TopicError> {
    let wanted = usize::try_from(topic.count).unwrap_or(0);
    if wanted == present {
        return Err(TopicError::Partitions(format!(
            "Topic already has {present} partition(s)."
        )));
    }
    wanted.checked_sub(present).ok_or_else(|| {
        TopicError::Partitions(format!(
            "The topic {} currently has {present} partition(s); {} would not be an increase.",
            topic.name, topic.count
        ))
    })
}

fn check_limits(context: &Context<'_>, additional: usize, added: usize) -> Result<(), TopicError> {
    let per_request = context.settings.partitions_per_request_max;
    if added.saturating_add(additional) > per_request {
        return Err(TopicError::Limit(format!(
            "Excessively large number of partitions per request: at most {per_request} can be created at once."
        )));
    }
    let (limit, present) = (
        context.settings.partitions_max,
        context.image.topics.partition_count() + added,
    );
    if present.saturating_add(additional) > limit {
        return Err(TopicError::Limit(format!(
            "The cluster has {present} partitions, {additional} more would exceed max.partitions={limit}."
        )));
    }
    Ok(())
}

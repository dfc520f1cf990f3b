//! CreateTopics: checks, assigns, and names the records (KIP-4; ids KIP-516).
//!
//! Each topic of a request succeeds or fails by itself; those that succeed are made together. Where we differ from
//! Apache Kafka: two names of one request that collide are refused, and the cluster has a limit of partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use metadata::MetadataRecord;
use metadata::image::{ConfigKind, Partition};
use model::config::validate_topic_configs;
use model::{BrokerId, CLUSTER_METADATA, Uuid, names_collide, validate_topic_name};
use wire::internal::metadata_log::{ConfigRecord, TopicRecord};

use crate::assignment::{Directories, check_manual, new_partition, partition_records};
use crate::error::TopicError;
use crate::placement::place;
use crate::{Context, Decision, Entropy, Mode, random_uuid};

/// A topic somebody wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateTopic {
    /// The name.
    pub name: Arc<str>,
    /// How many partitions; -1 for the default, or when `assignments` says.
    pub num_partitions: i32,
    /// How many replicas of each; -1 for the default, or when `assignments` says.
    pub replication_factor: i16,
    /// The brokers of each partition by index, when they are not to be chosen here.
    pub assignments: Vec<(i32, Vec<BrokerId>)>,
    /// The settings; a null is refused.
    pub configs: Vec<(Arc<str>, Option<Arc<str>>)>,
}

/// What a new topic is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id; zero when it was only checked.
    pub id: Uuid,
    /// How many partitions it has.
    pub num_partitions: i32,
    /// How many replicas each has.
    pub replication_factor: i16,
}

/// The answers to a CreateTopics, one for each topic, in the order of the request.
pub type CreateTopicsReply = Vec<(Arc<str>, Result<CreatedTopic, TopicError>)>;

/// Decides on new topics.
pub fn create_topics(
    context: &Context<'_>,
    topics: &[CreateTopic],
    mode: Mode,
    entropy: Entropy<'_>,
) -> Decision<CreateTopicsReply> {
    if let Err(error) = check_request_size(context, topics) {
        let refused = topics
            .iter()
            .map(|topic| (topic.name.clone(), Err(error.clone())))
            .collect();
        return Decision::without_records(refused);
    }
    let mut request = Request {
        context,
        entropy,
        directories: Directories::new(context),
        records: Vec::new(),
        accepted: BTreeSet::new(),
        partitions: 0,
    };
    let mut seen = BTreeMap::<&str, usize>::new();
    for topic in topics {
        *seen.entry(&topic.name).or_default() += 1;
    }
    let mut reply = CreateTopicsReply::new();
    for topic in topics {
        match seen.get_mut(&*topic.name) {
            Some(1) => reply.push((topic.name.clone(), request.create(topic))),
            // The first of several answers for all of them.
            Some(count @ 2..) => {
                *count = 0;
                reply.push((
                    topic.name.clone(),
                    Err(TopicError::Request("Duplicate topic name.")),
                ));
            }
            _ => {}
        }
    }
    if mode == Mode::Commit {
        return Decision {
            records: request.records,
            reply,
        };
    }
    for created in reply.iter_mut().filter_map(|(_, result)| result.as_mut().ok()) {
        created.id = Uuid::ZERO;
    }
    Decision::without_records(reply)
}

/// The partitions of all topics together, before any is looked at by itself.
fn check_request_size(context: &Context<'_>, topics: &[CreateTopic]) -> Result<(), TopicError> {
    let wanted = topics.iter().map(|topic| {
        let count = if topic.num_partitions == -1 {
            context.settings.num_partitions
        } else {
            topic.num_partitions
        };
        let count = usize::try_from(count).unwrap_or(0);
        if topic.assignments.is_empty() {
            count
        } else {
            topic.assignments.len()
        }
    });
    let limit = context.settings.partitions_per_request_max;
    if wanted.fold(0, usize::saturating_add) > limit {
        return Err(TopicError::Limit(format!(
            "Excessively large number of partitions per request: at most {limit} can be created at once."
        )));
    }
    Ok(())
}

/// The topics of one request as far as they are decided.
struct Request<'a, 'e> {
    context: &'a Context<'a>,
    entropy: Entropy<'e>,
    directories: Directories<'a>,
    records: Vec<MetadataRecord>,
    accepted: BTreeSet<Arc<str>>,
    partitions: usize,
}

impl Request<'_, '_> {
    fn create(&mut self, topic: &CreateTopic) -> Result<CreatedTopic, TopicError> {
        self.check_name(&topic.name)?;
        check_configs(topic)?;
        let partitions = if topic.assignments.is_empty() {
            self.automatic(topic)?
        } else {
            self.manual(topic)?
        };
        self.check_limit(partitions.len())?;

        let id = random_uuid(self.entropy);
        let name = topic.name.as_ref();
        self.records.push(
            TopicRecord {
                name: name.into(),
                topic_id: id,
            }
            .into(),
        );
        for (key, value) in &topic.configs {
            self.records.push(
                ConfigRecord {
                    resource_type: ConfigKind::TOPIC.0,
                    resource_name: name.into(),
                    name: key.as_ref().into(),
                    value: value.as_deref().map(Into::into),
                }
                .into(),
            );
        }
        self.records.extend(partition_records(id, 0, &partitions));
        self.accepted.insert(topic.name.clone());
        self.partitions += partitions.len();
        let replicas = partitions.first().map_or(0, |partition| partition.replicas.len());
        Ok(CreatedTopic {
            id,
            num_partitions: i32::try_from(partitions.len()).unwrap_or(i32::MAX),
            replication_factor: i16::try_from(replicas).unwrap_or(i16::MAX),
        })
    }

    fn check_name(&self, name: &Arc<str>) -> Result<(), TopicError> {
        let topics = &self.context.image.topics;
        if &**name == CLUSTER_METADATA {
            return Err(TopicError::Prohibited(name.clone()));
        }
        validate_topic_name(name)?;
        if topics.by_name(name).is_some() {
            return Err(TopicError::Exists(name.clone()));
        }
        let of_this_request = || self.accepted.iter().find(|other| names_collide(other, name));
        match topics.colliding_with(name).or_else(of_this_request) {
            Some(other) => Err(TopicError::Collision {
                name: name.clone(),
                other: other.clone(),
            }),
            None => Ok(()),
        }
    }

    fn check_limit(&self, added: usize) -> Result<(), TopicError> {
        let limit = self.context.settings.partitions_max;
        let present = self.context.image.topics.partition_count() + self.partitions;
        if present.saturating_add(added) > limit {
            return Err(TopicError::Limit(format!(
                "The cluster has {present} partitions, {added} more would exceed max.partitions={limit}."
            )));
        }
        Ok(())
    }

    fn automatic(&mut self, topic: &CreateTopic) -> Result<Vec<Partition>, TopicError> {
        let settings = self.context.settings;
        let replication_factor = match topic.replication_factor {
            -1 => settings.default_replication_factor,
            count => count,
        };
        let replication_factor = usize::try_from(replication_factor)
            .ok()
            .filter(|count| *count > 0);
        let replication_factor = replication_factor.ok_or_else(|| {
            let text = "Replication factor must be larger than 0, or -1 to use the default value.";
            TopicError::ReplicationFactor(text.to_owned())
        })?;
        let count = if topic.num_partitions == -1 {
            settings.num_partitions
        } else {
            topic.num_partitions
        };
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| {
                TopicError::Partitions(
                    "Number of partitions was set to an invalid non-positive value.".to_owned(),
                )
            })?;
        let placed = place(
            &self.context.image.cluster,
            count,
            replication_factor,
            self.entropy,
        )?;
        let partitions = placed
            .into_iter()
            .map(|replicas| new_partition(&mut self.directories, replicas));
        partitions
            .map(|partition| partition.ok_or(TopicError::all_inactive(replication_factor)))
            .collect()
    }

    fn manual(&mut self, topic: &CreateTopic) -> Result<Vec<Partition>, TopicError> {
        if topic.replication_factor != -1 {
            let text =
                "A manual partition assignment was specified, but replication factor was not set to -1.";
            return Err(TopicError::Request(text));
        }
        if topic.num_partitions != -1 {
            let text = "A manual partition assignment was specified, but numPartitions was not set to -1.";
            return Err(TopicError::Request(text));
        }
        let mut by_index = BTreeMap::new();
        let mut replication_factor = None;
        for (index, replicas) in &topic.assignments {
            if by_index.contains_key(index) {
                let text = format!("Found multiple manual partition assignments for partition {index}");
                return Err(TopicError::Assignment(text));
            }
            check_manual(&self.context.image.cluster, replicas, replication_factor)?;
            replication_factor = Some(replicas.len());
            let partition = new_partition(&mut self.directories, replicas.clone());
            by_index.insert(*index, partition.ok_or(TopicError::inactive_assignment(*index))?);
        }
        if by_index
            .keys()
            .zip(0..)
            .any(|(index, expected)| *index != expected)
        {
            let text = "partitions should be a consecutive 0-based integer sequence";
            return Err(TopicError::Assignment(text.to_owned()));
        }
        Ok(by_index.into_values().collect())
    }
}

fn check_configs(topic: &CreateTopic) -> Result<(), TopicError> {
    let nulls: Vec<&str> = topic
        .configs
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| &**name)
        .collect();
    if !nulls.is_empty() {
        let text = format!("Null value not supported for topic configs: {}", nulls.join(","));
        return Err(TopicError::Config(text));
    }
    let settings = topic
        .configs
        .iter()
        .map(|(name, value)| (&**name, value.as_deref()));
    validate_topic_configs(settings).map_err(|error| TopicError::Config(error.to_string()))
}

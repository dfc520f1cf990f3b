//! What a stretch of the log changed, so that nobody has to compare images.
//!
//! It names what changed, never how: readers look at the image before and the image after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{BrokerId, Uuid};

use crate::image::{ConfigKind, QuotaEntity};

/// A resource whose settings changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigResource {
    /// Its kind.
    pub kind: ConfigKind,
    /// Its name.
    pub name: Arc<str>,
}

/// What happened to a topic as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicFate {
    /// It was made.
    Created,
    /// It was there before and after.
    Kept,
    /// It is gone.
    Deleted,
}

/// What happened to one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicChange {
    /// Its name.
    pub name: Arc<str>,
    /// Made, kept or gone.
    pub fate: TopicFate,
    /// The partitions that were made or changed; none when the topic is gone.
    pub partitions: BTreeSet<i32>,
}

impl TopicChange {
    pub(crate) fn created(name: Arc<str>) -> TopicChange {
        TopicChange {
            name,
            fate: TopicFate::Created,
            partitions: BTreeSet::new(),
        }
    }

    pub(crate) fn deleted(name: Arc<str>) -> TopicChange {
        TopicChange {
            name,
            fate: TopicFate::Deleted,
            partitions: BTreeSet::new(),
        }
    }
}

/// What changed between two images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Topics, by id: a topic deleted and made again under its name is two of them.
    pub topics: BTreeMap<Uuid, TopicChange>,
    /// Resources whose settings changed, those of deleted topics included.
    pub configs: BTreeSet<ConfigResource>,
    /// Brokers that registered, changed or went.
    pub brokers: BTreeSet<BrokerId>,
    /// Controllers that registered.
    pub controllers: BTreeSet<i32>,
    /// Features whose level changed.
    pub features: BTreeSet<Arc<str>>,
    /// Entities whose quotas changed.
    pub quotas: BTreeSet<QuotaEntity>,
    /// Rules of access that came or went.
    pub acls: BTreeSet<Uuid>,
    /// Users whose credentials changed.
    pub scram_users: BTreeSet<Arc<str>>,
    /// Delegation tokens that came, changed or went.
    pub delegation_tokens: BTreeSet<Arc<str>>,
    /// Whether producer ids were given out.
    pub producer_ids: bool,
}

impl Delta {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Delta::default()
    }

    /// Everything an image holds, as if it had all just been made: what a reader that starts from nothing acts on.
    pub fn of_whole(image: &crate::image::Image) -> Delta {
        let mut delta = Delta {
            producer_ids: true,
            ..Delta::default()
        };
        for topic in image.topics.iter() {
            let mut change = TopicChange::created(topic.name.clone());
            change.partitions.extend(topic.partitions.keys().copied());
            delta.topics.insert(topic.id, change);
        }
        for kind in [
            ConfigKind::TOPIC,
            ConfigKind::BROKER,
            ConfigKind::CLIENT_METRICS,
            ConfigKind::GROUP,
        ] {
            let named = image.configs.resources(kind).map(|(name, _)| ConfigResource {
                kind,
                name: name.clone(),
            });
            delta.configs.extend(named);
        }
        delta
            .brokers
            .extend(image.cluster.brokers().map(|broker| broker.id));
        delta
            .controllers
            .extend(image.cluster.controllers().map(|controller| controller.id));
        delta
            .features
            .extend(image.features.iter().map(|(name, _)| name.clone()));
        delta
            .quotas
            .extend(image.quotas.iter().map(|(entity, _)| entity.clone()));
        delta.acls.extend(image.acls.iter().map(|(id, _)| id));
        delta
            .scram_users
            .extend(image.scram.iter().map(|(_, user, _)| user.clone()));
        delta
            .delegation_tokens
            .extend(image.delegation_tokens.iter().map(|(id, _)| id.clone()));
        delta
    }

    /// A partition was made or changed.
    pub fn partition_changed(&mut self, topic_id: Uuid, name: &Arc<str>, partition: i32) {
        let change = self.topics.entry(topic_id).or_insert_with(|| TopicChange {
            name: name.clone(),
            fate: TopicFate::Kept,
            partitions: BTreeSet::new(),
        });
        change.partitions.insert(partition);
    }
}

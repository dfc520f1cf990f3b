//! Decisions on the metadata of the cluster, one file each: from the image, the settings and a command to the records to
//! write and the reply to give once they are committed.
//!
//! A decision changes nothing: only [`metadata::Image::apply`] does, after the log took the records (rule 86). Chance is
//! an argument, so that a decision can be repeated.

mod assignment;
mod bootstrap;
mod brokers;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod error;
mod leadership;
mod placement;
mod producer_ids;

use metadata::MetadataRecord;
use metadata::image::{ConfigKind, Image};
use model::{Offset, Uuid};

pub use bootstrap::{ChosenLevels, FeatureError, bootstrap_records, default_levels, format_records};
pub use brokers::{
    BrokerError, BrokerRegistration, ControllerRegistration, PreviousShutdown, register_broker,
    register_controller, start_broker, stop_broker,
};
pub use create_partitions::{CreatePartitions, CreatePartitionsReply, create_partitions};
pub use create_topics::{CreateTopic, CreateTopicsReply, CreatedTopic, create_topics};
pub use delete_topics::{DeletedTopic, TopicReference, delete_topics};
pub use error::TopicError;
pub use producer_ids::{PRODUCER_ID_BLOCK, ProducerIdBlock, ProducerIdError, allocate_producer_ids};

/// What the node's configuration says about decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `num.partitions`: the partitions of a topic that does not say.
    pub num_partitions: i32,
    /// `default.replication.factor`: the replicas of a topic that does not say.
    pub default_replication_factor: i16,
    /// `min.insync.replicas`, where neither the topic nor the cluster says.
    pub min_insync_replicas: i32,
    /// `unclean.leader.election.enable`, where the topic does not say.
    pub unclean_leader_election: bool,
    /// `log.durability` is `fsync`, where the topic does not say.
    pub durable: bool,
    /// The most partitions one request may make.
    pub partitions_per_request_max: usize,
    /// `max.partitions`: the most partitions the cluster may have.
    pub partitions_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            num_partitions: 1,
            default_replication_factor: 1,
            min_insync_replicas: 1,
            unclean_leader_election: false,
            durable: true,
            partitions_per_request_max: 10_000,
            partitions_max: 200_000,
        }
    }
}

/// What every decision may look at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Everything decided so far.
    pub image: &'a Image,
    /// What the configuration says.
    pub settings: &'a Settings,
    /// The offset that the first record of the decision will get.
    pub next_offset: Offset,
}

/// Records to write, all or none, and what to answer once they are committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<R> {
    /// The records.
    pub records: Vec<MetadataRecord>,
    /// The reply.
    pub reply: R,
}

impl<R> Decision<R> {
    /// Nothing to write.
    pub fn without_records(reply: R) -> Decision<R> {
        Decision {
            records: Vec::new(),
            reply,
        }
    }
}

/// Where chance comes from: a seed in a simulation, the system in a node.
pub type Entropy<'a> = &'a mut dyn FnMut() -> u64;

/// Whether a command is to be carried out, or only checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Carried out.
    Commit,
    /// Checked, with the answer it would get.
    ValidateOnly,
}

/// A random id.
fn random_uuid(entropy: Entropy<'_>) -> Uuid {
    loop {
        let (high, low) = (entropy().to_be_bytes(), entropy().to_be_bytes());
        let mut bytes = [0; 16];
        bytes
            .iter_mut()
            .zip(high.into_iter().chain(low))
            .for_each(|(to, from)| *to = from);
        if let Some(id) = Uuid::from_random_bytes(bytes) {
            return id;
        }
    }
}

impl Context<'_> {
    /// A topic's setting: its own, else the cluster's, else none.
    fn topic_setting(&self, topic: &str, key: &str) -> Option<&str> {
        let configs = &self.image.configs;
        let own = configs.topic(topic).get(key);
        own.or_else(|| configs.of(ConfigKind::BROKER, "").get(key))
            .map(|value| &**value)
    }

    /// How many replicas must be in sync for a write to count (rule 36); at most the replicas there are.
    fn min_insync_replicas(&self, topic: &str, replicas: usize) -> usize {
        let set = self
            .topic_setting(topic, "min.insync.replicas")
            .and_then(|text| text.parse().ok());
        usize::try_from(set.unwrap_or(self.settings.min_insync_replicas))
            .unwrap_or(1)
            .clamp(1, replicas.max(1))
    }

    fn unclean_leader_election(&self, topic: &str) -> bool {
        let set = self.topic_setting(topic, "unclean.leader.election.enable");
        set.map_or(self.settings.unclean_leader_election, |text| text == "true")
    }

    /// Whether what was acknowledged in this topic is on stable storage.
    fn is_durable(&self, topic: &str) -> bool {
        let configs = &self.image.configs;
        let set = configs.topic(topic).get("durability");
        let set = set.or_else(|| configs.of(ConfigKind::BROKER, "").get("log.durability"));
        set.map_or(self.settings.durable, |value| &**value == "fsync")
    }
}

//! The partitions this broker hosts, found by topic name or topic id, without a lock on the way of a request.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use model::Uuid;

use super::partition::HostedPartition;

/// How a request names a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TopicKey {
    /// By name.
    Name(Arc<str>),
    /// By id (KIP-516).
    Id(Uuid),
}

/// A partition as requests find it.
#[derive(Clone, Debug)]
pub(crate) enum Hosted {
    /// Served.
    Online(Arc<HostedPartition>),
    /// Its log directory has failed or had no room for it, or its log could not be opened (rule 107).
    Offline,
}

/// A topic with the partitions hosted here.
#[derive(Clone, Debug)]
pub(crate) struct HostedTopic {
    pub(crate) name: Arc<str>,
    pub(crate) id: Uuid,
    pub(crate) partitions: BTreeMap<i32, Hosted>,
}

/// One state of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topics {
    by_name: HashMap<Arc<str>, Arc<HostedTopic>>,
    names: HashMap<Uuid, Arc<str>>,
}

impl Topics {
    /// A topic by either key.
    pub(crate) fn topic(&self, key: &TopicKey) -> Option<&Arc<HostedTopic>> {
        match key {
            TopicKey::Name(name) => self.by_name(name),
            TopicKey::Id(id) => self.by_id(*id),
        }
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Arc<HostedTopic>> {
        self.by_name.get(name)
    }

    pub(crate) fn by_id(&self, id: Uuid) -> Option<&Arc<HostedTopic>> {
        self.by_name.get(self.names.get(&id)?)
    }

    /// Adds a partition, or puts it in place of what was known of it.
    pub(super) fn insert(&mut self, name: &Arc<str>, id: Uuid, partition: i32, hosted: Hosted) {
        let topic = self.by_name.entry(name.clone()).or_insert_with(|| {
            Arc::new(HostedTopic {
                name: name.clone(),
                id,
                partitions: BTreeMap::new(),
            })
        });
        let topic = Arc::make_mut(topic);
        if topic.id != id {
            // A topic of the same name took its place; the old one's partitions were removed before.
            self.names.remove(&topic.id);
            *topic = HostedTopic {
                name: name.clone(),
                id,
                partitions: BTreeMap::new(),
            };
        }
        topic.partitions.insert(partition, hosted);
        self.names.insert(id, name.clone());
    }

    /// Removes a partition.
    pub(super) fn remove_partition(&mut self, id: Uuid, partition: i32) -> Option<Hosted> {
        let topic = self.by_name.get_mut(self.names.get(&id)?)?;
        Arc::make_mut(topic).partitions.remove(&partition)
    }

    /// Removes a topic.
    pub(super) fn remove(&mut self, id: Uuid) -> Option<Arc<HostedTopic>> {
        let name = self.names.remove(&id)?;
        self.by_name.remove(&name)
    }
}

/// The table: readers take a state of it, the one writer puts another in its place.
#[derive(Debug, Default)]
pub(crate) struct Table {
    topics: ArcSwap<Topics>,
}

impl Table {
    pub(super) fn new(topics: Topics) -> Table {
        Table {
            topics: ArcSwap::from_pointee(topics),
        }
    }

    /// The state of now, for the length of a request.
    pub(crate) fn load(&self) -> Guard<Arc<Topics>> {
        self.topics.load()
    }

    /// Puts another state in its place. Only the metadata publisher does, one at a time.
    pub(super) fn update(&self, change: impl FnOnce(&mut Topics)) {
        let mut topics = Topics::clone(&self.topics.load());
        change(&mut topics);
        self.topics.store(Arc::new(topics));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_found_by_name_and_by_id_until_it_is_removed() {
        let table = Table::default();
        let (name, id): (Arc<str>, _) = ("orders".into(), Uuid([1; 16]));
        table.update(|topics| topics.insert(&name, id, 0, Hosted::Offline));
        table.update(|topics| topics.insert(&name, id, 1, Hosted::Offline));
        let topics = table.load();
        assert_eq!(topics.topic(&TopicKey::Id(id)).unwrap().partitions.len(), 2);
        assert_eq!(topics.topic(&TopicKey::Name(name.clone())).unwrap().id, id);
        assert!(topics.topic(&TopicKey::Id(Uuid([2; 16]))).is_none());
        table.update(|topics| assert!(topics.remove(id).is_some()));
        assert!(table.load().by_name("orders").is_none() && table.load().by_id(id).is_none());
        assert!(
            topics.by_name("orders").is_some(),
            "a request keeps the state it began with"
        );
    }

    #[test]
    fn a_topic_made_again_under_its_name_is_another_topic() {
        let table = Table::default();
        let (name, old, new): (Arc<str>, _, _) = ("orders".into(), Uuid([1; 16]), Uuid([2; 16]));
        table.update(|topics| topics.insert(&name, old, 5, Hosted::Offline));
        table.update(|topics| topics.insert(&name, new, 0, Hosted::Offline));
        let topics = table.load();
        assert!(topics.by_id(old).is_none());
        assert_eq!(
            topics
                .by_id(new)
                .unwrap()
                .partitions
                .keys()
                .copied()
                .collect::<Vec<_>>(),
            [0]
        );
    }
}

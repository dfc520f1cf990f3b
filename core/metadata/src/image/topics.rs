//! Topics and their partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{BrokerId, Uuid};
use wire::internal::metadata_log::{
    ClearElrRecord, PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord,
};

use super::ApplyError;
use super::partition::Partition;
use crate::delta::{Delta, TopicChange};
use crate::record::MetadataRecord;
use crate::shared_map::SharedMap;

/// A topic. Its partitions are numbered from 0 without gaps, but records may bring them in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The name.
    pub name: Arc<str>,
    /// The id: another topic of the same name has another one.
    pub id: Uuid,
    /// The partitions by index.
    pub partitions: BTreeMap<i32, Arc<Partition>>,
}

impl Topic {
    /// One partition.
    pub fn partition(&self, index: i32) -> Option<&Arc<Partition>> {
        self.partitions.get(&index)
    }

    /// How many partitions there are.
    pub fn partition_count(&self) -> usize {
        self.partitions.len()
    }
}

/// All topics, found by name and by id. A clone shares everything; a change copies little of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    by_id: SharedMap<Uuid, Arc<Topic>>,
    ids: SharedMap<Arc<str>, Uuid>,
    /// The names with a dot or an underscore, each behind what it becomes when dots become underscores.
    folded: SharedMap<(String, Arc<str>), ()>,
    partition_count: usize,
}

/// A name as metrics would show it: names that fold to the same text collide.
fn fold(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}

impl Topics {
    /// The topic of that name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_id.get(self.ids.get(name)?)
    }

    /// The topic with that id.
    pub fn by_id(&self, id: Uuid) -> Option<&Arc<Topic>> {
        self.by_id.get(&id)
    }

    /// The topics, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.ids.iter().filter_map(|(_, id)| self.by_id.get(id))
    }

    /// The topics from a name on, that one included, ordered by name.
    pub fn starting_at(&self, name: &str) -> impl Iterator<Item = &Arc<Topic>> {
        self.ids.range_from(name).filter_map(|(_, id)| self.by_id.get(id))
    }

    /// How many topics there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is no topic.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// How many partitions all topics have together.
    pub fn partition_count(&self) -> usize {
        self.partition_count
    }

    /// The topic whose name differs from this one only by dots and underscores, if another one does.
    pub fn colliding_with(&self, name: &str) -> Option<&Arc<str>> {
        let folded = fold(name)?;
        let from = (folded.clone(), Arc::from(""));
        let same_fold = self
            .folded
            .range_from(&from)
            .map(|(entry, ())| entry)
            .take_while(|(other, _)| *other == folded);
        same_fold.map(|(_, other)| other).find(|other| &***other != name)
    }

    /// Every partition of every topic, ordered by name and index.
    pub fn partitions(&self) -> impl Iterator<Item = (&Arc<Topic>, i32, &Arc<Partition>)> {
        self.iter().flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(move |(index, partition)| (topic, *index, partition))
        })
    }

    pub(super) fn create(&mut self, record: &TopicRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        let name: Arc<str> = Arc::from(&*record.name);
        if self.ids.contains_key(&name) || self.by_id.contains_key(&record.topic_id) {
            return Err(ApplyError::TopicExists { name });
        }
        if let Some(folded) = fold(&name) {
            self.folded.insert((folded, name.clone()), ());
        }
        self.ids.insert(name.clone(), record.topic_id);
        let topic = Topic {
            name: name.clone(),
            id: record.topic_id,
            partitions: BTreeMap::new(),
        };
        self.by_id.insert(record.topic_id, Arc::new(topic));
        delta.topics.insert(record.topic_id, TopicChange::created(name));
        Ok(())
    }

    pub(super) fn remove(
        &mut self,
        record: &RemoveTopicRecord,
        delta: &mut Delta,
    ) -> Result<Arc<Topic>, ApplyError> {
        let topic = self
            .by_id
            .remove(&record.topic_id)
            .map(|(_, topic)| topic)
            .ok_or(ApplyError::UnknownTopic { id: record.topic_id })?;
        self.ids.remove(&topic.name);
        if let Some(folded) = fold(&topic.name) {
            self.folded.remove(&(folded, topic.name.clone()));
        }
        self.partition_count -= topic.partitions.len();
        delta
            .topics
            .insert(topic.id, TopicChange::deleted(topic.name.clone()));
        Ok(topic)
    }

    pub(super) fn create_partition(
        &mut self,
        record: &PartitionRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        let partition = Partition::from_record(record)
            .map_err(|error| ApplyError::partition(record.topic_id, record.partition_id, error))?;
        let topic = self.topic_mut(record.topic_id)?;
        if record.partition_id < 0 {
            return Err(ApplyError::UnknownPartition {
                topic: topic.name.clone(),
                partition: record.partition_id,
            });
        }
        let name = topic.name.clone();
        if topic
            .partitions
            .insert(record.partition_id, Arc::new(partition))
            .is_none()
        {
            self.partition_count += 1;
        }
        delta.partition_changed(record.topic_id, &name, record.partition_id);
        Ok(())
    }

    pub(super) fn change_partition(
        &mut self,
        record: &PartitionChangeRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        let topic = self.topic_mut(record.topic_id)?;
        let name = topic.name.clone();
        let partition = topic.partitions.get_mut(&record.partition_id);
        let partition = partition.ok_or(ApplyError::UnknownPartition {
            topic: name.clone(),
            partition: record.partition_id,
        })?;
        let changed = partition
            .changed_by(record)
            .map_err(|error| ApplyError::partition(record.topic_id, record.partition_id, error))?;
        *partition = Arc::new(changed);
        delta.partition_changed(record.topic_id, &name, record.partition_id);
        Ok(())
    }

    /// Forgets the eligible leaders of one topic, or of all when the record names none (KIP-966).
    pub(super) fn clear_elr(&mut self, record: &ClearElrRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        let ids: Vec<Uuid> = if record.topic_name.is_empty() {
            self.by_id.iter().map(|(id, _)| *id).collect()
        } else {
            let id = self.ids.get(&*record.topic_name).copied();
            vec![id.ok_or_else(|| ApplyError::UnknownTopicName {
                name: Arc::from(&*record.topic_name),
            })?]
        };
        for id in ids {
            self.clear_elr_of(id, delta);
        }
        Ok(())
    }

    fn clear_elr_of(&mut self, id: Uuid, delta: &mut Delta) {
        let Some(topic) = self.by_id.get(&id) else { return };
        let cleared: Vec<(i32, Partition)> = topic
            .partitions
            .iter()
            .filter_map(|(index, partition)| Some((*index, partition.without_elr()?)))
            .collect();
        if cleared.is_empty() {
            return;
        }
        if let Ok(topic) = self.topic_mut(id) {
            for (index, partition) in cleared {
                topic.partitions.insert(index, Arc::new(partition));
                delta.partition_changed(id, &topic.name, index);
            }
        }
    }

    fn topic_mut(&mut self, id: Uuid) -> Result<&mut Topic, ApplyError> {
        self.by_id
            .get_mut(&id)
            .map(Arc::make_mut)
            .ok_or(ApplyError::UnknownTopic { id })
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(MetadataRecord)) {
        for topic in self.iter() {
            let name = topic.name.as_ref().into();
            out(MetadataRecord::Topic(TopicRecord {
                name,
                topic_id: topic.id,
            }));
            for (index, partition) in &topic.partitions {
                out(MetadataRecord::Partition(partition.to_record(topic.id, *index)));
            }
        }
    }
}

impl Topic {
    /// The partitions that a broker leads.
    pub fn led_by(&self, broker: BrokerId) -> impl Iterator<Item = (i32, &Arc<Partition>)> {
        self.partitions
            .iter()
            .filter(move |(_, partition)| partition.leader == Some(broker))
            .map(|(index, partition)| (*index, partition))
    }
}

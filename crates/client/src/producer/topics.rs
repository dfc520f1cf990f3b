//! What the producer keeps of each topic it writes to, so that a record finds its partition without asking around.

use std::collections::HashMap;
use std::sync::Arc;

use model::TopicPartition;
use tokio::time::Instant;

use crate::error::ClientError;
use crate::metadata::{Metadata, Topic};
use crate::producer::partitioner::{StickyPartition, partition_for_key};
use crate::producer::record::RecordView;

/// The topics written to, the one of the last record first at hand.
#[derive(Debug)]
pub(super) struct Topics {
    switch_after_bytes: usize,
    known: Vec<KnownTopic>,
    index: HashMap<Arc<str>, usize>,
    last: usize,
}

/// A topic as the metadata has it.
#[derive(Debug)]
pub(super) struct KnownTopic {
    topic: Arc<Topic>,
    /// Where `topic` is from: anything newer is looked at.
    metadata: Arc<Metadata>,
    learned: Instant,
    /// The partitions with a leader; all when none has one.
    available: Vec<i32>,
    /// The queues of the partitions that had records.
    places: Vec<Option<usize>>,
    sticky: StickyPartition,
}

impl Topics {
    /// Records without a key change partitions after so many bytes.
    pub(super) fn new(switch_after_bytes: usize) -> Topics {
        Topics {
            switch_after_bytes,
            known: Vec::new(),
            index: HashMap::new(),
            last: 0,
        }
    }

    /// The topic of a name; `None` when the metadata has none.
    pub(super) fn find(&mut self, name: &str, metadata: &Arc<Metadata>) -> Option<&mut KnownTopic> {
        let is_last = self
            .known
            .get(self.last)
            .is_some_and(|known| *known.topic.name == *name);
        if !is_last {
            self.last = match self.index.get(name) {
                Some(place) => *place,
                None => self.learn(name, metadata)?,
            };
        }
        let known = self.known.get_mut(self.last)?;
        if !Arc::ptr_eq(&known.metadata, metadata) {
            known.update(metadata)?;
        }
        Some(known)
    }

    /// When something was last heard of the topic that was last found.
    pub(super) fn last_learned(&self) -> Option<Instant> {
        self.known.get(self.last).map(|known| known.learned)
    }

    fn learn(&mut self, name: &str, metadata: &Arc<Metadata>) -> Option<usize> {
        let topic = metadata.topic(name)?.clone();
        let place = self.known.len();
        self.index.insert(topic.name.clone(), place);
        let mut known = KnownTopic {
            topic,
            metadata: metadata.clone(),
            learned: Instant::now(),
            available: Vec::new(),
            places: Vec::new(),
            sticky: StickyPartition::new(self.switch_after_bytes),
        };
        known.update(metadata);
        self.known.push(known);
        Some(place)
    }

    /// Remembers the queue of a partition.
    pub(super) fn set_place(&mut self, partition: &TopicPartition, place: usize) {
        let index = usize::try_from(partition.partition).unwrap_or_default();
        let known = self
            .index
            .get(&partition.topic)
            .and_then(|known| self.known.get_mut(*known));
        if let Some(slot) = known.and_then(|known| known.places.get_mut(index)) {
            *slot = Some(place);
        }
    }
}

impl KnownTopic {
    /// Follows the metadata; `None` when the topic is not in there.
    fn update(&mut self, metadata: &Arc<Metadata>) -> Option<()> {
        let entry = metadata.topics.get(&self.topic.name)?;
        self.topic = entry.topic.as_ref().ok()?.clone();
        self.learned = entry.learned;
        self.metadata = metadata.clone();
        let partitions = self.topic.partitions.iter();
        let led = partitions.clone().filter(|partition| partition.leader.is_some());
        self.available = led.map(|partition| partition.index).collect();
        if self.available.is_empty() {
            self.available = partitions.map(|partition| partition.index).collect();
        }
        self.places.resize(self.topic.partitions.len(), None);
        Some(())
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.topic.name
    }

    pub(super) fn place(&self, partition: i32) -> Option<usize> {
        *self.places.get(usize::try_from(partition).ok()?)?
    }

    /// The partition of a record.
    pub(super) fn choose(&mut self, record: &RecordView<'_>, size: usize) -> Result<i32, ClientError> {
        let count = i32::try_from(self.topic.partitions.len()).unwrap_or(i32::MAX);
        match (record.partition, record.key) {
            (Some(partition), _) if (0..count).contains(&partition) => Ok(partition),
            (Some(partition), _) => Err(ClientError::refused(format!(
                "topic `{}` has no partition {partition}; it has 0 to {}",
                record.topic,
                count - 1
            ))),
            (None, Some(key)) => Ok(partition_for_key(key, count)),
            (None, None) => Ok(self.sticky.choose(&self.available, size)),
        }
    }
}

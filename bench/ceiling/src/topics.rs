//! The topics, and whoever waits for one of them to grow.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use parking_lot::{Condvar, Mutex};

use crate::log::Partition;

/// The partitions of a topic.
pub(crate) type Topic = Arc<Vec<Arc<Partition>>>;

/// All topics.
pub(crate) struct Topics {
    dir: PathBuf,
    default_partitions: u32,
    topics: Mutex<HashMap<String, Topic>>,
    /// Counts appends, so that a fetch sees that something came since it looked.
    appends: Mutex<u64>,
    appended: Condvar,
}

impl Topics {
    pub(crate) fn new(dir: PathBuf, default_partitions: u32) -> Topics {
        Topics {
            dir,
            default_partitions,
            topics: Mutex::default(),
            appends: Mutex::new(0),
            appended: Condvar::new(),
        }
    }

    /// A topic, made if it does not exist.
    pub(crate) fn get(&self, name: &str) -> Result<Topic> {
        self.create(name, self.default_partitions)
    }

    /// A topic, made with so many partitions if it does not exist.
    pub(crate) fn create(&self, name: &str, partitions: u32) -> Result<Topic> {
        let mut topics = self.topics.lock();
        if let Some(topic) = topics.get(name) {
            return Ok(topic.clone());
        }
        let made: Result<Vec<_>> = (0..partitions)
            .map(|index| Ok(Arc::new(Partition::create(&self.path(name, index))?)))
            .collect();
        let topic = Arc::new(made?);
        topics.insert(name.to_owned(), topic.clone());
        Ok(topic)
    }

    /// Forgets a topic and removes its files.
    pub(crate) fn delete(&self, name: &str) -> Result<()> {
        if let Some(topic) = self.topics.lock().remove(name) {
            for index in 0..topic.len() {
                std::fs::remove_file(self.path(name, index as u32))?;
            }
        }
        Ok(())
    }

    fn path(&self, name: &str, partition: u32) -> PathBuf {
        self.dir.join(format!("{name}-{partition}.log"))
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.topics.lock().keys().cloned().collect()
    }

    /// How often something was appended; for `wait_for_append`.
    pub(crate) fn appends(&self) -> u64 {
        *self.appends.lock()
    }

    /// Tells whoever waits that something was appended.
    pub(crate) fn note_append(&self) {
        *self.appends.lock() += 1;
        self.appended.notify_all();
    }

    /// Waits until something was appended since `seen` was read, or until the deadline.
    pub(crate) fn wait_for_append(&self, seen: u64, deadline: Instant) {
        let mut appends = self.appends.lock();
        if *appends == seen {
            self.appended.wait_until(&mut appends, deadline);
        }
    }
}

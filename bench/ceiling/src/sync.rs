//! Makes appends durable in the background: one sync in flight, and what gathers meanwhile is the next.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::log::Partition;

/// The partitions that wait for a sync, each once.
#[derive(Default)]
pub(crate) struct Syncer {
    dirty: Mutex<Vec<Arc<Partition>>>,
    more: Condvar,
}

impl Syncer {
    /// Partitions that an append has made dirty.
    pub(crate) fn add(&self, partitions: Vec<Arc<Partition>>) {
        if !partitions.is_empty() {
            self.dirty.lock().extend(partitions);
            self.more.notify_one();
        }
    }

    /// How many partitions wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.dirty.lock().len()
    }

    /// Waits until something is dirty and makes all of it durable, one file after the other.
    pub(crate) fn round(&self) {
        let dirty = {
            let mut dirty = self.dirty.lock();
            while dirty.is_empty() {
                self.more.wait(&mut dirty);
            }
            std::mem::take(&mut *dirty)
        };
        for partition in dirty {
            if let Err(error) = partition.sync() {
                eprintln!("ceiling: cannot sync: {error:#}");
            }
        }
    }
}

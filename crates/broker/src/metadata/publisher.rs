//! Brings a new image to those who act on it, in the order in which clients may notice.
//!
//! The replicas come first: once Metadata names a leader here, a Produce to it succeeds (case 10). Then the cache, then
//! the coordinators, whose partitions the replicas lead by now.

use std::fmt;
use std::sync::Arc;

use metadata::{Delta, Image};
use model::Uuid;

use super::cache::MetadataCache;

/// Acts on what changed. Must not fail: what cannot be done is the business of who listens.
pub(crate) type Listener = Box<dyn FnMut(&Arc<Image>, &Delta) + Send>;

/// Who acts on a new image.
pub(crate) struct Listeners {
    /// The replicas of this node.
    pub(crate) replicas: Listener,
    /// Partitions that the replicas could not serve, and may be able to now.
    pub(crate) unhosted: Box<dyn FnMut() -> Vec<(Uuid, i32)> + Send>,
    /// The coordinators of this node.
    pub(crate) coordinators: Listener,
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}

/// Publishes images one after the other.
#[derive(Debug)]
pub(crate) struct Publisher {
    cache: Arc<MetadataCache>,
    listeners: Listeners,
}

impl Publisher {
    pub(crate) fn new(cache: Arc<MetadataCache>, listeners: Listeners) -> Publisher {
        Publisher { cache, listeners }
    }

    /// When this returns, everybody has acted on the image.
    pub(crate) fn publish(&mut self, image: Image, delta: &Delta) {
        let image = Arc::new(image);
        if delta.is_empty() {
            self.cache.publish(image);
            return;
        }
        (self.listeners.replicas)(&image, delta);
        self.cache.publish(image.clone());
        (self.listeners.coordinators)(&image, delta);
    }

    /// Has those act once more who could not before. Called now and then.
    pub(crate) fn try_again(&mut self) {
        let partitions = (self.listeners.unhosted)();
        let image = self.cache.image();
        let mut delta = Delta::default();
        for (id, partition) in partitions {
            if let Some(topic) = image.topics.by_id(id) {
                delta.partition_changed(id, &topic.name, partition);
            }
        }
        if !delta.is_empty() {
            (self.listeners.replicas)(&image, &delta);
            (self.listeners.coordinators)(&image, &delta);
        }
    }
}

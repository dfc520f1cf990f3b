//! The image that requests are answered from.

use std::sync::Arc;

use arc_swap::ArcSwap;
use metadata::Image;

/// The published image: everything in it is committed, and this node has acted on it.
#[derive(Debug, Default)]
pub(crate) struct MetadataCache {
    image: ArcSwap<Image>,
}

impl MetadataCache {
    /// Begins with an image.
    pub(crate) fn new(image: Arc<Image>) -> MetadataCache {
        MetadataCache {
            image: ArcSwap::new(image),
        }
    }

    /// The image of this moment. A request takes it once, so that its answer does not contradict itself.
    pub(crate) fn image(&self) -> Arc<Image> {
        self.image.load_full()
    }

    pub(super) fn publish(&self, image: Arc<Image>) {
        self.image.store(image);
    }
}

//! What this node knows of the cluster: the image of the metadata log, handed to whoever asks, and its own registration.

mod cache;
pub(crate) mod publisher;
pub(crate) mod registration;

pub(crate) use cache::MetadataCache;
pub(crate) use publisher::Listeners;

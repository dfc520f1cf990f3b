//! The metadata of the cluster: the records of its log, the image they make, what changed between two images, snapshots,
//! and the trait of the logs that can carry it.
//!
//! Nothing here decides: what may be written is the business of `controller`. Nothing here does I/O.

pub mod batch;
mod delta;
pub mod image;
mod log;
mod record;
mod replay;
mod shared_map;
pub mod snapshot;

pub use delta::{ConfigResource, Delta, TopicChange, TopicFate};
pub use image::{ApplyError, Image, LogPosition};
pub use log::MetadataLog;
pub use record::{MetadataRecord, RecordError, RecordVersions};
pub use replay::Replay;

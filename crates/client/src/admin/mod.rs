//! Administration: one file per thing administered. All calls are methods of [`crate::Client`].
//!
//! A call that names several things answers for each; the call itself fails only where no broker could be asked.

mod cluster;
mod configs;
mod group_description;
mod groups;
mod offsets;
mod topics;

pub use cluster::{ClusterDescription, ClusterNode};
pub use configs::{ConfigEntry, ConfigResource};
pub use group_description::{GroupDescription, GroupMember, MemberAssignment};
pub(crate) use groups::Committer;
pub use groups::{CommittedOffset, ListedGroup};
pub use offsets::{FoundOffset, FoundOffsets, OffsetSpec};
pub use topics::{CreateMode, NewTopic, PartitionDescription, TopicDescription};

use crate::error::BrokerError;

/// The outcome for each thing that a call named, in the order of the answer.
pub type Outcomes<T> = Vec<(String, Result<T, BrokerError>)>;

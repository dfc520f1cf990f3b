//! What every handler can reach: the handles to the parts of this node.

use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::config::NodeConfig;
use crate::controller::Controller;
use crate::coordinators::Groups;
use crate::halt::Halt;
use crate::metadata::MetadataCache;
use crate::replicas::{ProducerIds, Replicas};

/// The parts of a running node. Shared by all threads; each part guards itself.
pub struct Node {
    /// What the node was told at its start.
    pub(crate) config: Arc<NodeConfig>,
    /// The id of the cluster, from `meta.properties`.
    pub(crate) cluster_id: Arc<str>,
    /// What this node knows of the cluster.
    pub(crate) metadata: Arc<MetadataCache>,
    /// Decides on changes of the metadata.
    pub(crate) controller: Arc<Controller>,
    /// The partitions here.
    pub(crate) replicas: Arc<Replicas>,
    /// Ids for producers.
    pub(crate) producer_ids: Arc<ProducerIds>,
    /// The groups this node coordinates.
    pub(crate) groups: Arc<Groups>,
    /// What a part calls when going on would do harm.
    pub(crate) halt: Arc<Halt>,
}

/// Milliseconds by a clock that nobody sets: what deadlines are reckoned in. Counted from the first call.
pub fn steady_ms() -> i64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    i64::try_from(START.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// The time, in milliseconds since 1970: what cores take as an argument.
pub fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

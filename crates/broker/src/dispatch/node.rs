//! What every handler can reach: the handles to the parts of this node.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::NodeConfig;
use crate::halt::Halt;

/// The parts of a running node. Shared by all threads; each part guards itself.
#[derive(Debug)]
pub struct Node {
    /// What the node was told at its start.
    pub config: Arc<NodeConfig>,
    /// What a part calls when going on would do harm.
    pub halt: Arc<Halt>,
}

/// The time, in milliseconds since 1970: what cores take as an argument.
pub fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

//! What the node's configuration says about decisions.

use controller::Settings;
use model::config::{Value, broker_key};
use quorum::QuorumConfig;

use crate::config::{Durability, NodeConfig};

/// The settings of decisions.
pub(super) fn of_decisions(config: &NodeConfig) -> Settings {
    Settings {
        num_partitions: config.topics.num_partitions,
        default_replication_factor: config.topics.default_replication_factor,
        min_insync_replicas: match value(config, "min.insync.replicas") {
            Some(Value::Integer(number)) => i32::try_from(number).unwrap_or(i32::MAX),
            _ => 1,
        },
        unclean_leader_election: value(config, "unclean.leader.election.enable")
            == Some(Value::Boolean(true)),
        durable: config.logs.durability == Durability::Fsync,
        partitions_max: config.topics.max_partitions,
        ..Settings::default()
    }
}

/// What the file says, or the table.
fn value(config: &NodeConfig, name: &str) -> Option<Value> {
    let key = broker_key(name)?;
    key.parse(config.properties.get(name).map(String::as_str).or(key.default)?)
        .ok()
}

/// The settings of the metadata log.
pub(super) fn of_log(config: &NodeConfig) -> QuorumConfig {
    let log = &config.metadata_log;
    QuorumConfig {
        bytes_between_snapshots: log.max_record_bytes_between_snapshots,
        snapshot_interval_ms: log.max_snapshot_interval_ms,
        segment_bytes: u32::try_from(log.segment_bytes).unwrap_or(u32::MAX),
        segment_ms: log.segment_ms,
        retention_bytes: u64::try_from(log.retention_bytes).ok(),
        retention_ms: Some(log.retention_ms).filter(|kept_ms| *kept_ms >= 0),
    }
}

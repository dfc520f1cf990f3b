//! The keys of a group.

use super::row::*;

resource_keys! {
    Group;
    "consumer.assignment.interval.ms" Int "1000", at_least(0), same("group.consumer.assignment.interval.ms"), LATER;
    "consumer.heartbeat.interval.ms" Int "5000", at_least(1), same("group.consumer.heartbeat.interval.ms"), LATER;
    "consumer.session.timeout.ms" Int "45000", at_least(1), same("group.consumer.session.timeout.ms"), LATER;
    "share.assignment.interval.ms" Int "1000", at_least(0), same("group.share.assignment.interval.ms"), LATER;
    "share.auto.offset.reset" String "latest", OFFSET_RESET, ALONE, LATER;
    "share.delivery.count.limit" Int "5", at_least(2), same("group.share.delivery.count.limit"), LATER;
    "share.heartbeat.interval.ms" Int "5000", at_least(1), same("group.share.heartbeat.interval.ms"), LATER;
    "share.isolation.level" String "read_uncommitted", ONE_OF(&["read_committed", "read_uncommitted"]), ALONE, LATER;
    "share.partition.max.record.locks" Int "2000", at_least(100), same("group.share.partition.max.record.locks"), LATER;
    "share.record.lock.duration.ms" Int "30000", at_least(1_000), same("group.share.record.lock.duration.ms"), LATER;
    "share.renew.acknowledge.enable" Boolean "true", ANY, ALONE, LATER;
    "share.session.timeout.ms" Int "45000", at_least(1), same("group.share.session.timeout.ms"), LATER;
    "streams.assignment.interval.ms" Int "1000", at_least(0), same("group.streams.assignment.interval.ms"), LATER;
    "streams.heartbeat.interval.ms" Int "5000", at_least(1), same("group.streams.heartbeat.interval.ms"), LATER;
    "streams.initial.rebalance.delay.ms" Int "3000", at_least(0), same("group.streams.initial.rebalance.delay.ms"), LATER;
    "streams.num.standby.replicas" Int "0", at_least(0), same("group.streams.num.standby.replicas"), LATER;
    "streams.session.timeout.ms" Int "45000", at_least(1), same("group.streams.session.timeout.ms"), LATER;
}

/// Every key of a group, by name.
pub fn group_keys() -> &'static [ConfigKey] {
    KEYS
}

/// The key of that name.
pub fn group_key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}

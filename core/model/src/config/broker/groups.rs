//! Consumer groups and their offsets.

use super::super::row::*;

broker_keys! {
    "group.consumer.assignment.interval.ms" Int "1000", at_least(0), ClusterWide, LATER;
    "group.consumer.assignors" List "uniform,range", ANY, ReadOnly, LATER;
    "group.consumer.heartbeat.interval.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "group.consumer.max.assignment.interval.ms" Int "15000", at_least(0), ReadOnly, LATER;
    "group.consumer.max.heartbeat.interval.ms" Int "15000", at_least(1), ReadOnly, LATER;
    "group.consumer.max.session.timeout.ms" Int "60000", at_least(1), ReadOnly, LATER;
    "group.consumer.max.size" Int "2147483647", at_least(1), ReadOnly, LATER;
    "group.consumer.migration.policy" String "bidirectional", ONE_OF_ANY_CASE(&["disabled", "downgrade", "upgrade", "bidirectional"]), ReadOnly, LATER;
    "group.consumer.min.assignment.interval.ms" Int "0", at_least(0), ReadOnly, LATER;
    "group.consumer.min.heartbeat.interval.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "group.consumer.min.session.timeout.ms" Int "45000", at_least(1), ReadOnly, LATER;
    "group.consumer.session.timeout.ms" Int "45000", at_least(1), ReadOnly, LATER;
    "group.coordinator.append.linger.ms" Int "-1", at_least(-1), ReadOnly, LATER;
    "group.coordinator.background.threads" Int "2", at_least(1), ReadOnly, LATER;
    "group.coordinator.cached.buffer.max.bytes" Int "1048588", at_least(524_288), ClusterWide, LATER;
    "group.coordinator.rebalance.protocols" List "classic,consumer,streams", LIST_OF(&["consumer", "classic", "share", "streams"]), ReadOnly, LATER;
    "group.coordinator.threads" Int "4", at_least(1), ReadOnly, LATER;
    "group.initial.rebalance.delay.ms" Int "3000", ANY, ReadOnly,
        "How long a new classic group waits for more members before its first rebalance.";
    "group.max.session.timeout.ms" Int "1800000", ANY, ReadOnly,
        "The longest session timeout a member of a classic group may ask for.";
    "group.max.size" Int "2147483647", at_least(1), ReadOnly, "The most members of a classic group.";
    "group.min.session.timeout.ms" Int "6000", ANY, ReadOnly,
        "The shortest session timeout a member of a classic group may ask for.";
    "group.share.assignment.interval.ms" Int "1000", at_least(0), ClusterWide, LATER;
    "group.share.assignors" List "simple", ANY, ReadOnly, LATER;
    "group.share.delivery.count.limit" Int "5", between(2, 10), ReadOnly, LATER;
    "group.share.heartbeat.interval.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "group.share.max.assignment.interval.ms" Int "15000", at_least(0), ReadOnly, LATER;
    "group.share.max.delivery.count.limit" Int "10", between(5, 25), ReadOnly, LATER;
    "group.share.max.heartbeat.interval.ms" Int "15000", at_least(1), ReadOnly, LATER;
    "group.share.max.partition.max.record.locks" Int "4000", between(2_000, 10_000), ReadOnly, LATER;
    "group.share.max.record.lock.duration.ms" Int "60000", between(30_000, 3_600_000), ReadOnly, LATER;
    "group.share.max.session.timeout.ms" Int "60000", at_least(1), ReadOnly, LATER;
    "group.share.max.share.sessions" Int "2000", at_least(1), ReadOnly, LATER;
    "group.share.max.size" Int "200", between(1, 1_000), ReadOnly, LATER;
    "group.share.min.assignment.interval.ms" Int "0", at_least(0), ReadOnly, LATER;
    "group.share.min.delivery.count.limit" Int "2", between(2, 5), ReadOnly, LATER;
    "group.share.min.heartbeat.interval.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "group.share.min.partition.max.record.locks" Int "100", between(100, 2_000), ReadOnly, LATER;
    "group.share.min.record.lock.duration.ms" Int "15000", between(1_000, 30_000), ReadOnly, LATER;
    "group.share.min.session.timeout.ms" Int "45000", at_least(1), ReadOnly, LATER;
    "group.share.partition.max.record.locks" Int "2000", between(100, 10_000), ReadOnly, LATER;
    "group.share.record.lock.duration.ms" Int "30000", between(1_000, 3_600_000), ReadOnly, LATER;
    "group.share.session.timeout.ms" Int "45000", at_least(1), ReadOnly, LATER;
    "group.streams.assignment.interval.ms" Int "1000", at_least(0), ClusterWide, LATER;
    "group.streams.heartbeat.interval.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "group.streams.initial.rebalance.delay.ms" Int "3000", at_least(0), ReadOnly, LATER;
    "group.streams.max.assignment.interval.ms" Int "15000", at_least(0), ReadOnly, LATER;
    "group.streams.max.heartbeat.interval.ms" Int "15000", at_least(1), ReadOnly, LATER;
    "group.streams.max.session.timeout.ms" Int "60000", at_least(1), ReadOnly, LATER;
    "group.streams.max.size" Int "2147483647", at_least(1), ReadOnly, LATER;
    "group.streams.max.standby.replicas" Int "2", at_least(0), ReadOnly, LATER;
    "group.streams.min.assignment.interval.ms" Int "0", at_least(0), ReadOnly, LATER;
    "group.streams.min.heartbeat.interval.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "group.streams.min.session.timeout.ms" Int "45000", at_least(1), ReadOnly, LATER;
    "group.streams.num.standby.replicas" Int "0", at_least(0), ReadOnly, LATER;
    "group.streams.session.timeout.ms" Int "45000", at_least(1), ReadOnly, LATER;
    "offset.metadata.max.bytes" Int "4096", ANY, ReadOnly,
        "The longest metadata a client may commit with an offset.";
    "offsets.commit.timeout.ms" Int "5000", at_least(1), ReadOnly,
        "How long an offset commit may take to be durable.";
    "offsets.load.buffer.size" Int "5242880", at_least(1), ReadOnly, LATER;
    "offsets.retention.check.interval.ms" Long "600000", at_least(1), ReadOnly,
        "How often offsets past their retention are looked for.";
    "offsets.retention.minutes" Int "10080", at_least(1), ReadOnly,
        "How long the offsets of a group without members are kept.";
    "offsets.topic.compression.codec" Int "0", ANY, ReadOnly, LATER;
    "offsets.topic.num.partitions" Int "50", at_least(1), ReadOnly,
        "The partitions of __consumer_offsets. Fixed once it exists.";
    "offsets.topic.replication.factor" Short "3", at_least(1), ReadOnly,
        "The replicas of __consumer_offsets.";
    "offsets.topic.segment.bytes" Int "104857600", at_least(1), ReadOnly,
        "The largest size of a segment of __consumer_offsets.";
}

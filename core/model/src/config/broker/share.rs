//! Share groups state.

use super::super::row::*;

broker_keys! {
    "share.coordinator.append.linger.ms" Int "-1", at_least(-1), ReadOnly, LATER;
    "share.coordinator.cached.buffer.max.bytes" Int "1048588", at_least(524_288), ClusterWide, LATER;
    "share.coordinator.load.buffer.size" Int "5242880", at_least(1), ReadOnly, LATER;
    "share.coordinator.snapshot.update.records.per.snapshot" Int "500", between(0, 500), ReadOnly, LATER;
    "share.coordinator.state.topic.compression.codec" Int "0", ANY, ReadOnly, LATER;
    "share.coordinator.state.topic.min.isr" Short "2", at_least(1), ReadOnly, LATER;
    "share.coordinator.state.topic.num.partitions" Int "50", at_least(1), ReadOnly, LATER;
    "share.coordinator.state.topic.replication.factor" Short "3", at_least(1), ReadOnly, LATER;
    "share.coordinator.state.topic.segment.bytes" Int "104857600", at_least(1), ReadOnly, LATER;
    "share.coordinator.threads" Int "1", at_least(1), ReadOnly, LATER;
    "share.coordinator.write.timeout.ms" Int "5000", at_least(1), ReadOnly, LATER;
    "share.fetch.purgatory.purge.interval.requests" Int "1000", ANY, ReadOnly, LATER;
}

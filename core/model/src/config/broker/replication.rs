//! Replication.

use super::super::row::*;

broker_keys! {
    "default.replication.factor" Int "1", ANY, ReadOnly,
        "The replicas of a topic that is made without a number.";
    "min.insync.replicas" Int "1", at_least(1), ClusterWide, "The in-sync replicas that acks=all needs.";
    "num.replica.fetchers" Int "1", at_least(1), ClusterWide, LATER;
    "replica.fetch.backoff.ms" Int "1000", at_least(0), ReadOnly, LATER;
    "replica.fetch.max.bytes" Int "1048576", at_least(0), ReadOnly, LATER;
    "replica.fetch.min.bytes" Int "1", ANY, ReadOnly, LATER;
    "replica.fetch.response.max.bytes" Int "10485760", at_least(0), ReadOnly, LATER;
    "replica.fetch.wait.max.ms" Int "500", ANY, ReadOnly, LATER;
    "replica.high.watermark.checkpoint.interval.ms" Long "5000", ANY, ReadOnly,
        "How often the high watermarks are written down.";
    "replica.lag.time.max.ms" Long "30000", ANY, ReadOnly, LATER;
    "replica.selector.class" String NONE, ANY, ReadOnly, LATER;
    "replica.socket.receive.buffer.bytes" Int "65536", ANY, ReadOnly, LATER;
    "replica.socket.timeout.ms" Int "30000", ANY, ReadOnly, LATER;
}

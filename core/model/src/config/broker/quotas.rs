//! Quotas, metrics and telemetry.

use super::super::row::*;

broker_keys! {
    "alter.log.dirs.replication.quota.window.num" Int "11", at_least(1), ReadOnly, LATER;
    "alter.log.dirs.replication.quota.window.size.seconds" Int "1", at_least(1), ReadOnly, LATER;
    "client.quota.callback.class" Class NONE, ANY, ReadOnly, LATER;
    "controller.quota.window.num" Int "11", at_least(1), ReadOnly, LATER;
    "controller.quota.window.size.seconds" Int "1", at_least(1), ReadOnly, LATER;
    "kafka.metrics.polling.interval.secs" Int "10", at_least(1), ReadOnly, LATER;
    "kafka.metrics.reporters" List "", ANY, ReadOnly, LATER;
    "metric.reporters" List "org.apache.kafka.common.metrics.JmxReporter", ANY, ClusterWide, LATER;
    "metrics.num.samples" Int "2", at_least(1), ReadOnly, LATER;
    "metrics.recording.level" String "INFO", ANY, ReadOnly, LATER;
    "metrics.sample.window.ms" Long "30000", at_least(1), ReadOnly, LATER;
    "quota.window.num" Int "11", at_least(1), ReadOnly, LATER;
    "quota.window.size.seconds" Int "1", at_least(1), ReadOnly, LATER;
    "replication.quota.window.num" Int "11", at_least(1), ReadOnly, LATER;
    "replication.quota.window.size.seconds" Int "1", at_least(1), ReadOnly, LATER;
    "telemetry.max.bytes" Int "1048576", at_least(1), ReadOnly, LATER;
}

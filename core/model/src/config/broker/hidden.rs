//! Keys that DescribeConfigs does not show.

use super::super::row::*;

broker_keys! {
    "controller.performance.always.log.threshold.ms" Long "2000", at_least(0), ReadOnly, LATER;
    "controller.performance.sample.period.ms" Long "60000", at_least(100), ReadOnly, LATER;
    "group.consumer.regex.refresh.interval.ms" Int "600000", at_least(10_000), ReadOnly, LATER;
    "group.share.initialize.retry.interval.ms" Int "30000", at_least(1), ReadOnly, LATER;
    "group.share.persister.class.name" String "org.apache.kafka.server.share.persister.DefaultStatePersister", ANY, ReadOnly, LATER;
    "internal.metadata.delete.delay.millis" Long "60000", ANY, ReadOnly, LATER;
    "internal.metadata.log.segment.bytes" Int NONE, ANY, ReadOnly, LATER;
    "internal.metadata.max.batch.size.in.bytes" Int "8388608", ANY, ReadOnly, LATER;
    "log.initial.task.delay.ms" Long "30000", at_least(0), ReadOnly,
        "How long after the start the first look for segments past their retention comes.";
    "producer.id.expiration.check.interval.ms" Int "600000", at_least(1), ReadOnly,
        "How often producers past their expiration are looked for.";
    "remote.log.index.file.cache.ttl.ms" Long "900000", at_least(-1), ReadOnly, LATER;
    "remote.log.manager.task.retry.backoff.max.ms" Long "30000", at_least(1), ReadOnly, LATER;
    "remote.log.manager.task.retry.backoff.ms" Long "500", at_least(1), ReadOnly, LATER;
    "remote.log.manager.task.retry.jitter" Double "0.2", fraction(0.0, 0.5), ReadOnly, LATER;
    "server.max.startup.time.ms" Long "9223372036854775807", at_least(0), ReadOnly, LATER;
    "share.coordinator.cold.partition.snapshot.interval.ms" Int "300000", at_least(1), ReadOnly, LATER;
    "share.coordinator.state.topic.prune.interval.ms" Int "300000", at_least(1), ReadOnly, LATER;
    "unclean.leader.election.interval.ms" Long "300000", at_least(1), ReadOnly, LATER;
    "unstable.api.versions.enable" Boolean "false", ANY, ReadOnly, LATER;
    "unstable.feature.versions.enable" Boolean "false", ANY, ReadOnly, LATER;
}

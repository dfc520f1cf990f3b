//! Tiered storage.

use super::super::row::*;

broker_keys! {
    "follower.fetch.last.tiered.offset.enable" Boolean "false", ANY, ClusterWide, LATER;
    "log.local.retention.bytes" Long "-2", at_least(-2), ClusterWide, LATER;
    "log.local.retention.ms" Long "-2", at_least(-2), ClusterWide, LATER;
    "remote.fetch.max.wait.ms" Int "500", at_least(1), ClusterWide, LATER;
    "remote.list.offsets.request.timeout.ms" Long "30000", at_least(1), ClusterWide, LATER;
    "remote.log.index.file.cache.total.size.bytes" Long "1073741824", at_least(1), ClusterWide, LATER;
    "remote.log.manager.copier.thread.pool.size" Int "10", at_least(1), ClusterWide, LATER;
    "remote.log.manager.copy.max.bytes.per.second" Long "9223372036854775807", at_least(1), ClusterWide, LATER;
    "remote.log.manager.copy.quota.window.num" Int "11", at_least(1), ReadOnly, LATER;
    "remote.log.manager.copy.quota.window.size.seconds" Int "1", at_least(1), ReadOnly, LATER;
    "remote.log.manager.expiration.thread.pool.size" Int "10", at_least(1), ClusterWide, LATER;
    "remote.log.manager.fetch.max.bytes.per.second" Long "9223372036854775807", at_least(1), ClusterWide, LATER;
    "remote.log.manager.fetch.quota.window.num" Int "11", at_least(1), ReadOnly, LATER;
    "remote.log.manager.fetch.quota.window.size.seconds" Int "1", at_least(1), ReadOnly, LATER;
    "remote.log.manager.follower.thread.pool.size" Int "2", at_least(1), ClusterWide, LATER;
    "remote.log.manager.task.interval.ms" Long "30000", at_least(1), ReadOnly, LATER;
    "remote.log.manager.thread.pool.size" Int "2", at_least(1), ReadOnly, LATER;
    "remote.log.metadata.custom.metadata.max.bytes" Int "128", at_least(0), ReadOnly, LATER;
    "remote.log.metadata.manager.class.name" String "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", NOT_EMPTY, ReadOnly, LATER;
    "remote.log.metadata.manager.class.path" String NONE, ANY, ReadOnly, LATER;
    "remote.log.metadata.manager.impl.prefix" String "rlmm.config.", NOT_EMPTY, ReadOnly, LATER;
    "remote.log.metadata.manager.listener.name" String NONE, ANY, ReadOnly, LATER;
    "remote.log.reader.max.pending.tasks" Int "100", at_least(1), ReadOnly, LATER;
    "remote.log.reader.threads" Int "10", at_least(1), ClusterWide, LATER;
    "remote.log.storage.manager.class.name" String NONE, ANY, ReadOnly, LATER;
    "remote.log.storage.manager.class.path" String NONE, ANY, ReadOnly, LATER;
    "remote.log.storage.manager.impl.prefix" String "rsm.config.", NOT_EMPTY, ReadOnly, LATER;
    "remote.log.storage.system.enable" Boolean "false", ANY, ReadOnly, LATER;
}

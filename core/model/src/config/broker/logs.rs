//! Logs: the defaults of topics, and upkeep.

use super::super::row::*;

broker_keys! {
    "auto.create.topics.enable" Boolean "true", ANY, ReadOnly,
        "Whether asking for a topic that does not exist makes it.";
    "compression.gzip.level" Int "-1", between_or(1, 9, -1), ClusterWide,
        "The level when the broker compresses with gzip.";
    "compression.lz4.level" Int "9", between(1, 17), ClusterWide, LATER;
    "compression.type" String "producer", ONE_OF(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), ClusterWide,
        "The codec batches are stored with: producer keeps what was sent.";
    "compression.zstd.level" Int "3", between(-131_072, 22), ClusterWide,
        "The level when the broker compresses with zstd.";
    "cordoned.log.dirs" List "", ANY, PerBroker, LATER;
    "delete.topic.enable" Boolean "true", ANY, ReadOnly, "Whether topics can be deleted.";
    "log.cleaner.backoff.ms" Long "15000", at_least(0), ClusterWide, LATER;
    "log.cleaner.dedupe.buffer.size" Long "134217728", ANY, ClusterWide, LATER;
    "log.cleaner.delete.retention.ms" Long "86400000", at_least(0), ClusterWide, LATER;
    "log.cleaner.enable" Boolean "true", ANY, ReadOnly, LATER;
    "log.cleaner.io.buffer.load.factor" Double "0.9", ANY, ClusterWide, LATER;
    "log.cleaner.io.buffer.size" Int "524288", at_least(0), ClusterWide, LATER;
    "log.cleaner.io.max.bytes.per.second" Double "1.7976931348623157E308", ANY, ClusterWide, LATER;
    "log.cleaner.max.compaction.lag.ms" Long "9223372036854775807", at_least(1), ClusterWide, LATER;
    "log.cleaner.min.cleanable.ratio" Double "0.5", fraction(0.0, 1.0), ClusterWide, LATER;
    "log.cleaner.min.compaction.lag.ms" Long "0", at_least(0), ClusterWide, LATER;
    "log.cleaner.threads" Int "1", at_least(0), ClusterWide, LATER;
    "log.cleanup.policy" List "delete", LIST_OF(&["compact", "delete"]), ClusterWide,
        "What happens to old records: delete removes segments past their retention. compact keeps the newest record of each key; this version refuses records without a key in such a topic, and does not compact yet.";
    "log.compressed.batch.check" String "records", ONE_OF(&["records", "header"]), ClusterWide,
        "How much of a compressed batch is checked before it is stored as it came: records decompresses it and looks at every record, as is always done with uncompressed ones; header trusts the producer for what the checksum covers, and costs no decompression. What needs the records, a compacted topic or another codec, reads them all the same. Gracchus's own.";
    "log.dir" List "/tmp/kafka-logs", ANY, ReadOnly, "The data directory, when log.dirs is unset.";
    "log.dirs" List NONE, ANY, ReadOnly, "The data directories, separated by commas.";
    "log.durability" String "fsync", ONE_OF(&["fsync", "pagecache"]), ReadOnly,
        "What acks=all waits for: fsync means on stable storage, pagecache means handed to the operating system, as in Apache Kafka. Gracchus's own.";
    "log.flush.interval.messages" Long "9223372036854775807", at_least(1), ClusterWide,
        "In pagecache durability, a partition is synced once this many records are unsynced.";
    "log.flush.interval.ms" Long NONE, ANY, ClusterWide,
        "In pagecache durability, a partition is synced once its oldest unsynced record has this age; log.flush.scheduler.interval.ms when unset.";
    "log.flush.offset.checkpoint.interval.ms" Int "60000", at_least(0), ReadOnly,
        "How often the recovery points are written down.";
    "log.flush.scheduler.interval.ms" Long "9223372036854775807", ANY, ReadOnly,
        "The time of log.flush.interval.ms when that is unset; what is due is looked for every second.";
    "log.flush.start.offset.checkpoint.interval.ms" Int "60000", at_least(0), ReadOnly,
        "How often the log start offsets are written down.";
    "log.index.interval.bytes" Int "4096", at_least(0), ClusterWide,
        "One index entry is written for about this many bytes of records.";
    "log.index.size.max.bytes" Int "10485760", at_least(4), ClusterWide,
        "The largest size of an index file; a full index closes its segment.";
    "log.message.timestamp.after.max.ms" Long "3600000", at_least(0), ClusterWide,
        "How far a record's time may lie after the broker's.";
    "log.message.timestamp.before.max.ms" Long "9223372036854775807", at_least(0), ClusterWide,
        "How far a record's time may lie before the broker's.";
    "log.message.timestamp.type" String "CreateTime", ONE_OF(&["CreateTime", "LogAppendTime"]), ClusterWide,
        "Whether records keep the producer's time (CreateTime) or get the broker's (LogAppendTime).";
    "log.preallocate" Boolean "false", ANY, ClusterWide, LATER;
    "log.retention.bytes" Long "-1", ANY, ClusterWide,
        "How many bytes of a partition are kept; -1 sets no limit.";
    "log.retention.check.interval.ms" Long "300000", at_least(1), ReadOnly,
        "How often segments past their retention are looked for.";
    "log.retention.hours" Int "168", between_or(1, i64::MAX, -1), ReadOnly, "How long records are kept, in hours.";
    "log.retention.minutes" Int NONE, between_or(1, i64::MAX, -1), ReadOnly,
        "How long records are kept, in minutes; log.retention.hours when unset.";
    "log.retention.ms" Long NONE, between_or(1, i64::MAX, -1), ClusterWide,
        "How long records are kept, in milliseconds; log.retention.minutes when unset; -1 keeps them for ever.";
    "log.roll.hours" Int "168", at_least(1), ReadOnly, "The age at which a segment is closed, in hours.";
    "log.roll.jitter.hours" Int "0", at_least(0), ReadOnly,
        "At most this much is taken off the age at which a segment is closed, at random, in hours.";
    "log.roll.jitter.ms" Long NONE, at_least(0), ClusterWide,
        "At most this much is taken off log.roll.ms, at random; log.roll.jitter.hours when unset.";
    "log.roll.ms" Long NONE, at_least(1), ClusterWide,
        "The age at which a segment is closed, in milliseconds; log.roll.hours when unset.";
    "log.segment.bytes" Int "1073741824", at_least(1_048_576), ClusterWide, "The largest size of a segment.";
    "log.segment.delete.delay.ms" Long "60000", at_least(0), ClusterWide,
        "How long the files of a deleted segment stay before they are removed.";
    "max.decompressed.message.bytes" Long "67108864", at_least(1), ReadOnly,
        "The most bytes a compressed batch of a client may unpack to; it may never unpack to more than 100 times its size plus 1 MiB. Gracchus's own.";
    "max.partitions" Int "200000", at_least(1), ReadOnly,
        "The most partitions the cluster takes; more are refused with POLICY_VIOLATION. Gracchus's own, named as in KIP-578.";
    "message.max.bytes" Int "1048588", at_least(0), ClusterWide,
        "The largest batch of records a producer may send, after compression.";
    "num.partitions" Int "1", at_least(1), ReadOnly,
        "The partitions of a topic that is made without a number.";
    "num.recovery.threads.per.data.dir" Int "2", at_least(1), ClusterWide,
        "Threads per data directory that open logs at the start and close them at the stop.";
    "num.replica.alter.log.dirs.threads" Int NONE, ANY, ReadOnly, LATER;
}

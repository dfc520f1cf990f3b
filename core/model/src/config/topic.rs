//! The keys of a topic.

use super::row::*;
use super::{ConfigError, Value};

const MILLISECOND: i64 = 1;
const MINUTE: i64 = 60 * 1000;
const HOUR: i64 = 60 * MINUTE;
const RETENTION: Synonyms = Synonyms::Units(&[
    ("log.retention.ms", MILLISECOND),
    ("log.retention.minutes", MINUTE),
    ("log.retention.hours", HOUR),
]);
const ROLL: Synonyms = Synonyms::Units(&[("log.roll.ms", MILLISECOND), ("log.roll.hours", HOUR)]);
const ROLL_JITTER: Synonyms = Synonyms::Units(&[
    ("log.roll.jitter.ms", MILLISECOND),
    ("log.roll.jitter.hours", HOUR),
]);
const FLUSH: Synonyms = Synonyms::Units(&[
    ("log.flush.interval.ms", MILLISECOND),
    ("log.flush.scheduler.interval.ms", MILLISECOND),
]);

resource_keys! {
    Topic;
    "cleanup.policy" List "delete", LIST_OF(&["compact", "delete"]), same("log.cleanup.policy"),
        "What happens to old records: delete removes segments past their retention. compact keeps the newest record of each key; this version refuses records without a key in such a topic, and does not compact yet. Empty keeps everything.";
    "compressed.batch.check" String "records", ONE_OF(&["records", "header"]), same("log.compressed.batch.check"),
        "How much of a compressed batch is checked before it is stored as it came: records decompresses it and looks at every record, as is always done with uncompressed ones; header trusts the producer for what the checksum covers, and costs no decompression. What needs the records, a compacted topic or another codec, reads them all the same. Gracchus's own.";
    "compression.gzip.level" Int "-1", between_or(1, 9, -1), same("compression.gzip.level"),
        "The level when the broker compresses with gzip.";
    "compression.lz4.level" Int "9", between(1, 17), same("compression.lz4.level"), LATER;
    "compression.type" String "producer", ONE_OF(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]), same("compression.type"),
        "The codec batches are stored with: producer keeps what was sent.";
    "compression.zstd.level" Int "3", between(-131_072, 22), same("compression.zstd.level"),
        "The level when the broker compresses with zstd.";
    "delete.retention.ms" Long "86400000", at_least(0), same("log.cleaner.delete.retention.ms"), LATER;
    "durability" String "fsync", ONE_OF(&["fsync", "pagecache"]), same("log.durability"),
        "What acks=all waits for: fsync means on stable storage, pagecache means handed to the operating system, as in Apache Kafka. Gracchus's own.";
    "file.delete.delay.ms" Long "60000", at_least(0), same("log.segment.delete.delay.ms"),
        "How long the files of a deleted segment stay before they are removed.";
    "flush.messages" Long "9223372036854775807", at_least(1), same("log.flush.interval.messages"),
        "In pagecache durability, the partition is synced once this many records are unsynced.";
    "flush.ms" Long "9223372036854775807", at_least(0), FLUSH,
        "In pagecache durability, the partition is synced once its oldest unsynced record has this age.";
    "follower.replication.throttled.replicas" List "", THROTTLED, ALONE, LATER;
    "index.interval.bytes" Int "4096", at_least(0), same("log.index.interval.bytes"),
        "One index entry is written for about this many bytes of records.";
    "internal.segment.bytes" Int NONE, ANY, ALONE,
        "A size of segments below the least that segment.bytes takes, for tests.";
    "leader.replication.throttled.replicas" List "", THROTTLED, ALONE, LATER;
    "local.retention.bytes" Long "-2", at_least(-2), same("log.local.retention.bytes"), LATER;
    "local.retention.ms" Long "-2", at_least(-2), same("log.local.retention.ms"), LATER;
    "max.compaction.lag.ms" Long "9223372036854775807", at_least(1), same("log.cleaner.max.compaction.lag.ms"), LATER;
    "max.message.bytes" Int "1048588", at_least(0), same("message.max.bytes"),
        "The largest batch of records a producer may send, after compression.";
    "message.timestamp.after.max.ms" Long "3600000", at_least(0), same("log.message.timestamp.after.max.ms"),
        "How far a record's time may lie after the broker's.";
    "message.timestamp.before.max.ms" Long "9223372036854775807", at_least(0), same("log.message.timestamp.before.max.ms"),
        "How far a record's time may lie before the broker's.";
    "message.timestamp.type" String "CreateTime", ONE_OF(&["CreateTime", "LogAppendTime"]), same("log.message.timestamp.type"),
        "Whether records keep the producer's time (CreateTime) or get the broker's (LogAppendTime).";
    "min.cleanable.dirty.ratio" Double "0.5", fraction(0.0, 1.0), same("log.cleaner.min.cleanable.ratio"), LATER;
    "min.compaction.lag.ms" Long "0", at_least(0), same("log.cleaner.min.compaction.lag.ms"), LATER;
    "min.insync.replicas" Int "1", at_least(1), same("min.insync.replicas"),
        "The in-sync replicas that acks=all needs.";
    "preallocate" Boolean "false", ANY, same("log.preallocate"), LATER;
    "remote.log.copy.disable" Boolean "false", ANY, ALONE, LATER;
    "remote.log.delete.on.disable" Boolean "false", ANY, ALONE, LATER;
    "remote.storage.enable" Boolean "false", ANY, ALONE, LATER;
    "retention.bytes" Long "-1", ANY, same("log.retention.bytes"),
        "How many bytes of a partition are kept; -1 sets no limit.";
    "retention.ms" Long "604800000", at_least(-1), RETENTION,
        "How long records are kept; -1 keeps them for ever.";
    "segment.bytes" Int "1073741824", at_least(1_048_576), same("log.segment.bytes"),
        "The largest size of a segment.";
    "segment.index.bytes" Int "10485760", at_least(4), same("log.index.size.max.bytes"),
        "The largest size of an index file; a full index closes its segment.";
    "segment.jitter.ms" Long "0", at_least(0), ROLL_JITTER,
        "At most this much is taken off segment.ms, at random.";
    "segment.ms" Long "604800000", at_least(1), ROLL, "The age at which a segment is closed.";
    "unclean.leader.election.enable" Boolean "false", ANY, same("unclean.leader.election.enable"),
        "Whether a replica that is not in sync may lead when no other is left.";
}

/// Every key of a topic, by name.
pub fn topic_keys() -> &'static [ConfigKey] {
    KEYS
}

/// The key of that name.
pub fn topic_key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// Checks the settings somebody wants to give a topic, each by itself and against each other.
///
/// # Errors
/// The first setting that is unknown or wrong; a null value is wrong.
pub fn validate_topic_configs<'a>(
    settings: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<(), ConfigError> {
    let mut lag = (0, i64::MAX);
    for (name, text) in settings {
        let key = topic_key(name).ok_or_else(|| ConfigError::Unknown {
            what: "topic",
            name: name.to_owned(),
        })?;
        let text = text.ok_or_else(|| invalid(name, "null", "a topic's config needs a value"))?;
        match (name, key.parse(text)?) {
            ("min.compaction.lag.ms", Value::Integer(least)) => lag.0 = least,
            ("max.compaction.lag.ms", Value::Integer(most)) => lag.1 = most,
            ("remote.storage.enable", Value::Boolean(true)) => {
                return Err(invalid(name, text, "this broker has no tiered storage"));
            }
            _ => {}
        }
    }
    if lag.0 > lag.1 {
        return Err(invalid(
            "min.compaction.lag.ms",
            &lag.0.to_string(),
            &format!("it must not exceed max.compaction.lag.ms={}", lag.1),
        ));
    }
    Ok(())
}

fn invalid(key: &str, value: &str, expected: &str) -> ConfigError {
    ConfigError::Invalid {
        key: key.to_owned(),
        value: value.to_owned(),
        expected: expected.to_owned(),
    }
}

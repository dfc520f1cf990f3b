//! A topic's settings, typed for those who act on them.

use model::config::{Value, topic_key};
use storage::{CleanupPolicy, CompressedCheck, LogConfig};
use wire::records::{Codec, Compression, DecompressionLimit, TimestampType};

use super::layers::Layers;
use super::node::{Durability, NodeConfig};

/// What governs the partitions of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicConfig {
    /// What governs the log.
    pub log: LogConfig,
    /// What an acknowledgement means.
    pub durability: Durability,
    /// In page-cache durability: sync after this many records.
    pub flush_messages: u64,
    /// In page-cache durability: sync after this time.
    pub flush_ms: i64,
    /// The in-sync replicas that acks=all needs.
    pub min_insync_replicas: usize,
}

impl TopicConfig {
    /// What holds for a topic. Texts that no check let through count as their defaults.
    pub fn of(layers: &Layers<'_>, node: &NodeConfig) -> TopicConfig {
        let reader = Reader(layers);
        TopicConfig {
            log: log_config(&reader, node),
            durability: match reader.text("durability").as_str() {
                "pagecache" => Durability::PageCache,
                _ => Durability::Fsync,
            },
            flush_messages: reader.number("flush.messages"),
            flush_ms: reader.number("flush.ms"),
            min_insync_replicas: reader.number("min.insync.replicas"),
        }
    }
}

fn log_config(reader: &Reader<'_, '_>, node: &NodeConfig) -> LogConfig {
    let segment_bytes = match reader.optional("internal.segment.bytes") {
        Some(Value::Integer(bytes)) => u32::try_from(bytes).unwrap_or(u32::MAX),
        _ => reader.number("segment.bytes"),
    };
    let policies = match reader.optional("cleanup.policy") {
        Some(Value::List(policies)) => policies,
        _ => Vec::new(),
    };
    let has = |policy: &str| policies.iter().any(|given| given == policy);
    LogConfig {
        segment_bytes,
        segment_ms: reader.number("segment.ms"),
        segment_jitter_ms: reader.number("segment.jitter.ms"),
        segment_index_bytes: reader.number("segment.index.bytes"),
        index_interval_bytes: reader.number("index.interval.bytes"),
        retention_ms: Some(reader.number("retention.ms")).filter(|ms: &i64| *ms >= 0),
        retention_bytes: u64::try_from(reader.number::<i64>("retention.bytes")).ok(),
        file_delete_delay_ms: reader.number("file.delete.delay.ms"),
        max_message_bytes: reader.number("max.message.bytes"),
        timestamp_type: match reader.text("message.timestamp.type").as_str() {
            "LogAppendTime" => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        },
        timestamp_before_max_ms: reader.number("message.timestamp.before.max.ms"),
        timestamp_after_max_ms: reader.number("message.timestamp.after.max.ms"),
        cleanup: CleanupPolicy {
            delete: has("delete"),
            compact: has("compact"),
        },
        compression: compression(reader),
        compressed_check: match reader.text("compressed.batch.check").as_str() {
            "header" => CompressedCheck::Header,
            _ => CompressedCheck::Records,
        },
        decompression_limit: DecompressionLimit {
            max_bytes: node.logs.max_decompressed_message_bytes,
            ..DecompressionLimit::default()
        },
        producer_id_expiration_ms: node.producers.id_expiration_ms,
    }
}

/// The codec batches are stored with; `None` keeps the producer's.
fn compression(reader: &Reader<'_, '_>) -> Option<Compression> {
    let level = |codec, level: i32| Compression {
        level: if level == -1 {
            Compression::of(codec).level
        } else {
            level
        },
        codec,
    };
    match reader.text("compression.type").as_str() {
        "uncompressed" => Some(Compression::NONE),
        "gzip" => Some(level(Codec::Gzip, reader.number("compression.gzip.level"))),
        "snappy" => Some(Compression::of(Codec::Snappy)),
        "lz4" => Some(Compression::of(Codec::Lz4)),
        "zstd" => Some(Compression {
            codec: Codec::Zstd,
            level: reader.number("compression.zstd.level"),
        }),
        _ => None,
    }
}

struct Reader<'r, 'a>(&'r Layers<'a>);

impl Reader<'_, '_> {
    fn optional(&self, name: &str) -> Option<Value> {
        let key = topic_key(name).expect("a key read here is in the table");
        debug_assert!(key.is_honoured(), "{name} is read, so its doc says what it does");
        self.0.value(key).or_else(|| key.parse(key.default?).ok())
    }

    fn number<T: TryFrom<i64> + Default>(&self, name: &str) -> T {
        match self.optional(name) {
            Some(Value::Integer(number)) => T::try_from(number).unwrap_or_default(),
            _ => T::default(),
        }
    }

    fn text(&self, name: &str) -> String {
        match self.optional(name) {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metadata::Image;
    use metadata::image::Settings;

    fn config(file: &[(&str, &str)], topic: &[(&str, &str)]) -> TopicConfig {
        let least = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "C"),
            ("listeners", "PLAINTEXT://localhost:9092,C://localhost:9093"),
        ];
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let node = NodeConfig::from_properties(least.iter().chain(file).map(owned).collect()).unwrap();
        let settings: Settings = topic
            .iter()
            .map(|(name, text)| ((*name).into(), (*text).into()))
            .collect();
        TopicConfig::of(&Layers::of_topic(&Image::default(), &node, &settings), &node)
    }

    #[test]
    fn a_topic_without_settings_has_the_defaults_of_kafka() {
        let plain = config(&[], &[]);
        assert_eq!(plain.log, LogConfig::default());
        assert_eq!(plain.durability, Durability::Fsync);
        assert_eq!(
            (plain.flush_messages, plain.flush_ms, plain.min_insync_replicas),
            (i64::MAX as u64, i64::MAX, 1)
        );
    }

    #[test]
    fn settings_reach_the_log() {
        let given = config(
            &[
                ("log.retention.hours", "1"),
                ("log.durability", "pagecache"),
                ("compression.type", "gzip"),
                ("log.compressed.batch.check", "header"),
            ],
            &[
                ("cleanup.policy", "compact"),
                ("segment.bytes", "2000000"),
                ("retention.bytes", "5"),
                ("message.timestamp.type", "LogAppendTime"),
                ("min.insync.replicas", "2"),
            ],
        );
        assert_eq!(given.log.retention_ms, Some(3_600_000));
        assert_eq!(given.log.retention_bytes, Some(5));
        assert_eq!(given.log.segment_bytes, 2_000_000);
        assert_eq!(
            given.log.cleanup,
            CleanupPolicy {
                delete: false,
                compact: true
            }
        );
        assert_eq!(given.log.compression, Some(Compression::of(Codec::Gzip)));
        assert_eq!(given.log.compressed_check, CompressedCheck::Header);
        assert_eq!(given.log.timestamp_type, TimestampType::LogAppendTime);
        assert_eq!(
            (given.durability, given.min_insync_replicas),
            (Durability::PageCache, 2)
        );
        let other = config(
            &[("log.retention.ms", "-1")],
            &[("durability", "fsync"), ("internal.segment.bytes", "99")],
        );
        assert_eq!((other.log.retention_ms, other.log.segment_bytes), (None, 99));
        assert_eq!(other.durability, Durability::Fsync);
    }
}

//! What producers, consumers and admins can be told, under Kafka's names and with its defaults.

use std::time::Duration;

use wire::records::Codec;

use crate::setting::{FromText, SettingError, settings};

settings! {
    /// What every client needs.
    pub struct ClientConfig {
        /// Brokers to ask first, each `host:port`. Any one that answers is enough.
        bootstrap_servers: Vec<String> = Vec::new(), "bootstrap.servers";
        /// The name this client shows to brokers.
        client_id: String = "gracchus".to_owned(), "client.id";
        /// How long one request may take.
        request_timeout: Duration = Duration::from_secs(30), "request.timeout.ms";
        /// How long a call may take with all its retries.
        default_api_timeout: Duration = Duration::from_secs(60), "default.api.timeout.ms";
        /// The pause before the first retry; each further one doubles it.
        retry_backoff: Duration = Duration::from_millis(100), "retry.backoff.ms";
        /// The longest pause before a retry.
        retry_backoff_max: Duration = Duration::from_secs(1), "retry.backoff.max.ms";
        /// How long a connection may take to be established.
        connection_setup_timeout: Duration = Duration::from_secs(10), "socket.connection.setup.timeout.ms";
        /// How old metadata may become before it is fetched again.
        metadata_max_age: Duration = Duration::from_secs(300), "metadata.max.age.ms";
        /// The protocol spoken to brokers.
        security_protocol: SecurityProtocol = SecurityProtocol::Plaintext, "security.protocol";
    }
}

settings! {
    /// What a producer needs beyond [`ClientConfig`].
    pub struct ProducerConfig {
        /// How many replicas must have a record before it counts as delivered.
        acks: Acks = Acks::All, "acks";
        /// How long a record waits for others to share its batch.
        linger: Duration = Duration::from_millis(5), "linger.ms";
        /// A batch is sent when its records have this many bytes.
        batch_size: usize = 16_384, "batch.size";
        /// The bytes of all records not yet delivered; sending waits when they are used up.
        buffer_memory: usize = 32 << 20, "buffer.memory";
        /// The codec of batches.
        compression: Codec = Codec::None, "compression.type";
        /// Requests per broker that may wait for their answers.
        max_in_flight: usize = 5, "max.in.flight.requests.per.connection";
        /// Whether each record is written once, however often it had to be sent.
        enable_idempotence: bool = true, "enable.idempotence";
        /// How long a record may take from `send` to its delivery or failure.
        delivery_timeout: Duration = Duration::from_secs(120), "delivery.timeout.ms";
        /// The largest request, and so the largest record.
        max_request_size: usize = 1 << 20, "max.request.size";
        /// How long `send` may wait for metadata and memory.
        max_block: Duration = Duration::from_secs(60), "max.block.ms";
        /// How often a batch is sent again after an error that may pass.
        retries: u32 = i32::MAX as u32, "retries";
        /// Transactions, which must be refused: records would count without their end.
        transactional_id: TransactionalId = TransactionalId::None, "transactional.id";
    }
}

settings! {
    /// What a consumer needs beyond [`ClientConfig`].
    pub struct ConsumerConfig {
        /// The group whose members share the work; `None` for a consumer on its own.
        group_id: Option<String> = None, "group.id";
        /// The name of a static member, which keeps its partitions over a restart.
        group_instance_id: Option<String> = None, "group.instance.id";
        /// The group protocol; only the classic one is spoken so far.
        group_protocol: GroupProtocol = GroupProtocol::Classic, "group.protocol";
        /// A member that is silent for this long is out of the group.
        session_timeout: Duration = Duration::from_secs(45), "session.timeout.ms";
        /// The pause between heartbeats.
        heartbeat_interval: Duration = Duration::from_secs(3), "heartbeat.interval.ms";
        /// A member that does not poll for this long leaves the group.
        max_poll_interval: Duration = Duration::from_secs(300), "max.poll.interval.ms";
        /// How partitions are divided, best first: `range`, `roundrobin`, `cooperative-sticky`, or Java's class names.
        assignors: Vec<String> = vec!["range".to_owned(), "cooperative-sticky".to_owned()], "partition.assignment.strategy";
        /// Where to begin when the group has no offset.
        auto_offset_reset: OffsetReset = OffsetReset::Latest, "auto.offset.reset";
        /// Whether offsets of returned records are committed by the way.
        enable_auto_commit: bool = true, "enable.auto.commit";
        /// The pause between such commits.
        auto_commit_interval: Duration = Duration::from_secs(5), "auto.commit.interval.ms";
        /// The broker answers when it has this many bytes.
        fetch_min_bytes: i32 = 1, "fetch.min.bytes";
        /// The most bytes of one answer, except for a first batch that is larger.
        fetch_max_bytes: i32 = 50 << 20, "fetch.max.bytes";
        /// The most bytes of one partition in an answer, with the same exception.
        max_partition_fetch_bytes: i32 = 1 << 20, "max.partition.fetch.bytes";
        /// How long the broker waits for `fetch_min_bytes`.
        fetch_max_wait: Duration = Duration::from_millis(500), "fetch.max.wait.ms";
        /// The most records that one `poll` returns.
        max_poll_records: usize = 500, "max.poll.records";
        /// Whether records of open and aborted transactions are returned.
        isolation_level: IsolationLevel = IsolationLevel::ReadUncommitted, "isolation.level";
        /// Whether each batch's checksum is compared.
        check_crcs: bool = true, "check.crcs";
        /// Whether subscribing to a topic that does not exist makes it, where the broker allows that.
        allow_auto_create_topics: bool = true, "allow.auto.create.topics";
    }
}

/// Applies settings by name to several structs: the first that knows a name takes it. Returns the names that none
/// knows.
pub fn apply_settings<'a>(
    targets: &mut [&mut dyn SettingTarget],
    settings: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<String>, SettingError> {
    let mut unknown = Vec::new();
    for (key, value) in settings {
        let target = targets.iter_mut().find(|target| target.knows(key));
        match target {
            Some(target) => target.apply(key, value)?,
            None => unknown.push(key.to_owned()),
        }
    }
    Ok(unknown)
}

/// A struct of settings, as [`apply_settings`] sees it.
pub trait SettingTarget {
    /// Whether this struct has a setting of that name.
    fn knows(&self, key: &str) -> bool;

    /// Sets one setting by its name.
    fn apply(&mut self, key: &str, value: &str) -> Result<(), SettingError>;
}

macro_rules! setting_target {
    ($($name:ident),*) => {
        $(impl SettingTarget for $name {
            fn knows(&self, key: &str) -> bool {
                $name::KEYS.contains(&key)
            }

            fn apply(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
                self.set(key, value)
            }
        })*
    };
}

setting_target!(ClientConfig, ProducerConfig, ConsumerConfig);

/// Declares an enum whose variants have texts, the first text being the usual one.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident, $expected:literal { $($(#[$variant_doc:meta])* $variant:ident = $($text:literal)|+;)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $name { $($(#[$variant_doc])* $variant,)* }

            impl FromText for $name {
                const EXPECTED: &'static str = $expected;

                fn from_text(text: &str) -> Option<Self> {
                    match text.to_ascii_lowercase().as_str() {
                        $($($text)|+ => Some($name::$variant),)*
                        _ => None,
                    }
                }
            }
        )*
    };
}

choices! {
    /// How many replicas must have a record before it counts as delivered.
    Acks, "`all`, `1` or `0`" {
        /// Every replica in sync.
        All = "all" | "-1";
        /// The leader.
        Leader = "1";
        /// None: the broker does not even answer.
        None = "0";
    }
    /// Where to begin when there is no offset to go on from.
    OffsetReset, "`earliest`, `latest` or `none`" {
        /// At the first record.
        Earliest = "earliest";
        /// After the last record.
        Latest = "latest";
        /// Nowhere: `poll` fails.
        None = "none";
    }
    /// Which records of transactions are returned.
    IsolationLevel, "`read_uncommitted` or `read_committed`" {
        /// All.
        ReadUncommitted = "read_uncommitted";
        /// Those of committed transactions.
        ReadCommitted = "read_committed";
    }
    /// How members of a group and its coordinator agree.
    GroupProtocol, "`classic` (the protocol of KIP-848 is not spoken yet)" {
        /// JoinGroup, SyncGroup, Heartbeat; the leader assigns.
        Classic = "classic";
    }
    /// The name of a producer over its restarts.
    TransactionalId, "none, since transactions are not served yet" {
        /// None: no transactions.
        None = "";
    }
    /// The protocol spoken to brokers.
    SecurityProtocol, "`PLAINTEXT` (TLS and SASL are not spoken yet)" {
        /// No encryption, no authentication.
        Plaintext = "plaintext";
    }
}

impl Acks {
    /// The number on the wire.
    pub fn code(self) -> i16 {
        match self {
            Acks::All => -1,
            Acks::Leader => 1,
            Acks::None => 0,
        }
    }
}

impl IsolationLevel {
    /// The number on the wire.
    pub fn code(self) -> i8 {
        match self {
            IsolationLevel::ReadUncommitted => 0,
            IsolationLevel::ReadCommitted => 1,
        }
    }
}

impl FromText for Codec {
    const EXPECTED: &'static str = "`none`, `gzip`, `snappy`, `lz4` or `zstd`";

    fn from_text(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "none" => Some(Codec::None),
            "gzip" => Some(Codec::Gzip),
            "snappy" => Some(Codec::Snappy),
            "lz4" => Some(Codec::Lz4),
            "zstd" => Some(Codec::Zstd),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_by_kafkas_names_and_strangers_are_named() {
        let mut client = ClientConfig::default();
        let mut producer = ProducerConfig::default();
        let unknown = apply_settings(
            &mut [&mut client, &mut producer],
            [
                ("bootstrap.servers", "a:1, b:2"),
                ("linger.ms", "20"),
                ("acks", "-1"),
                ("compression.type", "zstd"),
                ("interceptor.classes", "x"),
            ],
        )
        .unwrap();
        assert_eq!(unknown, ["interceptor.classes"]);
        assert_eq!(client.bootstrap_servers, ["a:1", "b:2"]);
        assert_eq!(producer.linger, Duration::from_millis(20));
        assert_eq!(producer.acks, Acks::All);
        assert_eq!(producer.compression, Codec::Zstd);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_what_would_be_right() {
        let error = ProducerConfig::default().set("acks", "2").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`2` cannot be the value of `acks`: expected `all`, `1` or `0`"
        );
        let error = ProducerConfig::default()
            .set("transactional.id", "x")
            .unwrap_err();
        assert!(
            error.to_string().ends_with("transactions are not served yet"),
            "{error}"
        );
        assert!(ConsumerConfig::default().set("session.timeout.ms", "-1").is_err());
        assert!(ClientConfig::default().set("security.protocol", "SSL").is_err());
    }

    #[test]
    fn numbers_on_the_wire_are_kafkas() {
        assert_eq!(
            [Acks::All.code(), Acks::Leader.code(), Acks::None.code()],
            [-1, 1, 0]
        );
        assert_eq!(IsolationLevel::ReadCommitted.code(), 1);
    }
}

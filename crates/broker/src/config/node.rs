//! The typed configuration of a node.

use super::listeners::{Endpoint, Listener, Listeners, Texts, invalid};
use super::properties::Properties;
use model::BrokerId;
use model::config::{ConfigError, Value, broker_key};
use std::path::PathBuf;

/// Everything a node is told at its start.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The node's number.
    pub node_id: BrokerId,
    /// Where it stands.
    pub rack: Option<String>,
    /// What it binds.
    pub listeners: Vec<Listener>,
    /// What it tells clients, for each listener that is theirs.
    pub advertised: Vec<Endpoint>,
    /// The data directories, at least one.
    pub log_dirs: Vec<PathBuf>,
    /// The directory of the metadata log.
    pub metadata_log_dir: PathBuf,
    /// Connections, requests and threads.
    pub network: NetworkConfig,
    /// Answers to fetches.
    pub fetch: FetchConfig,
    /// How topics come and go.
    pub topics: TopicsConfig,
    /// Upkeep of logs.
    pub logs: LogsConfig,
    /// Idempotent producers.
    pub producers: ProducersConfig,
    /// Groups and their offsets.
    pub groups: GroupsConfig,
    /// The metadata log.
    pub metadata_log: MetadataLogConfig,
    /// What was given, for the defaults of topics and for DescribeConfigs.
    pub properties: Properties,
}

/// Connections, requests and threads.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Threads that own connections.
    pub network_threads: usize,
    /// Threads for requests that may wait for a disk.
    pub io_threads: usize,
    /// Requests that may wait for an I/O thread.
    pub queued_max_requests: usize,
    /// Bytes of requests in the broker; `None` for a quarter of the memory.
    pub queued_max_request_bytes: Option<usize>,
    /// SO_SNDBUF; `None` for the system's choice.
    pub socket_send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF; `None` for the system's choice.
    pub socket_receive_buffer_bytes: Option<usize>,
    /// The largest request.
    pub socket_request_max_bytes: usize,
    /// Connections that may wait to be accepted.
    pub socket_listen_backlog_size: i32,
    /// TCP_CONGESTION; `None` for the system's choice.
    pub congestion_control: Option<String>,
    /// Connections at one time.
    pub max_connections: usize,
    /// Connections of one address.
    pub max_connections_per_ip: usize,
    /// Addresses with another limit.
    pub max_connections_per_ip_overrides: Vec<(String, usize)>,
    /// Connections taken a second, over all listeners.
    pub max_connection_creation_rate: u32,
    /// A silent connection is closed after this.
    pub connections_max_idle_ms: i64,
    /// A new connection without a complete request is closed after this; 0 for never.
    pub first_request_timeout_ms: i64,
    /// A client that does not read is disconnected after this; 0 for never.
    pub write_timeout_ms: i64,
}

/// Answers to fetches.
#[derive(Clone, Debug)]
pub struct FetchConfig {
    /// The most bytes of one answer.
    pub max_bytes: i32,
    /// Incremental sessions kept.
    pub session_cache_slots: usize,
    /// The most partitions one answer of DescribeTopicPartitions lists.
    pub max_request_partition_size_limit: usize,
}

/// How topics come and go.
#[derive(Clone, Debug)]
pub struct TopicsConfig {
    /// Partitions of a topic made without a number.
    pub num_partitions: i32,
    /// Replicas of a topic made without a number.
    pub default_replication_factor: i16,
    /// Whether asking for a topic makes it.
    pub auto_create: bool,
    /// Whether topics can be deleted.
    pub delete_enable: bool,
    /// The most partitions of all topics together.
    pub max_partitions: usize,
}

/// What an acknowledgement with acks=all means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The records are on stable storage.
    Fsync,
    /// The records are with the operating system.
    PageCache,
}

/// Upkeep of logs.
#[derive(Clone, Debug)]
pub struct LogsConfig {
    /// What an acknowledgement means, where the topic does not say.
    pub durability: Durability,
    /// How often old segments are looked for.
    pub retention_check_interval_ms: i64,
    /// When the first look comes.
    pub initial_task_delay_ms: i64,
    /// How often recovery points are written down.
    pub flush_offset_checkpoint_interval_ms: i64,
    /// How often log start offsets are written down.
    pub flush_start_offset_checkpoint_interval_ms: i64,
    /// How often high watermarks are written down.
    pub high_watermark_checkpoint_interval_ms: i64,
    /// Threads per directory that open and close logs.
    pub recovery_threads_per_data_dir: usize,
    /// The most bytes a client's batch may unpack to.
    pub max_decompressed_message_bytes: usize,
}

/// Idempotent producers.
#[derive(Clone, Debug)]
pub struct ProducersConfig {
    /// A silent producer is forgotten after this.
    pub id_expiration_ms: i64,
    /// How often forgotten producers are looked for.
    pub id_expiration_check_interval_ms: i64,
}

/// Groups and their offsets.
#[derive(Clone, Debug)]
pub struct GroupsConfig {
    /// The shortest session timeout.
    pub min_session_timeout_ms: i32,
    /// The longest session timeout.
    pub max_session_timeout_ms: i32,
    /// How long a new group waits for more members.
    pub initial_rebalance_delay_ms: i32,
    /// The most members.
    pub max_size: usize,
    /// The longest metadata of an offset.
    pub offset_metadata_max_bytes: usize,
    /// Partitions of `__consumer_offsets`.
    pub offsets_topic_num_partitions: i32,
    /// Replicas of `__consumer_offsets`.
    pub offsets_topic_replication_factor: i16,
    /// Segments of `__consumer_offsets`.
    pub offsets_topic_segment_bytes: i32,
    /// Offsets of a group without members are kept this long.
    pub offsets_retention_ms: i64,
    /// How often old offsets are looked for.
    pub offsets_retention_check_interval_ms: i64,
    /// How long a commit may take.
    pub offsets_commit_timeout_ms: i32,
}

/// The metadata log.
#[derive(Clone, Debug)]
pub struct MetadataLogConfig {
    /// A snapshot after this many bytes.
    pub max_record_bytes_between_snapshots: u64,
    /// A snapshot after this time; 0 for never.
    pub max_snapshot_interval_ms: i64,
    /// Segments.
    pub segment_bytes: i32,
    /// Segments, by age.
    pub segment_ms: i64,
    /// What is kept beyond the newest snapshot; negative for everything.
    pub retention_bytes: i64,
    /// How long it is kept; negative for ever.
    pub retention_ms: i64,
}

/// The most threads of one kind: beyond that they only take memory, and a slip of the finger would take all of it.
const THREADS_MAX: usize = 1024;

/// Reads keys through the table, so that a name, a default or a range cannot be made up here.
struct Reader<'a>(&'a Properties);

impl Reader<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, ConfigError> {
        let key = broker_key(name).expect("a key read here is in the table");
        debug_assert!(key.is_honoured(), "{name} is read, so its doc says what it does");
        let text = self.0.get(name).map(String::as_str).or(key.default);
        text.map(|text| key.parse(text)).transpose()
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, ConfigError> {
        Ok(match self.value(name)? {
            Some(Value::Integer(number)) => Some(number),
            _ => None,
        })
    }

    fn number<T: TryFrom<i64>>(&self, name: &'static str) -> Result<T, ConfigError> {
        let number = self.integer(name)?.ok_or_else(|| missing(name))?;
        T::try_from(number).map_err(|_| invalid(name, &number.to_string(), "it must not be negative"))
    }

    fn threads(&self, name: &'static str) -> Result<usize, ConfigError> {
        let number: usize = self.number(name)?;
        if number > THREADS_MAX {
            let what = format!("it must be at most {THREADS_MAX}");
            return Err(invalid(name, &number.to_string(), what));
        }
        Ok(number)
    }

    /// A size for which a negative number means that there is none.
    fn size(&self, name: &str) -> Result<Option<usize>, ConfigError> {
        Ok(self
            .integer(name)?
            .and_then(|number| usize::try_from(number).ok()))
    }

    /// A size whose default is not acted on.
    fn size_if_given(&self, name: &str) -> Result<Option<usize>, ConfigError> {
        match self.0.contains_key(name) {
            true => self.size(name),
            false => Ok(None),
        }
    }

    fn flag(&self, name: &str) -> Result<bool, ConfigError> {
        Ok(self.value(name)? == Some(Value::Boolean(true)))
    }

    fn text(&self, name: &str) -> Result<Option<String>, ConfigError> {
        Ok(match self.value(name)? {
            Some(Value::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        })
    }

    fn list(&self, name: &str) -> Result<Option<Vec<String>>, ConfigError> {
        Ok(match self.value(name)? {
            Some(Value::List(items)) if !items.is_empty() => Some(items),
            _ => None,
        })
    }
}

fn missing(key: &'static str) -> ConfigError {
    let expected = broker_key(key).map_or_else(String::new, |key| format!("it must be {}", key.expected()));
    ConfigError::Missing { key, expected }
}

impl NodeConfig {
    /// The typed configuration of what was given; what was not given has its default.
    ///
    /// # Errors
    /// The first value that is wrong by itself or does not fit the others.
    pub fn from_properties(mut properties: Properties) -> Result<NodeConfig, ConfigError> {
        check_every_value(&properties)?;
        refuse_what_is_not_enforced(&properties)?;
        let node_id = node_id(&Reader(&properties))?;
        for name in ["node.id", "broker.id"] {
            properties.insert(name.to_owned(), node_id.0.to_string());
        }
        let reader = Reader(&properties);
        roles(&reader)?;
        voters(&reader, node_id)?;
        let listeners = listeners(&reader)?;
        check_inter_broker_listener(&reader, &listeners)?;
        let log_dirs = log_dirs(&reader)?;
        let metadata_log_dir = match reader.text("metadata.log.dir")? {
            Some(dir) => PathBuf::from(dir),
            None => log_dirs.first().cloned().ok_or_else(|| missing("log.dirs"))?,
        };
        Ok(NodeConfig {
            node_id,
            rack: reader.text("broker.rack")?,
            listeners: listeners.bound,
            advertised: listeners.advertised,
            log_dirs,
            metadata_log_dir,
            network: network(&reader)?,
            fetch: FetchConfig {
                max_bytes: reader.number("fetch.max.bytes")?,
                session_cache_slots: reader.number("max.incremental.fetch.session.cache.slots")?,
                max_request_partition_size_limit: reader.number("max.request.partition.size.limit")?,
            },
            topics: TopicsConfig {
                num_partitions: reader.number("num.partitions")?,
                default_replication_factor: reader.number("default.replication.factor")?,
                auto_create: reader.flag("auto.create.topics.enable")?,
                delete_enable: reader.flag("delete.topic.enable")?,
                max_partitions: reader.number("max.partitions")?,
            },
            logs: logs(&reader)?,
            producers: ProducersConfig {
                id_expiration_ms: reader.number("producer.id.expiration.ms")?,
                id_expiration_check_interval_ms: reader.number("producer.id.expiration.check.interval.ms")?,
            },
            groups: groups(&reader)?,
            metadata_log: metadata_log(&reader)?,
            properties,
        })
    }
}

/// A wrong value is an error even where nothing acts on the key yet: it would not be what somebody meant.
fn check_every_value(properties: &Properties) -> Result<(), ConfigError> {
    for (name, text) in properties {
        if let Some(key) = broker_key(name) {
            key.parse(text)?;
        }
    }
    Ok(())
}

/// Who names one of these relies on it to refuse somebody something. A node that started all the same would be open
/// where its configuration says that it is closed.
fn refuse_what_is_not_enforced(properties: &Properties) -> Result<(), ConfigError> {
    for name in [
        "authorizer.class.name",
        "create.topic.policy.class.name",
        "alter.config.policy.class.name",
        "client.quota.callback.class",
    ] {
        if let Some(text) = properties.get(name).filter(|text| !text.trim().is_empty()) {
            let what = "it must not be set: this version has no such check, and would let everything pass";
            return Err(invalid(name, text, what));
        }
    }
    Ok(())
}

fn node_id(reader: &Reader<'_>) -> Result<BrokerId, ConfigError> {
    let by_old_name = reader.integer("broker.id")?.filter(|id| *id >= 0);
    let id = match (reader.integer("node.id")?, by_old_name) {
        (Some(id), Some(old)) if id != old => {
            return Err(invalid(
                "broker.id",
                &old.to_string(),
                format!("it must equal node.id={id}"),
            ));
        }
        (Some(id), _) | (None, Some(id)) => id,
        (None, None) => return Err(missing("node.id")),
    };
    i32::try_from(id).map(BrokerId).map_err(|_| missing("node.id"))
}

/// This version is a broker and its own controller in one process.
fn roles(reader: &Reader<'_>) -> Result<(), ConfigError> {
    let roles = reader
        .list("process.roles")?
        .ok_or_else(|| missing("process.roles"))?;
    let is = |role: &str| roles.iter().any(|given| given == role);
    if is("broker") && is("controller") {
        return Ok(());
    }
    Err(invalid(
        "process.roles",
        &roles.join(","),
        "this version runs broker,controller in one process",
    ))
}

/// A quorum of one: when voters are named, this node is the only one.
fn voters(reader: &Reader<'_>, node_id: BrokerId) -> Result<(), ConfigError> {
    const KEY: &str = "controller.quorum.voters";
    let voters = reader.list(KEY)?.unwrap_or_default();
    for voter in &voters {
        let id = voter
            .split_once('@')
            .filter(|(_, address)| address.contains(':'))
            .and_then(|(id, _)| id.parse().ok())
            .map(BrokerId);
        match id {
            None => return Err(invalid(KEY, voter, "each must be id@host:port")),
            Some(id) if id != node_id || voters.len() > 1 => {
                let expected = format!(
                    "this version runs a quorum of one: name this node alone, {}@host:port",
                    node_id.0
                );
                return Err(invalid(KEY, &voters.join(","), expected));
            }
            Some(_) => {}
        }
    }
    // Asking other controllers for the quorum comes with quorums of more than one; the key is checked and kept.
    reader.list("controller.quorum.bootstrap.servers").map(|_| ())
}

fn listeners(reader: &Reader<'_>) -> Result<Listeners, ConfigError> {
    let upper = |names: Vec<String>| names.iter().map(|name| name.to_uppercase()).collect();
    let names = reader.list("controller.listener.names")?;
    let texts = Texts {
        listeners: reader.list("listeners")?.ok_or_else(|| missing("listeners"))?,
        advertised: reader.list("advertised.listeners")?,
        protocol_map: reader.text("listener.security.protocol.map")?.unwrap_or_default(),
        controller_names: upper(names.ok_or_else(|| missing("controller.listener.names"))?),
    };
    Listeners::read(&texts, local_host_name)
}

/// The name clients are told when a listener has no host: this machine's, if it resolves here.
fn local_host_name() -> String {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_string_lossy();
    match std::net::ToSocketAddrs::to_socket_addrs(&(name.as_ref(), 0)) {
        Ok(_) => name.into_owned(),
        Err(_) => "localhost".to_owned(),
    }
}

/// One broker has nobody to talk to, but a name that leads nowhere would be found out by the second.
fn check_inter_broker_listener(reader: &Reader<'_>, listeners: &Listeners) -> Result<(), ConfigError> {
    let (key, name) = match reader.text("inter.broker.listener.name")? {
        Some(name) => ("inter.broker.listener.name", name.to_uppercase()),
        None => (
            "security.inter.broker.protocol",
            reader.text("security.inter.broker.protocol")?.unwrap_or_default(),
        ),
    };
    let is_advertised = listeners.advertised.iter().any(|endpoint| endpoint.name == name);
    // With one listener for clients there is nothing to choose.
    let is_only_choice = key == "security.inter.broker.protocol" && listeners.advertised.len() == 1;
    if is_advertised || is_only_choice {
        return Ok(());
    }
    let expected = "it must name a listener that is advertised; set inter.broker.listener.name";
    Err(invalid(key, &name, expected))
}

fn log_dirs(reader: &Reader<'_>) -> Result<Vec<PathBuf>, ConfigError> {
    let given = match reader.value("log.dirs")? {
        Some(Value::List(dirs)) if dirs.is_empty() => {
            return Err(invalid("log.dirs", "", "it must name at least one directory"));
        }
        Some(Value::List(dirs)) => dirs,
        Some(_) => Vec::new(),
        None => reader.list("log.dir")?.unwrap_or_default(),
    };
    let mut dirs: Vec<PathBuf> = Vec::new();
    for dir in given {
        if dir.is_empty() || dirs.iter().any(|other| other.as_os_str() == dir.as_str()) {
            return Err(invalid("log.dirs", &dir, "each must be a directory, named once"));
        }
        dirs.push(PathBuf::from(dir));
    }
    if dirs.is_empty() {
        Err(missing("log.dirs"))
    } else {
        Ok(dirs)
    }
}

fn network(reader: &Reader<'_>) -> Result<NetworkConfig, ConfigError> {
    Ok(NetworkConfig {
        network_threads: reader.threads("num.network.threads")?,
        io_threads: reader.threads("num.io.threads")?,
        queued_max_requests: reader.number("queued.max.requests")?,
        queued_max_request_bytes: reader
            .size("queued.max.request.bytes")?
            .filter(|bytes| *bytes > 0),
        socket_send_buffer_bytes: reader.size_if_given("socket.send.buffer.bytes")?,
        socket_receive_buffer_bytes: reader.size_if_given("socket.receive.buffer.bytes")?,
        socket_request_max_bytes: reader.number("socket.request.max.bytes")?,
        socket_listen_backlog_size: reader.number("socket.listen.backlog.size")?,
        congestion_control: reader.text("socket.congestion.control")?,
        max_connections: reader.number("max.connections")?,
        max_connections_per_ip: reader.number("max.connections.per.ip")?,
        max_connections_per_ip_overrides: per_ip_overrides(reader)?,
        max_connection_creation_rate: reader.number("max.connection.creation.rate")?,
        connections_max_idle_ms: reader.number("connections.max.idle.ms")?,
        first_request_timeout_ms: reader.number("connections.first.request.timeout.ms")?,
        write_timeout_ms: reader.number("connections.write.timeout.ms")?,
    })
}

fn per_ip_overrides(reader: &Reader<'_>) -> Result<Vec<(String, usize)>, ConfigError> {
    const KEY: &str = "max.connections.per.ip.overrides";
    let text = reader.text(KEY)?.unwrap_or_default();
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| {
            item.rsplit_once(':')
                .and_then(|(address, limit)| Some((address.to_owned(), limit.parse().ok()?)))
                .ok_or_else(|| invalid(KEY, item, "each must be address:number"))
        })
        .collect()
}

fn logs(reader: &Reader<'_>) -> Result<LogsConfig, ConfigError> {
    Ok(LogsConfig {
        durability: match reader.text("log.durability")?.as_deref() {
            Some("pagecache") => Durability::PageCache,
            _ => Durability::Fsync,
        },
        retention_check_interval_ms: reader.number("log.retention.check.interval.ms")?,
        initial_task_delay_ms: reader.number("log.initial.task.delay.ms")?,
        flush_offset_checkpoint_interval_ms: reader.number("log.flush.offset.checkpoint.interval.ms")?,
        flush_start_offset_checkpoint_interval_ms: reader
            .number("log.flush.start.offset.checkpoint.interval.ms")?,
        high_watermark_checkpoint_interval_ms: reader
            .number("replica.high.watermark.checkpoint.interval.ms")?,
        recovery_threads_per_data_dir: reader.threads("num.recovery.threads.per.data.dir")?,
        max_decompressed_message_bytes: reader.number("max.decompressed.message.bytes")?,
    })
}

fn groups(reader: &Reader<'_>) -> Result<GroupsConfig, ConfigError> {
    let groups = GroupsConfig {
        min_session_timeout_ms: reader.number("group.min.session.timeout.ms")?,
        max_session_timeout_ms: reader.number("group.max.session.timeout.ms")?,
        initial_rebalance_delay_ms: reader.number("group.initial.rebalance.delay.ms")?,
        max_size: reader.number("group.max.size")?,
        offset_metadata_max_bytes: reader.number("offset.metadata.max.bytes")?,
        offsets_topic_num_partitions: reader.number("offsets.topic.num.partitions")?,
        offsets_topic_replication_factor: reader.number("offsets.topic.replication.factor")?,
        offsets_topic_segment_bytes: reader.number("offsets.topic.segment.bytes")?,
        offsets_retention_ms: reader
            .number::<i64>("offsets.retention.minutes")?
            .saturating_mul(60_000),
        offsets_retention_check_interval_ms: reader.number("offsets.retention.check.interval.ms")?,
        offsets_commit_timeout_ms: reader.number("offsets.commit.timeout.ms")?,
    };
    if groups.min_session_timeout_ms > groups.max_session_timeout_ms {
        return Err(invalid(
            "group.min.session.timeout.ms",
            &groups.min_session_timeout_ms.to_string(),
            format!(
                "it must not exceed group.max.session.timeout.ms={}",
                groups.max_session_timeout_ms
            ),
        ));
    }
    Ok(groups)
}

fn metadata_log(reader: &Reader<'_>) -> Result<MetadataLogConfig, ConfigError> {
    Ok(MetadataLogConfig {
        max_record_bytes_between_snapshots: reader
            .number("metadata.log.max.record.bytes.between.snapshots")?,
        max_snapshot_interval_ms: reader.number("metadata.log.max.snapshot.interval.ms")?,
        segment_bytes: reader.number("metadata.log.segment.bytes")?,
        segment_ms: reader.number("metadata.log.segment.ms")?,
        retention_bytes: reader.number("metadata.max.retention.bytes")?,
        retention_ms: reader.number("metadata.max.retention.ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every node has to be told, and `more`.
    fn properties(more: &[(&str, &str)]) -> Properties {
        let least = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "CONTROLLER"),
            (
                "listeners",
                "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            ),
        ];
        least
            .iter()
            .chain(more)
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    }

    fn error(more: &[(&str, &str)]) -> String {
        NodeConfig::from_properties(properties(more))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_node_needs_four_keys_and_has_defaults_for_the_rest() {
        let config = NodeConfig::from_properties(properties(&[])).unwrap();
        assert_eq!(config.node_id, BrokerId(1));
        assert_eq!(config.log_dirs, [PathBuf::from("/tmp/kafka-logs")]);
        assert_eq!(config.metadata_log_dir, PathBuf::from("/tmp/kafka-logs"));
        assert_eq!(config.logs.durability, Durability::Fsync);
        assert_eq!(config.network.queued_max_request_bytes, None);
        assert_eq!(config.network.socket_receive_buffer_bytes, None);
        assert_eq!(config.groups.offsets_retention_ms, 7 * 24 * 3600 * 1000);
        for key in ["process.roles", "node.id", "controller.listener.names"] {
            let mut less = properties(&[]);
            less.remove(key);
            let error = NodeConfig::from_properties(less).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{key} is not set: it must be")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_wrong_value_names_key_value_and_what_is_allowed() {
        assert_eq!(
            error(&[("num.io.threads", "many")]),
            "num.io.threads=\"many\" is not allowed: it must be a whole number from 1 to 2147483647"
        );
        assert!(error(&[("ssl.client.auth", "perhaps")]).contains("required, requested, none"));
        assert!(error(&[("process.roles", "broker")]).contains("broker,controller in one process"));
        assert!(
            error(&[("controller.quorum.voters", "1@a:1,2@b:1")])
                .contains("name this node alone, 1@host:port")
        );
        assert!(
            error(&[("controller.quorum.voters", "9@a:1")]).contains("name this node alone, 1@host:port")
        );
        assert!(error(&[("controller.quorum.voters", "1")]).contains("id@host:port"));
        assert!(error(&[("broker.id", "2")]).contains("must equal node.id=1"));
        assert!(error(&[("log.dirs", "/a,/a")]).contains("named once"));
        assert!(error(&[("log.dirs", "")]).contains("at least one directory"));
        assert!(error(&[("inter.broker.listener.name", "NONE")]).contains("advertised"));
        assert!(error(&[("max.connections.per.ip.overrides", "localhost")]).contains("address:number"));
        assert!(error(&[("group.min.session.timeout.ms", "9000000")]).contains("must not exceed"));
        assert!(error(&[("connections.max.idle.ms", "x")]).contains("whole number"));
    }

    #[test]
    fn a_check_that_nothing_carries_out_is_refused() {
        for key in [
            "authorizer.class.name",
            "create.topic.policy.class.name",
            "alter.config.policy.class.name",
            "client.quota.callback.class",
        ] {
            let refused = error(&[(key, "org.example.Strict")]);
            let expected = format!("{key}=\"org.example.Strict\" is not allowed: it must not be set");
            assert!(refused.starts_with(&expected), "{refused}");
        }
        assert!(NodeConfig::from_properties(properties(&[("authorizer.class.name", " ")])).is_ok());
    }

    #[test]
    fn a_node_has_no_more_threads_than_a_machine_can_run() {
        for key in [
            "num.network.threads",
            "num.io.threads",
            "num.recovery.threads.per.data.dir",
        ] {
            assert!(error(&[(key, "1025")]).contains("at most 1024"), "{key}");
            assert!(NodeConfig::from_properties(properties(&[(key, "1024")])).is_ok());
        }
    }

    #[test]
    fn a_negative_size_means_none() {
        let config = NodeConfig::from_properties(properties(&[
            ("socket.send.buffer.bytes", "-1"),
            ("socket.receive.buffer.bytes", "4096"),
            ("queued.max.request.bytes", "1000"),
            ("max.connections.per.ip.overrides", "127.0.0.1:5, ::1:6"),
        ]))
        .unwrap();
        assert_eq!(config.network.socket_send_buffer_bytes, None);
        assert_eq!(config.network.socket_receive_buffer_bytes, Some(4096));
        assert_eq!(config.network.queued_max_request_bytes, Some(1000));
        assert_eq!(
            config.network.max_connections_per_ip_overrides,
            [("127.0.0.1".to_owned(), 5), ("::1".to_owned(), 6)]
        );
    }
}

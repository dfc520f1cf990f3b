//! `kafka-topics`: its flags and its lines.

use std::collections::BTreeMap;

use anyhow::Context as _;
use client::{
    Client, ClientError, ConfigEntry, CreateMode, NewTopic, PartitionDescription, TopicDescription,
};
use model::ErrorCode;
use regex::Regex;

use super::java;
use super::options::{Flag, Misuse, Parsed, Script, flag, option};
use crate::args::with_runtime;
use crate::commands::topic::{self, PAGE, ids};
use crate::failure::Exit;
use crate::output;

pub(super) const SCRIPT: Script = Script {
    about: "This script creates, lists, describes, alters and deletes topics.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 24] = [
    flag("alter", "Give topics more partitions."),
    flag(
        "at-min-isr-partitions",
        "Describe only partitions with as few in-sync copies as they may have.",
    ),
    option(
        "bootstrap-server",
        "String: server to connect to",
        "REQUIRED: brokers to ask first, host:port,..",
    ),
    option(
        "command-config",
        "String: file",
        "A file with settings of the client.",
    ),
    option(
        "config",
        "String: name=value",
        "With --create: a setting of the topic. Several times for several.",
    ),
    flag("create", "Create a topic."),
    flag("delete", "Delete topics."),
    option(
        "delete-config",
        "String: name",
        "Not supported since Kafka 4.0; use kafka-configs.",
    ),
    flag("describe", "Show topics and their partitions."),
    flag("exclude-internal", "Leave the broker's own topics out."),
    flag(
        "if-exists",
        "Succeed when a topic to alter, delete or describe does not exist.",
    ),
    flag("if-not-exists", "Succeed when a topic to create exists."),
    flag("list", "List the names of topics."),
    option(
        "partition-size-limit-per-response",
        "Integer: partitions",
        "How many partitions the broker describes in one answer.",
    ),
    option(
        "partitions",
        "Integer: # of partitions",
        "How many partitions a topic is created with, or altered to.",
    ),
    option(
        "replica-assignment",
        "String: 1:2,2:3",
        "The brokers of each partition's copies: colons inside, commas between partitions.",
    ),
    option(
        "replication-factor",
        "Integer: copies",
        "How many copies of each partition.",
    ),
    option(
        "topic",
        "String: topic",
        "The topic; except for --create, a regular expression.",
    ),
    option("topic-id", "String: topic-id", "Describe the topic with this id."),
    flag(
        "topics-with-overrides",
        "Describe only topics with settings of their own.",
    ),
    flag(
        "unavailable-partitions",
        "Describe only partitions without a leader.",
    ),
    flag(
        "under-min-isr-partitions",
        "Describe only partitions with too few in-sync copies.",
    ),
    flag(
        "under-replicated-partitions",
        "Describe only partitions with copies that are not in sync.",
    ),
    option(
        "zookeeper",
        "String",
        "Not supported; Kafka has no ZooKeeper any more.",
    ),
];

const ACTIONS: [&str; 5] = ["list", "describe", "create", "alter", "delete"];

/// Flags of `--describe` that choose partitions.
const PARTITION_FILTERS: [&str; 4] = [
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
];

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    let action = check(parsed)?;
    let outcome = with_runtime(async {
        let client = connect(parsed)?;
        match action {
            "list" => list(&client, parsed).await,
            "describe" => describe(&client, parsed).await,
            "create" => create(&client, parsed).await,
            "alter" => alter(&client, parsed).await,
            _ => delete(&client, parsed).await,
        }
    });
    outcome.or_else(report)
}

/// The client that `--bootstrap-server` and `--command-config` describe.
pub(super) fn connect(parsed: &Parsed) -> anyhow::Result<Client> {
    let mut config = client::ClientConfig::default();
    let settings = parsed.settings(&["command-config"], &["command-property"])?;
    let pairs = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    client::apply_settings(&mut [&mut config], pairs)?;
    config.set(
        "bootstrap.servers",
        parsed.get("bootstrap-server").unwrap_or_default(),
    )?;
    Ok(Client::new(config)?)
}

/// The action, once the flags make sense together.
fn check(parsed: &Parsed) -> Result<&'static str, Misuse> {
    let action = parsed.exactly_one(&ACTIONS).map_err(|_| {
        Misuse::with_usage(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete",
        )
    })?;
    if !parsed.has("bootstrap-server") {
        return Err(Misuse::plain("--bootstrap-server must be specified"));
    }
    if !matches!(action, "list" | "describe") {
        parsed.require("topic")?;
    }
    if action == "alter" {
        parsed.require("partitions")?;
        if parsed.has("config") {
            return Err(Misuse::with_usage(
                "Option combination \"[[bootstrap-server], [config]]\" can't be used with option \"[alter]\" (To alter \
                 topic configurations, the kafka-configs tool can be used.)",
            ));
        }
    }
    for (name, not_with) in [
        ("partitions", &["list", "describe", "delete"][..]),
        ("replication-factor", &["list", "describe", "delete", "alter"]),
        (
            "replica-assignment",
            &["list", "describe", "delete", "replication-factor"],
        ),
        ("config", &["list", "describe", "delete"]),
        ("if-not-exists", &["list", "describe", "alter", "delete"]),
        ("if-exists", &["list", "create"]),
        ("topics-with-overrides", &["list", "create", "alter", "delete"]),
    ] {
        parsed.forbid_with(name, not_with)?;
    }
    if action == "create" {
        parsed.forbid_with("replica-assignment", &["partitions"])?;
    }
    for filter in PARTITION_FILTERS {
        parsed.forbid_with(filter, &["list", "create", "alter", "delete"])?;
    }
    Ok(action)
}

/// The last words of a failed call: on both outputs, as the script has it, and exit code 1.
fn report(error: anyhow::Error) -> anyhow::Result<()> {
    if error.is::<Misuse>() || error.chain().any(|cause| cause.is::<std::io::Error>()) {
        return Err(error);
    }
    let (message, exception) = match error.downcast_ref::<ClientError>() {
        Some(error @ ClientError::Broker { error: answer, .. }) => {
            (java::message(answer), java::exception_of(error))
        }
        Some(error) => (error.to_string(), java::exception_of(error)),
        None => (
            error.to_string(),
            format!("java.lang.IllegalArgumentException: {error}"),
        ),
    };
    output::line(&format!("Error while executing topic command : {message}"))?;
    eprintln!("ERROR {exception}");
    Err(Exit(1).into())
}

/// The topics that `--topic` names, or all. None where one is named is an error, unless `--if-exists` is there.
async fn matching(client: &Client, parsed: &Parsed) -> anyhow::Result<Vec<String>> {
    let metadata = client.refresh_all().await?;
    let shown = metadata
        .topics()
        .filter(|topic| !(parsed.has("exclude-internal") && topic.is_internal));
    let names = shown.map(|topic| topic.name.to_string());
    let Some(wanted) = parsed.get("topic") else {
        return Ok(names.collect());
    };
    let pattern = topic_pattern(wanted)?;
    let found: Vec<String> = names.filter(|name| pattern.is_match(name)).collect();
    if found.is_empty() && !parsed.has("if-exists") && !parsed.has("list") {
        anyhow::bail!("Topic '{wanted}' does not exist as expected");
    }
    Ok(found)
}

/// A list of regular expressions, separated by commas, each for a whole name.
pub(super) fn topic_pattern(text: &str) -> anyhow::Result<Regex> {
    let alternatives = text
        .trim()
        .trim_matches(['"', '\''])
        .replace(',', "|")
        .replace(' ', "");
    Regex::new(&format!("^(?:{alternatives})$")).with_context(|| format!("{text} is an invalid regex."))
}

async fn list(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let names = matching(client, parsed).await?;
    output::text(&names.iter().map(|name| format!("{name}\n")).collect::<String>())
}

async fn create(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let name = parsed.require("topic")?.to_owned();
    if name.contains(['.', '_']) {
        output::line(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. \
             To avoid issues it is best to use either, but not both.",
        )?;
    }
    let split = |config: String| match config.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(anyhow::anyhow!(
            "requirement failed: Invalid topic config: all configs to be added must be in the format \"key=val\"."
        )),
    };
    let assignments = assignments(parsed)?;
    let (partitions, replication_factor) =
        (parsed.number("partitions")?, parsed.number("replication-factor")?);
    if partitions.is_some_and(|count: i32| count < 1) {
        anyhow::bail!("The partitions must be greater than 0");
    }
    if replication_factor.is_some_and(|copies: i16| copies < 1) {
        anyhow::bail!(
            "The replication factor must be between 1 and {} inclusive",
            i16::MAX
        );
    }
    let topic = NewTopic {
        name: name.clone(),
        partitions,
        replication_factor,
        assignments: (0..).zip(assignments).collect(),
        configs: parsed
            .all("config")
            .into_iter()
            .map(split)
            .collect::<Result<_, _>>()?,
    };
    match topic::create(client, &topic, CreateMode::Create).await {
        Ok(()) => output::line(&format!("Created topic {name}.")),
        Err(error) if parsed.has("if-not-exists") && error.code() == Some(ErrorCode::TopicAlreadyExists) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// The brokers of each partition from `1:2,2:3`.
fn assignments(parsed: &Parsed) -> Result<Vec<Vec<i32>>, Misuse> {
    let Some(text) = parsed.get("replica-assignment") else {
        return Ok(Vec::new());
    };
    let brokers = |partition: &str| {
        let ids = partition.split(':').map(|id| id.trim().parse::<i32>());
        ids.collect::<Result<Vec<i32>, _>>().map_err(|_| {
            Misuse::plain(format!(
                "`{partition}` does not name brokers; expected ids with colons between"
            ))
        })
    };
    text.split(',').map(brokers).collect()
}

async fn alter(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let count: i32 = parsed.number("partitions")?.unwrap_or(0);
    let assignments = assignments(parsed)?;
    for name in matching(client, parsed).await? {
        let known = client
            .metadata()
            .topic(&name)
            .map_or(0, |topic| topic.partitions.len());
        let new = assignments.get(known..).unwrap_or_default();
        topic::refusal(client.create_partitions(&name, count, new).await?)?;
    }
    Ok(())
}

async fn delete(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let names = matching(client, parsed).await?;
    if names.is_empty() {
        return Ok(());
    }
    Ok(topic::refusal(client.delete_topics(&names).await?)?)
}

async fn describe(client: &Client, parsed: &Parsed) -> anyhow::Result<()> {
    let names = match parsed.get("topic-id") {
        Some(id) => {
            let metadata = client.refresh_all().await?;
            let found = metadata.topics().find(|topic| topic.id.to_string() == id);
            match found {
                Some(topic) => vec![topic.name.to_string()],
                None if parsed.has("if-exists") => Vec::new(),
                None => anyhow::bail!("TopicId '{id}' does not exist as expected"),
            }
        }
        None => matching(client, parsed).await?,
    };
    let page = parsed
        .number("partition-size-limit-per-response")?
        .unwrap_or(PAGE);
    let mut topics = Vec::new();
    if !names.is_empty() {
        for (name, outcome) in client.describe_topics(&names, page).await? {
            topics.push(outcome.map_err(|error| ClientError::Broker {
                what: name.into(),
                error,
            })?);
        }
    }
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    let configs = topic::configs_of(client, &topics).await?;
    output::text(&description(&topics, &configs, parsed))
}

/// What `--describe` prints: a line of each topic, a line of each of its partitions, as far as the flags want them.
fn description(
    topics: &[TopicDescription],
    configs: &BTreeMap<String, Vec<ConfigEntry>>,
    parsed: &Parsed,
) -> String {
    let filters: Vec<&str> = PARTITION_FILTERS
        .iter()
        .copied()
        .filter(|name| parsed.has(name))
        .collect();
    let mut text = String::new();
    for topic in topics {
        let entries = configs.get(&topic.name).map_or(&[][..], Vec::as_slice);
        let only_overrides = parsed.has("topics-with-overrides");
        if only_overrides && entries.iter().all(ConfigEntry::is_default) {
            continue;
        }
        if filters.is_empty() {
            text += &topic_line(topic, entries);
        }
        if only_overrides {
            continue;
        }
        let minimum = entries.iter().find(|entry| entry.name == "min.insync.replicas");
        let min_isr = minimum
            .and_then(|entry| entry.value.as_ref()?.parse().ok())
            .unwrap_or(1);
        let is_shown = |partition: &&PartitionDescription| {
            filters.is_empty() || filters.iter().any(|filter| passes(filter, partition, min_isr))
        };
        let lines = topic.partitions.iter().filter(is_shown);
        text.extend(lines.map(|partition| partition_line(&topic.name, partition)));
    }
    text
}

fn topic_line(topic: &TopicDescription, entries: &[ConfigEntry]) -> String {
    format!(
        "Topic: {}\tTopicId: {}\tPartitionCount: {}\tReplicationFactor: {}\tConfigs: {}\n",
        topic.name,
        topic.id,
        topic.partitions.len(),
        topic
            .partitions
            .first()
            .map_or(0, |partition| partition.replicas.len()),
        topic::overrides(entries).join(",")
    )
}

fn partition_line(topic: &str, partition: &PartitionDescription) -> String {
    let eligible = |known: &Option<Vec<i32>>| known.as_deref().map_or("N/A".to_owned(), ids);
    format!(
        "\tTopic: {topic}\tPartition: {}\tLeader: {}\tReplicas: {}\tIsr: {}\tElr: {}\tLastKnownElr: {}\n",
        partition.index,
        partition
            .leader
            .map_or("none".to_owned(), |leader| leader.to_string()),
        ids(&partition.replicas),
        ids(&partition.isr),
        eligible(&partition.eligible_leaders),
        eligible(&partition.last_known_eligible_leaders),
    )
}

fn passes(filter: &str, partition: &PartitionDescription, min_isr: usize) -> bool {
    let in_sync = partition.isr.len();
    match filter {
        "under-replicated-partitions" => in_sync < partition.replicas.len(),
        "unavailable-partitions" => partition.leader.is_none(),
        "under-min-isr-partitions" => in_sync < min_isr,
        _ => in_sync == min_isr,
    }
}

#[cfg(test)]
mod tests {
    use model::Uuid;

    use super::*;

    fn parsed(line: &str) -> Parsed {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        SCRIPT.parse(&arguments).unwrap()
    }

    fn partition(index: i32, leader: Option<i32>, isr: &[i32]) -> PartitionDescription {
        PartitionDescription {
            index,
            leader,
            replicas: vec![1, 2],
            isr: isr.to_vec(),
            eligible_leaders: Some(vec![]),
            last_known_eligible_leaders: None,
        }
    }

    #[test]
    fn a_description_has_the_scripts_columns() {
        let topics = [TopicDescription {
            name: "t".to_owned(),
            id: Uuid([1; 16]),
            is_internal: false,
            partitions: vec![partition(0, Some(1), &[1, 2]), partition(1, None, &[2])],
        }];
        let entry = |name: &str, value: &str, source| ConfigEntry {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            source,
            is_sensitive: false,
        };
        let entries = vec![entry("min.insync.replicas", "2", 1), entry("segment.ms", "7", 5)];
        let configs = BTreeMap::from([("t".to_owned(), entries)]);
        let expected = "\
Topic: t\tTopicId: AQEBAQEBAQEBAQEBAQEBAQ\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=2
\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: N/A
\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 2\tElr: \tLastKnownElr: N/A
";
        let show = |line: &str| description(&topics, &configs, &parsed(line));
        assert_eq!(show("--describe"), expected);
        let lines: Vec<&str> = expected.split_inclusive('\n').collect();
        assert_eq!(show("--describe --unavailable-partitions"), lines[2]);
        assert_eq!(show("--describe --under-min-isr-partitions"), lines[2]);
        assert_eq!(show("--describe --at-min-isr-partitions"), lines[1]);
        assert_eq!(show("--describe --topics-with-overrides"), lines[0]);
    }

    #[test]
    fn flags_that_make_no_sense_together_are_refused() {
        let message = |line: &str| check(&parsed(line)).unwrap_err().to_string();
        assert!(message("--list --create").starts_with("Command must include exactly one action"));
        assert_eq!(message("--list"), "--bootstrap-server must be specified");
        let server = "--bootstrap-server h:1";
        assert_eq!(
            message(&format!("--create {server}")),
            "Missing required argument \"[topic]\""
        );
        assert_eq!(
            message(&format!("--list {server} --partitions 2")),
            "Option \"[partitions]\" can't be used with option \"[list]\""
        );
        assert!(message(&format!("--alter {server} --topic t")).contains("[partitions]"));
    }

    #[test]
    fn a_topic_is_a_list_of_expressions_for_whole_names() {
        let pattern = topic_pattern("a.*, b").unwrap();
        assert!(pattern.is_match("abc") && pattern.is_match("b"));
        assert!(!pattern.is_match("bc"));
        assert!(topic_pattern("(").is_err());
    }
}

//! `kafka-console-consumer`: its flags and its lines. How a record is printed is in [`super::formatter`].

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use client::{Client, ClientConfig, Consumer, ConsumerConfig, OffsetReset};
use model::TopicPartition;

use super::formatter::Formatter;
use super::options::{Flag, Misuse, Parsed, Script, flag, option};
use crate::args::with_runtime;
use crate::commands::consume::{Ended, Limits, read};
use crate::failure::Exit;
use crate::signals::StopSignals;

pub(super) const SCRIPT: Script = Script {
    about: "This script reads records of topics and prints them.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 24] = [
    option(
        "bootstrap-server",
        "String: server to connect to",
        "REQUIRED: brokers to ask first, host:port,..",
    ),
    option(
        "command-config",
        "String: file",
        "A file with settings of the consumer.",
    ),
    option(
        "command-property",
        "String: key=value",
        "A setting of the consumer. Several times for several.",
    ),
    option(
        "consumer-property",
        "String: key=value",
        "(DEPRECATED) The old name of --command-property.",
    ),
    option(
        "consumer.config",
        "String: file",
        "(DEPRECATED) The old name of --command-config.",
    ),
    flag(
        "enable-systest-events",
        "Also print that the consumer was closed.",
    ),
    option(
        "formatter",
        "String: class",
        "How records are printed: one of Kafka's formatters.",
    ),
    option(
        "formatter-config",
        "String: file",
        "A file with settings of the formatter.",
    ),
    option(
        "formatter-property",
        "String: key=value",
        "What is printed: print.timestamp, print.partition, print.offset, print.epoch, print.headers, print.key, \
         print.value, key.separator, line.separator, headers.separator, null.literal, and deserializers.",
    ),
    flag(
        "from-beginning",
        "Begin with the first record where the group has no offset.",
    ),
    option(
        "group",
        "String: consumer group id",
        "The group to read in; one of its own otherwise.",
    ),
    option(
        "include",
        "String: Java regex (String)",
        "Read all topics whose names match.",
    ),
    option(
        "isolation-level",
        "String",
        "read_committed leaves out what is not committed (default: read_uncommitted).",
    ),
    option("key-deserializer", "String: class", "How keys are read."),
    option(
        "max-messages",
        "Integer: num_messages",
        "End after this many records.",
    ),
    option(
        "offset",
        "String: consume offset",
        "With --partition: an offset, earliest, or latest (default: latest).",
    ),
    option("partition", "Integer: partition", "Read this partition only."),
    option(
        "property",
        "String: key=value",
        "(DEPRECATED) The old name of --formatter-property.",
    ),
    flag(
        "skip-message-on-error",
        "Go on after a record that cannot be printed.",
    ),
    option(
        "timeout-ms",
        "Long: timeout_ms",
        "End when no record came for so long.",
    ),
    option("topic", "String: topic", "The topic to read."),
    option("value-deserializer", "String: class", "How values are read."),
    option(
        "whitelist",
        "String",
        "Not supported since Kafka 4.0; use --include.",
    ),
    option(
        "delete-consumer-offsets",
        "String",
        "Not supported since Kafka 4.0.",
    ),
];

/// Old names and their new ones.
const RENAMED: [(&str, &str); 3] = [
    ("property", "formatter-property"),
    ("consumer-property", "command-property"),
    ("consumer.config", "command-config"),
];

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    check(parsed)?;
    crate::output::text(&parsed.renamed(&RENAMED, "Option")?)?;
    let formatter = formatter(parsed)?;
    let (client_config, consumer_config) = configs(parsed)?;
    let limits = Limits {
        max: parsed.number("max-messages")?,
        idle: parsed.number("timeout-ms")?.map(Duration::from_millis),
        ends: None,
    };
    with_runtime(consume(
        parsed,
        client_config,
        consumer_config,
        &formatter,
        &limits,
    ))
}

fn formatter(parsed: &Parsed) -> anyhow::Result<Formatter> {
    let mut settings = parsed.settings(&["formatter-config"], &["property", "formatter-property"])?;
    for (flag, key) in [
        ("key-deserializer", "key.deserializer"),
        ("value-deserializer", "value.deserializer"),
    ] {
        settings.extend(parsed.get(flag).map(|class| (key.to_owned(), class.to_owned())));
    }
    Ok(Formatter::new(parsed.get("formatter"), &settings)?)
}

fn check(parsed: &Parsed) -> Result<(), Misuse> {
    if parsed.exactly_one(&["topic", "include"]).is_err() {
        return Err(Misuse::with_usage(
            "Exactly one of the following arguments is required: [topic], [include]",
        ));
    }
    parsed.require("bootstrap-server")?;
    parsed.renamed(&RENAMED, "Option")?;
    let together = |a: &str, b: &str| {
        let conflict = parsed.has(a) && parsed.has(b);
        let message = format!("Options {a} and {b} cannot be specified together.");
        if conflict {
            Err(Misuse::with_usage(message))
        } else {
            Ok(())
        }
    };
    together("group", "partition")?;
    together("from-beginning", "offset")?;
    if parsed.has("partition") && !parsed.has("topic") {
        return Err(Misuse::with_usage(
            "The topic is required when partition is specified.",
        ));
    }
    if parsed.has("offset") && !parsed.has("partition") {
        return Err(Misuse::with_usage(
            "The partition is required when offset is specified.",
        ));
    }
    start(parsed).map(|_| ())
}

/// Where to begin in the one partition that `--partition` names.
fn start(parsed: &Parsed) -> Result<Result<i64, OffsetReset>, Misuse> {
    match parsed.get("offset") {
        None if parsed.has("from-beginning") => Ok(Err(OffsetReset::Earliest)),
        None => Ok(Err(OffsetReset::Latest)),
        Some(text) => match (text.to_ascii_lowercase().as_str(), text.parse::<i64>()) {
            ("earliest", _) => Ok(Err(OffsetReset::Earliest)),
            ("latest", _) => Ok(Err(OffsetReset::Latest)),
            (_, Ok(offset)) if offset >= 0 => Ok(Ok(offset)),
            _ => Err(Misuse::with_usage(format!(
                "The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a \
                 non-negative long."
            ))),
        },
    }
}

fn configs(parsed: &Parsed) -> anyhow::Result<(ClientConfig, ConsumerConfig)> {
    let mut client = ClientConfig {
        client_id: "console-consumer".to_owned(),
        ..ClientConfig::default()
    };
    let mut consumer = ConsumerConfig::default();
    let mut settings = parsed.settings(
        &["consumer.config", "command-config"],
        &["consumer-property", "command-property"],
    )?;
    let given = |settings: &[(String, String)], key: &str| settings.iter().any(|(known, _)| known == key);
    let mut put = |key: &str, value: &str| settings.push((key.to_owned(), value.to_owned()));
    put("bootstrap.servers", parsed.require("bootstrap-server")?);
    if let Some(level) = parsed.get("isolation-level") {
        put("isolation.level", level);
    }
    if let Some(group) = parsed.get("group") {
        put("group.id", group);
    }
    if parsed.has("from-beginning") {
        put("auto.offset.reset", "earliest");
    }
    if !parsed.has("partition") && !given(&settings, "group.id") {
        // A group that is used once: its offsets would be of no use to anybody.
        let group = format!("console-consumer-{}", RandomState::new().hash_one(0) % 100_000);
        settings.push(("group.id".to_owned(), group));
        if !given(&settings, "enable.auto.commit") {
            settings.push(("enable.auto.commit".to_owned(), "false".to_owned()));
        }
    }
    let pairs = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    client::apply_settings(&mut [&mut consumer, &mut client], pairs)?;
    Ok((client, consumer))
}

async fn consume(
    parsed: &Parsed,
    client_config: ClientConfig,
    consumer_config: ConsumerConfig,
    formatter: &Formatter,
    limits: &Limits,
) -> anyhow::Result<()> {
    let stop = StopSignals::listen()?;
    let mut consumer = Consumer::new(Client::new(client_config)?, consumer_config)?;
    match (
        parsed.get("topic"),
        parsed.get("include"),
        parsed.number::<i32>("partition")?,
    ) {
        (Some(topic), _, Some(partition)) => {
            let partition = TopicPartition::new(topic, partition);
            consumer.assign(std::slice::from_ref(&partition));
            match start(parsed)? {
                Ok(offset) => consumer.seek(&partition, offset)?,
                Err(end) => consumer.seek_to(&partition, end)?,
            }
        }
        (Some(topic), _, None) => consumer.subscribe(&[topic.to_owned()]).await?,
        (None, include, _) => consumer.subscribe_pattern(include.unwrap_or_default()).await?,
    }
    let outcome = read(&mut consumer, limits, stop, |record, out| {
        formatter.write(record, out)
    })
    .await;
    // Who reads the output may be gone; the group is left in order all the same.
    let closed = consumer.close().await;
    let tally = outcome?;
    if tally.ended == Ended::Idle {
        eprintln!("ERROR Error processing message, terminating consumer process: ");
        eprintln!("org.apache.kafka.common.errors.TimeoutException");
    }
    eprintln!("Processed a total of {} messages", tally.records);
    if parsed.has("enable-systest-events") {
        crate::output::line("shutdown_complete")?;
    }
    closed?;
    match tally.ended {
        Ended::Stopped(code) => Err(Exit(code).into()),
        Ended::Done | Ended::Idle => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Parsed {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        SCRIPT.parse(&arguments).unwrap()
    }

    #[test]
    fn mistakes_are_named_as_the_script_names_them() {
        let message = |line: &str| check(&parsed(line)).unwrap_err().to_string();
        let server = "--bootstrap-server h:1";
        for (line, expected) in [
            (
                "--topic t --include x",
                "Exactly one of the following arguments is required: [topic], [include]",
            ),
            ("--topic t", "Missing required argument \"[bootstrap-server]\""),
            (
                "--topic t --partition 0 --group g --bootstrap-server h:1",
                "Options group and partition cannot be specified together.",
            ),
            (
                "--topic t --property a=b --formatter-property c=d --bootstrap-server h:1",
                "Options --property and --formatter-property cannot be specified together.",
            ),
        ] {
            assert_eq!(message(line), expected);
        }
        assert!(message(&format!("--topic t --offset 4 {server}")).contains("The partition is required"));
        assert!(
            message(&format!("--topic t --partition 0 --offset -4 {server}")).contains("'-4' is incorrect")
        );
        assert!(
            check(&parsed(&format!(
                "--topic t --partition 0 --offset LATEST {server}"
            )))
            .is_ok()
        );
    }

    #[test]
    fn a_reader_without_a_group_gets_one_that_commits_nothing() {
        let (client, consumer) =
            configs(&parsed("--topic t --bootstrap-server h:1 --from-beginning")).unwrap();
        assert_eq!(client.client_id, "console-consumer");
        assert!(consumer.group_id.unwrap().starts_with("console-consumer-"));
        assert!(!consumer.enable_auto_commit);
        assert_eq!(consumer.auto_offset_reset, OffsetReset::Earliest);
        let line = "--topic t --bootstrap-server h:1 --consumer-property group.id=g --isolation-level read_committed";
        let (_, consumer) = configs(&parsed(line)).unwrap();
        assert_eq!(consumer.group_id.as_deref(), Some("g"));
        assert!(consumer.enable_auto_commit);
        assert_eq!(consumer.isolation_level, client::IsolationLevel::ReadCommitted);
    }
}

//! The names of Apache Kafka's scripts: each takes that script's flags and prints its lines, by way of the same commands.
//!
//! `kafka-topics`, with or without `.sh`, as the name this binary is called by, or as its first argument.

use std::process::ExitCode;

mod columns;
mod console_consumer;
mod console_producer;
mod consumer_groups;
mod consumer_perf;
mod dump_log;
mod e2e_latency;
mod formatter;
mod java;
mod node;
mod options;
mod perf_output;
mod producer_perf;
mod topics;

use options::{Misuse, Parsed, Script};

/// A script that was called, with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    name: Name,
    arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Topics,
    ConsoleProducer,
    ConsoleConsumer,
    ConsumerGroups,
    DumpLog,
    ProducerPerf,
    ConsumerPerf,
    EndToEndLatency,
    ServerStart,
    Storage,
    NotServed(&'static str),
}

const NAMES: [(&str, Name); 10] = [
    ("kafka-topics", Name::Topics),
    ("kafka-console-producer", Name::ConsoleProducer),
    ("kafka-console-consumer", Name::ConsoleConsumer),
    ("kafka-consumer-groups", Name::ConsumerGroups),
    ("kafka-dump-log", Name::DumpLog),
    ("kafka-producer-perf-test", Name::ProducerPerf),
    ("kafka-consumer-perf-test", Name::ConsumerPerf),
    ("kafka-e2e-latency", Name::EndToEndLatency),
    ("kafka-server-start", Name::ServerStart),
    ("kafka-storage", Name::Storage),
];

/// The other scripts of Apache Kafka 4.3.1.
const NOT_SERVED: &str = "connect-distributed connect-mirror-maker connect-plugin-path connect-standalone kafka-acls \
    kafka-broker-api-versions kafka-client-metrics kafka-cluster kafka-configs kafka-console-share-consumer \
    kafka-delegation-tokens kafka-delete-records kafka-features kafka-get-offsets kafka-groups kafka-jmx \
    kafka-leader-election kafka-log-dirs kafka-metadata-quorum kafka-metadata-shell kafka-reassign-partitions \
    kafka-replica-verification kafka-run-class kafka-server-stop kafka-share-consumer-perf-test kafka-share-groups \
    kafka-streams-application-reset kafka-streams-groups kafka-transactions kafka-verifiable-consumer \
    kafka-verifiable-producer kafka-verifiable-share-consumer trogdor";

impl Name {
    fn of(text: &str) -> Option<Name> {
        let file = text.rsplit('/').next().unwrap_or(text);
        let bare = file.strip_suffix(".sh").unwrap_or(file);
        let served = NAMES.iter().find(|(name, _)| *name == bare);
        let not_served = || NOT_SERVED.split_whitespace().find(|name| *name == bare);
        served
            .map(|(_, name)| *name)
            .or_else(|| not_served().map(Name::NotServed))
    }
}

/// What is said under the name of a script that is not served.
fn not_served(script: &str) -> anyhow::Error {
    let served = NAMES.map(|(name, _)| name).join(", ");
    anyhow::anyhow!("{script} is not served yet; of Kafka's scripts this version serves {served}")
}

impl Invocation {
    /// The script that the program's name, or its first argument, names.
    pub(crate) fn of(arguments: &[String]) -> Option<Invocation> {
        let found = |at: usize| {
            Some(Invocation {
                name: Name::of(arguments.get(at)?)?,
                arguments: arguments.get(at + 1..)?.to_vec(),
            })
        };
        found(0).or_else(|| found(1))
    }

    /// Runs it.
    pub(crate) fn run(self) -> ExitCode {
        match self.name {
            Name::Topics => run(&topics::SCRIPT, &self.arguments, topics::run),
            Name::ConsoleProducer => run(&console_producer::SCRIPT, &self.arguments, console_producer::run),
            Name::ConsoleConsumer => run(&console_consumer::SCRIPT, &self.arguments, console_consumer::run),
            Name::ConsumerGroups => run(&consumer_groups::SCRIPT, &self.arguments, consumer_groups::run),
            Name::DumpLog => run(&dump_log::SCRIPT, &self.arguments, dump_log::run),
            Name::ProducerPerf => run(&producer_perf::SCRIPT, &self.arguments, producer_perf::run),
            Name::ConsumerPerf => run(&consumer_perf::SCRIPT, &self.arguments, consumer_perf::run),
            Name::EndToEndLatency => match e2e_latency::named(&self.arguments) {
                Ok(arguments) => run(&e2e_latency::SCRIPT, &arguments, e2e_latency::run),
                Err(misuse) => e2e_latency::SCRIPT.refuse(&misuse),
            },
            Name::ServerStart => node::server_start(&self.arguments),
            Name::Storage => node::storage(&self.arguments),
            Name::NotServed(script) => crate::failure::exit_code(Err(not_served(script))),
        }
    }
}

/// Parses the flags and runs a script. Mistakes go to the error output, with the flags there are, and exit code 1.
fn run(script: &Script, arguments: &[String], work: fn(&Parsed) -> anyhow::Result<()>) -> ExitCode {
    let parsed = match script.parse(arguments) {
        Ok(parsed) => parsed,
        Err(misuse) => return script.refuse(&misuse),
    };
    if parsed.has("help") {
        return script.refuse(&Misuse::with_usage(script.about));
    }
    if parsed.has("version") {
        println!("4.3.1 (gracchus {})", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    match work(&parsed) {
        Err(error) if error.is::<Misuse>() => match error.downcast::<Misuse>() {
            Ok(misuse) => script.refuse(&misuse),
            Err(error) => crate::failure::exit_code(Err(error)),
        },
        outcome => crate::failure::exit_code(outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(line: &str) -> Option<(Name, usize)> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Invocation::of(&arguments).map(|invocation| (invocation.name, invocation.arguments.len()))
    }

    #[test]
    fn a_script_is_known_by_its_name_in_every_form() {
        for line in [
            "kafka-topics --list",
            "/opt/kafka/bin/kafka-topics.sh --list",
            "gracchus kafka-topics --list",
            "./gracchus kafka-topics.sh --list",
        ] {
            assert_eq!(invocation(line), Some((Name::Topics, 1)), "{line}");
        }
        assert_eq!(invocation("gracchus topic list"), None);
        assert_eq!(invocation("kafka-topics-old --list"), None);
    }
}

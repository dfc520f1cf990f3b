//! `gracchus server`: run a node from a server.properties file.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use broker::config::{
    NodeConfig, Properties, environment_properties, keys_without_effect, read_properties, unknown_keys,
};
use broker::{Exit, StartError};
use clap::Args;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::args::key_value;
use crate::failure;

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// The node's settings, in Kafka's server.properties format
    file: PathBuf,
    /// A setting instead of the file's; may be given several times
    #[arg(long = "override", value_name = "KEY=VALUE", value_parser = key_value)]
    overrides: Vec<(String, String)>,
}

pub(crate) fn run(args: &ServerArgs) -> anyhow::Result<()> {
    log_to_stdout("info");
    ended(broker::serve(node_config(&args.file, &args.overrides)?))
}

/// The settings of a node: those of the command line before those of the environment (`KAFKA_` names, as the apache/kafka
/// image has them) before those of the file. Keys that nothing knows are named, with the nearest one that there is.
pub(crate) fn node_config(file: &Path, overrides: &[(String, String)]) -> anyhow::Result<NodeConfig> {
    let mut properties: Properties = read_properties(file)?;
    properties.extend(environment_properties(std::env::vars_os().filter_map(
        |(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)),
    )));
    properties.extend(overrides.iter().cloned());
    warn_of_idle_keys(&properties);
    NodeConfig::from_properties(properties).with_context(|| format!("{} describes no node", file.display()))
}

/// Names the settings that do nothing: each that nobody knows, and in one line those that this version does not act on.
pub(crate) fn warn_of_idle_keys(properties: &Properties) {
    for unknown in unknown_keys(properties) {
        tracing::warn!("{unknown}");
    }
    let idle = keys_without_effect(properties);
    if !idle.is_empty() {
        tracing::warn!("set, but without effect in this version: {}", idle.join(", "));
    }
}

/// How a node ended, as the end of its process.
pub(crate) fn ended(exit: Result<Exit, StartError>) -> anyhow::Result<()> {
    match exit? {
        Exit::Clean => Ok(()),
        Exit::AtOnce => Err(failure::Exit(1).into()),
    }
}

/// The parts of this program that log, by which `GRACCHUS_LOG` chooses.
const LOGGING: &str = "broker, client, controller, coordinator, gracchus, metadata, model, quorum, replication, storage, transport, wire";

/// What `GRACCHUS_LOG` chooses, else what is at `level`. Of what it cannot mean the error output speaks.
pub(crate) fn log_filter(level: &str) -> EnvFilter {
    let chosen = std::env::var("GRACCHUS_LOG").unwrap_or_default();
    let (meant, strange): (Vec<&str>, Vec<&str>) = chosen
        .split(',')
        .map(str::trim)
        .filter(|choice| !choice.is_empty())
        .partition(|choice| is_choice(choice));
    for choice in strange {
        eprintln!(
            "ignoring `{choice}` in GRACCHUS_LOG: it is neither a level (error, warn, info, debug, trace, off) nor of a part that logs ({LOGGING})"
        );
    }
    match meant.is_empty() {
        true => EnvFilter::new(level),
        false => EnvFilter::new(meant.join(",")),
    }
}

/// Whether it is a level, or names a part of this program: any other word would choose lines that nobody writes, and by
/// that none at all.
fn is_choice(choice: &str) -> bool {
    let name = choice.split(['=', '[', ':']).next().unwrap_or_default();
    LOGGING.split(", ").any(|part| part == name)
        || choice.starts_with('[')
        || !choice.contains('=') && choice.parse::<LevelFilter>().is_ok()
}

/// What a server does goes to the standard output, as with Kafka; `GRACCHUS_LOG` chooses what instead of `level`
/// (`debug`, `broker=trace`).
pub(crate) fn log_to_stdout(level: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(log_filter(level))
        .with_ansi(std::io::stdout().is_terminal())
        .with_target(false)
        .init();
}

#[cfg(test)]
mod tests {
    use super::is_choice;

    #[test]
    fn a_word_that_would_silence_the_log_is_no_choice() {
        for choice in [
            "info",
            "OFF",
            "broker::network=debug",
            "storage",
            "client[x]=trace",
        ] {
            assert!(is_choice(choice), "{choice}");
        }
        for typo in [
            "inof",
            "warn broker",
            "network=debug",
            "info=debug",
            "brokers",
            "=",
        ] {
            assert!(!is_choice(typo), "{typo}");
        }
    }
}

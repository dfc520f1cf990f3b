//! The command line of `gracchus`: the subcommands and what they have in common.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use client::{Client, ClientConfig, SettingTarget, apply_settings};

use crate::commands::{consume, dev, group, log, perf, produce, server, storage, topic};
use crate::{failure, reference};

/// An event-streaming platform that speaks the Apache Kafka protocol.
#[derive(Debug, Parser)]
#[command(name = "gracchus", version, max_term_width = 110, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve this machine from a folder, made when it is not there
    Dev(dev::DevArgs),
    /// Run a node from a server.properties file
    Server(server::ServerArgs),
    /// Format and inspect data directories
    #[command(subcommand)]
    Storage(storage::StorageCommand),
    /// Create, list, describe, alter and delete topics
    #[command(subcommand)]
    Topic(topic::TopicCommand),
    /// Write records, one for each line of the input
    Produce(produce::ProduceArgs),
    /// Read records
    Consume(consume::ConsumeArgs),
    /// Measure how fast records go in, come out, and go through
    #[command(subcommand)]
    Perf(perf::PerfCommand),
    /// List, describe, reset and delete consumer groups
    #[command(subcommand)]
    Group(group::GroupCommand),
    /// Look into the files of a data directory
    #[command(subcommand)]
    Log(log::LogCommand),
    /// What this binary speaks, reads and takes, as Markdown
    #[command(hide = true)]
    Reference {
        /// The page to print
        page: reference::Page,
    },
}

/// How long a tool tries to connect.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables and sentences for people
    #[default]
    Table,
    /// JSON for programs: one value, or one a line where there is no end
    Json,
}

/// How a tool reaches a cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct Connect {
    /// Brokers to ask first, as host:port, separated by commas
    #[arg(
        short,
        long,
        value_name = "SERVERS",
        env = "GRACCHUS_BOOTSTRAP_SERVER",
        default_value = "localhost:9092"
    )]
    pub(crate) bootstrap_server: String,
    /// A client setting under Kafka's name; may be given several times
    #[arg(short = 'X', long = "setting", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,
}

impl Connect {
    /// The client, and `target`, with the settings that were given.
    pub(crate) async fn client_with<'a>(
        &self,
        target: Option<&'a mut (dyn SettingTarget + 'a)>,
    ) -> anyhow::Result<Client> {
        let mut config = ClientConfig {
            client_id: "gracchus-cli".to_owned(),
            ..ClientConfig::default()
        };
        config.set("bootstrap.servers", &self.bootstrap_server)?;
        let settings = self
            .settings
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let unknown = match target {
            Some(target) => apply_settings(&mut [&mut config, target], settings)?,
            None => apply_settings(&mut [&mut config], settings)?,
        };
        for key in unknown {
            eprintln!("warning: this client has no setting `{key}`");
        }
        let client = Client::new(config)?;
        client.connect(PATIENCE).await?;
        Ok(client)
    }

    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        self.client_with(None).await
    }
}

/// Splits `key=value`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Runs `gracchus` with these arguments.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to the standard output, mistakes to the error output.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = match cli.command {
        Command::Dev(args) => dev::run(&args),
        Command::Server(args) => server::run(&args),
        Command::Storage(command) => storage::run(command),
        Command::Topic(command) => with_runtime(topic::run(command)),
        Command::Produce(args) => with_runtime(produce::run(args)),
        Command::Consume(args) => with_runtime(consume::run(args)),
        Command::Perf(command) => with_runtime(perf::run(command)),
        Command::Group(command) => with_runtime(group::run(command)),
        Command::Log(command) => log::run(&command),
        Command::Reference { page } => crate::output::text(&reference::text(page, Cli::command())),
    };
    failure::exit_code(outcome)
}

/// Runs a tool to its end on one thread.
pub(crate) fn with_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    log_to_stderr();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(work);
    // A read of the terminal may be under way on a thread of its own; it must not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// What the client has to say beside results goes to the error output: warnings, or what `GRACCHUS_LOG` chooses.
fn log_to_stderr() {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(server::log_filter("warn"))
        .with_target(false);
    // A second runtime in one process finds it there.
    let _ = lines
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_setting_needs_a_name() {
        assert_eq!(key_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(key_value("=b").is_err());
        assert!(key_value("a").is_err());
    }
}

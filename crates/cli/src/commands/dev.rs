//! `gracchus dev`: a broker on this machine, in one step.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use broker::config::{NodeConfig, Properties};
use broker::format::{FormatOptions, IfFormatted, format, new_id};
use broker::{BindError, Broker, StartError};
use clap::Args;
use storage::{Disk, RealDisk};

use super::server::{ended, log_to_stdout, warn_of_idle_keys};

#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    /// The port to serve; 0 for any that is free
    #[arg(short, long, default_value_t = 9092)]
    port: u16,
    /// The address to serve
    #[arg(long, default_value = "localhost")]
    host: String,
    /// The folder for all data; made and formatted when it is empty or not there
    #[arg(short, long, value_name = "FOLDER", default_value = "./gracchus-data")]
    data_dir: PathBuf,
    /// A setting of the node under Kafka's name; may be given several times
    #[arg(long = "override", value_name = "KEY=VALUE", value_parser = crate::args::key_value)]
    overrides: Vec<(String, String)>,
}

pub(crate) fn run(args: &DevArgs) -> anyhow::Result<()> {
    log_to_stdout("warn");
    warn_of_idle_keys(&args.overrides.iter().cloned().collect());
    let config = NodeConfig::from_properties(args.properties())?;
    let is_new = args.format_if_empty(&config)?;
    let exit = broker::serve_and(config, |broker| {
        // Who started this may have closed its output: the broker serves all the same.
        let _ = io::stdout().write_all(args.greeting(broker, is_new).as_bytes());
    });
    match exit {
        Err(StartError::Bind(error)) if args.chose_listeners() => Err(args.cannot_serve(error)),
        exit => ended(exit),
    }
}

impl DevArgs {
    /// The settings of a node for one machine, with the least between a client and its first record.
    fn properties(&self) -> Properties {
        let data_dir = self.data_dir.display().to_string();
        let (host, port) = (&self.host, self.port);
        let settings = [
            ("process.roles", "broker,controller".to_owned()),
            ("node.id", "1".to_owned()),
            (
                "listeners",
                format!("PLAINTEXT://{host}:{port},CONTROLLER://{host}:0"),
            ),
            ("controller.listener.names", "CONTROLLER".to_owned()),
            ("log.dirs", data_dir),
            ("offsets.topic.replication.factor", "1".to_owned()),
            ("transaction.state.log.replication.factor", "1".to_owned()),
            ("transaction.state.log.min.isr", "1".to_owned()),
            ("group.initial.rebalance.delay.ms", "0".to_owned()),
        ];
        let mut properties: Properties = settings
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        properties.extend(self.overrides.iter().cloned());
        properties
    }

    /// Whether the listeners are those of `--host` and `--port`, and not an override's.
    fn chose_listeners(&self) -> bool {
        self.overrides.iter().all(|(key, _)| key != "listeners")
    }

    /// Why `--host` and `--port` cannot be served, in their terms.
    fn cannot_serve(&self, error: BindError) -> anyhow::Error {
        let (host, port) = (&self.host, self.port);
        match error {
            BindError::InUse(_) => anyhow::anyhow!(
                "port {port} of {host} is in use; stop the process that has it, or choose another with --port (0 for any \
                 that is free)"
            ),
            BindError::Resolve { error, .. } => {
                anyhow::anyhow!(
                    "{host} cannot be resolved ({error}); name an address of this machine with --host"
                )
            }
            BindError::Other { error, .. } => {
                anyhow::anyhow!(
                    "{host}:{port} cannot be served ({error}); choose others with --host and --port"
                )
            }
        }
    }

    /// Formats the folder unless it is formatted; whether it did.
    fn format_if_empty(&self, config: &NodeConfig) -> anyhow::Result<bool> {
        if self.data_dir.join("meta.properties").exists() {
            return Ok(false);
        }
        let folder = self.data_dir.display();
        std::fs::create_dir_all(&self.data_dir)
            .with_context(|| format!("the folder {folder} cannot be made"))?;
        let mut held = std::fs::read_dir(&self.data_dir)
            .with_context(|| format!("the folder {folder} cannot be read"))?;
        if held.next().is_some() {
            anyhow::bail!(
                "{folder} holds something, but no broker's data (meta.properties); choose another with --data-dir"
            );
        }
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let options = FormatOptions {
            if_formatted: IfFormatted::Skip,
            ..FormatOptions::standalone(new_id()?.to_string())
        };
        format(&disk, config, &options, now_ms())?;
        Ok(true)
    }

    fn greeting(&self, broker: &Broker, is_new: bool) -> String {
        let name = std::env::args().next().unwrap_or_else(|| "gracchus".to_owned());
        let port = broker
            .listeners()
            .first()
            .map_or(self.port, |listener| listener.address.port());
        let server = format!("{}:{port}", self.host);
        let data_dir = self.data_dir.display();
        let did = if is_new { "made and formatted" } else { "opened" };
        let flag = if server == "localhost:9092" {
            String::new()
        } else {
            format!(" -b {server}")
        };
        format!(
            "{did} {data_dir}\nserving {server}; Ctrl-C stops\n\ntry in another terminal:\n  {name} topic create \
             orders --partitions 3{flag}\n  echo hello | {name} produce orders{flag}\n  {name} consume orders \
             --from-beginning{flag}\n"
        )
    }
}

/// The time in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: DevArgs,
    }

    #[test]
    fn an_empty_folder_is_formatted_and_a_formatted_one_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        let args = Line::parse_from(["dev", "--data-dir", data_dir.to_str().unwrap()]).args;
        let config = NodeConfig::from_properties(args.properties()).unwrap();
        assert!(args.format_if_empty(&config).unwrap());
        let meta = std::fs::read_to_string(data_dir.join("meta.properties")).unwrap();
        assert!(meta.contains("node.id=1"), "{meta}");
        assert!(!args.format_if_empty(&config).unwrap());
        // What belongs to somebody else is left alone.
        std::fs::rename(data_dir.join("meta.properties"), data_dir.join("notes.txt")).unwrap();
        let refused = args.format_if_empty(&config).unwrap_err().to_string();
        assert!(refused.contains("--data-dir"), "{refused}");
        std::fs::rename(data_dir.join("notes.txt"), data_dir.join("meta.properties")).unwrap();
        assert_eq!(
            std::fs::read_to_string(data_dir.join("meta.properties")).unwrap(),
            meta
        );
    }
}

//! `gracchus storage`: format data directories, say what they are. The flags are those of kafka-storage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use broker::config::{NodeConfig, read_properties};
use broker::format::{FormatOptions, IfFormatted, InitialControllers, format, new_id};
use clap::{Args, Subcommand};
use storage::{Disk, MetaProperties, RealDisk, has_journal};

use super::dev::now_ms;
use crate::failure::Exit;
use crate::output;

#[derive(Debug, Subcommand)]
pub(crate) enum StorageCommand {
    /// Make directories into the log directories of a node
    Format(FormatArgs),
    /// Say which directories a node has, and whether they are formatted
    Info(InfoArgs),
    /// Repair what an unclean end left, so that Apache Kafka can take the directories over
    Recover(RecoverArgs),
    /// Print a new id, for a cluster or a directory
    RandomUuid,
}

#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// The node's server.properties
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// The id of the cluster, the same on all of its nodes
    #[arg(short = 't', long, value_name = "ID")]
    cluster_id: String,
    /// Skip directories that are formatted already
    #[arg(short = 'g', long)]
    ignore_formatted: bool,
    /// This node alone is the quorum
    #[arg(short, long, conflicts_with_all = ["no_initial_controllers", "initial_controllers"])]
    standalone: bool,
    /// Others are the quorum, and will let this node join
    #[arg(short = 'N', long)]
    no_initial_controllers: bool,
    /// The quorum, as id@host:port:directory separated by commas
    #[arg(
        short = 'I',
        long,
        value_name = "LIST",
        conflicts_with = "no_initial_controllers"
    )]
    initial_controllers: Option<String>,
    /// The release whose features the cluster begins with [default: 4.3-IV0]
    #[arg(short, long, value_name = "RELEASE")]
    release_version: Option<String>,
    /// A feature and its level; may be given several times
    #[arg(short, long, value_name = "FEATURE=LEVEL")]
    feature: Vec<String>,
    /// A SCRAM credential to begin with
    #[arg(short = 'S', long, value_name = "CREDENTIAL")]
    add_scram: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The node's server.properties
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// The node's server.properties
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

pub(crate) fn run(command: StorageCommand) -> anyhow::Result<()> {
    match command {
        StorageCommand::Format(args) => run_format(args),
        StorageCommand::Info(args) => run_info(&args),
        StorageCommand::Recover(args) => run_recover(&args),
        StorageCommand::RandomUuid => output::line(&new_id()?.to_string()),
    }
}

fn node_config(file: &Path) -> anyhow::Result<NodeConfig> {
    let properties = read_properties(file)?;
    NodeConfig::from_properties(properties).with_context(|| format!("{} describes no node", file.display()))
}

fn run_format(args: FormatArgs) -> anyhow::Result<()> {
    let config = node_config(&args.config)?;
    let options = FormatOptions {
        cluster_id: args.cluster_id,
        if_formatted: if args.ignore_formatted {
            IfFormatted::Skip
        } else {
            IfFormatted::Refuse
        },
        release_version: args.release_version,
        features: args.feature,
        initial_controllers: match args.initial_controllers {
            Some(list) => InitialControllers::Given(list),
            None if args.standalone => InitialControllers::Standalone,
            None if args.no_initial_controllers => InitialControllers::None,
            None => InitialControllers::Configured,
        },
        scram: args.add_scram,
    };
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let formatted = format(&disk, &config, &options, now_ms())?;
    output::line(&formatted.to_string())
}

/// Starts the node behind its listeners, which replays the journals, and stops it in order.
fn run_recover(args: &RecoverArgs) -> anyhow::Result<()> {
    let config = node_config(&args.config)?;
    let dirs = config.log_dirs.clone();
    super::server::log_to_stdout("warn");
    broker::recover(config)?;
    for dir in &dirs {
        if has_journal(&RealDisk, dir)? {
            anyhow::bail!(
                "{} still has records of partitions that could not be opened, or was not left in order: see above",
                dir.display()
            );
        }
    }
    for dir in &dirs {
        output::line(&format!("{} is as a clean stop leaves it.", dir.display()))?;
    }
    Ok(())
}

fn run_info(args: &InfoArgs) -> anyhow::Result<()> {
    let config = node_config(&args.config)?;
    let mut dirs: Vec<&PathBuf> = config.log_dirs.iter().collect();
    if !dirs.contains(&&config.metadata_log_dir) {
        dirs.push(&config.metadata_log_dir);
    }
    dirs.sort();
    let (report, is_sound) = info(&dirs);
    output::text(&report)?;
    if is_sound { Ok(()) } else { Err(Exit(1).into()) }
}

/// What kafka-storage says of directories, and whether all are formatted, for one cluster.
fn info(dirs: &[&PathBuf]) -> (String, bool) {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    let mut metadata: Option<(MetaProperties, String)> = None;
    for dir in dirs {
        let name = dir.display();
        if !dir.is_dir() {
            problems.push(format!("{name} does not exist"));
            continue;
        }
        found.push(name.to_string());
        let content = match std::fs::read(dir.join("meta.properties")) {
            Ok(content) => content,
            Err(_) => {
                problems.push(format!("{name} is not formatted."));
                continue;
            }
        };
        match (MetaProperties::parse(&content), &metadata) {
            (Ok(properties), None) => {
                metadata = Some((properties, String::from_utf8_lossy(&content).into_owned()))
            }
            (Ok(properties), Some((first, _))) => {
                if (&properties.cluster_id, properties.node_id) != (&first.cluster_id, first.node_id) {
                    problems.push(format!("{name} belongs to another node or cluster."));
                }
            }
            (Err(error), _) => problems.push(format!("{name}: {error}")),
        }
    }
    let mut report = section("Found log director", "y", "ies", &found);
    if let Some((_, text)) = metadata {
        report += &format!("Found metadata: {{{}}}\n\n", properties_line(&text));
    }
    report += &section("Found problem", "", "s", &problems);
    (report, problems.is_empty())
}

fn section(title: &str, one: &str, many: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let ending = if lines.len() == 1 { one } else { many };
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("{title}{ending}:\n{lines}\n")
}

/// `key=value, key=value`, by key.
fn properties_line(text: &str) -> String {
    let mut pairs: Vec<&str> = text
        .lines()
        .filter(|line| line.contains('=') && !line.starts_with('#'))
        .collect();
    pairs.sort_unstable();
    pairs.join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directories_are_reported_as_kafka_storage_reports_them() {
        let folder = tempfile::tempdir().unwrap();
        let dirs = ["formatted", "empty", "missing"].map(|name| folder.path().join(name));
        let [formatted, empty, missing] = &dirs;
        fs::create_dir(formatted).unwrap();
        fs::create_dir(empty).unwrap();
        let meta = "#\n#Sun Nov 29 21:49:11 UTC 2026\nnode.id=1\ndirectory.id=Jtflsnh6DUEpc2Xx0hyhLw\nversion=1\n\
                    cluster.id=1vR05W1yRTm40ArhIWTDng\n";
        fs::write(formatted.join("meta.properties"), meta).unwrap();
        let (report, is_sound) = info(&[formatted]);
        let metadata =
            "{cluster.id=1vR05W1yRTm40ArhIWTDng, directory.id=Jtflsnh6DUEpc2Xx0hyhLw, node.id=1, version=1}";
        let expected = format!(
            "Found log directory:\n  {}\n\nFound metadata: {metadata}\n\n",
            formatted.display()
        );
        assert_eq!((report, is_sound), (expected, true));
        let (report, is_sound) = info(&[empty, missing]);
        let expected = format!(
            "Found log directory:\n  {empty}\n\nFound problems:\n  {empty} is not formatted.\n  {missing} does not exist\n\n",
            empty = empty.display(),
            missing = missing.display()
        );
        assert_eq!((report, is_sound), (expected, false));
    }
}

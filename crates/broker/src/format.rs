//! `storage format`: makes directories into the log directories of one node of one cluster.
//!
//! What marks a directory as formatted, `meta.properties`, is written last, and of several directories that of the
//! metadata log is done last; each step is durable before the next. A power cut therefore leaves a directory that is
//! formatted whole, or one that counts as not formatted and can be formatted again. Apache Kafka's own format syncs
//! nothing: after a cut its node never starts again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use controller::{ChosenLevels, FeatureError, default_levels, format_records};
use metadata::image::{KRAFT_VERSION, METADATA_VERSION, METADATA_VERSIONS};
use model::Uuid;
use quorum::{LogError, write_bootstrap, write_first_voter};
use storage::{Disk, MetaProperties, OpenError};

use crate::config::NodeConfig;
use crate::metadata::registration;
use crate::storage_dirs::{StorageDirsError, is_formatted, open_dir, paths, random_uuid, remedy};

/// What to do about directories that are formatted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfFormatted {
    /// Refuse.
    Refuse,
    /// Leave them as they are, and format the others (`--ignore-formatted`).
    Skip,
}

/// Who votes in the quorum of a new cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitialControllers {
    /// Nobody said: `controller.quorum.voters` must.
    Configured,
    /// This node alone (`--standalone`).
    Standalone,
    /// Others, who will let this node join (`--no-initial-controllers`).
    None,
    /// A list of `id@host:port:directory` (`--initial-controllers`).
    Given(String),
}

/// What a format is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatOptions {
    /// The cluster's id: any text that is not empty.
    pub cluster_id: String,
    /// What to do about directories that are formatted already.
    pub if_formatted: IfFormatted,
    /// The release whose levels the cluster begins with; the newest unless said.
    pub release_version: Option<String>,
    /// Levels that differ from those, as `name=level`.
    pub features: Vec<String>,
    /// Who votes.
    pub initial_controllers: InitialControllers,
    /// SCRAM credentials to begin with.
    pub scram: Vec<String>,
}

impl FormatOptions {
    /// A cluster of this node alone, with the newest levels.
    pub fn standalone(cluster_id: impl Into<String>) -> FormatOptions {
        FormatOptions {
            cluster_id: cluster_id.into(),
            if_formatted: IfFormatted::Refuse,
            release_version: None,
            features: Vec::new(),
            initial_controllers: InitialControllers::Standalone,
            scram: Vec::new(),
        }
    }
}

/// Why nothing was formatted, or not everything. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The empty id.
    #[error("the cluster id is empty: take one from `gracchus storage random-uuid`")]
    ClusterId,
    /// A directory that is formatted.
    #[error("Log directory {} is already formatted. Use --ignore-formatted to ignore this directory and format the others.", .0.display())]
    AlreadyFormatted(PathBuf),
    /// A directory of another cluster or node.
    #[error("Invalid {key} in: {}/meta.properties. Expected {expected}, but read {found}", path.display())]
    OtherIdentity {
        /// The directory.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What the configuration or the command says.
        expected: String,
        /// What the file says.
        found: String,
    },
    /// A directory with partitions that nobody knows the owner of.
    #[error("{} holds the partition {folder} but no meta.properties: move its content away, or name another directory in log.dirs", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// A folder in it.
        folder: String,
    },
    /// Voters that contradict the configuration, or that this version cannot serve.
    #[error("{0}")]
    Voters(String),
    /// Levels that cannot be.
    #[error(transparent)]
    Feature(#[from] FeatureError),
    /// An option that is not of the right form.
    #[error("{0}")]
    Option(String),
    /// A directory that cannot be opened, or that is in use.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A directory that cannot be looked into.
    #[error(transparent)]
    Dirs(#[from] StorageDirsError),
    /// A file that cannot be written.
    #[error("{}: {error}; {}", path.display(), remedy(error))]
    Disk {
        /// The directory.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
    /// The first records cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// What a directory was made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormattedAs {
    /// The directory of the metadata log of a quorum whose voters the configuration names.
    Metadata,
    /// The directory of the metadata log of a quorum that keeps its voters itself.
    DynamicVoter,
    /// A directory of partitions.
    Data,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    /// The directories that were formatted; none when all of them were already.
    pub dirs: Vec<(PathBuf, FormattedAs)>,
    /// The release of the cluster's `metadata.version`.
    pub release: &'static str,
}

impl std::fmt::Display for Formatted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.dirs.is_empty() {
            return f.write_str("All of the log directories are already formatted.");
        }
        for (index, (path, kind)) in self.dirs.iter().enumerate() {
            let what = match kind {
                FormattedAs::Metadata => "metadata directory",
                FormattedAs::DynamicVoter => "dynamic metadata voter directory",
                FormattedAs::Data => "data directory",
            };
            let line_end = if index > 0 { "\n" } else { "" };
            let path = path.display();
            write!(
                f,
                "{line_end}Formatting {what} {path} with metadata.version {}.",
                self.release
            )?;
        }
        Ok(())
    }
}

/// A new id, as `storage random-uuid` prints it.
pub fn new_id() -> Result<Uuid, getrandom::Error> {
    random_uuid()
}

/// Formats the directories that a configuration names.
pub fn format(
    disk: &Arc<dyn Disk>,
    config: &NodeConfig,
    options: &FormatOptions,
    now_ms: i64,
) -> Result<Formatted, FormatError> {
    let plan = Plan::of(config, options)?;
    let to_format = unformatted(&**disk, config, options)?;
    let mut formatted = Formatted {
        dirs: Vec::new(),
        release: plan.release,
    };
    for path in to_format.into_iter().rev() {
        let kind = plan.format(disk, config, path, now_ms)?;
        formatted.dirs.insert(0, (path.to_owned(), kind));
    }
    Ok(formatted)
}

/// The directories that are not formatted yet, that of the metadata log first.
fn unformatted<'a>(
    disk: &dyn Disk,
    config: &'a NodeConfig,
    options: &FormatOptions,
) -> Result<Vec<&'a Path>, FormatError> {
    let mut to_format = Vec::new();
    for path in paths(config) {
        if !is_formatted(disk, path)? {
            check_content(disk, path)?;
            to_format.push(path);
            continue;
        }
        check_same(disk, path, config, options)?;
        if options.if_formatted == IfFormatted::Refuse {
            return Err(FormatError::AlreadyFormatted(path.to_owned()));
        }
    }
    Ok(to_format)
}

/// A directory that is skipped must belong to the node that is formatted.
fn check_same(
    disk: &dyn Disk,
    path: &Path,
    config: &NodeConfig,
    options: &FormatOptions,
) -> Result<(), FormatError> {
    let file = path.join("meta.properties");
    let content = disk.read(&file).map_err(|error| FormatError::Disk {
        path: file.clone(),
        error,
    })?;
    let meta = MetaProperties::parse(&content).map_err(|error| {
        FormatError::Option(format!(
            "{} is damaged: {error}; restore it, or remove the directory",
            file.display()
        ))
    })?;
    let other = |key, expected: String, found: String| FormatError::OtherIdentity {
        path: path.to_owned(),
        key,
        expected,
        found,
    };
    if meta.cluster_id != options.cluster_id {
        return Err(other("cluster.id", options.cluster_id.clone(), meta.cluster_id));
    }
    if meta.node_id != config.node_id {
        return Err(other(
            "node.id",
            config.node_id.to_string(),
            meta.node_id.to_string(),
        ));
    }
    Ok(())
}

/// Partitions in a directory that was never formatted belong to somebody: they must not become this node's. The folder
/// of the metadata log without a log is what a format leaves that lost its power.
fn check_content(disk: &dyn Disk, path: &Path) -> Result<(), FormatError> {
    let failed = |error| FormatError::Disk {
        path: path.to_owned(),
        error,
    };
    if !disk.exists(path).map_err(failed)? {
        return Ok(());
    }
    for entry in disk.list(path).map_err(failed)? {
        let files = if entry.is_dir {
            disk.list(&path.join(&entry.name)).map_err(failed)?
        } else {
            Vec::new()
        };
        if files.iter().any(|file| file.name.ends_with(".log")) {
            return Err(FormatError::NotEmpty {
                path: path.to_owned(),
                folder: entry.name,
            });
        }
    }
    Ok(())
}

/// What a format comes to, before anything is written.
struct Plan {
    cluster_id: String,
    records: Vec<metadata::MetadataRecord>,
    release: &'static str,
    /// Whether the quorum keeps its voters itself, with this node as the first.
    first_voter: bool,
    /// The id of the metadata log's directory, where the voters name it.
    directory_id: Option<Uuid>,
}

impl Plan {
    fn of(config: &NodeConfig, options: &FormatOptions) -> Result<Plan, FormatError> {
        if options.cluster_id.is_empty() {
            return Err(FormatError::ClusterId);
        }
        let configured = config
            .properties
            .get("controller.quorum.voters")
            .is_some_and(|voters| !voters.is_empty());
        check_voters(&options.initial_controllers, configured)?;
        if let Some(argument) = options.scram.first() {
            check_scram(argument)?;
        }
        let chosen = chosen_levels(options)?;
        check_kraft_version(&chosen, configured)?;
        let levels = default_levels(options.release_version.as_deref(), &chosen)?;
        let level = levels.get(METADATA_VERSION).copied().unwrap_or_default();
        let release = METADATA_VERSIONS
            .iter()
            .find(|(known, _)| *known == level)
            .map_or("", |(_, name)| name);
        let directory_id = match &options.initial_controllers {
            InitialControllers::Given(list) => Some(given_voter(config, list)?),
            _ => None,
        };
        Ok(Plan {
            cluster_id: options.cluster_id.clone(),
            records: format_records(&levels),
            release,
            first_voter: directory_id.is_some()
                || options.initial_controllers == InitialControllers::Standalone,
            directory_id,
        })
    }

    fn format(
        &self,
        disk: &Arc<dyn Disk>,
        config: &NodeConfig,
        path: &Path,
        now_ms: i64,
    ) -> Result<FormattedAs, FormatError> {
        let is_metadata_dir = path == config.metadata_log_dir;
        let given = self.directory_id.filter(|_| is_metadata_dir);
        let directory_id = given.map_or_else(random_uuid, Ok)?;
        let log_dir = open_dir(disk, path)?;
        write_bootstrap(&**disk, path, &self.records, now_ms)?;
        let is_first_voter = is_metadata_dir && self.first_voter;
        if is_first_voter {
            write_first_voter(&**disk, path, &registration::voter(config, directory_id), now_ms)?;
        }
        let meta = MetaProperties {
            cluster_id: self.cluster_id.clone(),
            node_id: config.node_id,
            directory_id: Some(directory_id),
        };
        let written = log_dir.write_meta_properties(&meta);
        written.map_err(|error| FormatError::Disk {
            path: path.to_owned(),
            error,
        })?;
        Ok(match (is_first_voter, is_metadata_dir) {
            (true, _) => FormattedAs::DynamicVoter,
            (false, true) => FormattedAs::Metadata,
            (false, false) => FormattedAs::Data,
        })
    }
}

fn check_voters(initial: &InitialControllers, configured: bool) -> Result<(), FormatError> {
    let text = match initial {
        InitialControllers::Configured if !configured => {
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: \
             --standalone, --initial-controllers, or --no-initial-controllers."
        }
        InitialControllers::Standalone | InitialControllers::Given(_) if configured => {
            "You cannot specify controller.quorum.voters and format the node with --initial-controllers or \
             --standalone. If you want to use dynamic quorum, please remove controller.quorum.voters and specify \
             controller.quorum.bootstrap.servers instead."
        }
        _ => return Ok(()),
    };
    Err(FormatError::Voters(text.to_owned()))
}

/// The level of `kraft.version` follows from who votes.
fn check_kraft_version(chosen: &ChosenLevels, configured: bool) -> Result<(), FormatError> {
    let text = match (chosen.get(KRAFT_VERSION), configured) {
        (Some(0), false) => {
            "Cannot set kraft.version to 0 if controller.quorum.voters is empty: leave the --feature flag for \
             kraft.version out."
        }
        (Some(1), true) => {
            "Cannot set kraft.version to 1 while controller.quorum.voters is set: remove it, and use --standalone."
        }
        _ => return Ok(()),
    };
    Err(FormatError::Voters(text.to_owned()))
}

fn chosen_levels(options: &FormatOptions) -> Result<ChosenLevels, FormatError> {
    let mut chosen = ChosenLevels::new();
    for argument in &options.features {
        let parsed = argument
            .split_once('=')
            .and_then(|(name, level)| Some((name, level.trim().parse().ok()?)));
        let (name, level) = parsed.ok_or_else(|| {
            FormatError::Option(format!(
                "--feature {argument}: expected name=level, such as group.version=1"
            ))
        })?;
        chosen.insert(name.trim().to_owned(), level);
    }
    if options.release_version.is_some() && chosen.contains_key(METADATA_VERSION) {
        let text = "Use --release-version instead of --feature metadata.version=X to avoid ambiguity.";
        return Err(FormatError::Option(text.to_owned()));
    }
    Ok(chosen)
}

/// Credentials need the hashes of the security room; until then a wrong form is told apart from what is not there yet.
fn check_scram(argument: &str) -> Result<(), FormatError> {
    let text = match argument.split_once('=') {
        None => format!("Failed to find equals sign in SCRAM argument '{argument}'"),
        Some(("SCRAM-SHA-256" | "SCRAM-SHA-512", settings)) if settings.starts_with("[name=") => {
            "--add-scram: this version has no SCRAM authentication yet; leave the flag out".to_owned()
        }
        Some(_) => format!("--add-scram {argument}: expected SCRAM-SHA-256=[name=NAME,password=PASSWORD]"),
    };
    Err(FormatError::Option(text))
}

/// The directory id in `id@host:port:directory`, which must be this node and no other.
fn given_voter(config: &NodeConfig, list: &str) -> Result<Uuid, FormatError> {
    let wrong = |text: String| FormatError::Voters(format!("--initial-controllers {list}: {text}"));
    if list.contains(',') {
        return Err(wrong(
            "this version runs quorums of one, so name this node only".to_owned(),
        ));
    }
    let parts = list.split_once('@').and_then(|(id, rest)| {
        let (address, directory) = rest.rsplit_once(':')?;
        let (_, port) = address.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        Some((id.parse::<i32>().ok()?, directory.parse::<Uuid>().ok()?))
    });
    match parts {
        Some((id, directory)) if id == config.node_id.0 => Ok(directory),
        Some((id, _)) => Err(wrong(format!("node {id} is not this node, {}", config.node_id))),
        None => Err(wrong("expected id@hostname:port:directory".to_owned())),
    }
}

#[cfg(test)]
mod tests;

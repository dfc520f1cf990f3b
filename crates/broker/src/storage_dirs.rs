//! The log directories at the start of a node: locked, known to be this node's, and how they were left (rules 93, 103,
//! 104).

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{BrokerId, Uuid};
use storage::{Disk, LastShutdown, LogDir, MetaProperties, OpenError};

use crate::config::NodeConfig;

const META_PROPERTIES: &str = "meta.properties";

/// A log directory that was opened: locked, and known to be of this node.
#[derive(Clone, Debug)]
pub(crate) struct OpenedDir {
    /// The directory.
    pub(crate) log_dir: Arc<LogDir>,
    /// `directory.id` in its `meta.properties`.
    pub(crate) directory_id: Uuid,
    /// How it was left.
    pub(crate) last_shutdown: LastShutdown,
}

/// What to do about a directory that cannot be used.
pub(crate) fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there",
        _ => "log.dirs must name directories that this user may write to",
    }
}

/// All directories of a node.
#[derive(Clone, Debug)]
pub(crate) struct OpenedDirs {
    /// `cluster.id`, the same in all of them.
    pub(crate) cluster_id: Arc<str>,
    /// Those of `log.dirs`.
    pub(crate) log_dirs: Vec<OpenedDir>,
    /// That of `metadata.log.dir`, usually the first of them.
    pub(crate) metadata_dir: OpenedDir,
}

/// Why the directories cannot be used. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StorageDirsError {
    /// Nobody formatted it.
    #[error("{} is not formatted: run `gracchus storage format --cluster-id ID --config FILE` first", .0.display())]
    NotFormatted(PathBuf),
    /// It cannot be opened, or another process has it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its identity cannot be written, or the mark of its last end not removed.
    #[error("{}: {error}; {}", path.display(), remedy(error))]
    Disk {
        /// The directory.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
    /// It belongs to another node.
    #[error("{} belongs to node {found}, this is node {expected}: check node.id and log.dirs", path.display())]
    Node {
        /// The directory.
        path: PathBuf,
        /// Its node.
        found: BrokerId,
        /// This node.
        expected: BrokerId,
    },
    /// It belongs to another cluster.
    #[error("{} belongs to cluster {found}, {} to cluster {expected}: check log.dirs", path.display(), first.display())]
    Cluster {
        /// The directory.
        path: PathBuf,
        /// Its cluster.
        found: String,
        /// Another directory.
        first: PathBuf,
        /// The cluster of that one.
        expected: String,
    },
    /// It is a copy of another one.
    #[error("{} has the same directory.id as another log directory: one is a copy, remove it from log.dirs", .0.display())]
    Copy(PathBuf),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Entropy(#[from] getrandom::Error),
}

/// Opens the directories that a configuration names. Nothing in them changes until all of them were found in order.
pub(crate) fn open_log_dirs(
    disk: &Arc<dyn Disk>,
    config: &NodeConfig,
) -> Result<OpenedDirs, StorageDirsError> {
    let mut locked = Vec::new();
    for path in paths(config) {
        locked.push(lock(disk, path)?);
    }
    let cluster_id = check_identities(config, &locked)?;
    let mut opened = Vec::new();
    for (log_dir, meta) in locked {
        let failed = |error| StorageDirsError::Disk {
            path: log_dir.path().to_owned(),
            error,
        };
        let directory_id = match meta.directory_id {
            Some(id) => id,
            // Left by a broker that knew no directory ids yet (KIP-858).
            None => {
                let id = random_uuid()?;
                log_dir
                    .write_meta_properties(&MetaProperties {
                        directory_id: Some(id),
                        ..meta
                    })
                    .map_err(failed)?;
                id
            }
        };
        let last_shutdown = log_dir.take_last_shutdown().map_err(failed)?;
        opened.push(OpenedDir {
            log_dir,
            directory_id,
            last_shutdown,
        });
    }
    // `paths` names it first.
    let metadata_dir = opened.first().cloned();
    let metadata_dir =
        metadata_dir.ok_or_else(|| StorageDirsError::NotFormatted(config.metadata_log_dir.clone()))?;
    let is_log_dir = |dir: &OpenedDir| config.log_dirs.iter().any(|path| path == dir.log_dir.path());
    Ok(OpenedDirs {
        cluster_id,
        log_dirs: opened.into_iter().filter(is_log_dir).collect(),
        metadata_dir,
    })
}

/// Every directory once, that of the metadata log first.
pub(crate) fn paths(config: &NodeConfig) -> Vec<&Path> {
    let others = config
        .log_dirs
        .iter()
        .filter(|path| **path != config.metadata_log_dir);
    std::iter::once(&config.metadata_log_dir)
        .chain(others)
        .map(PathBuf::as_path)
        .collect()
}

fn lock(disk: &Arc<dyn Disk>, path: &Path) -> Result<(Arc<LogDir>, MetaProperties), StorageDirsError> {
    // Looked at before the lock is taken: a lock leaves a file, and a directory that is not ours is left as it is.
    if !is_formatted(&**disk, path)? {
        return Err(StorageDirsError::NotFormatted(path.to_owned()));
    }
    let log_dir = open_dir(disk, path)?;
    match log_dir.meta_properties()? {
        Some(meta) => Ok((Arc::new(log_dir), meta)),
        None => Err(StorageDirsError::NotFormatted(path.to_owned())),
    }
}

/// Takes the lock of a directory, made where there is none.
pub(crate) fn open_dir(disk: &Arc<dyn Disk>, path: &Path) -> Result<LogDir, StorageDirsError> {
    LogDir::open(disk.clone(), path).map_err(|error| match error {
        OpenError::Disk { error, .. } => StorageDirsError::Disk {
            path: path.to_owned(),
            error,
        },
        other => StorageDirsError::Open(other),
    })
}

pub(crate) fn is_formatted(disk: &dyn Disk, path: &Path) -> Result<bool, StorageDirsError> {
    let exists = disk.exists(&path.join(META_PROPERTIES));
    exists.map_err(|error| StorageDirsError::Disk {
        path: path.to_owned(),
        error,
    })
}

fn check_identities(
    config: &NodeConfig,
    locked: &[(Arc<LogDir>, MetaProperties)],
) -> Result<Arc<str>, StorageDirsError> {
    let mut directory_ids = BTreeSet::new();
    for (dir, meta) in locked {
        let path = || dir.path().to_owned();
        if meta.node_id != config.node_id {
            return Err(StorageDirsError::Node {
                path: path(),
                found: meta.node_id,
                expected: config.node_id,
            });
        }
        if let Some((first, expected)) = locked
            .first()
            .filter(|(_, first)| first.cluster_id != meta.cluster_id)
        {
            return Err(StorageDirsError::Cluster {
                path: path(),
                found: meta.cluster_id.clone(),
                first: first.path().to_owned(),
                expected: expected.cluster_id.clone(),
            });
        }
        if meta.directory_id.is_some_and(|id| !directory_ids.insert(id)) {
            return Err(StorageDirsError::Copy(path()));
        }
    }
    Ok(locked
        .first()
        .map_or_else(|| Arc::from(""), |(_, meta)| Arc::from(&*meta.cluster_id)))
}

/// A new id, such as a format draws for each directory.
pub(crate) fn random_uuid() -> Result<Uuid, getrandom::Error> {
    loop {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        if let Some(id) = Uuid::from_random_bytes(bytes) {
            return Ok(id);
        }
    }
}

//! What can go wrong with the metadata log. Each message says what to do, for it may be the last one a node prints.

use std::io;
use std::path::{Path, PathBuf};

use metadata::ApplyError;
use metadata::batch::{ReadError, WriteError};
use model::Offset;

/// Why the metadata log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The disk failed.
    #[error("{path}: {error}{}", storage::full_disk_remedy(error))]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// A file says what it cannot mean.
    #[error("{path} is damaged: {what}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The log itself.
    #[error(transparent)]
    Log(#[from] storage::OpenError),
    /// Records that were durable cannot be read: cutting the log there would lose them.
    #[error(
        "the metadata log in {path} can be read up to offset {readable} only, but was durable up to {synced}{fault}; \
         restore {path} from a copy: the topics made since then are in it"
    )]
    Lost {
        /// The folder.
        path: PathBuf,
        /// The end of what can be read.
        readable: Offset,
        /// The end of what was durable.
        synced: Offset,
        /// What is wrong there.
        fault: Fault,
    },
    /// The log does not begin where the snapshots end.
    #[error(
        "the metadata log in {path} begins at offset {start}, and no snapshot holds what came before; restore {path} from a copy"
    )]
    Gap {
        /// The folder.
        path: PathBuf,
        /// Where the log begins.
        start: Offset,
    },
    /// A record that cannot be understood: what comes after it cannot be trusted.
    #[error("the metadata log in {path} cannot be read: {error}")]
    Read {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        error: ReadError,
    },
    /// A record that contradicts the ones before.
    #[error("the metadata log in {path} contradicts itself near offset {offset}: {error}")]
    Apply {
        /// The folder.
        path: PathBuf,
        /// Where.
        offset: Offset,
        /// What is wrong.
        error: ApplyError,
    },
    /// This node may not lead the quorum.
    #[error("{0}")]
    Voters(String),
    /// The cluster uses a level this version does not know.
    #[error(
        "the cluster in {path} uses {feature} at level {level}, this version knows levels up to {max}: start a newer version"
    )]
    Level {
        /// The folder.
        path: PathBuf,
        /// The feature.
        feature: String,
        /// Its level.
        level: i16,
        /// The highest level known.
        max: i16,
    },
    /// The first records could not be appended.
    #[error(transparent)]
    Write(#[from] LogError),
}

/// What is wrong at a place, if it is known; printed as an addition to a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault(pub Option<String>);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(what) => write!(f, " ({what})"),
            None => Ok(()),
        }
    }
}

/// Why records are not committed, or upkeep failed. Unless the disk is full, the leadership ends with it (rule 109).
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The disk failed.
    #[error("the metadata log's disk failed at {path}: {error}")]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The log refused the records.
    #[error("the metadata log refused its records: {0}")]
    Append(#[from] storage::AppendError),
    /// Old segments cannot be told apart.
    #[error("old segments of the metadata log cannot be removed: {0}")]
    Retention(#[from] storage::ReadError),
    /// The records do not fit their format.
    #[error("records cannot be written: {0}")]
    Write(#[from] WriteError),
}

impl LogError {
    /// Whether the disk is full and nothing else is wrong: the log is as it was before, and goes on once there is room
    /// (rule 110).
    pub fn is_full(&self) -> bool {
        let error = match self {
            LogError::Disk { error, .. } | LogError::Append(storage::AppendError::Disk(error)) => error,
            LogError::Append(_) | LogError::Retention(_) | LogError::Write(_) => return false,
        };
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }
}

pub(crate) fn disk(path: &Path) -> impl Fn(io::Error) -> OpenError + '_ {
    move |error| OpenError::Disk {
        path: path.to_owned(),
        error,
    }
}

pub(crate) fn log_disk(path: &Path) -> impl Fn(io::Error) -> LogError + '_ {
    move |error| LogError::Disk {
        path: path.to_owned(),
        error,
    }
}

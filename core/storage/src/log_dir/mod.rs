//! A log directory (`log.dirs`): its lock, its identity, its checkpoints, the folders of its partitions, and whether
//! it was left in order.
//!
//! Everything written here is durable when the call returns, unlike in Apache Kafka, whose freshly formatted directory
//! does not survive a power cut.

mod folder;
mod meta_properties;
mod partition_metadata;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{BrokerEpoch, TopicPartition, Uuid};

use crate::checkpoint::{OffsetMap, parse_offsets, render_offsets};
use crate::disk::{DirLock, Disk};
use crate::log::{OpenError, Shutdown};
pub use folder::{FolderKind, PartitionFolder};
use meta_properties::META_PROPERTIES;
pub use meta_properties::{MetaProperties, MetaPropertiesError};
pub use partition_metadata::PartitionMetadata;

const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
const LOG_STARTS: &str = "log-start-offset-checkpoint";
const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";

/// A log directory that this process holds.
pub struct LogDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    lock: Box<dyn DirLock>,
}

/// The checkpoints of a directory. What is not in them is 0, or where the first segment begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoints {
    /// Everything below is durable.
    pub recovery_points: OffsetMap,
    /// The starts of logs that do not begin with their first segment.
    pub log_start_offsets: OffsetMap,
    /// The high watermarks.
    pub high_watermarks: OffsetMap,
    /// Files that could not be read and count as empty (rule 98), with the reason.
    pub unreadable: Vec<String>,
}

/// How a directory was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastShutdown {
    /// Whether logs may be opened without recovery.
    pub shutdown: Shutdown,
    /// The broker epoch that a clean end has noted (KIP-966, rule 85).
    pub broker_epoch: Option<BrokerEpoch>,
}

impl std::fmt::Debug for LogDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogDir")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn disk_error(path: &Path) -> impl Fn(io::Error) -> OpenError + '_ {
    move |error| OpenError::Disk {
        path: path.display().to_string(),
        error,
    }
}

impl LogDir {
    /// Takes the lock of a directory, making it where there is none (rule 104).
    pub fn open(disk: Arc<dyn Disk>, path: &Path) -> Result<LogDir, OpenError> {
        let was_there = disk.exists(path).map_err(disk_error(path))?;
        match create_dir_durably(&*disk, path) {
            // Who made it may not have synced its name; but a parent may be closed to us.
            Err(error) if was_there && error.kind() == io::ErrorKind::PermissionDenied => {}
            done => done.map_err(disk_error(path))?,
        }
        let lock = disk
            .lock_dir(path)
            .map_err(disk_error(path))?
            .ok_or_else(|| OpenError::Locked {
                path: path.display().to_string(),
            })?;
        Ok(LogDir {
            disk,
            path: path.to_owned(),
            lock,
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The disk it lies on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Makes everything in it durable at once, for who has many files to sync. A failure is final for the directory: what
    /// was not durable before may be gone (rule 109).
    pub fn sync_file_system(&self) -> io::Result<()> {
        self.lock.sync_file_system()
    }

    /// Whether [`LogDir::sync_file_system`] can be relied on here.
    pub fn can_sync_file_system(&self) -> bool {
        self.lock.reports_failures()
    }

    /// Its identity; `None` when it was never formatted.
    pub fn meta_properties(&self) -> Result<Option<MetaProperties>, OpenError> {
        let path = self.path.join(META_PROPERTIES);
        let Some(content) = self.disk.read_if_there(&path).map_err(disk_error(&path))? else {
            return Ok(None);
        };
        let meta = MetaProperties::parse(&content).map_err(|error| OpenError::Content {
            path: path.display().to_string(),
            what: error.to_string(),
        })?;
        Ok(Some(meta))
    }

    /// Writes its identity.
    pub fn write_meta_properties(&self, meta: &MetaProperties) -> io::Result<()> {
        self.disk
            .replace(&self.path.join(META_PROPERTIES), &meta.render())
    }

    /// How it was left. The marker is gone durably when this returns: a crash while logs are opened counts as an
    /// unclean end (rule 93).
    pub fn take_last_shutdown(&self) -> io::Result<LastShutdown> {
        let path = self.path.join(CLEAN_SHUTDOWN);
        let Some(content) = self.disk.read_if_there(&path)? else {
            return Ok(LastShutdown {
                shutdown: Shutdown::Unclean,
                broker_epoch: None,
            });
        };
        self.disk.remove_file(&path)?;
        self.disk.sync_dir(&self.path)?;
        Ok(LastShutdown {
            shutdown: Shutdown::Clean,
            broker_epoch: parse_clean_shutdown(&content),
        })
    }

    /// Notes a clean end: the last thing that is written, after every log was closed and every checkpoint written.
    pub fn mark_clean_shutdown(&self, broker_epoch: BrokerEpoch) -> io::Result<()> {
        let content = format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}");
        self.disk
            .replace(&self.path.join(CLEAN_SHUTDOWN), content.as_bytes())
    }

    /// Reads the checkpoints. Without recovery points everything is read; without high watermarks nothing is known of
    /// what clients were told, and the directory cannot be used.
    pub fn checkpoints(&self) -> Result<Checkpoints, OpenError> {
        let mut checkpoints = Checkpoints::default();
        for (name, map) in [
            (RECOVERY_POINTS, &mut checkpoints.recovery_points),
            (LOG_STARTS, &mut checkpoints.log_start_offsets),
            (HIGH_WATERMARKS, &mut checkpoints.high_watermarks),
        ] {
            let path = self.path.join(name);
            let Some(content) = self.disk.read_if_there(&path).map_err(disk_error(&path))? else {
                continue;
            };
            match parse_offsets(&content) {
                Ok(offsets) => *map = offsets,
                Err(error) if name == HIGH_WATERMARKS => {
                    return Err(OpenError::Content {
                        path: path.display().to_string(),
                        what: format!("{error}; restore it, or remove it to go by the ends of the logs"),
                    });
                }
                Err(error) => checkpoints
                    .unreadable
                    .push(format!("{}: {error}", path.display())),
            }
        }
        Ok(checkpoints)
    }

    /// Writes the recovery points: never above what is durable (rule 101).
    pub fn write_recovery_points(&self, offsets: &OffsetMap) -> io::Result<()> {
        self.write_offsets(RECOVERY_POINTS, offsets)
    }

    /// Writes the log starts, of the logs that do not begin with their first segment.
    pub fn write_log_start_offsets(&self, offsets: &OffsetMap) -> io::Result<()> {
        self.write_offsets(LOG_STARTS, offsets)
    }

    /// Writes the high watermarks.
    pub fn write_high_watermarks(&self, offsets: &OffsetMap) -> io::Result<()> {
        self.write_offsets(HIGH_WATERMARKS, offsets)
    }

    fn write_offsets(&self, name: &str, offsets: &OffsetMap) -> io::Result<()> {
        self.disk
            .replace(&self.path.join(name), render_offsets(offsets).as_bytes())
    }

    /// The folders of partitions, in order of their names. What is not one is left alone.
    pub fn partition_folders(&self) -> io::Result<Vec<PartitionFolder>> {
        let entries = self.disk.list(&self.path)?;
        let folders = entries.iter().filter(|entry| entry.is_dir);
        Ok(folders
            .filter_map(|entry| PartitionFolder::parse(&self.path, &entry.name))
            .collect())
    }

    /// The folder of a partition. The topic's name has been validated.
    pub fn partition_path(&self, partition: &TopicPartition) -> PathBuf {
        self.path.join(partition.to_string())
    }

    /// Takes the folder of a deleted partition out of use, durably; [`LogDir::remove_folder`] frees the space.
    pub fn retire_folder(&self, path: &Path, kind: FolderKind, unique: Uuid) -> io::Result<PathBuf> {
        let retired = self.rename_folder(path, kind, unique)?;
        self.sync_names()?;
        Ok(retired)
    }

    /// The same for one of many: [`LogDir::sync_names`] makes all of them durable.
    pub fn rename_folder(&self, path: &Path, kind: FolderKind, unique: Uuid) -> io::Result<PathBuf> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let retired = self.path.join(folder::retired_name(name, kind, unique));
        if self.disk.exists(&retired)? {
            self.disk.remove_dir_all(&retired)?;
        }
        self.disk.rename(path, &retired)?;
        Ok(retired)
    }

    /// Removes a folder that is out of use, and what is in it. That it is gone is durable with [`LogDir::sync_names`];
    /// a start that finds it removes it again.
    pub fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir_all(path)
    }

    /// Makes durable which folders there are, and under which names.
    pub fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_dir(&self.path)
    }
}

/// Makes a folder and those above it, each durably.
pub(crate) fn create_dir_durably(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let mut missing: Vec<&Path> = path
        .ancestors()
        .take_while(|dir| !disk.exists(dir).unwrap_or(false))
        .collect();
    if missing.is_empty() {
        // Made by a process that may have been killed before it synced the name.
        missing.push(path);
    }
    disk.create_dir_all(path)?;
    for dir in missing.into_iter().rev() {
        match dir.parent() {
            Some(parent) if parent.as_os_str().is_empty() => disk.sync_dir(Path::new("."))?,
            Some(parent) => disk.sync_dir(parent)?,
            None => {}
        }
    }
    Ok(())
}

/// The broker epoch in a marker. Brokers before 3.7 wrote an empty file; what cannot be read names no epoch.
fn parse_clean_shutdown(content: &[u8]) -> Option<BrokerEpoch> {
    let text = std::str::from_utf8(content).ok()?;
    let (_, rest) = text.split_once("\"brokerEpoch\"")?;
    let number = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = number
        .find(|c: char| !(c.is_ascii_digit() || c == '-'))
        .unwrap_or(number.len());
    number.get(..end)?.parse().ok().map(BrokerEpoch)
}

#[cfg(test)]
mod tests;

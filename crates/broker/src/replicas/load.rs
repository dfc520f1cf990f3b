//! The start: every partition folder of every log directory is opened, several at a time.
//!
//! What an unclean stop left is repaired and made durable before anything is served, so that a client is never told of
//! records that the next power cut would take (rules 93 to 106).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use metadata::Image;
use model::{BrokerId, CLUSTER_METADATA, Offset, TopicPartition, Uuid};
use parking_lot::Mutex;
use storage::{
    Checkpoints, FolderKind, LastShutdown, Log, LogCheckpoint, LogPlace, OpenError, PartitionFolder,
    PartitionMetadata,
};

use super::dir::{DirHealth, Holds, HostedDir};
use super::partition::HostedPartition;
use super::table::{Hosted, Topics};
use super::{OpenReplicas, ReplicasError};
use crate::config::{Layers, NodeConfig, TopicConfig};

/// What is needed to open the folders of one directory.
struct DirLoad<'a> {
    dir: &'a Arc<HostedDir>,
    last_shutdown: LastShutdown,
    checkpoints: Checkpoints,
    image: &'a Image,
    node: &'a NodeConfig,
    now_ms: i64,
}

/// What became of a folder.
enum Loaded {
    Partition(Arc<HostedPartition>),
    Offline {
        topic: Arc<str>,
        topic_id: Uuid,
        partition: i32,
    },
    /// Not served: it is no partition of this broker's.
    Stray,
}

/// The typed settings of a topic.
pub(super) fn topic_config(image: &Image, node: &NodeConfig, topic: &str) -> Arc<TopicConfig> {
    let layers = Layers::of_topic(image, node, image.configs.topic(topic));
    Arc::new(TopicConfig::of(&layers, node))
}

/// Opens everything. A directory that fails is out of use when there are others, and an error when there are none.
pub(super) fn load(open: &OpenReplicas, now_ms: i64) -> Result<(Vec<Arc<HostedDir>>, Topics), ReplicasError> {
    let health = DirHealth::new(open.dirs.len(), open.halt.clone());
    let mut dirs = Vec::new();
    let mut topics = Topics::default();
    let mut seen: BTreeMap<TopicPartition, Arc<HostedDir>> = BTreeMap::new();
    for opened in &open.dirs {
        let holds = match opened.log_dir.path() == open.config.metadata_log_dir {
            true => Holds::MetadataLog,
            false => Holds::PartitionsOnly,
        };
        let dir = HostedDir::new(opened.log_dir.clone(), opened.directory_id, holds, health.clone());
        let is_needed = holds == Holds::MetadataLog || open.dirs.len() == 1;
        match load_dir(open, &dir, opened.last_shutdown, now_ms) {
            Err(error) if is_needed => return Err(error.into()),
            Err(error) => dir.fail(&error.to_string()),
            Ok(loaded) => {
                for loaded in loaded {
                    take_in(&dir, loaded, &mut topics, &mut seen)?;
                }
            }
        }
        dirs.push(dir);
    }
    Ok((dirs, topics))
}

fn take_in(
    dir: &Arc<HostedDir>,
    loaded: Loaded,
    topics: &mut Topics,
    seen: &mut BTreeMap<TopicPartition, Arc<HostedDir>>,
) -> Result<(), ReplicasError> {
    match loaded {
        Loaded::Stray => {}
        Loaded::Offline {
            topic,
            topic_id,
            partition,
        } => topics.insert(&topic, topic_id, partition, Hosted::Offline),
        Loaded::Partition(hosted) => {
            let partition = hosted.topic_partition().clone();
            if let Some(other) = seen.insert(partition.clone(), dir.clone()) {
                return Err(ReplicasError::Twice {
                    partition,
                    first: other.log_dir().path().to_owned(),
                    second: dir.log_dir().path().to_owned(),
                });
            }
            dir.join(&hosted);
            topics.insert(
                &partition.topic,
                hosted.topic_id(),
                partition.partition,
                Hosted::Online(hosted),
            );
        }
    }
    Ok(())
}

fn load_dir(
    open: &OpenReplicas,
    dir: &Arc<HostedDir>,
    last_shutdown: LastShutdown,
    now_ms: i64,
) -> Result<Vec<Loaded>, OpenError> {
    let log_dir = dir.log_dir();
    let checkpoints = log_dir.checkpoints()?;
    for unreadable in &checkpoints.unreadable {
        tracing::warn!("{unreadable}: everything it covers is read again");
    }
    let folders = log_dir
        .partition_folders()
        .map_err(|error| disk_error(log_dir.path(), error))?;
    let load = DirLoad {
        dir,
        last_shutdown,
        checkpoints,
        image: &open.image,
        node: &open.config,
        now_ms,
    };
    let jobs = Mutex::new(folders.into_iter());
    let threads = open.config.logs.recovery_threads_per_data_dir.max(1);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(folder) = jobs.lock().next() else { return };
                    let loaded = load.folder(&folder);
                    results.lock().push(loaded);
                }
            });
        }
    });
    results.into_inner().into_iter().collect()
}

impl DirLoad<'_> {
    fn folder(&self, folder: &PartitionFolder) -> Result<Loaded, OpenError> {
        let log_dir = self.dir.log_dir();
        let path = folder.path.display();
        match folder.kind {
            FolderKind::Live => {}
            FolderKind::Deleted => {
                log_dir
                    .remove_folder(&folder.path)
                    .map_err(|error| disk_error(&folder.path, error))?;
                return Ok(Loaded::Stray);
            }
            FolderKind::Stray | FolderKind::Future => {
                tracing::warn!("{path} is not served; remove it when nobody needs it");
                return Ok(Loaded::Stray);
            }
        }
        // Its own host has opened it.
        if &*folder.topic_partition.topic == CLUSTER_METADATA {
            return Ok(Loaded::Stray);
        }
        match self.owner(folder)? {
            Some(topic_id) => self.open(folder, topic_id),
            None => self
                .set_aside(folder)
                .map_err(|error| disk_error(&folder.path, error)),
        }
    }

    /// The id of the topic when the folder is a replica of this broker's by the metadata log (rule 105).
    fn owner(&self, folder: &PartitionFolder) -> Result<Option<Uuid>, OpenError> {
        let TopicPartition { topic, partition } = &folder.topic_partition;
        let metadata = PartitionMetadata::read(&**self.dir.log_dir().disk(), &folder.path)?;
        let known = self.image.topics.by_name(topic);
        Ok(known
            .filter(|known| {
                let is_same = metadata.is_some_and(|metadata| metadata.topic_id == known.id);
                is_same
                    && known
                        .partition(*partition)
                        .is_some_and(|partition| is_replica(partition, self.node.node_id))
            })
            .map(|known| known.id))
    }

    fn set_aside(&self, folder: &PartitionFolder) -> std::io::Result<Loaded> {
        let retired = self
            .dir
            .log_dir()
            .retire_folder(&folder.path, FolderKind::Stray, unique())?;
        tracing::warn!(
            "{} is no partition of this broker: kept as {}, remove it when nobody needs it",
            folder.path.display(),
            retired.display()
        );
        Ok(Loaded::Stray)
    }

    fn open(&self, folder: &PartitionFolder, topic_id: Uuid) -> Result<Loaded, OpenError> {
        let partition = &folder.topic_partition;
        let config = topic_config(self.image, self.node, &partition.topic);
        let log = match self.open_log(folder, &config) {
            Ok(log) => log,
            // One bad log does not keep the others from being served, unless nothing else would be.
            Err(error) => {
                tracing::error!("{partition} is offline: {error}");
                return Ok(Loaded::Offline {
                    topic: partition.topic.clone(),
                    topic_id,
                    partition: partition.partition,
                });
            }
        };
        let high_watermark = offset_of(&self.checkpoints.high_watermarks, partition);
        if log.log_end_offset() < high_watermark {
            // Rule 106: clients may have seen these records.
            tracing::error!(
                "{partition} ends at {} but was committed up to {high_watermark}: records are lost",
                log.log_end_offset()
            );
        }
        let hosted = HostedPartition::new(log, topic_id, self.dir.clone(), config, high_watermark);
        Ok(Loaded::Partition(Arc::new(hosted)))
    }

    fn open_log(&self, folder: &PartitionFolder, config: &TopicConfig) -> Result<Log, OpenError> {
        let partition = &folder.topic_partition;
        let disk = self.dir.log_dir().disk();
        let place = LogPlace {
            disk: disk.clone(),
            dir: folder.path.clone(),
            topic_partition: partition.clone(),
        };
        let checkpoint = LogCheckpoint {
            recovery_point: offset_of(&self.checkpoints.recovery_points, partition),
            log_start_offset: offset_of(&self.checkpoints.log_start_offsets, partition),
            shutdown: self.last_shutdown.shutdown,
        };
        let (mut log, report) = Log::open(place, checkpoint, Arc::new(config.log.clone()), self.now_ms)?;
        if let Some(fault) = &report.first_fault {
            tracing::warn!(
                "{partition}: {fault}; {} bytes were cut off",
                report.truncated_bytes
            );
        }
        if let Some(unsynced) = log.dirty() {
            unsynced.sync().map_err(|error| disk_error(&folder.path, error))?;
            log.mark_synced(&unsynced);
        }
        Ok(log)
    }
}

/// Whether a broker holds a replica.
pub(super) fn is_replica(partition: &metadata::image::Partition, broker: BrokerId) -> bool {
    partition.replicas.contains(&broker)
}

/// A name that no other folder out of use has.
pub(super) fn unique() -> Uuid {
    let mut bytes = [0; 16];
    // Without entropy a retired folder takes the place of an older one of the same name.
    let _ = getrandom::fill(&mut bytes);
    Uuid(bytes)
}

fn offset_of(offsets: &storage::OffsetMap, partition: &TopicPartition) -> Offset {
    offsets.get(partition).copied().unwrap_or(Offset::ZERO)
}

fn disk_error(path: &Path, error: std::io::Error) -> OpenError {
    OpenError::Disk {
        path: path.display().to_string(),
        error,
    }
}

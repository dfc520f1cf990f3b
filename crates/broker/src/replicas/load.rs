//! The start: every partition folder of every log directory is opened, several at a time.
//!
//! What an unclean stop left is repaired and made durable before anything is served, so that a client is never told of
//! records that the next power cut would take (rules 93 to 106).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metadata::Image;
use model::{BrokerId, CLUSTER_METADATA, Offset, TopicPartition, Uuid};
use parking_lot::Mutex;
use storage::{
    Checkpoints, FolderKind, JournalContent, JournalKey, LastShutdown, Log, LogCheckpoint, LogPlace,
    OpenError, PartitionFolder, PartitionMetadata, Replayed,
};

use super::dir::{DirHealth, Holds, HostedDir};
use super::partition::HostedPartition;
use super::table::{Hosted, Topics};
use super::{OpenReplicas, ReplicasError};
use crate::config::{Layers, NodeConfig, TopicConfig};

/// At least so many logs are opened at a time: after an unclean end each waits for a few syncs, which the disk merges.
const LOADING: usize = 8;

/// What is needed to open the folders of one directory.
struct DirLoad<'a> {
    dir: &'a Arc<HostedDir>,
    last_shutdown: LastShutdown,
    checkpoints: Checkpoints,
    image: &'a Image,
    node: &'a NodeConfig,
    now_ms: i64,
    journal: JournalContent,
    /// Whether something of it is not where it belongs.
    is_journal_left: AtomicBool,
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

impl Loaded {
    fn offline(partition: &TopicPartition, topic_id: Uuid) -> Loaded {
        Loaded::Offline {
            topic: partition.topic.clone(),
            topic_id,
            partition: partition.partition,
        }
    }

    /// Whose log could not be opened.
    fn offline_key(&self) -> Option<JournalKey> {
        match self {
            Loaded::Offline {
                topic,
                topic_id,
                partition,
            } => Some(JournalKey {
                topic_id: *topic_id,
                topic_partition: TopicPartition::new(topic.clone(), *partition),
            }),
            _ => None,
        }
    }
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
    dir.written.found(&checkpoints);
    for unreadable in &checkpoints.unreadable {
        tracing::warn!("{unreadable}: everything it covers is read again");
    }
    let folders = log_dir
        .partition_folders()
        .map_err(|error| disk_error(log_dir.path(), error))?;
    let (disk, path) = (&**log_dir.disk(), log_dir.path());
    let journal = JournalContent::read(disk, path, last_shutdown.shutdown);
    let journal = journal.map_err(|error| disk_error(path, error))?;
    let load = DirLoad {
        dir,
        is_journal_left: AtomicBool::new(!journal.damage().is_empty()),
        journal,
        last_shutdown,
        checkpoints,
        image: &open.image,
        node: &open.config,
        now_ms,
    };
    let live = folders.iter().filter(|folder| folder.kind == FolderKind::Live);
    let live = live.map(|folder| folder.topic_partition.clone()).collect();
    load.tell_of_lost(&live);
    load.tell_of_lost_in_journal(&live);
    let jobs = Mutex::new(folders.into_iter());
    let threads = open.config.logs.recovery_threads_per_data_dir.max(LOADING);
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
    let loaded = results.into_inner().into_iter().collect::<Result<Vec<_>, _>>()?;
    // Everything that was replayed is durable: only what belongs to logs that could not be opened is kept.
    let kept = loaded.iter().filter_map(Loaded::offline_key).collect();
    let replayed = match load.is_journal_left.into_inner() {
        false => Replayed::Whole,
        true => {
            let dir = path.display();
            tracing::error!(
                "the journal in {dir} is kept under names that end in .damaged: `gracchus log dump` shows what it \
                 has; remove the files when nobody needs them"
            );
            Replayed::InPart
        }
    };
    load.journal
        .finish(disk, path, &kept, replayed)
        .map_err(|error| disk_error(path, error))?;
    Ok(loaded)
}

impl DirLoad<'_> {
    fn folder(&self, folder: &PartitionFolder) -> Result<Loaded, OpenError> {
        let path = folder.path.display();
        match folder.kind {
            FolderKind::Live => {}
            FolderKind::Deleted => return self.remove(folder),
            FolderKind::Stray | FolderKind::Future => {
                tracing::warn!("{path} is not served; remove it when nobody needs it");
                return Ok(Loaded::Stray);
            }
        }
        // Its own host has opened it.
        if &*folder.topic_partition.topic == CLUSTER_METADATA {
            return Ok(Loaded::Stray);
        }
        let Some(topic_id) = self.expected(&folder.topic_partition) else {
            return self.set_aside(folder);
        };
        let disk = &**self.dir.log_dir().disk();
        let why = match PartitionMetadata::read(disk, &folder.path) {
            Ok(Some(metadata)) if metadata.topic_id == topic_id => return self.open(folder, topic_id),
            Ok(Some(_)) => return self.set_aside(folder),
            // A crash while it was made: nothing can have been appended yet (rule 17).
            Ok(None) if !self.has_records(folder)? => return self.remove(folder),
            Ok(None) => format!("{path}/partition.metadata is missing"),
            Err(error @ OpenError::Content { .. }) => error.to_string(),
            Err(error) => return Err(error),
        };
        let partition = &folder.topic_partition;
        tracing::error!(
            "{partition} is offline: {why}; if these are its records, write the lines `version: 0` and \
             `topic_id: {topic_id}` there and start again"
        );
        Ok(Loaded::offline(partition, topic_id))
    }

    /// The id of the topic of that name when this broker has a replica of the partition by the metadata log (rule 105).
    fn expected(&self, partition: &TopicPartition) -> Option<Uuid> {
        let topic = self.image.topics.by_name(&partition.topic)?;
        let known = topic.partition(partition.partition)?;
        is_replica(known, self.node.node_id).then_some(topic.id)
    }

    fn has_records(&self, folder: &PartitionFolder) -> Result<bool, OpenError> {
        let disk = self.dir.log_dir().disk();
        let held = || -> std::io::Result<bool> {
            for entry in disk.list(&folder.path)? {
                let is_segment = !entry.is_dir && entry.name.ends_with(".log");
                if is_segment && disk.len(&folder.path.join(&entry.name))? > 0 {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        held().map_err(|error| disk_error(&folder.path, error))
    }

    /// Tells of partitions whose clients were told of records, and whose folder is not there any more (rule 106).
    fn tell_of_lost(&self, found: &BTreeSet<TopicPartition>) {
        for (partition, committed) in &self.checkpoints.high_watermarks {
            let is_lost = *committed > Offset::ZERO && !found.contains(partition);
            if is_lost && self.expected(partition).is_some() {
                let dir = self.dir.log_dir().path().display();
                tracing::error!(
                    "{partition} has no folder in {dir} but was committed up to {committed}: records are lost"
                );
            }
        }
    }

    /// Tells of damage to the journal, and of partitions that it has records of and whose folder is gone.
    fn tell_of_lost_in_journal(&self, found: &BTreeSet<TopicPartition>) {
        let dir = self.dir.log_dir().path().display();
        for damage in self.journal.damage() {
            tracing::error!("{dir}: {damage}: acknowledged records may be lost");
        }
        for JournalKey {
            topic_id,
            topic_partition,
        } in self.journal.keys()
        {
            if !found.contains(topic_partition) && self.expected(topic_partition) == Some(*topic_id) {
                tracing::error!(
                    "{topic_partition} has no folder in {dir} but records in the journal: they are lost"
                );
                self.is_journal_left.store(true, Ordering::Relaxed);
            }
        }
    }

    fn remove(&self, folder: &PartitionFolder) -> Result<Loaded, OpenError> {
        let removed = self.dir.log_dir().remove_folder(&folder.path);
        removed.map_err(|error| disk_error(&folder.path, error))?;
        Ok(Loaded::Stray)
    }

    fn set_aside(&self, folder: &PartitionFolder) -> Result<Loaded, OpenError> {
        let retired = self
            .dir
            .log_dir()
            .retire_folder(&folder.path, FolderKind::Stray, unique())
            .map_err(|error| disk_error(&folder.path, error))?;
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
        let log = match self.open_log(folder, topic_id, &config) {
            Ok(log) => log,
            // One bad log does not keep the others from being served, unless nothing else would be.
            Err(error) => {
                tracing::error!("{partition} is offline: {error}");
                return Ok(Loaded::offline(partition, topic_id));
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

    fn open_log(
        &self,
        folder: &PartitionFolder,
        topic_id: Uuid,
        config: &TopicConfig,
    ) -> Result<Log, OpenError> {
        let partition = &folder.topic_partition;
        let journal = self.journal.rows(&JournalKey {
            topic_id,
            topic_partition: partition.clone(),
        });
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
        let (mut log, report) = Log::open_replaying(
            place,
            checkpoint,
            Arc::new(config.log.clone()),
            &journal,
            self.now_ms,
        )?;
        if report.replayed_bytes > 0 {
            tracing::info!(
                "{partition}: {} bytes came back from the journal",
                report.replayed_bytes
            );
        }
        if let Some(fault) = &report.journal_fault {
            tracing::error!("{partition}: what the journal has of it is lost in part: {fault}");
            self.is_journal_left.store(true, Ordering::Relaxed);
        }
        if let Some(fault) = &report.first_fault {
            match report.truncated_bytes {
                0 => tracing::warn!("{partition}: {fault}"),
                bytes => tracing::warn!("{partition}: {fault}; {bytes} bytes were cut off"),
            }
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::fixture::Fixture;

    /// A node that was stopped with a record in `orders-0` and in `other-0`, and the folder of the first.
    fn stopped() -> (Fixture, PathBuf) {
        let mut fixture = Fixture::new();
        fixture.topic("orders", 1, &[]);
        fixture.topic("other", 1, &[]);
        fixture.close();
        let folder = fixture.dir.path().join("data/orders-0");
        (fixture, folder)
    }

    fn is_offline(fixture: &Fixture, topic: &str) -> bool {
        fixture.replicas().partition(topic, 0).is_none()
    }

    #[test]
    fn records_whose_topic_cannot_be_told_are_kept_where_they_are_and_the_others_served() {
        for damage in [Some("version: 7\n"), Some(""), None] {
            let (mut fixture, folder) = stopped();
            let metadata = folder.join("partition.metadata");
            let sound = std::fs::read(&metadata).unwrap();
            let segment = folder.join("00000000000000000000.log");
            std::fs::write(&segment, b"records").unwrap();
            match damage {
                Some(text) => std::fs::write(&metadata, text).unwrap(),
                None => std::fs::remove_file(&metadata).unwrap(),
            }
            fixture.open().unwrap();
            assert!(is_offline(&fixture, "orders"), "{damage:?}");
            assert!(!is_offline(&fixture, "other"), "{damage:?}");
            assert_eq!(std::fs::read(&segment).unwrap(), b"records");
            fixture.close();
            // Repaired as the line in the log says, it is served.
            std::fs::write(&metadata, sound).unwrap();
            std::fs::write(&segment, b"").unwrap();
            fixture.open().unwrap();
            assert!(!is_offline(&fixture, "orders"), "{damage:?}");
        }
    }

    #[test]
    fn a_folder_that_a_crash_left_half_made_is_made_again() {
        let (mut fixture, folder) = stopped();
        std::fs::remove_file(folder.join("partition.metadata")).unwrap();
        fixture.open().unwrap();
        assert!(!is_offline(&fixture, "orders"));
        assert!(folder.join("partition.metadata").exists());
        // Nothing of it stays behind to be asked about at every start.
        let left = std::fs::read_dir(fixture.dir.path().join("data")).unwrap();
        let strays = left.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with("-stray")
        });
        assert_eq!(strays.count(), 0);
    }
}

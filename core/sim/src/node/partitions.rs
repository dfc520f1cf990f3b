//! The partitions the node hosts: opened, led, appended to, synced, read, deleted.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use metadata::{Delta, TopicFate};
use model::{CLUSTER_METADATA, CONSUMER_OFFSETS, Offset, TopicPartition, Uuid};
use replication::{
    Accepted, Acks, AppendRefused, Durability, Fetch, FetchRefused, Fetched, Isolation, Leadership, Replica,
    Woken,
};
use storage::{
    Checkpoints, FirstBatch, FolderKind, JournalContent, JournalKey, JournalRows, Log, LogCheckpoint,
    LogPlace, Origin, PartitionFolder, PartitionMetadata, Replayed, Shutdown,
};

use super::{Effect, Halt, Hosted, ID, Node, Plant, halt};

/// What became of a produce.
#[derive(Debug)]
pub(crate) enum Produced {
    /// Committed, with its first record at this offset.
    Done(Offset),
    /// Appended at this offset; the outcome comes as an effect.
    Waits(Offset),
    /// Refused.
    Refused(AppendRefused),
}

impl Node {
    /// Opens what the metadata log says is here; sets aside what it does not know.
    pub(super) fn open_partitions(&mut self, shutdown: Shutdown, now_ms: i64) -> Result<(), Halt> {
        let checkpoints = self.dir.checkpoints().map_err(halt)?;
        let disk = self.disk.clone();
        let journal = JournalContent::read(&*disk, self.dir.path(), shutdown).map_err(halt)?;
        for folder in self.dir.partition_folders().map_err(halt)? {
            if &*folder.topic_partition.topic == CLUSTER_METADATA {
                continue;
            }
            match (folder.kind, self.owner(&folder)?) {
                (FolderKind::Live, Some(topic_id)) => {
                    let key = JournalKey {
                        topic_id,
                        topic_partition: folder.topic_partition.clone(),
                    };
                    let log = self.open_log(&folder, &checkpoints, shutdown, &journal.rows(&key), now_ms)?;
                    let high_watermark = offset_of(&checkpoints.high_watermarks, &folder.topic_partition);
                    if log.log_end_offset() < high_watermark {
                        return Err(Halt(format!("{} lost committed records", folder.topic_partition)));
                    }
                    let replica = Replica::new(log, Durability::Fsync, 1, high_watermark);
                    self.partitions
                        .insert(folder.topic_partition, Hosted { replica, topic_id });
                }
                (FolderKind::Live, None) => {
                    let unique = self.unique();
                    self.dir
                        .retire_folder(&folder.path, FolderKind::Stray, unique)
                        .map_err(halt)?;
                }
                (FolderKind::Deleted, _) => self.dir.remove_folder(&folder.path).map_err(halt)?,
                (FolderKind::Stray | FolderKind::Future, _) => {}
            }
        }
        journal
            .finish(&*disk, self.dir.path(), &BTreeSet::new(), Replayed::Whole)
            .map_err(halt)
    }

    fn owner(&self, folder: &PartitionFolder) -> Result<Option<Uuid>, Halt> {
        let metadata = PartitionMetadata::read(&*self.disk, &folder.path).map_err(halt)?;
        let TopicPartition { topic, partition } = &folder.topic_partition;
        let known = self.replay.image().topics.by_name(topic);
        Ok(known
            .filter(|known| metadata.is_some_and(|metadata| metadata.topic_id == known.id))
            .filter(|known| known.partition(*partition).is_some())
            .map(|known| known.id))
    }

    fn open_log(
        &self,
        folder: &PartitionFolder,
        checkpoints: &Checkpoints,
        shutdown: Shutdown,
        journal: &JournalRows,
        now_ms: i64,
    ) -> Result<Log, Halt> {
        let checkpoint = LogCheckpoint {
            recovery_point: offset_of(&checkpoints.recovery_points, &folder.topic_partition),
            log_start_offset: offset_of(&checkpoints.log_start_offsets, &folder.topic_partition),
            shutdown,
        };
        let place = self.place(&folder.path, &folder.topic_partition);
        let opened = Log::open_replaying(place, checkpoint, self.log_config.clone(), journal, now_ms);
        let (mut log, report) = opened.map_err(halt)?;
        if let Some(fault) = report.journal_fault {
            return Err(Halt(format!("{}: {fault}", folder.topic_partition)));
        }
        // What recovery found is served only when it is durable.
        if let Some(unsynced) = log.dirty() {
            unsynced.sync().map_err(halt)?;
            log.mark_synced(&unsynced);
        }
        Ok(log)
    }

    fn place(&self, path: &Path, tp: &TopicPartition) -> LogPlace {
        LogPlace {
            disk: self.disk.clone(),
            dir: path.to_owned(),
            topic_partition: tp.clone(),
        }
    }

    fn unique(&mut self) -> Uuid {
        let (high, low) = (self.entropy.bits(), self.entropy.bits());
        Uuid((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
    }

    /// Hosts what the metadata says, before anybody is told of it.
    pub(super) fn act_on(&mut self, delta: &Delta, now_ms: i64) -> Result<(), Halt> {
        for (id, change) in &delta.topics {
            if change.fate == TopicFate::Deleted {
                self.drop_topic(*id)?;
                self.shards_forget_topic(&change.name, *id, now_ms)?;
                continue;
            }
            for index in &change.partitions {
                self.host(*id, *index, now_ms)?;
            }
        }
        Ok(())
    }

    fn host(&mut self, id: Uuid, index: i32, now_ms: i64) -> Result<(), Halt> {
        let image = self.replay.image();
        let Some((topic, partition)) = image
            .topics
            .by_id(id)
            .and_then(|topic| Some((topic, topic.partition(index)?)))
        else {
            return Ok(());
        };
        let tp = TopicPartition::new(topic.name.clone(), index);
        let leadership = Leadership {
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            replicas: partition.replicas.len(),
            in_sync: partition.isr.len(),
        };
        let leads = partition.leader == Some(ID);
        if !self.partitions.contains_key(&tp) {
            let checkpoints = self.dir.checkpoints().map_err(halt)?;
            let is_named = |offsets: &storage::OffsetMap| offsets.contains_key(&tp);
            if is_named(&checkpoints.high_watermarks) || is_named(&checkpoints.recovery_points) {
                // What they say of one that is gone must not be believed of this one.
                self.checkpoint()?;
            }
            let place = self.place(&self.dir.partition_path(&tp), &tp);
            let log = Log::create(place, id, self.log_config.clone(), now_ms).map_err(halt)?;
            let replica = Replica::new(log, Durability::Fsync, 1, Offset::ZERO);
            self.partitions.insert(
                tp.clone(),
                Hosted {
                    replica,
                    topic_id: id,
                },
            );
            if &*tp.topic == CONSUMER_OFFSETS {
                self.add_shard(index, now_ms)?;
            }
        }
        let mut woken = Vec::new();
        if let Some(hosted) = self.partitions.get_mut(&tp).filter(|_| leads) {
            hosted.replica.lead(leadership, &mut woken).map_err(halt)?;
        }
        self.wake(woken);
        Ok(())
    }

    fn drop_topic(&mut self, id: Uuid) -> Result<(), Halt> {
        let gone: Vec<_> = self
            .partitions
            .extract_if(.., |_, hosted| hosted.topic_id == id)
            .collect();
        for (tp, hosted) in gone {
            self.syncing.retain(|(other, _)| *other != tp);
            let mut woken = Vec::new();
            drop(hosted.replica.into_log(&mut woken));
            self.wake(woken);
            self.void_in_journal(&JournalKey {
                topic_id: id,
                topic_partition: tp.clone(),
            })?;
            let unique = self.unique();
            let path = self.dir.partition_path(&tp);
            self.dir
                .retire_folder(&path, FolderKind::Deleted, unique)
                .map_err(halt)?;
        }
        Ok(())
    }

    /// Appends a client's batch with acks=all.
    pub(crate) fn produce(
        &mut self,
        tp: &TopicPartition,
        batch: &Bytes,
        token: u64,
        now_ms: i64,
    ) -> Result<Produced, Halt> {
        let accepted = match self.append(tp, batch, Origin::Client, now_ms)? {
            Ok(accepted) => accepted,
            Err(refused) => return Ok(Produced::Refused(refused)),
        };
        let first = accepted.appended.first_offset;
        if accepted.committed {
            return Ok(Produced::Done(first));
        }
        if let Some(hosted) = self.partitions.get_mut(tp) {
            hosted.replica.park_produce(accepted.required, token);
        }
        Ok(Produced::Waits(first))
    }

    pub(super) fn append(
        &mut self,
        tp: &TopicPartition,
        batch: &Bytes,
        origin: Origin,
        now_ms: i64,
    ) -> Result<Result<Accepted, AppendRefused>, Halt> {
        let hosted = self
            .partitions
            .get_mut(tp)
            .ok_or_else(|| Halt(format!("{tp} is not here")))?;
        let mut woken = Vec::new();
        let appended = hosted
            .replica
            .append(batch, origin, Acks::All, now_ms, &mut woken);
        self.wake(woken);
        match appended {
            Err(AppendRefused::Log(storage::AppendError::Disk(error))) => Err(halt(error)),
            Err(AppendRefused::Log(storage::AppendError::Offline)) => Err(halt("a log is offline")),
            other => Ok(other),
        }
    }

    /// A group commit begins: what is dirty now will be durable when it ends.
    pub(crate) fn begin_sync(&mut self) {
        let dirty = self
            .partitions
            .iter()
            .filter_map(|(tp, hosted)| Some((tp.clone(), hosted.replica.log().dirty()?)));
        self.syncing = dirty.collect();
    }

    /// The group commit ends: in the journal, by one sync of everything, or file by file.
    pub(crate) fn end_sync(&mut self, now_ms: i64) -> Result<(), Halt> {
        let syncing = std::mem::take(&mut self.syncing);
        let by_journal = !self.entropy.one_in(self.journal_spared);
        let together = self.entropy.one_in(2);
        let (journaled, alone) = match by_journal {
            true => self.write_journal(syncing)?,
            false => (Vec::new(), syncing),
        };
        for (tp, unsynced) in journaled {
            if let Some(hosted) = self.partitions.get_mut(&tp) {
                let mut woken = Vec::new();
                hosted.replica.journaled(&unsynced, &mut woken);
                self.committed(&tp, woken, now_ms)?;
            }
        }
        let is_planted = self.planted == Some(Plant::NoSync);
        if together && !by_journal && !is_planted {
            self.dir.sync_file_system().map_err(halt)?;
        }
        for (tp, unsynced) in alone {
            if !is_planted && (by_journal || !together) {
                unsynced.sync().map_err(halt)?;
            }
            if let Some(hosted) = self.partitions.get_mut(&tp) {
                let mut woken = Vec::new();
                hosted.replica.synced(&unsynced, &mut woken);
                self.committed(&tp, woken, now_ms)?;
            }
        }
        Ok(())
    }

    fn committed(
        &mut self,
        tp: &TopicPartition,
        woken: Vec<Woken<u64, ()>>,
        now_ms: i64,
    ) -> Result<(), Halt> {
        self.wake(woken);
        match self.partitions.get(tp) {
            Some(hosted) if &*tp.topic == CONSUMER_OFFSETS => {
                let high_watermark = hosted.replica.high_watermark();
                self.shard_committed(tp.partition, high_watermark, now_ms)
            }
            _ => Ok(()),
        }
    }

    /// Reads as a consumer.
    pub(crate) fn fetch(&self, tp: &TopicPartition, offset: Offset) -> Option<Result<Fetched, FetchRefused>> {
        let fetch = Fetch {
            offset,
            max_bytes: 4_096,
            first_batch: FirstBatch::Whole,
            isolation: Isolation::ReadUncommitted,
            current_leader_epoch: None,
            last_fetched_epoch: None,
        };
        Some(self.partitions.get(tp)?.replica.fetch(&fetch))
    }

    /// The partitions of a topic.
    pub(crate) fn partition_count(&self, topic: &str) -> i32 {
        let topic = self.replay.image().topics.by_name(topic);
        topic.map_or(0, |topic| {
            i32::try_from(topic.partition_count()).unwrap_or(i32::MAX)
        })
    }

    pub(super) fn wake(&mut self, woken: Vec<Woken<u64, ()>>) {
        for woken in woken {
            if let Woken::Produce { token, outcome } = woken {
                self.effects.push(Effect::Produced { token, outcome });
            }
        }
    }

    pub(super) fn shared_log_end(&self, tp: &TopicPartition) -> Offset {
        self.partitions
            .get(tp)
            .map_or(Offset::ZERO, |hosted| hosted.replica.log().log_end_offset())
    }
}

fn offset_of(offsets: &storage::OffsetMap, tp: &TopicPartition) -> Offset {
    offsets.get(tp).copied().unwrap_or(Offset::ZERO)
}

//! The start: from the files of the metadata log to an image and the leadership of a new epoch.
//!
//! Every step can be repeated: whatever a crash leaves, the next start goes through the same steps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metadata::batch::{BatchWriter, Contents, ControlRecord, read_batch};
use metadata::image::{FEATURES, METADATA_VERSION, METADATA_VERSION_MAX};
use metadata::snapshot::SnapshotId;
use metadata::{Image, LogPosition, MetadataLog, RecordVersions, Replay};
use model::{CLUSTER_METADATA, LeaderEpoch, Offset, TopicPartition, Uuid};
use storage::{Disk, Log, LogCheckpoint, LogPlace, PartitionMetadata, Shutdown};
use wire::internal::raft::{LeaderChangeMessage, LeaderChangeMessageVoter};
use wire::records::Batch;

use crate::error::{Fault, OpenError, disk};
use crate::format::{Bootstrap, folder, read_bootstrap};
use crate::quorum_state::{QUORUM_STATE, read_epoch, render};
use crate::segments::{SoundEnd, read_sound};
use crate::snapshots::{list, read_newest, remove_leftovers};
use crate::voters::{Known, Voter};
use crate::{QuorumConfig, QuorumOfOne, synced};

/// The file that shows that the folder was made whole.
const PARTITION_METADATA: &str = "partition.metadata";

/// What is needed to open the metadata log.
#[derive(Clone, Debug)]
pub struct OpenQuorum {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// The log directory that holds the metadata log, locked by the caller.
    pub log_dir: PathBuf,
    /// This node.
    pub voter: Voter,
    /// Whether `controller.quorum.voters` names this node, and it alone.
    pub configured_voter: bool,
    /// When to take snapshots, and what to keep.
    pub config: QuorumConfig,
}

/// The metadata log of a node that leads it.
#[derive(Debug)]
pub struct Opened {
    /// The log.
    pub quorum: QuorumOfOne,
    /// What it says, with what changed since the beginning as delta.
    pub replay: Replay,
    /// What a format left, when the log is empty and has to begin with it.
    pub bootstrap: Option<Bootstrap>,
    /// What was found damaged and could be done without; to be told to people.
    pub warnings: Vec<String>,
}

/// What the files say.
struct Loaded {
    ids: Vec<SnapshotId>,
    latest: Option<SnapshotId>,
    latest_timestamp_ms: i64,
    bytes_since: u64,
    replay: Replay,
    known: Known,
    sound: SoundEnd,
    warnings: Vec<String>,
}

impl OpenQuorum {
    /// Opens the log and takes the lead in a new epoch, durably.
    pub fn open(self, now_ms: i64) -> Result<Opened, OpenError> {
        let dir = self.log_dir.join(folder());
        let mut exists = match PartitionMetadata::read(&*self.disk, &dir) {
            Ok(read) => read.is_some(),
            Err(storage::OpenError::Content { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let mut loaded = if self.disk.exists(&dir).map_err(disk(&dir))? {
            self.load(&dir)?
        } else {
            Loaded::nothing()
        };
        loaded.known.check(&self.voter, self.configured_voter)?;
        check_levels(&dir, loaded.replay.image())?;

        if !exists && loaded.sound.start.is_some() {
            self.describe_again(&dir, &mut loaded.warnings)?;
            exists = true;
        }
        let log = self.open_log(&dir, exists, &loaded, now_ms)?;
        let position = loaded.replay.image().position;
        let of_log = log.latest_epoch().unwrap_or(LeaderEpoch(0)).max(position.epoch);
        let epoch = LeaderEpoch(read_epoch(&*self.disk, &dir)?.max(of_log).0.saturating_add(1));
        let Loaded {
            ids,
            latest,
            latest_timestamp_ms,
            bytes_since,
            mut replay,
            known,
            warnings,
            ..
        } = loaded;
        let mut quorum = QuorumOfOne {
            disk: self.disk.clone(),
            dir,
            log,
            epoch,
            config: self.config,
            known,
            snapshots: ids,
            latest_snapshot: latest,
            latest_snapshot_ms: latest.map_or(now_ms, |_| latest_timestamp_ms),
            bytes_since_snapshot: bytes_since,
            writing: None,
            snapshot_not_before_ms: i64::MIN,
            noted_synced: Offset::ZERO,
            noted_at_ms: now_ms,
        };
        quorum.lead(&self.voter, &mut replay, now_ms)?;
        let is_new = replay.image().features.metadata_version().is_none();
        let bootstrap = is_new
            .then(|| read_bootstrap(&*self.disk, &self.log_dir))
            .transpose()?;
        Ok(Opened {
            quorum,
            replay,
            bootstrap,
            warnings,
        })
    }

    /// Reads snapshot and log, and makes sure that nothing durable would be cut off by opening the log.
    fn load(&self, dir: &Path) -> Result<Loaded, OpenError> {
        remove_leftovers(&*self.disk, dir)?;
        let ids = list(&*self.disk, dir).map_err(disk(dir))?;
        let newest = read_newest(&*self.disk, dir, &ids)?;
        let mut loaded = Loaded {
            warnings: newest.damaged.clone(),
            ids,
            ..Loaded::nothing()
        };
        if let Some((id, image, frame)) = newest.snapshot {
            loaded.known.note(&frame.quorum, id.end_offset > Offset::ZERO);
            loaded.latest = Some(id);
            loaded.latest_timestamp_ms = frame.last_contained_log_timestamp_ms;
            // The snapshot that a format left says nothing about the cluster yet: the log begins before it.
            let image = if id.end_offset == Offset::ZERO {
                Image::default()
            } else {
                image
            };
            loaded.replay = Replay::from_image(image);
        }
        loaded.ids.retain(|id| Some(*id) <= loaded.latest);
        let from = loaded.latest.map_or(Offset::ZERO, |id| id.end_offset);
        let mut replayed = Replayed {
            dir,
            from,
            loaded: &mut loaded,
        };
        let sound = read_sound(&*self.disk, dir, &mut |batch| replayed.take(&batch))?;
        loaded.sound = sound;
        self.check_nothing_lost(dir, &loaded, newest.damaged)?;
        Ok(loaded)
    }

    fn check_nothing_lost(&self, dir: &Path, loaded: &Loaded, damaged: Vec<String>) -> Result<(), OpenError> {
        let from = loaded.latest.map_or(Offset::ZERO, |id| id.end_offset);
        let readable = loaded.sound.end.max(from);
        let noted = synced::read(&*self.disk, dir)?;
        if readable < noted {
            let fault = loaded.sound.fault.clone();
            return Err(OpenError::Lost {
                path: dir.to_owned(),
                readable,
                synced: noted,
                fault,
            });
        }
        match loaded.sound.start {
            Some(start) if start > from => match damaged.into_iter().next() {
                Some(what) => Err(OpenError::File {
                    path: dir.to_owned(),
                    what: format!("{what}; restore it from a copy"),
                }),
                None => Err(OpenError::Gap {
                    path: dir.to_owned(),
                    start,
                }),
            },
            _ => Ok(()),
        }
    }

    /// The records are there and the file beside them that says whose they are is not, or is damaged: it can say one
    /// thing only. Made anew, the log would lose them.
    fn describe_again(&self, dir: &Path, warnings: &mut Vec<String>) -> Result<(), OpenError> {
        let path = dir.join(PARTITION_METADATA);
        let content = PartitionMetadata {
            topic_id: Uuid::METADATA_TOPIC,
        };
        let written = self.disk.replace(&path, content.render().as_bytes());
        written.map_err(disk(&path))?;
        warnings.push(format!(
            "{} was missing or damaged: written again",
            path.display()
        ));
        Ok(())
    }

    fn open_log(&self, dir: &Path, exists: bool, loaded: &Loaded, now_ms: i64) -> Result<Log, OpenError> {
        let place = LogPlace {
            disk: self.disk.clone(),
            dir: dir.to_owned(),
            topic_partition: TopicPartition::new(CLUSTER_METADATA, 0),
        };
        let config = Arc::new(self.config.log_config());
        let mut log = if exists {
            // Not the oldest snapshot's end: a log that a snapshot has overtaken starts anew below.
            let start = loaded
                .ids
                .first()
                .map_or(Offset::ZERO, |id| id.end_offset)
                .min(loaded.sound.end);
            let checkpoint = LogCheckpoint {
                recovery_point: Offset::ZERO,
                log_start_offset: start,
                shutdown: Shutdown::Unclean,
            };
            Log::open(place, checkpoint, config, now_ms)?.0
        } else {
            Log::create(place, Uuid::METADATA_TOPIC, config, now_ms)?
        };
        let end = loaded.latest.map_or(Offset::ZERO, |id| id.end_offset);
        if log.log_end_offset() < end {
            log.truncate_fully_and_start_at(end, now_ms).map_err(disk(dir))?;
        }
        if log.log_end_offset() != loaded.sound.end.max(end) {
            let (opened, read) = (log.log_end_offset(), loaded.sound.end);
            let what = format!("it ends at offset {opened} when opened, but at {read} when read");
            return Err(OpenError::File {
                path: dir.to_owned(),
                what,
            });
        }
        Ok(log)
    }
}

impl Loaded {
    fn nothing() -> Loaded {
        Loaded {
            ids: Vec::new(),
            latest: None,
            latest_timestamp_ms: 0,
            bytes_since: 0,
            replay: Replay::default(),
            known: Known::default(),
            sound: SoundEnd {
                start: None,
                end: Offset::ZERO,
                fault: Fault::default(),
            },
            warnings: Vec::new(),
        }
    }
}

/// Takes the batches that a snapshot does not hold.
struct Replayed<'a> {
    dir: &'a Path,
    from: Offset,
    loaded: &'a mut Loaded,
}

impl Replayed<'_> {
    fn take(&mut self, batch: &Batch) -> Result<(), OpenError> {
        if batch.header().last_offset() < self.from {
            return Ok(());
        }
        let path = || self.dir.to_owned();
        let (position, contents) =
            read_batch(batch).map_err(|error| OpenError::Read { path: path(), error })?;
        self.loaded.bytes_since += batch.bytes().len() as u64;
        match contents {
            Contents::Control(records) => {
                self.loaded.known.note(&records, true);
                self.loaded.replay.advance(position);
                Ok(())
            }
            Contents::Records(records) => {
                self.loaded
                    .replay
                    .apply_batch(&records, position)
                    .map_err(|error| OpenError::Apply {
                        path: path(),
                        offset: position.offset,
                        error,
                    })
            }
        }
    }
}

/// A level from a later time means records from a later time: they must not be met half-way.
fn check_levels(dir: &Path, image: &Image) -> Result<(), OpenError> {
    for (name, level) in image.features.iter() {
        let feature = FEATURES.iter().find(|feature| feature.name == &**name);
        let max = if &**name == METADATA_VERSION {
            METADATA_VERSION_MAX
        } else {
            feature.map_or(0, |known| known.max)
        };
        if level > max {
            return Err(OpenError::Level {
                path: dir.to_owned(),
                feature: name.to_string(),
                level,
                max,
            });
        }
    }
    Ok(())
}

impl QuorumOfOne {
    /// Begins the new epoch: noted first, so that no epoch is ever used twice, then told in the log, then durable with
    /// everything the log held.
    fn lead(&mut self, voter: &Voter, replay: &mut Replay, now_ms: i64) -> Result<(), OpenError> {
        let path = self.dir.join(QUORUM_STATE);
        let state = render(self.known.form(), voter.id, self.epoch);
        self.disk.replace(&path, state.as_bytes()).map_err(disk(&path))?;
        self.log.begin_epoch(self.epoch).map_err(disk(&self.dir))?;

        let me = LeaderChangeMessageVoter {
            voter_id: voter.id,
            voter_directory_id: voter.directory_id,
        };
        let change = LeaderChangeMessage {
            version: 0,
            leader_id: voter.id,
            voters: vec![me.clone()],
            granting_voters: vec![me],
        };
        let mut control = vec![ControlRecord::LeaderChange(change)];
        control.extend(self.known.to_tell(voter));
        self.known.note(&control, true);
        let mut writer = BatchWriter::new(self.next_offset(), self.epoch, now_ms);
        let batch = writer.control(&control).map_err(crate::LogError::from)?;
        self.append_batch(&batch, now_ms)?;
        replay.advance(self.last_position(now_ms));

        if replay.in_transaction() {
            let abort = Replay::abort("the leader that began it is gone");
            let versions = RecordVersions::of(&replay.image().features);
            let position = self.append(std::slice::from_ref(&abort), versions, now_ms)?;
            let applied = replay.apply_batch(&[abort], position);
            let dir = self.dir.clone();
            applied.map_err(|error| OpenError::Apply {
                path: dir,
                offset: position.offset,
                error,
            })?;
        }
        self.commit()?;
        self.note_synced(now_ms)?;
        Ok(())
    }

    pub(crate) fn last_position(&self, now_ms: i64) -> LogPosition {
        let offset = Offset(self.next_offset().0.saturating_sub(1));
        LogPosition {
            offset,
            epoch: self.epoch,
            timestamp_ms: now_ms,
        }
    }
}

/// The bytes of a snapshot's file, for the limit on all of them.
pub(crate) fn snapshot_bytes(disk: &dyn Disk, dir: &Path, ids: &[SnapshotId]) -> u64 {
    ids.iter()
        .map(|id| disk.len(&dir.join(id.file_name())).unwrap_or(0))
        .sum()
}

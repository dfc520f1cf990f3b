//! What the metadata log says becomes what this broker hosts: partitions are made, led, configured, deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use metadata::image::{ConfigKind, DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, Partition, Topic};
use metadata::{Delta, Image, TopicFate};
use model::{Offset, TopicPartition, Uuid};
use parking_lot::Mutex;
use storage::{FolderKind, JournalKey, Log, LogPlace, OpenError};

use super::Replicas;
use super::dir::HostedDir;
use super::load::{is_replica, topic_config, unique};
use super::partition::HostedPartition;
use super::table::Hosted;
use crate::config::TopicConfig;
use crate::dispatch::now_ms;

/// So many partitions are made or led at a time: each waits for a few syncs, which the disk merges.
const PARALLEL: usize = 8;

/// A partition that is to be hosted as the image says.
struct Job<'a> {
    topic: &'a Arc<Topic>,
    index: i32,
    partition: &'a Arc<Partition>,
    hosted: Option<Arc<HostedPartition>>,
    config: Arc<TopicConfig>,
}

impl Replicas {
    /// Acts on a change of the metadata. When this returns, what the image says is led here is served here. Called by
    /// the publisher of images, one change at a time, before anybody else is shown the image.
    pub(crate) fn apply(&self, image: &Image, delta: &Delta) {
        let deleted = delta
            .topics
            .iter()
            .filter(|(_, change)| change.fate == TopicFate::Deleted);
        self.delete_topics(deleted.map(|(id, _)| *id).collect());
        let changed = delta
            .topics
            .iter()
            .filter(|(_, change)| change.fate != TopicFate::Deleted);
        let named = changed.filter_map(|(id, change)| Some((image.topics.by_id(*id)?, &change.partitions)));
        let jobs = named.flat_map(|(topic, partitions)| {
            partitions
                .iter()
                .filter_map(move |index| Some((topic, *index, topic.partition(*index)?)))
        });
        self.host(image, jobs.collect());
        self.apply_configs(image, delta);
    }

    /// Leads everything that an image says, at the start.
    pub(super) fn lead_all(&self, image: &Image) {
        self.host(image, image.topics.partitions().collect());
    }

    /// Partitions that could not be made or led for want of room or descriptors, if there may be some by now.
    pub(crate) fn unhosted(&self) -> Vec<(Uuid, i32)> {
        if self.dirs.iter().any(|dir| dir.is_full()) {
            return Vec::new();
        }
        self.unhosted.lock().iter().copied().collect()
    }

    fn host(&self, image: &Image, partitions: Vec<(&Arc<Topic>, i32, &Arc<Partition>)>) {
        let mut configs: BTreeMap<Uuid, Arc<TopicConfig>> = BTreeMap::new();
        let mut jobs = Vec::new();
        for (topic, index, partition) in partitions {
            let hosted = self.hosted(topic.id, index);
            if !is_replica(partition, self.config.node_id) {
                if hosted.is_some() {
                    self.delete_partition(topic.id, index);
                }
                continue;
            }
            let hosted = match hosted {
                // Out of use until the broker starts anew, but for want of room.
                Some(Hosted::Offline) if !self.unhosted.lock().contains(&(topic.id, index)) => continue,
                Some(Hosted::Online(hosted)) => Some(hosted),
                Some(Hosted::Offline) | None => None,
            };
            let config = configs
                .entry(topic.id)
                .or_insert_with(|| topic_config(image, &self.config, &topic.name))
                .clone();
            jobs.push(Job {
                topic,
                index,
                partition,
                hosted,
                config,
            });
        }
        let made = self.run(jobs);
        if !made.is_empty() {
            self.table.update(|topics| {
                for (topic, index, hosted) in made {
                    topics.insert(&topic.name, topic.id, index, hosted);
                }
            });
        }
    }

    /// Runs the jobs, several at a time, and returns the partitions that are new to the table.
    fn run<'a>(&self, jobs: Vec<Job<'a>>) -> Vec<(&'a Arc<Topic>, i32, Hosted)> {
        let threads = jobs.len().min(PARALLEL);
        let jobs = Mutex::new(jobs.into_iter());
        let made = Mutex::new(Vec::new());
        let work = || {
            loop {
                let Some(job) = jobs.lock().next() else { return };
                let is_new = job.hosted.is_none();
                let hosted = self.run_one(&job);
                if is_new {
                    made.lock().push((job.topic, job.index, hosted));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        made.into_inner()
    }

    fn run_one(&self, job: &Job<'_>) -> Hosted {
        let hosted = match &job.hosted {
            Some(hosted) => hosted.clone(),
            None => match self.create(job) {
                Some(hosted) => hosted,
                None => return Hosted::Offline,
            },
        };
        match hosted.apply_role(job.partition, self.config.node_id) {
            Ok(()) => {
                self.unhosted.lock().remove(&(job.topic.id, job.index));
            }
            Err(error) => self.hosting_failed(job, hosted.dir(), &error),
        }
        Hosted::Online(hosted)
    }

    /// Has a partition tried again later, unless its directory does not work.
    fn hosting_failed(&self, job: &Job<'_>, dir: &HostedDir, error: &std::io::Error) {
        dir.write_problem(&format!("write to {}-{}", job.topic.name, job.index), error);
        if !dir.is_failed() {
            self.unhosted.lock().insert((job.topic.id, job.index));
        }
    }

    fn create(&self, job: &Job<'_>) -> Option<Arc<HostedPartition>> {
        let partition = TopicPartition::new(job.topic.name.clone(), job.index);
        let dir = self.dir_for(job)?;
        if let Err(error) = dir.forget_offsets(&partition) {
            self.hosting_failed(job, dir, &error);
            return None;
        }
        let place = LogPlace {
            disk: dir.log_dir().disk().clone(),
            dir: dir.log_dir().partition_path(&partition),
            topic_partition: partition.clone(),
        };
        match Log::create(place, job.topic.id, Arc::new(job.config.log.clone()), now_ms()) {
            Ok(log) => {
                let config = job.config.clone();
                let hosted = HostedPartition::new(log, job.topic.id, dir.clone(), config, Offset::ZERO);
                let hosted = Arc::new(hosted);
                dir.join(&hosted);
                Some(hosted)
            }
            Err(OpenError::Disk { error, .. }) => {
                self.hosting_failed(job, dir, &error);
                None
            }
            Err(error) => {
                tracing::error!("{partition} cannot be made: {error}");
                None
            }
        }
    }

    /// The directory that the metadata log assigns. Only where it assigns none is one chosen: a partition that is made
    /// anew, empty, beside the directory that holds its records would hide them.
    fn dir_for(&self, job: &Job<'_>) -> Option<&Arc<HostedDir>> {
        let assigned = job.partition.directory_of(self.config.node_id);
        let working = || self.dirs.iter().filter(|dir| !dir.is_failed());
        match assigned {
            None | Some(DIRECTORY_UNASSIGNED | DIRECTORY_MIGRATING) => {
                working().min_by_key(|dir| dir.member_count())
            }
            Some(id) => working().find(|dir| dir.id() == id),
        }
    }

    fn hosted(&self, topic: Uuid, index: i32) -> Option<Hosted> {
        self.topics().by_id(topic)?.partitions.get(&index).cloned()
    }

    fn delete_topics(&self, ids: Vec<Uuid>) {
        if ids.is_empty() {
            return;
        }
        self.unhosted.lock().retain(|(id, _)| !ids.contains(id));
        let mut removed = Vec::new();
        self.table
            .update(|topics| removed.extend(ids.into_iter().filter_map(|id| topics.remove(id))));
        self.retire(removed.iter().flat_map(|topic| topic.partitions.values()));
    }

    fn delete_partition(&self, id: Uuid, index: i32) {
        let mut removed = None;
        self.table
            .update(|topics| removed = topics.remove_partition(id, index));
        self.retire(&removed);
    }

    /// Takes partitions out of use. Their folders have other names at once, so that their own names are free for other
    /// topics, and one sync a directory makes that durable: the controller waits here, however many there are. The
    /// files go after `file.delete.delay.ms`.
    fn retire<'h>(&self, all: impl IntoIterator<Item = &'h Hosted>) {
        let mut renamed: Vec<(&Arc<HostedDir>, Vec<JournalKey>)> = Vec::new();
        for hosted in all {
            let Hosted::Online(hosted) = hosted else { continue };
            let dir = hosted.dir();
            if !self.rename(hosted) {
                continue;
            }
            match renamed.iter_mut().find(|(other, _)| Arc::ptr_eq(other, dir)) {
                Some((_, keys)) => keys.push(hosted.journal_key()),
                None => renamed.push((dir, vec![hosted.journal_key()])),
            }
        }
        for (dir, keys) in renamed {
            let (left, named) = (dir.void_in_journal(&keys), dir.log_dir().sync_names());
            if let Err(error) = left.and(named) {
                dir.write_problem("deletion of partitions", &error);
            }
        }
    }

    /// Gives the folder of a partition out of use its other name; whether it has it.
    fn rename(&self, hosted: &HostedPartition) -> bool {
        let dir = hosted.dir();
        dir.leave(hosted.topic_partition());
        // Open files go with the log; who still sends from them keeps them alive.
        let Some(log) = hosted.take_log() else {
            return false;
        };
        let path = log.dir().to_owned();
        drop(log);
        match dir.log_dir().rename_folder(&path, FolderKind::Deleted, unique()) {
            Ok(retired) => {
                self.upkeep
                    .remove_later(dir.clone(), retired, hosted.file_delete_delay_ms());
                true
            }
            Err(error) => {
                dir.write_failed(hosted.topic_partition(), &error);
                false
            }
        }
    }

    fn apply_configs(&self, image: &Image, delta: &Delta) {
        let node = self.config.node_id.0.to_string();
        let of_broker = |name: &str| name.is_empty() || name == node;
        let all = delta
            .configs
            .iter()
            .any(|it| it.kind == ConfigKind::BROKER && of_broker(&it.name));
        let topics = self.topics();
        let configure = |name: &str| {
            let Some(topic) = topics.by_name(name) else { return };
            let config = topic_config(image, &self.config, name);
            for hosted in topic.partitions.values() {
                if let Hosted::Online(partition) = hosted {
                    partition.set_config(&config);
                }
            }
        };
        if all {
            image.topics.iter().for_each(|topic| configure(&topic.name));
        } else {
            let changed = delta
                .configs
                .iter()
                .filter(|changed| changed.kind == ConfigKind::TOPIC);
            changed.for_each(|changed| configure(&changed.name));
        }
    }
}

//! Replicas on a folder of their own, with metadata made up as the test needs it: no socket, no controller.

use std::sync::Arc;

use metadata::{Delta, Image, MetadataRecord};
use model::{BrokerEpoch, BrokerId, Uuid};
use storage::{Disk, LogDir, RealDisk};
use tempfile::TempDir;
use wire::internal::metadata_log::{
    ConfigRecord, PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord,
};

use super::{OpenReplicas, Replicas, ReplicasError};
use crate::config::NodeConfig;
use crate::dispatch::Reply;
use crate::halt::Halt;
use crate::storage_dirs::OpenedDir;

const NODE: BrokerId = BrokerId(1);

pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    disk: Arc<dyn Disk>,
    pub(crate) config: Arc<NodeConfig>,
    pub(crate) halt: Arc<Halt>,
    image: Image,
    replicas: Option<Arc<Replicas>>,
    topics: u8,
    /// The directory that new partitions are assigned to.
    pub(crate) assigned: Uuid,
}

impl Fixture {
    /// One log directory and the defaults.
    pub(crate) fn new() -> Fixture {
        Fixture::with(&[])
    }

    /// One log directory and `more` in `server.properties`.
    pub(crate) fn with(more: &[(&str, &str)]) -> Fixture {
        Fixture::on(Arc::new(RealDisk), more)
    }

    /// The same on another disk.
    pub(crate) fn on(disk: Arc<dyn Disk>, more: &[(&str, &str)]) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let log_dir = dir.path().join("data").display().to_string();
        let least = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.listener.names", "C"),
            ("listeners", "PLAINTEXT://127.0.0.1:0,C://127.0.0.1:0"),
            ("log.dirs", log_dir.as_str()),
        ];
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let config = NodeConfig::from_properties(least.iter().chain(more).map(owned).collect()).unwrap();
        let mut fixture = Fixture {
            dir,
            disk,
            config: Arc::new(config),
            halt: Arc::default(),
            image: Image::default(),
            replicas: None,
            topics: 0,
            assigned: Uuid([1; 16]),
        };
        fixture.open().unwrap();
        fixture
    }

    /// Opens what is on the disk.
    pub(crate) fn open(&mut self) -> Result<(), ReplicasError> {
        let dirs = self.config.log_dirs.iter().zip(1u8..).map(|(path, number)| {
            let log_dir = LogDir::open(self.disk.clone(), path).unwrap();
            let last_shutdown = log_dir.take_last_shutdown().unwrap();
            OpenedDir {
                log_dir: Arc::new(log_dir),
                directory_id: Uuid([number; 16]),
                last_shutdown,
            }
        });
        let open = OpenReplicas {
            config: self.config.clone(),
            halt: self.halt.clone(),
            dirs: dirs.collect(),
            image: Arc::new(self.image.clone()),
        };
        self.replicas = Some(Replicas::open(open)?);
        Ok(())
    }

    pub(crate) fn replicas(&self) -> &Arc<Replicas> {
        self.replicas.as_ref().unwrap()
    }

    /// Stops in order.
    pub(crate) fn close(&mut self) {
        if let Some(replicas) = self.replicas.take() {
            replicas.begin_stop();
            replicas.close(BrokerEpoch(7));
        }
    }

    /// Ends as a killed process does: nothing is closed, what was written is there.
    pub(crate) fn kill(&mut self) {
        if let Some(replicas) = self.replicas.take() {
            replicas.abandon();
        }
    }

    /// Writes metadata records and has the replicas act on them.
    pub(crate) fn apply(&mut self, records: impl IntoIterator<Item = MetadataRecord>) {
        let mut delta = Delta::default();
        for record in records {
            self.image.apply(&record, &mut delta).unwrap();
        }
        if let Some(replicas) = &self.replicas {
            replicas.apply(&self.image, &delta);
        }
    }

    /// A topic with that many partitions, which this node leads.
    pub(crate) fn topic(&mut self, name: &str, partitions: i32, settings: &[(&str, &str)]) -> Uuid {
        self.topics += 1;
        let topic_id = Uuid([self.topics; 16]);
        let mut records = vec![MetadataRecord::Topic(TopicRecord {
            name: name.into(),
            topic_id,
        })];
        for (setting, value) in settings {
            records.push(MetadataRecord::Config(ConfigRecord {
                resource_type: 2,
                resource_name: name.into(),
                name: (*setting).into(),
                value: Some((*value).into()),
            }));
        }
        records.extend((0..partitions).map(|partition_id| {
            MetadataRecord::Partition(PartitionRecord {
                partition_id,
                topic_id,
                replicas: vec![NODE.0],
                isr: vec![NODE.0],
                leader: NODE.0,
                leader_epoch: 0,
                partition_epoch: 0,
                directories: vec![self.assigned],
                ..PartitionRecord::default()
            })
        }));
        self.apply(records);
        topic_id
    }

    /// Has the replicas try again what they could not do, as the publisher does now and then.
    pub(crate) fn try_again(&self) {
        let mut delta = Delta::default();
        for (id, partition) in self.replicas().unhosted() {
            let topic = self.image.topics.by_id(id).unwrap();
            delta.partition_changed(id, &topic.name, partition);
        }
        self.replicas().apply(&self.image, &delta);
    }

    pub(crate) fn set(&mut self, topic: &str, setting: &str, value: &str) {
        self.apply([MetadataRecord::Config(ConfigRecord {
            resource_type: 2,
            resource_name: topic.into(),
            name: setting.into(),
            value: Some(value.into()),
        })]);
    }

    pub(crate) fn delete_topic(&mut self, topic_id: Uuid) {
        self.apply([MetadataRecord::RemoveTopic(RemoveTopicRecord { topic_id })]);
    }

    /// Another leader for a partition, or none.
    pub(crate) fn lead(&mut self, topic_id: Uuid, partition_id: i32, leader: i32) {
        self.apply([MetadataRecord::PartitionChange(PartitionChangeRecord {
            partition_id,
            topic_id,
            leader,
            ..PartitionChangeRecord::default()
        })]);
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The answer that a reply comes to.
pub(crate) fn answer<R>(reply: Reply<R>) -> R {
    match reply {
        Reply::Now(response) => response,
        Reply::Later(receiver) | Reply::Parked(receiver, _) => receiver.blocking_recv().unwrap(),
        Reply::Blocking(work) => answer(work()),
        Reply::None => panic!("no answer"),
        Reply::Close(why) => panic!("the connection is closed: {why}"),
    }
}

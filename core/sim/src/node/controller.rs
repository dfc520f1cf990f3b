//! The node as its own controller.

use std::path::PathBuf;
use std::sync::Arc;

use ::controller::{
    BrokerRegistration, Context, CreatePartitions, CreateTopic, Decision, Entropy, Mode, PreviousShutdown,
    TopicReference, allocate_producer_ids, bootstrap_records, create_partitions, create_topics,
    delete_topics, register_broker, start_broker, stop_broker,
};
use metadata::image::supported_features;
use metadata::{MetadataLog as _, MetadataRecord, RecordVersions};
use model::{CONSUMER_OFFSETS, ProducerId, Uuid};
use quorum::{Bootstrap, OpenQuorum, Opened, QuorumConfig, Voter};
use storage::{Disk, LastShutdown};

use super::{DIR, DIRECTORY_ID, Halt, ID, Node, halt, is_clean};

/// Partitions of `__consumer_offsets`.
const OFFSETS_PARTITIONS: i32 = 2;

pub(super) fn open_quorum(disk: &Arc<dyn Disk>, now_ms: i64) -> Result<Opened, Halt> {
    OpenQuorum {
        disk: disk.clone(),
        log_dir: PathBuf::from(DIR),
        voter: Voter {
            id: ID.0,
            directory_id: DIRECTORY_ID,
            endpoints: Vec::new(),
        },
        configured_voter: true,
        config: QuorumConfig {
            bytes_between_snapshots: 2_000,
            segment_bytes: 8_000,
            ..QuorumConfig::default()
        },
    }
    .open(now_ms)
    .map_err(halt)
}

impl Node {
    pub(super) fn begin_cluster(&mut self, bootstrap: Option<Bootstrap>, now_ms: i64) -> Result<(), Halt> {
        match bootstrap {
            None => Ok(()),
            Some(Bootstrap::Records(records)) => self.write(
                &bootstrap_records(&records, self.settings.min_insync_replicas),
                now_ms,
            ),
            Some(Bootstrap::Missing) => Err(halt("what a finished format wrote is gone")),
        }
    }

    /// Registers this node, fenced, before it opens its partitions.
    pub(super) fn register(&mut self, last: LastShutdown, now_ms: i64) -> Result<(), Halt> {
        let before = self.replay.image().cluster.broker(ID).map(|broker| broker.epoch);
        let previous = match is_clean(last, before) {
            true => PreviousShutdown::Clean,
            false => PreviousShutdown::Unclean,
        };
        let registration = BrokerRegistration {
            id: ID,
            incarnation_id: Uuid([7; 16]),
            endpoints: Vec::new(),
            features: supported_features(),
            rack: None,
            log_dirs: vec![DIRECTORY_ID],
        };
        let registered = self.decide(
            |context, _| register_broker(context, &registration, previous),
            now_ms,
        )?;
        self.epoch = registered.map_err(halt)?;
        Ok(())
    }

    /// Leads what it can.
    pub(super) fn unfence(&mut self, now_ms: i64) -> Result<(), Halt> {
        let epoch = self.epoch;
        self.decide(|context, _| start_broker(context, ID, epoch), now_ms)?
            .map_err(halt)?;
        let all = metadata::Delta::of_whole(self.replay.image());
        self.replay.take_delta();
        self.act_on(&all, now_ms)?;
        if self.replay.image().topics.by_name(CONSUMER_OFFSETS).is_none() {
            self.create_topic(CONSUMER_OFFSETS, OFFSETS_PARTITIONS, now_ms)?;
        }
        Ok(())
    }

    pub(super) fn leave_cluster(&mut self, now_ms: i64) -> Result<(), Halt> {
        let epoch = self.epoch;
        let context = self.context();
        let decision = stop_broker(&context, ID, epoch);
        self.write(&decision.records, now_ms)
    }

    /// Makes a topic; whether it was made.
    pub(crate) fn create_topic(
        &mut self,
        name: &str,
        partitions: i32,
        now_ms: i64,
    ) -> Result<Option<Uuid>, Halt> {
        let wanted = CreateTopic {
            name: name.into(),
            num_partitions: partitions,
            replication_factor: 1,
            ..CreateTopic::default()
        };
        let reply = self.decide_and_act(
            |context, entropy| create_topics(context, &[wanted], Mode::Commit, entropy),
            now_ms,
        )?;
        Ok(reply
            .into_iter()
            .find_map(|(_, result)| result.ok())
            .map(|created| created.id))
    }

    /// Gives a topic more partitions; whether it has them.
    pub(crate) fn add_partitions(&mut self, name: &str, count: i32, now_ms: i64) -> Result<bool, Halt> {
        let wanted = CreatePartitions {
            name: name.into(),
            count,
            assignments: None,
        };
        let reply = self.decide_and_act(
            |context, entropy| create_partitions(context, &[wanted], Mode::Commit, entropy),
            now_ms,
        )?;
        Ok(reply.iter().all(|(_, result)| result.is_ok()))
    }

    /// Deletes a topic; whether it was there.
    pub(crate) fn delete_topic(&mut self, name: &str, now_ms: i64) -> Result<bool, Halt> {
        let topic = TopicReference {
            name: Some(name.into()),
            id: Uuid::ZERO,
        };
        let reply = self.decide_and_act(|context, _| delete_topics(context, &[topic]), now_ms)?;
        Ok(reply.iter().all(|deleted| deleted.result.is_ok()))
    }

    /// The id of a topic, if it is there.
    pub(crate) fn topic_id(&self, name: &str) -> Option<Uuid> {
        self.replay.image().topics.by_name(name).map(|topic| topic.id)
    }

    /// An id for a producer that has none.
    pub(crate) fn new_producer_id(&mut self, now_ms: i64) -> Result<ProducerId, Halt> {
        if self.producer_ids.is_empty() {
            let epoch = self.epoch;
            let block =
                self.decide_and_act(|context, _| allocate_producer_ids(context, ID, epoch), now_ms)?;
            let block = block.map_err(halt)?;
            self.producer_ids = block.first.0..block.first.0 + i64::from(block.count);
        }
        self.producer_ids
            .next()
            .map(ProducerId)
            .ok_or_else(|| halt("an empty block of producer ids"))
    }

    fn decide_and_act<R>(
        &mut self,
        decide: impl FnOnce(&Context<'_>, Entropy<'_>) -> Decision<R>,
        now_ms: i64,
    ) -> Result<R, Halt> {
        let reply = self.decide(decide, now_ms)?;
        let delta = self.replay.take_delta();
        self.act_on(&delta, now_ms)?;
        Ok(reply)
    }

    fn decide<R>(
        &mut self,
        decide: impl FnOnce(&Context<'_>, Entropy<'_>) -> Decision<R>,
        now_ms: i64,
    ) -> Result<R, Halt> {
        let mut random = self.entropy.fork();
        let decision = decide(&self.context(), &mut || random.bits());
        self.write(&decision.records, now_ms)?;
        Ok(decision.reply)
    }

    fn context(&self) -> Context<'_> {
        Context {
            image: self.replay.image(),
            settings: &self.settings,
            next_offset: self.quorum.next_offset(),
        }
    }

    /// Appends, applies and commits; nobody is told before.
    fn write(&mut self, records: &[MetadataRecord], now_ms: i64) -> Result<(), Halt> {
        if records.is_empty() {
            return Ok(());
        }
        let versions = RecordVersions::of(&self.replay.image().features);
        let position = self.quorum.append(records, versions, now_ms).map_err(halt)?;
        self.replay.apply_batch(records, position).map_err(halt)?;
        self.quorum.commit().map_err(halt)
    }
}

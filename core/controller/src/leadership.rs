//! Who leads a partition and who is in sync, after a broker came or went (rules 53, 76 to 79; KIP-966).
//!
//! Where we differ from Apache Kafka: the last known leader is elected only when it is there (rule 79).

use metadata::image::{
    DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, LeaderRecovery, NO_LEADER_CHANGE, Partition, Topic,
};
use model::BrokerId;
use wire::internal::metadata_log::PartitionChangeRecord;

use crate::Context;

/// The level of `metadata.version` from which on a smaller in-sync set needs no new leader epoch (KAFKA-15021).
const NO_EPOCH_FOR_SMALLER_ISR: i16 = 12;

/// What happened to one broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It may lead from now on, though the image does not say so yet.
    Came(BrokerId),
    /// It left with all its records: it may stay eligible.
    Went(BrokerId),
    /// It left, and may lack records that were acknowledged.
    Failed(BrokerId),
}

/// A partition on the way to its new state.
struct Change<'a> {
    context: &'a Context<'a>,
    topic: &'a Topic,
    partition: &'a Partition,
    event: Event,
    isr: Vec<BrokerId>,
    elr: Vec<BrokerId>,
    last_known_elr: Vec<BrokerId>,
    leader: Option<BrokerId>,
    unclean: bool,
}

/// What one partition becomes; `None` when it stays as it is.
pub(crate) fn change(
    context: &Context<'_>,
    topic: &Topic,
    index: i32,
    partition: &Partition,
    event: Event,
) -> Option<PartitionChangeRecord> {
    let gone = match event {
        Event::Came(_) => None,
        Event::Went(broker) | Event::Failed(broker) => Some(broker),
    };
    let mut change = Change {
        context,
        topic,
        partition,
        event,
        isr: partition
            .isr
            .iter()
            .copied()
            .filter(|member| Some(*member) != gone)
            .collect(),
        elr: partition.eligible_leader_replicas.clone(),
        last_known_elr: partition.last_known_elr.clone(),
        leader: partition.leader,
        unclean: false,
    };
    change.choose_eligible();
    change.elect();
    change.keep_last_known();
    change.record(index)
}

impl Change<'_> {
    fn elr_enabled(&self) -> bool {
        self.context.image.features.elr_enabled()
    }

    /// While too few are in sync for a write to count, who leaves the in-sync set stays eligible: nothing can be
    /// acknowledged without it (KIP-966).
    fn choose_eligible(&mut self) {
        let enough = self
            .context
            .min_insync_replicas(&self.topic.name, self.partition.replicas.len());
        if !self.elr_enabled() || self.isr.len() >= enough {
            self.elr.clear();
            return;
        }
        let failed = match self.event {
            // What was acknowledged is on its disk, however it ended.
            Event::Failed(_) if self.context.is_durable(&self.topic.name) => None,
            Event::Failed(broker) => Some(broker),
            Event::Came(_) | Event::Went(_) => None,
        };
        let mut candidates = self.elr.clone();
        candidates.extend(
            self.partition
                .isr
                .iter()
                .filter(|member| !self.elr.contains(member)),
        );
        candidates.retain(|member| !self.isr.contains(member) && Some(*member) != failed);
        self.elr = candidates;
    }

    fn is_available(&self, broker: BrokerId) -> bool {
        let cluster = &self.context.image.cluster;
        let here = match self.event {
            Event::Came(came) if came == broker => true,
            Event::Went(gone) | Event::Failed(gone) if gone == broker => false,
            _ => cluster.is_active(broker),
        };
        let on_disk = match self.partition.directory_of(broker) {
            None | Some(DIRECTORY_MIGRATING | DIRECTORY_UNASSIGNED) => true,
            Some(directory) => cluster
                .broker(broker)
                .is_some_and(|broker| broker.log_dirs.contains(&directory)),
        };
        here && on_disk
    }

    fn may_lead(&self, broker: BrokerId) -> bool {
        let eligible = self.isr.contains(&broker) || (self.isr.is_empty() && self.elr.contains(&broker));
        eligible && self.is_available(broker)
    }

    /// The leader stays if it can; else the first replica that may lead does; else, not cleanly, who led last, or where
    /// the topic allows it any replica.
    fn elect(&mut self) {
        let replicas = &self.partition.replicas;
        if self.leader.is_some_and(|leader| self.may_lead(leader)) {
            return;
        }
        if let Some(leader) = replicas.iter().copied().find(|broker| self.may_lead(*broker)) {
            self.leader = Some(leader);
            if self.isr.is_empty() {
                self.isr = vec![leader];
                self.elr.retain(|member| *member != leader);
            }
            return;
        }
        let any = || replicas.iter().copied().find(|broker| self.is_available(*broker));
        let unclean = self.last_known().or_else(|| {
            self.context
                .unclean_leader_election(&self.topic.name)
                .then(any)
                .flatten()
        });
        self.leader = unclean;
        if let Some(leader) = unclean {
            self.unclean = true;
            self.isr = vec![leader];
            self.elr.clear();
        } else if self.isr.is_empty() && !self.elr_enabled() {
            // Without eligible replicas the in-sync set says who may lead again: it never becomes empty.
            self.isr.clone_from(&self.partition.isr);
        }
    }

    fn last_known(&self) -> Option<BrokerId> {
        match self.partition.last_known_elr.as_slice() {
            [last] if self.elr_enabled() && self.isr.is_empty() && self.elr.is_empty() => {
                self.is_available(*last).then_some(*last)
            }
            _ => None,
        }
    }

    fn keep_last_known(&mut self) {
        if !self.elr_enabled() || self.leader.is_some() {
            self.last_known_elr.clear();
        } else if self.isr.is_empty() && !self.partition.isr.is_empty() {
            self.last_known_elr = self.partition.leader.into_iter().collect();
        }
    }

    fn record(self, index: i32) -> Option<PartitionChangeRecord> {
        let was = self.partition;
        let changed = |now: &[BrokerId], before: &[BrokerId]| {
            (now != before).then(|| now.iter().map(|broker| broker.0).collect::<Vec<i32>>())
        };
        let smaller = was.isr.iter().any(|member| !self.isr.contains(member));
        let old_rule = self
            .context
            .image
            .features
            .metadata_version()
            .is_some_and(|level| level < NO_EPOCH_FOR_SMALLER_ISR);
        let leader = if self.leader != was.leader || (smaller && old_rule) {
            self.leader.unwrap_or(BrokerId::NONE).0
        } else {
            NO_LEADER_CHANGE
        };
        let recovering = self.unclean && was.leader_recovery == LeaderRecovery::Recovered;
        let record = PartitionChangeRecord {
            partition_id: index,
            topic_id: self.topic.id,
            isr: changed(&self.isr, &was.isr),
            leader,
            leader_recovery_state: if recovering {
                LeaderRecovery::Recovering.code()
            } else {
                -1
            },
            eligible_leader_replicas: changed(&self.elr, &was.eligible_leader_replicas),
            last_known_elr: changed(&self.last_known_elr, &was.last_known_elr),
            ..PartitionChangeRecord::default()
        };
        let nothing = PartitionChangeRecord {
            partition_id: index,
            topic_id: self.topic.id,
            ..PartitionChangeRecord::default()
        };
        (record != nothing).then_some(record)
    }
}

//! Topics: what there is, and what shall be.

pub mod create_partitions;
pub mod create_topics;
pub mod delete_topics;
pub mod describe_topic_partitions;
pub mod metadata;

use std::collections::BTreeSet;

use ::metadata::Image;
use ::metadata::image::{Broker, DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, Partition};
use model::{BrokerId, ErrorCode};

use crate::controller::ControllerError;
use crate::dispatch::steady_ms;

/// What may be done to a topic (KIP-430), a bit for each operation's number: read 3, write 4, create 5, delete 6, alter 7,
/// describe 8, describe configs 10, alter configs 11. Without an authorizer, everything.
const ALL_TOPIC_OPERATIONS: i32 = 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 11;

/// What a client is told when the controller did not carry out a command.
fn controller_code(error: ControllerError) -> ErrorCode {
    match error {
        ControllerError::Stopped => ErrorCode::NotController,
        ControllerError::TimedOut => ErrorCode::RequestTimedOut,
        ControllerError::Full => ErrorCode::KafkaStorageError,
    }
}

/// The moment, by the steady clock, until which a client waits; one that does not wait leaves the time to us.
fn deadline_ms(timeout_ms: i32) -> Option<i64> {
    (timeout_ms > 0).then(|| steady_ms().saturating_add(timeout_ms.into()))
}

/// The members of `all`, each once, in their order.
fn distinct<'a, T: Ord + 'a>(all: impl Iterator<Item = &'a T>) -> impl Iterator<Item = &'a T> {
    let mut seen = BTreeSet::new();
    all.filter(move |one| seen.insert(*one))
}

fn ids(brokers: &[BrokerId]) -> Vec<i32> {
    brokers.iter().map(|broker| broker.0).collect()
}

/// The cluster as clients of one listener see it.
struct View<'a> {
    image: &'a Image,
    listener: &'a str,
}

impl View<'_> {
    /// A broker that serves on this listener.
    fn broker(&self, id: BrokerId) -> Option<&Broker> {
        let broker = self.image.cluster.broker(id)?;
        (!broker.fenced && broker.endpoint(self.listener).is_some()).then_some(broker)
    }

    /// The leader to tell of, and what is wrong where there is none to tell of.
    fn leader(&self, partition: &Partition, without_listener: ErrorCode) -> (BrokerId, ErrorCode) {
        match partition.leader {
            Some(leader) if self.broker(leader).is_some() => (leader, ErrorCode::None),
            Some(leader)
                if self
                    .image
                    .cluster
                    .broker(leader)
                    .is_some_and(|broker| !broker.fenced) =>
            {
                (BrokerId::NONE, without_listener)
            }
            _ => (BrokerId::NONE, ErrorCode::LeaderNotAvailable),
        }
    }

    /// The replicas that cannot serve: their broker or their directory is not there.
    fn offline_replicas(&self, partition: &Partition) -> Vec<i32> {
        let is_online = |id: BrokerId| {
            self.broker(id)
                .is_some_and(|broker| match partition.directory_of(id) {
                    None | Some(DIRECTORY_MIGRATING | DIRECTORY_UNASSIGNED) => true,
                    Some(directory) => broker.log_dirs.contains(&directory),
                })
        };
        partition
            .replicas
            .iter()
            .filter(|id| !is_online(**id))
            .map(|id| id.0)
            .collect()
    }
}

//! New partitions: from the brokers that shall hold them to the records that make them.

use std::collections::BTreeMap;

use metadata::MetadataRecord;
use metadata::image::{Cluster, DIRECTORY_UNASSIGNED, Image, LeaderRecovery, Partition};
use model::{BrokerId, LeaderEpoch, Uuid};

use crate::Context;
use crate::error::TopicError;

/// Chooses the log directory of each new replica: the one of its broker that holds the fewest (KIP-858). Left to the
/// broker, the choice would not stand in the log from the first moment; and a replica of which nobody knows where it
/// lies is made anew, empty, when its directory does not come back after a restart.
pub(crate) struct Directories<'a> {
    image: &'a Image,
    /// How many replicas lie in each directory; counted when a broker with several needs it.
    held: Option<BTreeMap<Uuid, usize>>,
}

impl<'a> Directories<'a> {
    pub(crate) fn new(context: &Context<'a>) -> Directories<'a> {
        Directories {
            image: context.image,
            held: None,
        }
    }

    fn choose(&mut self, broker: BrokerId) -> Uuid {
        let Some(broker) = self.image.cluster.broker(broker) else {
            return DIRECTORY_UNASSIGNED;
        };
        let open = broker
            .log_dirs
            .iter()
            .filter(|directory| !broker.cordoned_log_dirs.contains(directory));
        let open: Vec<Uuid> = open.copied().collect();
        match open.as_slice() {
            [] => DIRECTORY_UNASSIGNED,
            [only] => *only,
            several => {
                let held = self.held.get_or_insert_with(|| held(self.image));
                let fewest = several
                    .iter()
                    .min_by_key(|directory| held.get(directory).copied().unwrap_or(0));
                let chosen = fewest.copied().unwrap_or(DIRECTORY_UNASSIGNED);
                *held.entry(chosen).or_default() += 1;
                chosen
            }
        }
    }
}

fn held(image: &Image) -> BTreeMap<Uuid, usize> {
    let mut held = BTreeMap::new();
    for directory in image
        .topics
        .partitions()
        .flat_map(|(_, _, partition)| &partition.directories)
    {
        *held.entry(*directory).or_default() += 1;
    }
    held
}

/// A partition that is led by the first of its replicas that is active; `None` when none is.
pub(crate) fn new_partition(directories: &mut Directories<'_>, replicas: Vec<BrokerId>) -> Option<Partition> {
    let cluster = &directories.image.cluster;
    let isr: Vec<BrokerId> = replicas
        .iter()
        .copied()
        .filter(|broker| cluster.is_active(*broker))
        .collect();
    let leader = *isr.first()?;
    Some(Partition {
        directories: replicas
            .iter()
            .map(|broker| directories.choose(*broker))
            .collect(),
        replicas,
        isr,
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        eligible_leader_replicas: Vec::new(),
        last_known_elr: Vec::new(),
        leader: Some(leader),
        leader_recovery: LeaderRecovery::Recovered,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    })
}

/// The records of partitions numbered from `first` on.
pub(crate) fn partition_records(
    topic_id: Uuid,
    first: i32,
    partitions: &[Partition],
) -> impl Iterator<Item = MetadataRecord> + '_ {
    (first..)
        .zip(partitions)
        .map(move |(index, partition)| partition.to_record(topic_id, index).into())
}

/// Checks the replicas somebody chose for a partition: at least one, each registered, none twice, and as many as the
/// other partitions have.
pub(crate) fn check_manual(
    cluster: &Cluster,
    replicas: &[BrokerId],
    replication_factor: Option<usize>,
) -> Result<(), TopicError> {
    let wrong = |text: String| Err(TopicError::Assignment(text));
    if replicas.is_empty() {
        return wrong("The manual partition assignment includes an empty replica list.".to_owned());
    }
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    if let Some(unknown) = sorted.iter().find(|broker| cluster.broker(**broker).is_none()) {
        return Err(TopicError::unknown_broker(*unknown));
    }
    if let Some([twice, _]) = sorted.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        return wrong(format!(
            "The manual partition assignment includes the broker {twice} more than once."
        ));
    }
    match replication_factor {
        Some(expected) if expected != replicas.len() => wrong(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with \
             previous partitions, which have {expected} replica(s).",
            replicas.len()
        )),
        _ => Ok(()),
    }
}

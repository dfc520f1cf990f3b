//! New partitions: from the brokers that shall hold them to the records that make them.

use metadata::image::{DIRECTORY_UNASSIGNED, LeaderRecovery, Partition};
use metadata::{MetadataRecord, image::Cluster};
use model::{BrokerId, LeaderEpoch, Uuid};

use crate::Context;
use crate::error::TopicError;

/// A broker with one log directory keeps its replicas there; one with several says later where (KIP-858).
fn directory(cluster: &Cluster, broker: BrokerId) -> Uuid {
    match cluster.broker(broker).map(|broker| broker.log_dirs.as_slice()) {
        Some([only]) => *only,
        _ => DIRECTORY_UNASSIGNED,
    }
}

/// A partition that is led by the first of its replicas that is active; `None` when none is.
pub(crate) fn new_partition(context: &Context<'_>, replicas: Vec<BrokerId>) -> Option<Partition> {
    let cluster = &context.image.cluster;
    let isr: Vec<BrokerId> = replicas
        .iter()
        .copied()
        .filter(|broker| cluster.is_active(*broker))
        .collect();
    let leader = *isr.first()?;
    Some(Partition {
        directories: replicas
            .iter()
            .map(|broker| directory(cluster, *broker))
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

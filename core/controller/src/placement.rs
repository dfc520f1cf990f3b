//! Where the replicas of new partitions go when nobody says: in turn around the brokers.
//!
//! The leaders of consecutive partitions are consecutive active brokers, from a random one on, so that each leads as
//! many as any other. The followers are the brokers after the leader, and the gap to the first of them widens by one
//! with each round, so that the load of a failed broker spreads. Brokers that are fenced come last and never lead.
//! Racks are not looked at yet.

use metadata::image::Cluster;
use model::BrokerId;

use crate::Entropy;
use crate::error::TopicError;

/// Chooses the replicas of `count` partitions with `replication_factor` replicas each.
pub(crate) fn place(
    cluster: &Cluster,
    count: usize,
    replication_factor: usize,
    entropy: Entropy<'_>,
) -> Result<Vec<Vec<BrokerId>>, TopicError> {
    let (active, inactive): (Vec<_>, Vec<_>) = cluster.brokers().partition(|broker| broker.is_active());
    let ids =
        |brokers: Vec<&metadata::image::Broker>| brokers.iter().map(|broker| broker.id).collect::<Vec<_>>();
    let (active, inactive) = (ids(active), ids(inactive));
    if active.is_empty() {
        return Err(TopicError::all_inactive(replication_factor));
    }
    if replication_factor > active.len() + inactive.len() {
        return Err(TopicError::ReplicationFactor(format!(
            "Unable to replicate the partition {replication_factor} time(s): The target replication factor of \
             {replication_factor} cannot be reached because only {} broker(s) are registered.",
            active.len() + inactive.len()
        )));
    }
    let start = usize::try_from(entropy() % active.len() as u64).unwrap_or(0);
    Ok((0..count)
        .map(|index| replicas(&active, &inactive, start + index, replication_factor))
        .collect())
}

/// The replicas of the partition whose leader is `turn` places around the active brokers.
fn replicas(
    active: &[BrokerId],
    inactive: &[BrokerId],
    turn: usize,
    replication_factor: usize,
) -> Vec<BrokerId> {
    let count = active.len();
    let (leader, round) = (turn % count, turn / count);
    let gap = if count > 1 { round % (count - 1) } else { 0 };
    let followers = (0..count - 1).map(|follower| leader + 1 + (gap + follower) % (count - 1));
    let around = std::iter::once(leader).chain(followers);
    let chosen = around
        .filter_map(|place| active.get(place % count))
        .chain(inactive);
    chosen.take(replication_factor).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use metadata::image::Image;
    use metadata::{Delta, MetadataRecord};
    use wire::internal::metadata_log::RegisterBrokerRecord;

    use super::*;

    fn cluster(active: i32, fenced: i32) -> Cluster {
        let mut image = Image::default();
        for broker_id in 0..active + fenced {
            let record = RegisterBrokerRecord {
                broker_id,
                fenced: broker_id >= active,
                ..Default::default()
            };
            image
                .apply(&MetadataRecord::from(record), &mut Delta::default())
                .unwrap();
        }
        (*image.cluster).clone()
    }

    fn placed(cluster: &Cluster, count: usize, replication_factor: usize) -> Vec<Vec<i32>> {
        let partitions = place(cluster, count, replication_factor, &mut || 5).unwrap();
        partitions
            .iter()
            .map(|replicas| replicas.iter().map(|broker| broker.0).collect())
            .collect()
    }

    #[test]
    fn one_broker_holds_everything() {
        assert_eq!(placed(&cluster(1, 0), 3, 1), [[0], [0], [0]]);
    }

    #[test]
    fn leaders_and_followers_are_spread_evenly() {
        for (brokers, replication_factor) in [(3, 2), (4, 3), (5, 3), (7, 1)] {
            let count = (brokers * (brokers - 1)) as usize * 2;
            let partitions = placed(&cluster(brokers, 0), count, replication_factor);
            let mut leads = BTreeMap::<i32, usize>::new();
            let mut holds = BTreeMap::<i32, usize>::new();
            for replicas in &partitions {
                *leads.entry(replicas[0]).or_default() += 1;
                for replica in replicas {
                    *holds.entry(*replica).or_default() += 1;
                }
                let mut distinct = replicas.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), replication_factor, "{replicas:?}");
            }
            let lead = count / brokers as usize;
            assert!(leads.values().all(|count| *count == lead), "{leads:?}");
            assert!(
                holds.values().all(|count| *count == lead * replication_factor),
                "{holds:?}"
            );
        }
    }

    #[test]
    fn the_followers_of_one_leader_differ_from_round_to_round() {
        let partitions = placed(&cluster(4, 0), 12, 2);
        let mut followers: Vec<i32> = partitions
            .iter()
            .filter(|replicas| replicas[0] == 1)
            .map(|replicas| replicas[1])
            .collect();
        followers.sort_unstable();
        assert_eq!(followers, [0, 2, 3]);
    }

    #[test]
    fn a_fenced_broker_never_leads_and_is_taken_only_when_needed() {
        let two_of_three = placed(&cluster(2, 1), 6, 2);
        assert!(two_of_three.iter().flatten().all(|broker| *broker < 2));
        let all = placed(&cluster(2, 1), 6, 3);
        assert!(all.iter().all(|replicas| replicas[2] == 2));
    }

    #[test]
    fn more_replicas_than_brokers_cannot_be_had() {
        let error = place(&cluster(2, 1), 1, 4, &mut || 0).unwrap_err();
        assert!(
            error.to_string().contains("only 3 broker(s) are registered"),
            "{error}"
        );
        let error = place(&cluster(0, 1), 1, 1, &mut || 0).unwrap_err();
        assert!(error.to_string().contains("fenced"), "{error}");
        assert_eq!(error.code(), model::ErrorCode::InvalidReplicationFactor);
    }
}

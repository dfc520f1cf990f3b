//! The cooperative sticky assignor: everyone keeps what they have as far as loads stay even; a partition that changes
//! hands is left out for one round, in which its owner gives it up (KIP-429).
//!
//! Loads are even when no single move from one member to another brings them closer. Java's assignor aims at the same,
//! by another way; where subscriptions differ, which partitions move may differ too.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::TopicPartition;

use super::{Assignment, Member, nothing, wanted};

pub(super) fn assign_cooperatively(members: &[&Member], partitions: &BTreeMap<Arc<str>, i32>) -> Assignment {
    let mut assignment = Balance::of(members, partitions).into_assignment(members);
    for member in members {
        let Some(given) = assignment.get_mut(&member.id) else {
            continue;
        };
        let others = || members.iter().filter(|other| other.id != member.id);
        given.retain(|partition| {
            member.owned.contains(partition) || !others().any(|other| other.owned.contains(partition))
        });
    }
    assignment
}

/// Who has what, while it is being evened out. Members are indexes.
struct Balance {
    takers: BTreeMap<Arc<str>, Vec<usize>>,
    /// Of each member: what it kept, then what it was given. Taken away from the end.
    held: Vec<Vec<TopicPartition>>,
}

impl Balance {
    fn of(members: &[&Member], partitions: &BTreeMap<Arc<str>, i32>) -> Balance {
        let takers: BTreeMap<Arc<str>, Vec<usize>> = wanted(members, partitions)
            .map(|(topic, _)| {
                let takers = members
                    .iter()
                    .enumerate()
                    .filter(|(_, m)| m.topics.contains(topic));
                (topic.clone(), takers.map(|(index, _)| index).collect())
            })
            .collect();
        let owners = owners(members);
        let mut balance = Balance {
            takers,
            held: vec![Vec::new(); members.len()],
        };
        let mut unowned = Vec::new();
        for (topic, count) in wanted(members, partitions) {
            for partition in (0..count).map(|partition| TopicPartition::new(topic.clone(), partition)) {
                match owners.get(&partition) {
                    Some(&owner) if balance.takes(owner, topic) => balance.held[owner].push(partition),
                    _ => unowned.push(partition),
                }
            }
        }
        for partition in unowned {
            balance.give_to_least_loaded(partition);
        }
        while balance.even_out_once() {}
        balance
    }

    fn takes(&self, member: usize, topic: &str) -> bool {
        self.takers
            .get(topic)
            .is_some_and(|takers| takers.contains(&member))
    }

    fn load(&self, member: usize) -> usize {
        self.held[member].len()
    }

    fn least_loaded_taker(&self, topic: &str) -> Option<usize> {
        let takers = self.takers.get(topic)?;
        takers.iter().copied().min_by_key(|member| self.load(*member))
    }

    fn give_to_least_loaded(&mut self, partition: TopicPartition) {
        if let Some(taker) = self.least_loaded_taker(&partition.topic) {
            self.held[taker].push(partition);
        }
    }

    /// Moves one partition to a member that has at least two fewer; false when there is none to move.
    fn even_out_once(&mut self) -> bool {
        let mut donors: Vec<usize> = (0..self.held.len()).collect();
        donors.sort_by_key(|member| std::cmp::Reverse(self.load(*member)));
        for donor in donors {
            let movable = (0..self.load(donor)).rev().find_map(|place| {
                let taker = self.least_loaded_taker(&self.held[donor][place].topic)?;
                (self.load(taker) + 2 <= self.load(donor)).then_some((place, taker))
            });
            if let Some((place, taker)) = movable {
                let partition = self.held[donor].remove(place);
                self.held[taker].push(partition);
                return true;
            }
        }
        false
    }

    fn into_assignment(self, members: &[&Member]) -> Assignment {
        let mut assignment = nothing(members);
        for (member, mut held) in members.iter().zip(self.held) {
            held.sort();
            assignment.insert(member.id.clone(), held);
        }
        assignment
    }
}

/// Who owns each claimed partition: the claim of the latest generation counts, two of one generation cancel out.
fn owners(members: &[&Member]) -> BTreeMap<TopicPartition, usize> {
    let mut claims: BTreeMap<TopicPartition, (i32, Option<usize>)> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        for partition in &member.owned {
            let claim = claims.entry(partition.clone()).or_insert((i32::MIN, None));
            match member.generation.cmp(&claim.0) {
                std::cmp::Ordering::Greater => *claim = (member.generation, Some(index)),
                std::cmp::Ordering::Equal => claim.1 = None,
                std::cmp::Ordering::Less => {}
            }
        }
    }
    claims
        .into_iter()
        .filter_map(|(partition, (_, owner))| Some((partition, owner?)))
        .collect()
}

//! How the leader of a classic group divides partitions among its members: the assignors of Java's consumer, under their
//! names, so that members of both kinds can share a group.
//!
//! Pure functions over members and partition counts. Racks are not looked at (KIP-881).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::TopicPartition;

mod range;
mod round_robin;
mod sticky;

#[cfg(test)]
mod tests;

/// A member as an assignor sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// The id the coordinator gave it.
    pub id: String,
    /// The name of a static member.
    pub instance_id: Option<String>,
    /// The topics it wants.
    pub topics: BTreeSet<Arc<str>>,
    /// The partitions it has.
    pub owned: Vec<TopicPartition>,
    /// The generation in which it got them; -1 for none.
    pub generation: i32,
}

/// The partitions of each member, by its id.
pub type Assignment = BTreeMap<String, Vec<TopicPartition>>;

/// A way to divide partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// Of each topic, neighbouring partitions to one member; equal topics are divided equally.
    Range,
    /// All partitions in turn.
    RoundRobin,
    /// Even, and as few partitions as possible move; those that move are given up before they are given on.
    CooperativeSticky,
}

impl Assignor {
    /// Every assignor.
    pub const ALL: [Assignor; 3] = [Assignor::Range, Assignor::RoundRobin, Assignor::CooperativeSticky];

    /// The name in JoinGroup.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Range => "range",
            Assignor::RoundRobin => "roundrobin",
            Assignor::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// The assignor of that name, which may be the name of Java's class.
    pub fn by_name(name: &str) -> Option<Assignor> {
        let class = name.strip_prefix("org.apache.kafka.clients.consumer.");
        match class.unwrap_or(name) {
            "range" | "RangeAssignor" => Some(Assignor::Range),
            "roundrobin" | "RoundRobinAssignor" => Some(Assignor::RoundRobin),
            "cooperative-sticky" | "CooperativeStickyAssignor" => Some(Assignor::CooperativeSticky),
            _ => None,
        }
    }

    /// Whether members keep what they have while they rejoin (KIP-429).
    pub fn is_cooperative(self) -> bool {
        self == Assignor::CooperativeSticky
    }

    /// Divides the partitions; every member has an entry. `partitions` holds the number of partitions of each topic that
    /// exists.
    pub fn assign(self, members: &[Member], partitions: &BTreeMap<Arc<str>, i32>) -> Assignment {
        let mut ordered: Vec<&Member> = members.iter().collect();
        ordered.sort_by(|a, b| rank(a).cmp(&rank(b)));
        match self {
            Assignor::Range => range::assign(&ordered, partitions),
            Assignor::RoundRobin => round_robin::assign(&ordered, partitions),
            Assignor::CooperativeSticky => sticky::assign_cooperatively(&ordered, partitions),
        }
    }
}

/// Static members come first, by their names, so that a restart does not change the order; then the others, by id.
fn rank(member: &Member) -> (bool, &str) {
    match &member.instance_id {
        Some(instance_id) => (false, instance_id),
        None => (true, &member.id),
    }
}

/// An assignment of nothing to everyone.
fn nothing(members: &[&Member]) -> Assignment {
    members
        .iter()
        .map(|member| (member.id.clone(), Vec::new()))
        .collect()
}

/// The topics that some member wants and that exist, with their partition counts.
fn wanted<'a>(
    members: &[&Member],
    partitions: &'a BTreeMap<Arc<str>, i32>,
) -> impl Iterator<Item = (&'a Arc<str>, i32)> {
    let topics: BTreeSet<Arc<str>> = members
        .iter()
        .flat_map(|member| member.topics.iter().cloned())
        .collect();
    partitions
        .iter()
        .filter(move |(topic, _)| topics.contains(*topic))
        .map(|(topic, count)| (topic, *count))
}

//! The round-robin assignor: all partitions of all topics in order, one to each member in turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::TopicPartition;

use super::{Assignment, Member, nothing, wanted};

pub(super) fn assign(members: &[&Member], partitions: &BTreeMap<Arc<str>, i32>) -> Assignment {
    let mut assignment = nothing(members);
    let mut turn = members.iter().cycle();
    for (topic, count) in wanted(members, partitions) {
        for partition in 0..count {
            // Somebody wants the topic, so the turn comes to it.
            let Some(taker) = turn.find(|member| member.topics.contains(topic)) else {
                continue;
            };
            let given = TopicPartition::new(topic.clone(), partition);
            assignment.entry(taker.id.clone()).or_default().push(given);
        }
    }
    assignment
}

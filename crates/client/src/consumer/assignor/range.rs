//! The range assignor: each topic by itself, neighbouring partitions together, the first members one more.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::TopicPartition;

use super::{Assignment, Member, nothing, wanted};

pub(super) fn assign(members: &[&Member], partitions: &BTreeMap<Arc<str>, i32>) -> Assignment {
    let mut assignment = nothing(members);
    for (topic, count) in wanted(members, partitions) {
        let takers: Vec<&&Member> = members.iter().filter(|m| m.topics.contains(topic)).collect();
        let each = count / takers.len() as i32;
        let with_one_more = count % takers.len() as i32;
        let mut next = 0;
        for (index, taker) in takers.iter().enumerate() {
            let share = each + i32::from((index as i32) < with_one_more);
            let given = (next..next + share).map(|partition| TopicPartition::new(topic.clone(), partition));
            assignment.entry(taker.id.clone()).or_default().extend(given);
            next += share;
        }
    }
    assignment
}

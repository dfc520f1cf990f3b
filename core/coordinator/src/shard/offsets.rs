//! OffsetCommit and OffsetFetch.

use std::sync::Arc;

use model::Uuid;

use super::{Completion, GroupShard, Step, Write};
use crate::config::GroupConfig;
use crate::error::GroupError;
use crate::ledger::{CommittedOffset, LedgerGroup};
use crate::record::{OffsetCommit, Record};
use crate::request::{
    Answer, CommitOffsets, FetchOffsets, FetchedOffset, FetchedTopic, GivenOffset, MetadataTooLarge,
    OffsetToCommit, Stability, TopicToFetch, UnstableOffset,
};
use crate::time::Now;

impl<T> GroupShard<T> {
    /// Decides on an OffsetCommit. All offsets of the request are one batch (rule 139).
    pub fn commit(&mut self, now: Now, request: CommitOffsets, token: T) -> Step<T> {
        if let Err(error) = self.judge_commit(now, &request) {
            return Step::answered(token, Answer::Commit(Err(error)));
        }
        let limit = self.config.max_offset_metadata_units;
        let expire_timestamp_ms = request
            .retention_ms
            .map(|retention| now.wall_ms.saturating_add(retention));
        let mut records = Vec::new();
        let mut results = Vec::new();
        for offered in request.offsets {
            let fits = offered.metadata.encode_utf16().nth(limit).is_none();
            results.push(if fits { Ok(()) } else { Err(MetadataTooLarge) });
            if fits {
                records.push(offset_record(&request.group, offered, now, expire_timestamp_ms));
            }
        }
        if records.is_empty() {
            return Step::answered(token, Answer::Commit(Ok(results)));
        }
        let mut step = Step::new();
        step.writes.push(Write {
            records,
            group: request.group,
            completion: Completion::Committed { token, results },
        });
        step
    }

    /// Who may commit (rules 136 and 137): members of the present generation, and anybody to a group that is empty.
    /// A commit is also a sign of life.
    fn judge_commit(&mut self, now: Now, request: &CommitOffsets) -> Result<(), GroupError> {
        if request.group.len() > GroupConfig::MAX_GROUP_ID_BYTES {
            return Err(GroupError::InvalidGroupId);
        }
        if let Some(group) = self.room.get_mut(&request.group) {
            return group.judge_commit(now, request);
        }
        let from_outside = request.generation < 0;
        match self.ledger.group(&request.group) {
            None if from_outside => Ok(()),
            None => Err(GroupError::GroupNotFound),
            Some(entry) => {
                let empty = entry.foreign.as_ref().is_none_or(|foreign| foreign.is_empty());
                if from_outside && empty {
                    Ok(())
                } else {
                    Err(GroupError::UnknownMember)
                }
            }
        }
    }

    /// Decides on an OffsetFetch. One that asks for stable offsets waits for the group's writes that are under way.
    pub fn fetch(&mut self, request: FetchOffsets, token: T) -> Step<T> {
        let (token, request) = match request.stability {
            Stability::Required => match self.flights.wait(token, request) {
                Some(returned) => returned,
                None => return Step::new(),
            },
            Stability::Any => (token, request),
        };
        let answer = self.fetch_committed(&request);
        Step::answered(token, Answer::Fetch(answer))
    }

    /// What is committed now. A group nobody knows has no offsets; that is no error.
    pub(super) fn fetch_committed(&self, request: &FetchOffsets) -> Result<Vec<FetchedTopic>, GroupError> {
        let entry = self.ledger.group(&request.group);
        let claims_membership = request.member.as_ref().is_some_and(|member| !member.is_empty());
        if claims_membership && entry.is_some_and(|entry| entry.foreign.is_some()) {
            return Err(GroupError::UnknownMember);
        }
        Ok(match &request.topics {
            Some(topics) => topics
                .iter()
                .map(|topic| fetch_topic(entry, topic, request.stability))
                .collect(),
            None => entry
                .map(|entry| fetch_all(entry, request.stability))
                .unwrap_or_default(),
        })
    }
}

fn offset_record(
    group: &Arc<str>,
    offered: OffsetToCommit,
    now: Now,
    expire_timestamp_ms: Option<i64>,
) -> Record {
    Record::Offset {
        group: Arc::clone(group),
        topic: offered.topic,
        partition: offered.partition,
        commit: Some(OffsetCommit {
            offset: offered.offset,
            leader_epoch: offered.leader_epoch,
            metadata: offered.metadata,
            commit_timestamp_ms: now.wall_ms,
            expire_timestamp_ms,
            topic_id: offered.topic_id,
        }),
    }
}

fn fetch_topic(entry: Option<&LedgerGroup>, asked: &TopicToFetch, stability: Stability) -> FetchedTopic {
    let offsets = entry.and_then(|entry| entry.offsets.get(&asked.topic));
    let partitions = asked.partitions.iter().map(|&partition| {
        let kept = offsets.and_then(|offsets| offsets.get(&partition));
        let kept = kept.filter(|kept| is_same_topic(kept.commit.topic_id, asked.topic_id));
        give(entry, (&asked.topic, partition), kept, stability)
    });
    FetchedTopic {
        topic: Arc::clone(&asked.topic),
        topic_id: asked.topic_id,
        partitions: partitions.collect(),
    }
}

fn fetch_all(entry: &LedgerGroup, stability: Stability) -> Vec<FetchedTopic> {
    let topics = entry.offsets.iter().map(|(topic, offsets)| FetchedTopic {
        topic: Arc::clone(topic),
        topic_id: Uuid::ZERO,
        partitions: offsets
            .iter()
            .map(|(&partition, kept)| give(Some(entry), (topic, partition), Some(kept), stability))
            .collect(),
    });
    topics.collect()
}

fn give(
    entry: Option<&LedgerGroup>,
    (topic, partition): (&Arc<str>, i32),
    kept: Option<&CommittedOffset>,
    stability: Stability,
) -> FetchedOffset {
    let unstable =
        stability == Stability::Required && entry.is_some_and(|entry| entry.is_unstable(topic, partition));
    let given = kept.map(|CommittedOffset { commit, .. }| GivenOffset {
        offset: commit.offset,
        leader_epoch: commit.leader_epoch,
        metadata: commit.metadata.clone(),
    });
    FetchedOffset {
        partition,
        result: if unstable { Err(UnstableOffset) } else { Ok(given) },
    }
}

/// Offsets of an earlier topic of the same name are not given. Zero on either side is no claim.
fn is_same_topic(kept: Uuid, asked: Uuid) -> bool {
    kept.is_zero() || asked.is_zero() || kept == asked
}

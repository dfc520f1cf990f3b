//! A member of a classic group that shares the partitions of the topic and commits offsets.

use std::sync::Arc;

use bytes::Bytes;
use coordinator::{
    Answer, CommitOffsets, GroupError, Heartbeat, JoinGroup, Joined, Newcomers, OffsetToCommit, Protocol,
    Rejoins, SyncGroup,
};
use model::Uuid;

use super::DATA;
use super::producer::Fault;
use crate::history::{History, Violation, must};
use crate::node::{Halt, Node};

/// The group of all members.
pub(crate) const GROUP: &str = "group";
const SESSION_TIMEOUT_MS: i32 = 10_000;

/// Where a member is.
enum State {
    Outside,
    /// Waits for an answer to a join or a sync.
    Waiting,
    Joined(Box<Joined>),
    Member {
        generation: i32,
        partitions: Vec<i32>,
    },
}

/// See the module.
pub(crate) struct Member {
    number: u64,
    id: Arc<str>,
    births: u64,
    state: State,
    generation: i32,
    next_token: u64,
    /// The commit under way: its partition, offset and generation.
    commit: Option<(u64, i32, i64, i32)>,
}

impl Member {
    pub(crate) fn new(number: u64) -> Member {
        Member {
            number,
            id: Arc::default(),
            births: 0,
            state: State::Outside,
            generation: -1,
            next_token: number << 32,
            commit: None,
        }
    }

    /// Whether it has a share of the partitions, possibly none.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.state, State::Member { .. })
    }

    /// The connection is gone. A waiting request is asked again; who was a member finds out with its next request.
    pub(crate) fn disconnect(&mut self) {
        self.commit = None;
        if matches!(self.state, State::Waiting | State::Joined(_)) {
            self.state = State::Outside;
        }
    }

    pub(crate) fn act(&mut self, node: &mut Node, history: &mut History, now_ms: i64) -> Result<(), Fault> {
        match &self.state {
            State::Waiting => Ok(()),
            State::Outside => Ok(self.join(node, now_ms)?),
            State::Joined(joined) => {
                let request = sync_request(&self.id, joined, node.partition_count(DATA));
                let token = self.token();
                self.state = State::Waiting;
                Ok(node.with_group(GROUP, now_ms, |shard, now| shard.sync(now, request, token))?)
            }
            State::Member {
                generation,
                partitions,
            } => {
                let (generation, partitions) = (*generation, partitions.clone());
                self.serve(generation, &partitions, node, history, now_ms)
            }
        }
    }

    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    fn join(&mut self, node: &mut Node, now_ms: i64) -> Result<(), Halt> {
        self.births += 1;
        let request = JoinGroup {
            group: GROUP.into(),
            member: self.id.clone(),
            new_member: format!("member-{}-{}-{now_ms}", self.number, self.births).into(),
            instance: None,
            client_id: "client".into(),
            client_host: "/127.0.0.1".into(),
            session_timeout_ms: SESSION_TIMEOUT_MS,
            rebalance_timeout_ms: 20_000,
            protocol_type: "consumer".into(),
            protocols: vec![Protocol {
                name: "range".into(),
                metadata: Bytes::new(),
            }],
            newcomers: Newcomers::MustComeBack,
            rejoins: Rejoins::MaySkipAssignment,
        };
        let token = self.token();
        self.state = State::Waiting;
        node.with_group(GROUP, now_ms, |shard, now| shard.join(now, request, token))
    }

    /// Heartbeats, and commits the next offset of one of its partitions.
    fn serve(
        &mut self,
        generation: i32,
        partitions: &[i32],
        node: &mut Node,
        history: &mut History,
        now_ms: i64,
    ) -> Result<(), Fault> {
        let heartbeat = Heartbeat {
            group: GROUP.into(),
            generation,
            member: self.id.clone(),
            instance: None,
        };
        let mut alive = Ok(());
        node.with_group(GROUP, now_ms, |shard, now| {
            alive = shard.heartbeat(now, &heartbeat);
            shard.tick(now)
        })?;
        if let Err(error) = alive {
            self.lose(error);
            return Ok(());
        }
        let turn = usize::try_from(self.next_token).unwrap_or(0);
        let Some(partition) = partitions
            .get(turn % partitions.len().max(1))
            .filter(|_| self.commit.is_none())
        else {
            return Ok(());
        };
        let offset = history.next_commit(GROUP, *partition);
        let request = CommitOffsets {
            group: GROUP.into(),
            generation,
            member: self.id.clone(),
            instance: None,
            retention_ms: None,
            offsets: vec![OffsetToCommit {
                topic: DATA.into(),
                topic_id: Uuid::ZERO,
                partition: *partition,
                offset,
                leader_epoch: None,
                metadata: "".into(),
            }],
        };
        let token = self.token();
        self.commit = Some((token, *partition, offset, generation));
        Ok(node.with_group(GROUP, now_ms, |shard, now| shard.commit(now, request, token))?)
    }

    fn lose(&mut self, error: GroupError) {
        if matches!(error, GroupError::UnknownMember | GroupError::FencedInstance) {
            self.id = Arc::default();
        }
        self.state = State::Outside;
    }

    /// Takes an answer of the group, if it is to this member.
    pub(crate) fn hear(
        &mut self,
        token: u64,
        answer: &Answer,
        history: &mut History,
    ) -> Result<(), Violation> {
        if let Some((expected, partition, offset, generation)) =
            self.commit.filter(|(expected, ..)| *expected == token)
        {
            debug_assert_eq!(expected, token);
            self.commit = None;
            return match answer {
                Answer::Commit(Ok(_)) => history.commit(GROUP, partition, offset, generation),
                Answer::Commit(Err(error)) => {
                    self.lose(*error);
                    Ok(())
                }
                other => Err(Violation(format!("a commit was answered with {other:?}"))),
            };
        }
        if token != self.next_token || !matches!(self.state, State::Waiting) {
            return Ok(());
        }
        match answer {
            Answer::Join(Ok(joined)) => {
                self.id = joined.member.clone();
                self.generation = joined.generation;
                self.state = State::Joined(Box::new(joined.clone()));
            }
            Answer::Join(Err(refused)) => {
                self.lose(refused.error);
                if refused.error == GroupError::MemberIdRequired {
                    self.id = refused.member.clone();
                }
            }
            Answer::Sync(Ok(synced)) => {
                let partitions: Vec<i32> = synced.assignment.iter().map(|byte| i32::from(*byte)).collect();
                for partition in &partitions {
                    history.own(GROUP, self.generation, *partition, &self.id)?;
                }
                self.state = State::Member {
                    generation: self.generation,
                    partitions,
                };
            }
            Answer::Sync(Err(error)) => self.lose(*error),
            other => must!(false, "a join or a sync was answered with {other:?}"),
        }
        Ok(())
    }
}

/// The leader deals the partitions out in turn; an assignment is a byte for each.
fn sync_request(member: &Arc<str>, joined: &Joined, partitions: i32) -> SyncGroup {
    let mut shares: Vec<(Arc<str>, Vec<u8>)> = joined
        .members
        .iter()
        .map(|member| (member.member.clone(), Vec::new()))
        .collect();
    for partition in 0..partitions {
        let turn = usize::try_from(partition).unwrap_or(0) % shares.len().max(1);
        if let Some((_, share)) = shares.get_mut(turn) {
            share.push(u8::try_from(partition).unwrap_or(u8::MAX));
        }
    }
    SyncGroup {
        group: GROUP.into(),
        generation: joined.generation,
        member: member.clone(),
        instance: None,
        protocol_type: None,
        protocol: None,
        assignments: shares
            .into_iter()
            .map(|(member, share)| (member, share.into()))
            .collect(),
    }
}

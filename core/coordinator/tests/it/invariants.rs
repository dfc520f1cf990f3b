//! Random groups under random faults, held to what must never fail: generations only rise, every answered JoinGroup of
//! a generation names one leader and one protocol, exactly that leader learns who is in, every stable member has its
//! own share of the leader's assignment, every request is answered exactly once, what was acknowledged is found after
//! a restart, and a replay of the log gives the same as living through it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use coordinator::{
    Answer, CommitOffsets, FetchOffsets, GroupConfig, GroupError, GroupFilter, Heartbeat, JoinGroup,
    LeaveGroup, LeavingMember, Newcomers, Now, OffsetToCommit, Protocol, Rejoins, Stability, Step, SyncGroup,
    WriteError,
};
use coordinator::{GroupShard, Record};
use model::Uuid;
use proptest::prelude::*;

/// What happens next. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Event {
    Join { client: usize, changed: bool },
    Sync { client: usize },
    Heartbeat { client: usize },
    Leave { client: usize },
    Forget { client: usize },
    Commit { client: usize, partition: i32 },
    CommitFromOutside { partition: i32 },
    Time { ms: i64 },
    Commits { held: bool },
    FailNext { error: usize },
    Restart,
}

fn event() -> impl Strategy<Value = Event> {
    let client = 0..5_usize;
    prop_oneof![
        6 => (client.clone(), prop::bool::weighted(0.2)).prop_map(|(client, changed)| Event::Join { client, changed }),
        6 => client.clone().prop_map(|client| Event::Sync { client }),
        4 => client.clone().prop_map(|client| Event::Heartbeat { client }),
        1 => client.clone().prop_map(|client| Event::Leave { client }),
        1 => client.clone().prop_map(|client| Event::Forget { client }),
        3 => (client, 0..3).prop_map(|(client, partition)| Event::Commit { client, partition }),
        1 => (0..3).prop_map(|partition| Event::CommitFromOutside { partition }),
        4 => prop_oneof![0..100_i64, 1_000..4_000_i64, 5_000..12_000_i64].prop_map(|ms| Event::Time { ms }),
        1 => any::<bool>().prop_map(|held| Event::Commits { held }),
        1 => (0..5_usize).prop_map(|error| Event::FailNext { error }),
        1 => Just(Event::Restart),
    ]
}

/// What a client believes.
#[derive(Clone, Debug, Default)]
struct Client {
    member: Arc<str>,
    generation: i32,
    instance: Option<Arc<str>>,
    /// The members it must assign to, if it leads.
    to_assign: Vec<Arc<str>>,
    waits: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Token {
    client: usize,
    serial: usize,
}

struct World {
    shard: GroupShard<Token>,
    config: GroupConfig,
    now: Now,
    log: Vec<Record>,
    committed: usize,
    held: bool,
    failure: Option<WriteError>,
    clients: Vec<Client>,
    ids: usize,
    serial: usize,
    open: BTreeMap<usize, usize>,
    /// Generation to leader and protocol, as told to members.
    told: BTreeMap<i32, (Arc<str>, Option<Arc<str>>)>,
    /// Generations of SyncGroups, by the serial number of their request.
    syncs: BTreeMap<usize, i32>,
    /// Offsets on their way, by the serial number of their request.
    under_way: BTreeMap<usize, (i32, i64)>,
    /// The last acknowledged offset of each partition, and those sent after it whose fate is unknown.
    acknowledged: BTreeMap<i32, (i64, Vec<i64>)>,
    next_offset: i64,
}

impl World {
    fn new() -> World {
        let config = GroupConfig {
            initial_rebalance_delay_ms: 1_000,
            ..GroupConfig::default()
        };
        let mut shard = GroupShard::new(config.clone());
        let step = shard.activate(Now::default());
        assert!(step.answers.is_empty() && step.writes.is_empty());
        let mut clients = vec![Client::default(); 5];
        // Two of the five are static members.
        clients[0].instance = Some("zero".into());
        clients[1].instance = Some("one".into());
        World {
            shard,
            config,
            now: Now::default(),
            log: Vec::new(),
            committed: 0,
            held: false,
            failure: None,
            clients,
            ids: 0,
            serial: 0,
            open: BTreeMap::new(),
            told: BTreeMap::new(),
            syncs: BTreeMap::new(),
            under_way: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            next_offset: 0,
        }
    }

    fn token(&mut self, client: usize) -> Token {
        self.serial += 1;
        self.open.insert(self.serial, client);
        if let Some(client) = self.clients.get_mut(client) {
            client.waits += 1;
        }
        Token {
            client,
            serial: self.serial,
        }
    }

    fn run(&mut self, event: &Event) {
        match *event {
            Event::Join { client, changed } => self.join(client, changed),
            Event::Sync { client } => self.sync(client),
            Event::Heartbeat { client } => self.heartbeat(client),
            Event::Leave { client } => self.leave(client),
            Event::Forget { client } => {
                let instance = self.clients[client].instance.clone();
                self.clients[client] = Client {
                    instance,
                    ..Client::default()
                };
            }
            Event::Commit { client, partition } => {
                let Client {
                    member,
                    generation,
                    instance,
                    ..
                } = self.clients[client].clone();
                if !member.is_empty() {
                    self.commit(client, (member, generation, instance), partition);
                }
            }
            Event::CommitFromOutside { partition } => self.commit(4, (Arc::default(), -1, None), partition),
            Event::Time { ms } => self.advance(ms),
            Event::Commits { held } => {
                self.held = held;
                self.catch_up();
            }
            Event::FailNext { error } => {
                let errors = [
                    WriteError::NotLeader,
                    WriteError::NotEnoughReplicas,
                    WriteError::TimedOut,
                    WriteError::TooLarge,
                    WriteError::Storage,
                ];
                self.failure = errors.get(error).copied();
            }
            Event::Restart => self.restart(),
        }
    }

    fn join(&mut self, client: usize, changed: bool) {
        self.ids += 1;
        let believes = self.clients[client].clone();
        let metadata = if changed {
            format!("changed {}", self.ids)
        } else {
            "same".into()
        };
        let protocols = ["range", "sticky"]
            .into_iter()
            .skip(client % 2)
            .map(|name| Protocol {
                name: name.into(),
                metadata: Bytes::from(metadata.clone()),
            });
        let request = JoinGroup {
            group: "g".into(),
            member: believes.member,
            new_member: format!("{client}-{}", self.ids).into(),
            instance: believes.instance,
            client_id: "client".into(),
            client_host: "/127.0.0.1".into(),
            session_timeout_ms: 8_000,
            rebalance_timeout_ms: 9_000,
            protocol_type: "consumer".into(),
            protocols: protocols
                .chain([Protocol {
                    name: "shared".into(),
                    metadata: Bytes::new(),
                }])
                .collect(),
            newcomers: if client.is_multiple_of(2) {
                Newcomers::MustComeBack
            } else {
                Newcomers::Admitted
            },
            rejoins: if client == 0 {
                Rejoins::MustNotLead
            } else {
                Rejoins::MaySkipAssignment
            },
        };
        let token = self.token(client);
        let step = self.shard.join(self.now, request, token);
        self.take(step);
    }

    fn sync(&mut self, client: usize) {
        let believes = self.clients[client].clone();
        let assignments = believes
            .to_assign
            .iter()
            .map(|member| (Arc::clone(member), share(believes.generation, member)));
        let request = SyncGroup {
            group: "g".into(),
            generation: believes.generation,
            member: Arc::clone(&believes.member),
            instance: believes.instance,
            protocol_type: Some("consumer".into()),
            protocol: None,
            assignments: assignments.collect(),
        };
        let token = self.token(client);
        self.syncs.insert(token.serial, believes.generation);
        let step = self.shard.sync(self.now, request, token);
        self.take(step);
    }

    fn heartbeat(&mut self, client: usize) {
        let Client {
            member,
            generation,
            instance,
            ..
        } = self.clients[client].clone();
        let request = Heartbeat {
            group: "g".into(),
            generation,
            member,
            instance,
        };
        if self.shard.heartbeat(self.now, &request) == Ok(()) {
            assert!(
                self.told.contains_key(&generation),
                "a live generation was told to its members"
            );
        }
    }

    fn leave(&mut self, client: usize) {
        let Client { member, instance, .. } = self.clients[client].clone();
        let token = self.token(client);
        let request = LeaveGroup {
            group: "g".into(),
            members: vec![LeavingMember { member, instance }],
        };
        let step = self.shard.leave(self.now, request, token);
        self.take(step);
    }

    fn commit(&mut self, client: usize, who: (Arc<str>, i32, Option<Arc<str>>), partition: i32) {
        self.next_offset += 1;
        let (member, generation, instance) = who;
        let offset = OffsetToCommit {
            topic: "t".into(),
            topic_id: Uuid::ZERO,
            partition,
            offset: self.next_offset,
            leader_epoch: None,
            metadata: "".into(),
        };
        let token = self.token(client);
        self.under_way.insert(token.serial, (partition, self.next_offset));
        let request = CommitOffsets {
            group: "g".into(),
            generation,
            member,
            instance,
            retention_ms: None,
            offsets: vec![offset],
        };
        let step = self.shard.commit(self.now, request, token);
        self.take(step);
    }

    fn advance(&mut self, ms: i64) {
        let until = self.now.steady_ms + ms;
        while let Some(at) = self.shard.next_deadline().filter(|at| *at <= until) {
            self.now.steady_ms = self.now.steady_ms.max(at);
            self.now.wall_ms = self.now.steady_ms;
            let step = self.shard.tick(self.now);
            self.take(step);
            let next = self.shard.next_deadline();
            assert!(
                next.is_none_or(|next| next > self.now.steady_ms),
                "a tick does all that is due"
            );
        }
        self.now = Now {
            wall_ms: until,
            steady_ms: until,
        };
    }

    fn restart(&mut self) {
        self.held = false;
        self.catch_up();
        for (token, answer) in self.shard.resign() {
            let refused = match &answer {
                Answer::Join(Err(refused)) => refused.error == GroupError::NotCoordinator,
                Answer::Sync(Err(error)) | Answer::Leave(Err(error)) | Answer::Commit(Err(error)) => {
                    *error == GroupError::NotCoordinator
                }
                _ => false,
            };
            assert!(refused, "{answer:?}");
            self.answered(&token);
        }
        let before = self.shard.list(&GroupFilter::default());
        assert!(before.is_empty());
        self.shard = GroupShard::new(self.config.clone());
        for (offset, record) in self.log.iter().enumerate() {
            let (key, value) = record.encode().unwrap();
            let read = Record::decode(Some(&key), value.as_ref()).unwrap();
            assert_eq!(&read, record);
            self.shard.load(offset as i64, None, read);
        }
        // A generation that was joined, but never synced, is not in the log: it may come again, of others.
        let written = self.log.iter().filter_map(|record| match record {
            Record::Group {
                metadata: Some(metadata),
                ..
            } => Some(metadata.generation),
            _ => None,
        });
        let last_written = written.max().unwrap_or(0);
        self.told.retain(|generation, _| *generation <= last_written);
        let step = self.shard.activate(self.now);
        self.take(step);
        self.check_offsets();
    }

    fn take(&mut self, step: Step<Token>) {
        for (token, answer) in step.answers {
            self.answered(&token);
            self.hear(&token, answer);
        }
        for write in step.writes {
            assert!(!write.records.is_empty());
            if let Some(error) = self.failure.take() {
                let step = self.shard.append_failed(self.now, write, error);
                self.take(step);
                continue;
            }
            let first = self.log.len() as i64;
            self.log.extend(write.records.iter().cloned());
            self.shard.appended(self.now, write, first);
            self.catch_up();
        }
    }

    fn catch_up(&mut self) {
        if !self.held && self.committed < self.log.len() {
            self.committed = self.log.len();
            let step = self.shard.committed(self.now, self.committed as i64);
            self.take(step);
        }
    }

    fn answered(&mut self, token: &Token) {
        assert_eq!(
            self.open.remove(&token.serial),
            Some(token.client),
            "answered once, to whom it belongs"
        );
    }

    fn hear(&mut self, token: &Token, answer: Answer) {
        let client = &mut self.clients[token.client];
        match answer {
            Answer::Join(Err(refused)) if refused.error == GroupError::MemberIdRequired => {
                client.member = refused.member
            }
            Answer::Join(Err(refused)) => {
                if matches!(
                    refused.error,
                    GroupError::UnknownMember | GroupError::FencedInstance
                ) {
                    client.member = Arc::default();
                }
            }
            Answer::Join(Ok(joined)) => {
                client.member = Arc::clone(&joined.member);
                client.generation = joined.generation;
                client.to_assign = joined
                    .members
                    .iter()
                    .map(|member| Arc::clone(&member.member))
                    .collect();
                let leads = joined.leader == joined.member;
                assert_eq!(
                    leads,
                    !joined.members.is_empty(),
                    "the leader, and nobody else, learns who is in"
                );
                self.check_generation(
                    joined.generation,
                    &joined.leader,
                    joined.protocol,
                    joined.skip_assignment,
                );
            }
            Answer::Sync(Ok(synced)) => {
                // A static member that restarted has the share of its former self: of the same client all the same.
                let generation = self.syncs.remove(&token.serial).unwrap_or_default();
                let own = format!("{generation}:{}-", token.client);
                assert!(
                    synced.assignment.starts_with(own.as_bytes()),
                    "every member gets its own share"
                );
            }
            Answer::Commit(result) => {
                if let Some((partition, offset)) = self.under_way.remove(&token.serial) {
                    let entry = self.acknowledged.entry(partition).or_insert((-1, Vec::new()));
                    match result {
                        Ok(_) => *entry = (offset.max(entry.0), entry.1.clone()),
                        Err(GroupError::Write(_) | GroupError::NotCoordinator) => entry.1.push(offset),
                        Err(_) => {}
                    }
                }
            }
            Answer::Sync(Err(_)) | Answer::Leave(_) | Answer::Fetch(_) => {}
        }
    }

    fn check_generation(
        &mut self,
        generation: i32,
        leader: &Arc<str>,
        protocol: Option<Arc<str>>,
        renamed: bool,
    ) {
        let last = self
            .told
            .last_key_value()
            .map_or(0, |(generation, _)| *generation);
        assert!(generation >= 1);
        let told = self
            .told
            .entry(generation)
            .or_insert_with(|| (Arc::clone(leader), protocol.clone()));
        assert_eq!(told.1, protocol, "a generation has one protocol");
        // A static leader that restarted leads the same generation under its new id.
        let same_client = told.0.split('-').next() == leader.split('-').next();
        assert!(
            told.0 == *leader || renamed || same_client,
            "a generation has one leader: {told:?}, {leader}"
        );
        assert!(
            generation + 1 >= last,
            "generations only rise, but for what a restart forgot"
        );
    }

    /// What was acknowledged, or something later, is there.
    fn check_offsets(&mut self) {
        let token = self.token(0);
        let request = FetchOffsets {
            group: "g".into(),
            member: None,
            topics: None,
            stability: Stability::Any,
        };
        let step = self.shard.fetch(request, token);
        let [(token, Answer::Fetch(Ok(topics)))] = step.answers.as_slice() else {
            panic!("{:?}", step.answers)
        };
        self.answered(token);
        let found: BTreeMap<i32, i64> = topics
            .iter()
            .flat_map(|topic| &topic.partitions)
            .map(|fetched| {
                (
                    fetched.partition,
                    fetched.result.as_ref().unwrap().as_ref().unwrap().offset,
                )
            })
            .collect();
        for (partition, (acknowledged, uncertain)) in &self.acknowledged {
            let present = found.get(partition).copied().unwrap_or(-1);
            assert!(
                present == *acknowledged || (present > *acknowledged && uncertain.contains(&present)),
                "partition {partition}: {present}, acknowledged {acknowledged}, uncertain {uncertain:?}"
            );
        }
    }
}

fn share(generation: i32, member: &str) -> Bytes {
    Bytes::from(format!("{generation}:{member}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_requests_and_faults_breaks_a_group(events in prop::collection::vec(event(), 1..120)) {
        let mut world = World::new();
        for event in &events {
            world.run(event);
        }
        // In the end everything is answered: writes are committed or given up, rebalances complete or expire.
        world.failure = None;
        world.held = false;
        world.catch_up();
        world.advance(400_000);
        prop_assert!(world.open.is_empty(), "never answered: {:?}", world.open);
        world.check_offsets();
        world.restart();
    }
}

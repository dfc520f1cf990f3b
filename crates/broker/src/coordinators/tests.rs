//! The host on a log of its own, which commits when a test says so.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use coordinator::{
    Answer, CommitOffsets, FetchOffsets, GroupError, GroupFilter, GroupShard, Heartbeat, JoinGroup,
    Newcomers, OffsetToCommit, Protocol, Rejoins, Stability, WriteError,
};
use metadata::{Delta, Image, MetadataRecord};
use model::{CONSUMER_OFFSETS, LeaderEpoch, Offset, Uuid};
use parking_lot::Mutex;
use wire::internal::metadata_log::{PartitionRecord, RemoveTopicRecord, TopicRecord};
use wire::records::{Batch, BatchPrefix, NewTimestamps};

use super::offsets_log::{Fate, OffsetsLog};
use super::{Groups, Unavailable, Waiter};
use crate::config::{NodeConfig, Properties};

type Then = Box<dyn FnOnce(Fate) + Send>;

/// Batches in memory.
#[derive(Default)]
struct MemoryLog {
    state: Mutex<Memory>,
    /// Who holds it keeps the log from being read.
    gate: Mutex<()>,
}

#[derive(Default)]
struct Memory {
    batches: Vec<(Offset, Bytes)>,
    end: i64,
    high_watermark: i64,
    waiting: Vec<Then>,
    /// Commits come later, by [`MemoryLog::commit`].
    held: bool,
    refuse: Option<WriteError>,
    unreadable: bool,
    reads: usize,
}

impl MemoryLog {
    fn hold(&self) {
        self.state.lock().held = true;
    }

    /// Everything is committed, or lost, and whoever waits is told.
    fn settle(&self, fate: Fate) {
        let waiting = {
            let mut state = self.state.lock();
            if fate == Fate::Committed {
                state.high_watermark = state.end;
            }
            std::mem::take(&mut state.waiting)
        };
        for then in waiting {
            then(fate);
        }
    }
}

impl OffsetsLog for MemoryLog {
    fn append(self: Arc<Self>, batch: &Bytes, _: i64, then: Then) -> Result<Offset, WriteError> {
        let mut state = self.state.lock();
        if let Some(error) = state.refuse.take() {
            return Err(error);
        }
        let first = Offset(state.end);
        let parsed = Batch::parse(batch).map_err(|_| WriteError::Storage)?;
        let prefix = BatchPrefix::new(&parsed, first, LeaderEpoch(0), NewTimestamps::Keep);
        let mut stored = BytesMut::from(prefix.as_bytes());
        stored.extend_from_slice(batch.get(prefix.as_bytes().len()..).unwrap_or_default());
        state.end += i64::from(parsed.header().record_count);
        state.batches.push((first, stored.freeze()));
        state.waiting.push(then);
        let held = state.held;
        drop(state);
        if !held {
            self.settle(Fate::Committed);
        }
        Ok(first)
    }

    fn high_watermark(&self) -> Offset {
        Offset(self.state.lock().high_watermark)
    }

    fn bounds(&self) -> io::Result<(Offset, Offset)> {
        Ok((Offset(0), Offset(self.state.lock().end)))
    }

    fn read(&self, from: Offset, max_bytes: usize) -> io::Result<Bytes> {
        let _gate = self.gate.lock();
        let mut state = self.state.lock();
        state.reads += 1;
        if state.unreadable {
            return Err(io::Error::other("unreadable"));
        }
        let mut read = BytesMut::new();
        for (_, batch) in state.batches.iter().filter(|(first, _)| *first >= from) {
            if !read.is_empty() && read.len() + batch.len() > max_bytes {
                // A part of a batch at the end, as a log may give it.
                read.extend_from_slice(batch.get(..batch.len() / 2).unwrap_or_default());
                break;
            }
            read.extend_from_slice(batch);
        }
        Ok(read.freeze())
    }
}

/// A node's groups on two partitions in memory.
struct Stage {
    groups: Arc<Groups>,
    logs: Vec<Arc<MemoryLog>>,
    image: Image,
}

impl Stage {
    fn new() -> Stage {
        Stage::on((0..2).map(|_| Arc::default()).collect())
    }

    /// Takes over with what the logs hold.
    fn on(logs: Vec<Arc<MemoryLog>>) -> Stage {
        let settings = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("controller.quorum.voters", "1@localhost:9093"),
            ("controller.listener.names", "CONTROLLER"),
            (
                "listeners",
                "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            ),
            ("log.dirs", "/nowhere"),
            ("group.initial.rebalance.delay.ms", "0"),
            ("group.min.session.timeout.ms", "100"),
        ];
        let settings: Properties = settings
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        let config = NodeConfig::from_properties(settings).unwrap();
        let found = logs.clone();
        let find = move |partition: i32| {
            let log = found.get(usize::try_from(partition).ok()?)?;
            Some(Arc::clone(log) as Arc<dyn OffsetsLog>)
        };
        let groups = Groups::start(&config, Box::new(find), &Arc::default()).unwrap();
        let mut stage = Stage {
            groups,
            logs,
            image: Image::default(),
        };
        let topic = TopicRecord {
            name: CONSUMER_OFFSETS.into(),
            topic_id: Uuid([1; 16]),
        };
        let mut records = vec![MetadataRecord::Topic(topic)];
        records.extend((0..2).map(|partition| MetadataRecord::Partition(led(partition, 1, 0))));
        stage.apply(&records);
        stage
    }

    fn apply(&mut self, records: &[MetadataRecord]) {
        let mut delta = Delta::default();
        for record in records {
            self.image.apply(record, &mut delta).unwrap();
        }
        self.groups.apply(&self.image, &delta);
    }

    fn ask(
        &self,
        group: &str,
        act: impl FnOnce(&mut GroupShard<Waiter>, coordinator::Now, Waiter) -> coordinator::Step<Waiter>,
    ) -> Result<Receiver<Answer>, Unavailable> {
        let (sender, receiver) = channel();
        let waiter = Waiter::new(move |answer| sender.send(answer).unwrap_or_default());
        self.groups.decide(group, |shard, now| act(shard, now, waiter))?;
        Ok(receiver)
    }

    fn commit(&self, group: &str, offset: i64) -> Result<Receiver<Answer>, Unavailable> {
        let request = commit(group, offset);
        self.ask(group, |shard, now, waiter| shard.commit(now, request, waiter))
    }

    fn committed(&self, group: &str) -> Option<i64> {
        let request = FetchOffsets {
            group: group.into(),
            member: None,
            topics: None,
            stability: Stability::Any,
        };
        let answer = self
            .ask(group, |shard, _, waiter| shard.fetch(request, waiter))
            .unwrap();
        let Ok(Answer::Fetch(Ok(topics))) = answer.try_recv() else {
            panic!("not answered at once")
        };
        let fetched = topics.first()?.partitions.first()?;
        fetched
            .result
            .as_ref()
            .unwrap()
            .as_ref()
            .map(|given| given.offset)
    }

    /// Waits for the loader.
    fn settled(&self, group: &str) -> Result<(), Unavailable> {
        for _ in 0..2_000 {
            match self.groups.look(group, |_, _| ()) {
                Err(Unavailable::Loading) => std::thread::sleep(Duration::from_millis(5)),
                other => return other,
            }
        }
        panic!("still loading");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.groups.stop();
    }
}

fn led(partition_id: i32, leader: i32, leader_epoch: i32) -> PartitionRecord {
    PartitionRecord {
        partition_id,
        topic_id: Uuid([1; 16]),
        replicas: vec![leader],
        isr: vec![leader],
        leader,
        leader_epoch,
        partition_epoch: leader_epoch,
        directories: vec![Uuid([9; 16])],
        ..PartitionRecord::default()
    }
}

fn commit(group: &str, offset: i64) -> CommitOffsets {
    let offsets = vec![OffsetToCommit {
        topic: "t".into(),
        topic_id: Uuid([7; 16]),
        partition: 0,
        offset,
        leader_epoch: None,
        metadata: "".into(),
    }];
    CommitOffsets {
        group: group.into(),
        generation: -1,
        member: "".into(),
        instance: None,
        retention_ms: None,
        offsets,
    }
}

fn join(member: &str) -> JoinGroup {
    JoinGroup {
        group: "a".into(),
        member: "".into(),
        new_member: member.into(),
        instance: None,
        client_id: "client".into(),
        client_host: "/127.0.0.1".into(),
        session_timeout_ms: 100,
        rebalance_timeout_ms: 60_000,
        protocol_type: "consumer".into(),
        protocols: vec![Protocol {
            name: "range".into(),
            metadata: Bytes::new(),
        }],
        newcomers: Newcomers::Admitted,
        rejoins: Rejoins::MaySkipAssignment,
    }
}

fn is_ok(answer: &Receiver<Answer>) -> bool {
    matches!(answer.try_recv(), Ok(Answer::Commit(Ok(_))))
}

#[test]
fn a_commit_is_answered_when_the_log_has_committed_it() {
    let stage = Stage::new();
    assert!(
        is_ok(&stage.commit("a", 5).unwrap()),
        "committed at once, answered at once"
    );
    stage.logs.iter().for_each(|log| log.hold());
    let answer = stage.commit("a", 6).unwrap();
    assert!(answer.try_recv().is_err());
    assert_eq!(
        stage.committed("a"),
        Some(5),
        "nobody reads what is not committed"
    );
    stage.logs.iter().for_each(|log| log.settle(Fate::Committed));
    assert!(is_ok(&answer));
    assert_eq!(stage.committed("a"), Some(6));
}

#[test]
fn an_append_that_fails_is_answered_with_why() {
    let stage = Stage::new();
    stage
        .logs
        .iter()
        .for_each(|log| log.state.lock().refuse = Some(WriteError::NotEnoughReplicas));
    let answer = stage.commit("a", 5).unwrap().try_recv();
    assert_eq!(
        answer,
        Ok(Answer::Commit(Err(GroupError::Write(
            WriteError::NotEnoughReplicas
        ))))
    );
    assert_eq!(stage.committed("a"), None);
}

#[test]
fn a_partition_that_is_lost_answers_everybody_and_serves_no_more() {
    let stage = Stage::new();
    stage.logs.iter().for_each(|log| log.hold());
    let answer = stage.commit("a", 5).unwrap();
    stage.logs.iter().for_each(|log| log.settle(Fate::Lost));
    assert_eq!(
        answer.try_recv(),
        Ok(Answer::Commit(Err(GroupError::NotCoordinator)))
    );
    assert_eq!(stage.commit("a", 6).err(), Some(Unavailable::NotHere));
}

#[test]
fn groups_lie_on_the_partition_of_their_name() {
    let stage = Stage::new();
    // Java's hash of "a" is 97, of "b" 98.
    let _ = (
        stage.commit("a", 1).unwrap(),
        stage.commit("b", 1).unwrap(),
        stage.commit("d", 1).unwrap(),
    );
    let ends: Vec<i64> = stage.logs.iter().map(|log| log.state.lock().end).collect();
    assert_eq!(ends, [2, 1]);
}

#[test]
fn who_takes_over_serves_what_was_committed() {
    let first = Stage::new();
    for offset in 0..100 {
        assert!(is_ok(&first.commit("a", offset).unwrap()));
    }
    let second = Stage::on(first.logs.clone());
    assert_eq!(second.settled("a"), Ok(()));
    assert_eq!(second.committed("a"), Some(99));
    assert!(second.logs.iter().any(|log| log.state.lock().reads > 0));
}

#[test]
fn while_it_loads_requests_are_told_so() {
    let first = Stage::new();
    assert!(is_ok(&first.commit("a", 5).unwrap()));
    let log = first.logs[1].clone();
    let gate = log.gate.lock();
    let second = Stage::on(first.logs.clone());
    assert_eq!(second.commit("a", 6).err(), Some(Unavailable::Loading));
    assert_eq!(
        second.groups.look_everywhere(|_| ()).err(),
        Some(Unavailable::Loading)
    );
    drop(gate);
    assert_eq!(second.settled("a"), Ok(()));
    assert_eq!(
        Unavailable::Loading.code(),
        model::ErrorCode::CoordinatorLoadInProgress
    );
}

#[test]
fn a_log_that_cannot_be_read_is_not_coordinated() {
    let first = Stage::new();
    assert!(is_ok(&first.commit("a", 5).unwrap()));
    first
        .logs
        .iter()
        .for_each(|log| log.state.lock().unreadable = true);
    let second = Stage::on(first.logs.clone());
    assert_eq!(second.settled("a"), Err(Unavailable::NotHere));
    assert_eq!(second.settled("b"), Ok(()), "an empty log needs no reading");
    let listed = second
        .groups
        .look_everywhere(|shard| shard.list(&GroupFilter::default()));
    assert_eq!(listed.map(|shards| shards.len()), Ok(1));
}

#[test]
fn leadership_decides_what_is_coordinated() {
    let mut stage = Stage::new();
    let parked = stage
        .ask("a", |shard, now, waiter| shard.join(now, join("m1"), waiter))
        .unwrap();
    assert!(matches!(parked.try_recv(), Ok(Answer::Join(Ok(_)))));
    let parked = stage
        .ask("a", |shard, now, waiter| shard.join(now, join("m2"), waiter))
        .unwrap();
    assert!(parked.try_recv().is_err(), "waits for the first member");

    let moved = MetadataRecord::Partition(led(1, 2, 1));
    stage.apply(&[moved]);
    let Ok(Answer::Join(Err(refused))) = parked.try_recv() else {
        panic!("the parked join is answered")
    };
    assert_eq!(refused.error, GroupError::NotCoordinator);
    assert_eq!(stage.commit("a", 1).err(), Some(Unavailable::NotHere));
    assert!(stage.commit("b", 1).is_ok(), "the other partition stays");

    stage.apply(&[MetadataRecord::Partition(led(1, 1, 2))]);
    assert_eq!(stage.settled("a"), Ok(()));
    let heartbeat = Heartbeat {
        group: "a".into(),
        generation: 1,
        member: "m1".into(),
        instance: None,
    };
    let result = stage
        .groups
        .look("a", |shard, now| shard.heartbeat(now, &heartbeat));
    assert_eq!(
        result,
        Ok(Err(GroupError::UnknownMember)),
        "a rebalance that was not finished is forgotten"
    );
}

#[test]
fn the_offsets_topic_deleted_and_made_anew_in_one_step_is_coordinated_anew() {
    let mut stage = Stage::new();
    assert!(is_ok(&stage.commit("a", 5).unwrap()));
    for log in &stage.logs {
        *log.state.lock() = Default::default();
    }
    let topic_id = Uuid([2; 16]);
    let name = CONSUMER_OFFSETS.into();
    let mut records = vec![
        MetadataRecord::RemoveTopic(RemoveTopicRecord {
            topic_id: Uuid([1; 16]),
        }),
        MetadataRecord::Topic(TopicRecord { name, topic_id }),
    ];
    records.extend((0..2).map(|partition| {
        let led = led(partition, 1, 0);
        MetadataRecord::Partition(PartitionRecord { topic_id, ..led })
    }));
    stage.apply(&records);
    assert_eq!(stage.committed("a"), None);
    assert!(is_ok(&stage.commit("a", 1).unwrap()));
}

#[test]
fn a_deleted_topic_takes_its_offsets_along() {
    let mut stage = Stage::new();
    let topic = TopicRecord {
        name: "t".into(),
        topic_id: Uuid([7; 16]),
    };
    stage.apply(&[MetadataRecord::Topic(topic)]);
    assert!(is_ok(&stage.commit("a", 5).unwrap()) && is_ok(&stage.commit("b", 5).unwrap()));
    stage.apply(&[MetadataRecord::RemoveTopic(RemoveTopicRecord {
        topic_id: Uuid([7; 16]),
    })]);
    assert_eq!((stage.committed("a"), stage.committed("b")), (None, None));
}

#[test]
fn a_stop_answers_who_waits_and_refuses_who_comes() {
    let stage = Stage::new();
    let first = stage
        .ask("a", |shard, now, waiter| shard.join(now, join("m1"), waiter))
        .unwrap();
    assert!(first.try_recv().is_ok());
    let parked = stage
        .ask("a", |shard, now, waiter| shard.join(now, join("m2"), waiter))
        .unwrap();
    stage.groups.begin_stop();
    assert!(matches!(parked.try_recv(), Ok(Answer::Join(Err(_)))));
    assert_eq!(stage.commit("a", 1).err(), Some(Unavailable::Stopping));
    assert_eq!(
        stage.groups.look_everywhere(|_| ()).err(),
        Some(Unavailable::Stopping)
    );
}

#[test]
fn time_passes_without_requests() {
    let stage = Stage::new();
    let answer = stage
        .ask("a", |shard, now, waiter| shard.join(now, join("m1"), waiter))
        .unwrap();
    assert!(matches!(answer.recv(), Ok(Answer::Join(Ok(_)))));
    // Nobody syncs, nobody sends heartbeats: the session ends by the upkeep thread alone.
    let state = || {
        stage
            .groups
            .look("a", |shard, _| shard.describe("a").map(|group| group.state))
    };
    for _ in 0..300 {
        if state() == Ok(Some("Empty")) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("still {:?}", state());
}

// The syncer commits while other threads decide: nothing is left unanswered, whoever takes the commits in.
#[test]
fn commits_from_another_thread_never_get_lost() {
    let stage = Stage::new();
    stage.logs.iter().for_each(|log| log.hold());
    let (done, answers): (Sender<Answer>, _) = channel();
    let running = AtomicUsize::new(4);
    std::thread::scope(|scope| {
        for worker in 0..4_i64 {
            let (stage, done, running) = (&stage, done.clone(), &running);
            scope.spawn(move || {
                for offset in 0..500 {
                    let done = done.clone();
                    let waiter = Waiter::new(move |answer| done.send(answer).unwrap_or_default());
                    let request = commit("a", worker * 1_000 + offset);
                    stage
                        .groups
                        .decide("a", |shard, now| shard.commit(now, request, waiter))
                        .unwrap();
                }
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        scope.spawn(|| {
            while running.load(Ordering::SeqCst) > 0 {
                stage.logs[1].settle(Fate::Committed);
            }
            stage.logs[1].settle(Fate::Committed);
        });
    });
    drop(done);
    let answered: Vec<Answer> = answers.try_iter().collect();
    assert_eq!(answered.len(), 2_000);
    assert!(
        answered
            .iter()
            .all(|answer| matches!(answer, Answer::Commit(Ok(_))))
    );
    assert_eq!(stage.logs[1].state.lock().end, 2_000);
}

//! The controller's thread on a disk that counts and fails, without the rest of the node.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use controller::{CreateTopic, Decision, Mode, create_topics};
use storage::{Disk, SimDisk, SimFaults};

use super::host::{Controller, ControllerError, Reply};
use super::open::{OpenController, OpenControllerError, OpenedController};
use crate::config::NodeConfig;
use crate::dispatch::{now_ms, steady_ms};
use crate::format::{FormatOptions, format};
use crate::halt::Halt;
use crate::metadata::Listeners;
use crate::metadata::publisher::Listener;
use crate::storage_dirs::{OpenedDirs, open_log_dirs};

const PATIENCE: Duration = Duration::from_secs(20);

fn config(more: &[(&str, &str)]) -> NodeConfig {
    let least = [
        ("process.roles", "broker,controller"),
        ("node.id", "1"),
        ("controller.listener.names", "CONTROLLER"),
        (
            "listeners",
            "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        ),
        ("log.dirs", "/data"),
    ];
    let properties = least
        .iter()
        .chain(more)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    NodeConfig::from_properties(properties.collect()).unwrap()
}

/// A controller whose listeners report what they are told.
struct Fixture {
    sim: SimDisk,
    disk: Arc<dyn Disk>,
    config: Arc<NodeConfig>,
    halt: Arc<Halt>,
}

/// What a listener was told: who it is, and how many topics changed.
type Told = (&'static str, usize);

impl Fixture {
    fn new(more: &[(&str, &str)]) -> Fixture {
        let sim = SimDisk::new(5);
        let disk: Arc<dyn Disk> = Arc::new(sim.clone());
        let config = Arc::new(config(more));
        format(&disk, &config, &FormatOptions::standalone("cluster"), now_ms()).unwrap();
        Fixture {
            sim,
            disk,
            config,
            halt: Arc::default(),
        }
    }

    fn dirs(&self) -> OpenedDirs {
        open_log_dirs(&self.disk, &self.config).unwrap()
    }

    fn open(&self, dirs: &OpenedDirs) -> Result<OpenedController, OpenControllerError> {
        let advertised = &self.config.advertised;
        let (disk, config) = (self.disk.clone(), self.config.clone());
        OpenController {
            disk,
            config,
            advertised,
            dirs,
        }
        .open(now_ms())
    }

    fn start(&self) -> (Arc<Controller>, Receiver<Told>) {
        let (sender, told) = channel();
        let listener = |name: &'static str, sender: Sender<Told>| -> Listener {
            Box::new(move |_, delta| sender.send((name, delta.topics.len())).unwrap_or_default())
        };
        let listeners = Listeners {
            replicas: listener("replicas", sender.clone()),
            coordinators: listener("coordinators", sender),
            unhosted: Box::new(Vec::new),
        };
        let controller = self
            .open(&self.dirs())
            .unwrap()
            .start(self.halt.clone(), listeners)
            .unwrap();
        controller.unfence().unwrap();
        (controller, told)
    }
}

fn topic(name: &str) -> CreateTopic {
    CreateTopic {
        name: Arc::from(name),
        num_partitions: 1,
        replication_factor: 1,
        ..CreateTopic::default()
    }
}

/// Makes a topic; the reply comes when everybody has acted on it.
fn make(controller: &Controller, name: &str) -> Receiver<Reply<bool>> {
    let (sender, receiver) = channel();
    let topic = topic(name);
    controller.submit(
        None,
        move |context, entropy| create_topics(context, &[topic], Mode::Commit, entropy),
        move |reply| {
            sender
                .send(reply.map(|topics| topics[0].1.is_ok()))
                .unwrap_or_default()
        },
    );
    receiver
}

fn made(receiver: &Receiver<Reply<bool>>) -> Reply<bool> {
    receiver.recv_timeout(PATIENCE).unwrap()
}

#[test]
fn a_reply_waits_until_replicas_and_coordinators_have_acted() {
    let fixture = Fixture::new(&[]);
    let (controller, told) = fixture.start();
    assert_eq!(made(&make(&controller, "t")), Ok(true));
    let heard: Vec<Told> = told.try_iter().collect();
    // Unfencing is heard of too, before.
    assert_eq!(heard[heard.len() - 2..], [("replicas", 1), ("coordinators", 1)]);
    assert!(controller.cache().image().topics.by_name("t").is_some());
    controller.stop();
}

#[test]
fn commands_that_wait_together_share_a_sync_and_see_each_other() {
    let fixture = Fixture::new(&[]);
    let (controller, _told) = fixture.start();
    // Holds the thread up until all commands wait.
    let (go, gate) = channel::<()>();
    controller.submit(
        None,
        move |_, _| {
            gate.recv_timeout(PATIENCE).unwrap();
            Decision::without_records(())
        },
        |_| (),
    );
    let replies: Vec<_> = (0..100)
        .map(|number| make(&controller, &format!("t{}", number / 2)))
        .collect();
    let before = fixture.sim.sync_count();
    go.send(()).unwrap();
    let succeeded = replies.iter().filter(|reply| made(reply) == Ok(true)).count();
    assert_eq!(
        succeeded, 50,
        "of two commands for one topic the second sees what the first decided"
    );
    let syncs = fixture.sim.sync_count() - before;
    assert!(syncs <= 4, "{syncs} syncs for 100 commands");
    controller.stop();
}

#[test]
fn a_disk_that_fails_halts_the_node_and_leaves_no_command_without_an_answer() {
    let fixture = Fixture::new(&[]);
    let (controller, _told) = fixture.start();
    assert_eq!(made(&make(&controller, "kept")), Ok(true));
    fixture.sim.set_faults(SimFaults {
        sync_errors: 1_000_000,
        ..SimFaults::default()
    });
    let replies: Vec<_> = (0..10)
        .map(|number| make(&controller, &format!("t{number}")))
        .collect();
    assert!(
        replies
            .iter()
            .all(|reply| made(reply) == Err(ControllerError::Stopped))
    );
    let image = controller.cache().image();
    assert_eq!(image.topics.len(), 1, "what is not committed is not shown");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reason = runtime.block_on(fixture.halt.called()).to_owned();
    assert!(reason.contains("metadata log's disk failed"), "{reason}");
    assert_eq!(made(&make(&controller, "late")), Err(ControllerError::Stopped));
    controller.stop();
}

#[test]
fn a_full_disk_refuses_commands_and_halts_nothing() {
    let fixture = Fixture::new(&[("metadata.log.max.record.bytes.between.snapshots", "500")]);
    let (controller, _told) = fixture.start();
    assert_eq!(made(&make(&controller, "kept")), Ok(true));
    fixture.sim.set_faults(SimFaults {
        capacity: fixture.sim.used(),
        ..SimFaults::default()
    });
    let tried: Vec<_> = (0..100)
        .map(|number| made(&make(&controller, &format!("t{number}"))))
        .collect();
    assert!(tried.contains(&Err(ControllerError::Full)), "{tried:?}");
    let image = controller.cache().image();
    let succeeded = tried.iter().filter(|reply| **reply == Ok(true)).count();
    assert_eq!(
        image.topics.len(),
        1 + succeeded,
        "what found no room is not shown"
    );
    fixture.sim.set_faults(SimFaults::default());
    assert_eq!(made(&make(&controller, "again")), Ok(true));
    controller.stop();
}

#[test]
fn a_command_whose_time_is_over_is_not_carried_out() {
    let fixture = Fixture::new(&[]);
    let (controller, _told) = fixture.start();
    let (sender, receiver) = channel();
    controller.submit(
        Some(steady_ms() - 1),
        |context, entropy| create_topics(context, &[topic("late")], Mode::Commit, entropy),
        move |reply| sender.send(reply.map(|_| ())).unwrap_or_default(),
    );
    assert_eq!(
        receiver.recv_timeout(PATIENCE).unwrap(),
        Err(ControllerError::TimedOut)
    );
    controller.stop();
    assert!(controller.cache().image().topics.is_empty());
}

#[test]
fn a_full_queue_refuses_instead_of_waiting() {
    let fixture = Fixture::new(&[]);
    let (controller, _told) = fixture.start();
    let (go, gate) = channel::<()>();
    controller.submit(
        None,
        move |_, _| {
            gate.recv_timeout(PATIENCE).unwrap();
            Decision::without_records(())
        },
        |_| (),
    );
    let (sender, receiver) = channel();
    for _ in 0..3000 {
        let sender = sender.clone();
        controller.submit(
            None,
            |_, _| Decision::without_records(()),
            move |reply| sender.send(reply).unwrap_or_default(),
        );
    }
    assert_eq!(receiver.try_recv().unwrap(), Err(ControllerError::TimedOut));
    go.send(()).unwrap();
    drop(sender);
    let answered = 1 + std::iter::from_fn(|| receiver.recv_timeout(PATIENCE).ok()).count();
    assert_eq!(answered, 3000);
    controller.stop();
}

#[test]
fn a_panic_in_a_listener_halts_the_node() {
    let fixture = Fixture::new(&[]);
    let listeners = Listeners {
        replicas: Box::new(|_, delta| assert!(delta.topics.is_empty(), "a listener that breaks")),
        coordinators: Box::new(|_, _| ()),
        unhosted: Box::new(Vec::new),
    };
    let opened = fixture.open(&fixture.dirs()).unwrap();
    let controller = opened.start(fixture.halt.clone(), listeners).unwrap();
    controller.unfence().unwrap();
    let reply = make(&controller, "t");
    assert!(reply.recv_timeout(PATIENCE).is_err(), "its answer is dropped");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(runtime.block_on(fixture.halt.called()).contains("panicked"));
    assert_eq!(made(&make(&controller, "u")), Err(ControllerError::Stopped));
    controller.stop();
}

#[test]
fn a_stop_in_order_leaves_this_node_fenced_and_the_next_start_clean() {
    let fixture = Fixture::new(&[]);
    let (controller, told) = fixture.start();
    assert_eq!(made(&make(&controller, "t")), Ok(true));
    let epoch = controller.broker_epoch();
    told.try_iter().count();
    controller.stop();
    assert_eq!(told.try_iter().count(), 0, "the replicas close by themselves");
    drop(controller);

    let dirs = fixture.dirs();
    dirs.metadata_dir.log_dir.mark_clean_shutdown(epoch).unwrap();
    drop(dirs);
    let image = fixture.open(&fixture.dirs()).unwrap().image();
    let partition = image.topics.by_name("t").unwrap().partition(0).unwrap();
    assert_eq!(
        (partition.leader, partition.eligible_leader_replicas.len()),
        (None, 1)
    );
    let broker = image.cluster.broker(fixture.config.node_id).unwrap();
    assert!(
        broker.fenced && !broker.in_controlled_shutdown,
        "it has registered anew, and waits"
    );
    assert!(broker.epoch > epoch);
}

#[test]
fn every_registration_has_another_incarnation_and_a_higher_epoch() {
    let fixture = Fixture::new(&[]);
    let mut last = None;
    for _ in 0..3 {
        let image = fixture.open(&fixture.dirs()).unwrap().image();
        let broker = image.cluster.broker(fixture.config.node_id).unwrap();
        let controller = image.cluster.controller(fixture.config.node_id.0).unwrap();
        let now = (broker.epoch, broker.incarnation_id, controller.incarnation_id);
        if let Some((epoch, incarnation, of_controller)) = last.replace(now) {
            assert!(now.0 > epoch && now.1 != incarnation && now.2 != of_controller);
        }
        assert_eq!(&*broker.endpoints[0].host, "127.0.0.1");
        assert_eq!(controller.endpoints[0].port, 9093);
    }
}

#[test]
fn snapshots_are_written_beside_the_decisions() {
    let fixture = Fixture::new(&[("metadata.log.max.record.bytes.between.snapshots", "2000")]);
    let (controller, _told) = fixture.start();
    for number in 0..40 {
        assert_eq!(made(&make(&controller, &format!("t{number}"))), Ok(true));
    }
    controller.stop();
    let names = fixture
        .disk
        .list(Path::new("/data/__cluster_metadata-0"))
        .unwrap();
    let snapshots = names
        .iter()
        .filter(|entry| entry.name.ends_with(".checkpoint"))
        .count();
    assert!(snapshots > 1, "{names:?}");
    drop(controller);
    let image = fixture.open(&fixture.dirs()).unwrap().image();
    assert_eq!(image.topics.len(), 40);
}

#[test]
fn internal_topics_made_on_demand_have_the_settings_of_apache_kafka() {
    let fixture = Fixture::new(&[
        ("offsets.topic.num.partitions", "7"),
        ("offsets.topic.replication.factor", "1"),
        ("num.partitions", "2"),
    ]);
    let (controller, _told) = fixture.start();
    let (sender, receiver) = channel();
    controller.auto_create_then(&["__consumer_offsets".into(), "plain".into()], move |reply| {
        sender
            .send(reply.unwrap().iter().all(|(_, result)| result.is_ok()))
            .unwrap();
    });
    assert!(receiver.recv_timeout(PATIENCE).unwrap());
    let image = controller.cache().image();
    assert_eq!(
        image
            .topics
            .by_name("__consumer_offsets")
            .unwrap()
            .partition_count(),
        7
    );
    assert_eq!(image.topics.by_name("plain").unwrap().partition_count(), 2);
    let settings: Vec<_> = image
        .configs
        .topic("__consumer_offsets")
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    let expected = [
        ("cleanup.policy", "compact"),
        ("compression.type", "producer"),
        ("segment.bytes", "104857600"),
    ];
    assert_eq!(settings, expected);
    controller.stop();
}

#[test]
fn producer_ids_come_in_blocks_that_survive_a_crash() {
    let fixture = Fixture::new(&[]);
    let mut next = 0;
    for _ in 0..3 {
        let (controller, _told) = fixture.start();
        for _ in 0..2 {
            let block = controller
                .allocate_producer_ids()
                .blocking_recv()
                .unwrap()
                .unwrap()
                .unwrap();
            assert_eq!((block.first.0, block.count), (next, 1000));
            next += 1000;
        }
        controller.stop();
        drop(controller);
        fixture.sim.crash();
    }
}

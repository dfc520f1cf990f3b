//! A seed's life: what happens next is drawn, done, and compared with what clients were told before.

use std::collections::BTreeMap;

use coordinator::{Answer, FetchOffsets, Stability};
use model::{Offset, TopicPartition};
use replication::FetchRefused;
use storage::{CleanupPolicy, LogConfig, Random, SimDisk, SimFaults};
use wire::records::{DecompressionLimit, batches};

use crate::clients::{DATA, Fault, GROUP, Member, Producer, number_of};
use crate::history::{History, RecordNumber, Violation, must};
use crate::node::{Effect, Halt, Node, Plant, Planted, Start};

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Things that happen before everything has to come to rest.
    pub steps: u32,
    /// A fault that has to be found.
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            steps: 300,
            planted: None,
        }
    }
}

/// What a seed did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// A number that depends on everything that happened.
    pub trace: u64,
    /// Records acknowledged.
    pub acknowledged: usize,
    /// Partitions with a committed offset.
    pub committed: usize,
    /// Times the power was cut.
    pub power_cuts: u32,
    /// Times the process was killed, or stopped because the disk failed.
    pub kills: u32,
    /// Times the node was stopped in order.
    pub stops: u32,
}

/// Runs a seed to its end.
///
/// # Errors
/// What went wrong, when something did.
pub fn run(seed: u64, options: Options) -> Result<Report, Violation> {
    let mut world = World::new(seed, options);
    for _ in 0..options.steps {
        world.step()?;
    }
    world.come_to_rest()?;
    let (acknowledged, committed) = world.history.counts();
    Ok(Report {
        trace: world.trace(),
        acknowledged,
        committed,
        ..world.report
    })
}

/// How the node's process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With the machine.
    PowerCut,
    /// Alone: what was written stays in the cache.
    Kill,
}

struct World {
    random: Random,
    disk: SimDisk,
    log_config: LogConfig,
    options: Options,
    now_ms: i64,
    node: Option<Node>,
    faulty: bool,
    producers: Vec<Producer>,
    members: Vec<Member>,
    history: History,
    made_topics: u32,
    report: Report,
    steps: u64,
}

const PRODUCERS: u64 = 5;
const MEMBERS: u64 = 3;
const PARTITIONS: i32 = 4;
/// A topic that is deleted and made again, with a producer of its own.
const FLEETING: &str = "fleeting";

impl World {
    fn new(seed: u64, options: Options) -> World {
        let mut random = Random::new(seed);
        let segment_bytes = u32::try_from(random.between(1_200, 6_000)).unwrap_or(u32::MAX);
        World {
            disk: SimDisk::new(random.bits()),
            log_config: log_config(segment_bytes, options.planted),
            options,
            now_ms: 1_700_000_000_000,
            node: None,
            faulty: false,
            producers: producers(),
            members: (0..MEMBERS).map(|n| Member::new(100 + n)).collect(),
            history: History::default(),
            made_topics: 0,
            report: Report::default(),
            steps: 0,
            random,
        }
    }

    fn trace(&self) -> u64 {
        self.disk.trace() ^ self.steps.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.now_ms.unsigned_abs()
    }

    fn step(&mut self) -> Result<(), Violation> {
        self.steps += 1;
        self.now_ms += i64::try_from(self.random.below(20)).unwrap_or(0);
        if self.node.is_none() {
            return self.start();
        }
        let result = match self.random.below(1_000) {
            0..=349 => self.produce(),
            350..=499 => self.begin_sync(),
            500..=669 => self.with_node(|world, node| Ok(node.end_sync(world.now_ms)?)),
            670..=749 => self.read_some(),
            750..=769 => self.with_node(|_, node| Ok(node.flush()?)),
            770..=899 => self.let_member_act(),
            900..=939 => self.let_time_pass(),
            940..=949 => self.with_node(|_, node| Ok(node.checkpoint()?)),
            950..=959 => self.change_topics(),
            960..=969 => self.lose_a_connection(),
            970..=974 => self.see_commits(),
            975..=981 => self.set_faults(),
            982..=987 => self.end_node(End::PowerCut),
            988..=993 => self.end_node(End::Kill),
            _ => self.stop(),
        };
        match result.and_then(|()| self.hear()) {
            Err(Fault::Violation(violation)) => Err(violation),
            Err(Fault::Halt(Halt(reason))) => {
                must!(
                    self.faulty,
                    "the node stopped although the disk was sound: {reason}"
                );
                // After a failed sync a page may be in the cache and nowhere else: such a machine is started anew.
                self.lose_node(End::PowerCut);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn with_node(
        &mut self,
        act: impl FnOnce(&mut World, &mut Node) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some(mut node) = self.node.take() else {
            return Ok(());
        };
        let result = act(self, &mut node);
        self.node = Some(node);
        result
    }

    /// Hands the clients what the node told them.
    fn hear(&mut self) -> Result<(), Fault> {
        loop {
            let effects = self
                .node
                .as_mut()
                .map(|node| std::mem::take(&mut node.effects))
                .unwrap_or_default();
            if effects.is_empty() {
                return Ok(());
            }
            for effect in effects {
                match effect {
                    Effect::Produced { token, outcome } => {
                        for producer in &mut self.producers {
                            producer.hear(token, outcome, &mut self.history)?;
                        }
                    }
                    Effect::Answered {
                        token: COMMITS_TOKEN,
                        answer,
                    } => self.compare_commits(&answer)?,
                    Effect::Answered { token, answer } => {
                        for member in &mut self.members {
                            member.hear(token, &answer, &mut self.history)?;
                        }
                    }
                }
            }
        }
    }

    fn begin_sync(&mut self) -> Result<(), Fault> {
        if let Some(node) = &mut self.node {
            node.begin_sync();
        }
        Ok(())
    }

    fn produce(&mut self) -> Result<(), Fault> {
        let chosen = self.pick(self.producers.len());
        self.with_node(|world, node| match world.producers.get_mut(chosen) {
            Some(producer) => producer.act(node, &mut world.history, &mut world.random, world.now_ms),
            None => Ok(()),
        })
    }

    fn let_member_act(&mut self) -> Result<(), Fault> {
        let chosen = self.pick(self.members.len());
        self.with_node(|world, node| match world.members.get_mut(chosen) {
            Some(member) => member.act(node, &mut world.history, world.now_ms),
            None => Ok(()),
        })
    }

    fn let_time_pass(&mut self) -> Result<(), Fault> {
        let most = if self.random.one_in(8) { 15_000 } else { 800 };
        self.now_ms += i64::try_from(self.random.below(most)).unwrap_or(0);
        self.with_node(|world, node| Ok(node.tick(world.now_ms)?))
    }

    fn lose_a_connection(&mut self) -> Result<(), Fault> {
        let chosen = self.pick(self.producers.len());
        self.with_node(|world, node| match world.producers.get_mut(chosen) {
            Some(producer) => {
                producer.disconnect();
                Ok(producer
                    .resend(node, &mut world.history, world.now_ms)
                    .map(drop)?)
            }
            None => Ok(()),
        })
    }

    /// Makes a topic, deletes one, or gives the one with the data another partition.
    fn change_topics(&mut self) -> Result<(), Fault> {
        let choice = self.random.below(8);
        if choice > 4 {
            return self.change_fleeting_topic();
        }
        self.with_node(|world, node| {
            let now_ms = world.now_ms;
            if choice == 0 {
                let count = node.partition_count(DATA) + 1;
                node.add_partitions(DATA, count, now_ms)?;
                return Ok(());
            }
            let there = world
                .history
                .topics()
                .find(|(name, id)| id.is_some() && *name != DATA && *name != FLEETING)
                .map(|(name, _)| name.clone());
            match there.filter(|_| choice == 1) {
                Some(name) => {
                    world.history.topic_in_doubt(&name);
                    node.delete_topic(&name, now_ms)?;
                    world.history.topic_deleted(&name);
                }
                None => {
                    world.made_topics += 1;
                    let name = format!("made-{}", world.made_topics);
                    if let Some(id) = node.create_topic(&name, 1, now_ms)? {
                        world.history.topic_made(&name, id);
                    }
                }
            }
            Ok(())
        })
    }

    /// Deletes the topic that comes and goes, or makes it.
    fn change_fleeting_topic(&mut self) -> Result<(), Fault> {
        self.with_node(|world, node| {
            let now_ms = world.now_ms;
            let Some(producer) = world.producers.last_mut() else {
                return Ok(());
            };
            let tp = producer.topic_partition().clone();
            if node.topic_id(FLEETING).is_some() {
                world.history.forget(&tp);
                world.history.topic_in_doubt(FLEETING);
                node.delete_topic(FLEETING, now_ms)?;
                // Not before: where a crash keeps the topic, what is under way has to be sent again.
                producer.forget();
                world.history.topic_deleted(FLEETING);
            } else {
                producer.forget();
                world.history.topic_in_doubt(FLEETING);
                world.history.begins_with(&tp, producer.next());
                if let Some(id) = node.create_topic(FLEETING, 1, now_ms)? {
                    world.history.topic_made(FLEETING, id);
                }
            }
            Ok(())
        })
    }

    fn see_commits(&mut self) -> Result<(), Fault> {
        let request = FetchOffsets {
            group: GROUP.into(),
            member: None,
            topics: None,
            stability: Stability::Any,
        };
        self.with_node(|world, node| {
            Ok(node.with_group(GROUP, world.now_ms, |shard, _| {
                shard.fetch(request, COMMITS_TOKEN)
            })?)
        })
    }

    fn compare_commits(&self, answer: &Answer) -> Result<(), Violation> {
        let Answer::Fetch(Ok(topics)) = answer else {
            return Ok(());
        };
        for topic in topics.iter().filter(|topic| &*topic.topic == DATA) {
            for partition in &topic.partitions {
                let offset = match &partition.result {
                    Ok(Some(given)) => given.offset,
                    _ => 0,
                };
                self.history.see_commit(GROUP, partition.partition, offset)?;
            }
        }
        Ok(())
    }

    /// From now on calls of the disk fail now and then, until the node has gone down over it.
    fn set_faults(&mut self) -> Result<(), Fault> {
        self.faulty = true;
        let mut rate = || u32::try_from(self.random.below(20_000)).unwrap_or(0);
        let (read_errors, write_errors, sync_errors) = (rate(), rate(), rate());
        let capacity = match self.random.one_in(4) {
            true => self.disk.used() + self.random.below(20_000),
            false => u64::MAX,
        };
        self.disk.set_faults(SimFaults {
            read_errors,
            write_errors,
            sync_errors,
            open_errors: 0,
            capacity,
        });
        Ok(())
    }

    fn heal(&mut self) {
        self.faulty = false;
        self.disk.set_faults(SimFaults::default());
    }

    fn end_node(&mut self, end: End) -> Result<(), Fault> {
        self.lose_node(end);
        Ok(())
    }

    fn lose_node(&mut self, end: End) {
        // Files of a killed process stay written; those of a machine without power are torn.
        self.node = None;
        match end {
            End::PowerCut => {
                self.report.power_cuts += 1;
                self.disk.crash();
            }
            End::Kill => {
                self.report.kills += 1;
                self.disk.restart();
            }
        }
        self.heal();
        self.producers.iter_mut().for_each(Producer::disconnect);
        self.members.iter_mut().for_each(Member::disconnect);
    }

    fn stop(&mut self) -> Result<(), Fault> {
        let Some(node) = self.node.take() else {
            return Ok(());
        };
        self.report.stops += 1;
        let stopped = node.stop(self.now_ms);
        self.disk.restart();
        self.producers.iter_mut().for_each(Producer::disconnect);
        self.members.iter_mut().for_each(Member::disconnect);
        if stopped.is_ok() {
            self.heal();
        }
        Ok(stopped?)
    }

    /// Starts the node, with the power failing in the middle of some starts; then everything that clients were told
    /// has to be there.
    fn start(&mut self) -> Result<(), Violation> {
        let cut = self.random.one_in(6);
        if cut {
            let errors = u32::try_from(self.random.below(60_000)).unwrap_or(0);
            self.disk.set_faults(SimFaults {
                write_errors: errors,
                sync_errors: errors,
                ..SimFaults::default()
            });
        }
        let start = Start {
            disk: &self.disk,
            log_config: self.log_config.clone(),
            entropy: self.random.fork(),
            planted: self.options.planted,
        };
        match Node::start(start, self.now_ms) {
            Ok(node) => {
                self.heal();
                self.node = Some(node);
                self.check_everything()
            }
            Err(Halt(reason)) => {
                must!(cut, "the node does not start: {reason}");
                self.lose_node(End::PowerCut);
                Ok(())
            }
        }
    }

    fn check_everything(&mut self) -> Result<(), Violation> {
        let Some(mut node) = self.node.take() else {
            return Ok(());
        };
        if node.topic_id(DATA).is_none() {
            let made = node
                .create_topic(DATA, PARTITIONS, self.now_ms)
                .map_err(|Halt(reason)| Violation(reason))?;
            must!(made.is_some(), "the topic with the data cannot be made");
            if let Some(id) = made {
                self.history.topic_made(DATA, id);
            }
        }
        for (name, expected) in self.history.topics() {
            let found = node.topic_id(name);
            must!(
                found == *expected,
                "topic {name} should be {expected:?}, and is {found:?}"
            );
        }
        for partition in 0..node.partition_count(DATA) {
            let tp = TopicPartition::new(DATA, partition);
            let records = read_whole(&node, &tp, &mut self.history)?;
            self.history.check_whole(&tp, &records)?;
        }
        if node.topic_id(FLEETING).is_some() {
            let tp = TopicPartition::new(FLEETING, 0);
            let records = read_whole(&node, &tp, &mut self.history)?;
            self.history.check_whole(&tp, &records)?;
        }
        self.node = Some(node);
        Ok(())
    }

    /// A reader reads a little, from anywhere.
    fn read_some(&mut self) -> Result<(), Fault> {
        let turn = self.random.bits();
        self.with_node(|world, node| {
            let count = node.partition_count(DATA).max(1);
            let tp = TopicPartition::new(
                DATA,
                i32::try_from(turn % u64::from(count.unsigned_abs())).unwrap_or(0),
            );
            let Some(Ok(end)) = node.fetch(&tp, Offset::ZERO) else {
                return Ok(());
            };
            let from = world.random.below(end.seen.high_watermark.0.unsigned_abs() + 1);
            read_from(
                node,
                &tp,
                Offset(i64::try_from(from).unwrap_or(0)),
                &mut world.history,
            )?;
            Ok(())
        })
    }

    /// No more faults: everything that is under way ends, members settle, and a last power cut loses nothing.
    fn come_to_rest(&mut self) -> Result<(), Violation> {
        if self.faulty {
            // A call that failed may come to light later: a snapshot that another thread writes, in a real node.
            self.lose_node(End::PowerCut);
        }
        for _ in 0..400 {
            self.now_ms += 100;
            if self.node.is_none() {
                self.start()?;
            }
            let rested = self.rest_a_little();
            match rested.and_then(|()| self.hear()) {
                Ok(()) => {}
                Err(Fault::Violation(violation)) => return Err(violation),
                Err(Fault::Halt(Halt(reason))) => {
                    return Err(Violation(format!("the node stopped: {reason}")));
                }
            }
            let settled = self.members.iter().all(Member::is_settled);
            if settled && self.producers.iter().all(Producer::is_idle) && self.node.is_some() {
                self.see_commits_at_the_end()?;
                self.lose_node(End::PowerCut);
                while self.node.is_none() {
                    self.start()?;
                }
                return self.see_commits_at_the_end();
            }
        }
        Err(Violation(
            "things do not come to rest although nothing fails".to_owned(),
        ))
    }

    fn rest_a_little(&mut self) -> Result<(), Fault> {
        self.with_node(|world, node| {
            for producer in &mut world.producers {
                producer.resend(node, &mut world.history, world.now_ms)?;
            }
            for member in world.members.iter_mut().filter(|member| !member.is_settled()) {
                member.act(node, &mut world.history, world.now_ms)?;
            }
            node.tick(world.now_ms)?;
            node.begin_sync();
            Ok(node.end_sync(world.now_ms)?)
        })?;
        self.hear()?;
        // Settled members notice a rebalance by their heartbeats.
        self.with_node(|world, node| {
            for member in &mut world.members {
                member.act(node, &mut world.history, world.now_ms)?;
            }
            Ok(())
        })
    }

    fn see_commits_at_the_end(&mut self) -> Result<(), Violation> {
        match self.see_commits().and_then(|()| self.hear()) {
            Ok(()) => Ok(()),
            Err(Fault::Violation(violation)) => Err(violation),
            Err(Fault::Halt(Halt(reason))) => Err(Violation(format!("the node stopped: {reason}"))),
        }
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap_or(0)
    }
}

/// Two share a partition; the last has a topic that comes and goes.
fn producers() -> Vec<Producer> {
    let of_data = (0..PRODUCERS).zip([0, 0, 1, 2, 3]);
    of_data
        .map(|(n, partition)| Producer::new(n + 1, DATA, partition))
        .chain([Producer::new(PRODUCERS + 1, FLEETING, 0)])
        .collect()
}

/// The token of who only looks at committed offsets.
const COMMITS_TOKEN: u64 = 0;

fn log_config(segment_bytes: u32, planted: Planted) -> LogConfig {
    let mut config = LogConfig {
        segment_bytes,
        segment_index_bytes: 240,
        index_interval_bytes: 300,
        retention_ms: None,
        cleanup: CleanupPolicy {
            delete: false,
            compact: false,
        },
        timestamp_after_max_ms: i64::MAX,
        ..LogConfig::default()
    };
    plant(&mut config, planted);
    config
}

#[cfg(feature = "planted-bugs")]
fn plant(config: &mut LogConfig, planted: Planted) {
    config.planted.recovery_skips_checksums = planted == Some(Plant::NoChecksums);
    config.planted.dedupe_window_of_four = planted == Some(Plant::WindowOfFour);
}

#[cfg(not(feature = "planted-bugs"))]
fn plant(_: &mut LogConfig, planted: Planted) {
    debug_assert!(
        matches!(planted, None | Some(Plant::NoSync | Plant::ReuseEarly)),
        "build with the feature planted-bugs"
    );
}

/// Reads one fetch's worth; the offset to go on from, or `None` at the end.
fn read_from(
    node: &Node,
    tp: &TopicPartition,
    offset: Offset,
    history: &mut History,
) -> Result<Option<Found>, Violation> {
    let fetched = match node.fetch(tp, offset) {
        Some(Ok(fetched)) => fetched,
        Some(Err(FetchRefused::Log(_))) | None => return Ok(None), // the disk fails: nothing is said
        Some(Err(refused)) => {
            return Err(Violation(format!(
                "{tp} refuses a reader at offset {offset}: {refused}"
            )));
        }
    };
    history.see_watermark(tp, fetched.seen.high_watermark)?;
    let Ok(bytes) = fetched.records.to_bytes() else {
        return Ok(None);
    };
    let mut found = Found {
        next: offset,
        records: Vec::new(),
    };
    for batch in batches(&bytes) {
        // The last batch of an answer may be cut off.
        let Ok(batch) = batch else { break };
        must!(
            batch.verify_crc().is_ok(),
            "{tp} shows a damaged batch at offset {}",
            batch.header().base_offset
        );
        for record in batch
            .records(DecompressionLimit::default())
            .map_err(|e| Violation(e.to_string()))?
        {
            let record =
                record.map_err(|error| Violation(format!("{tp} shows a damaged record: {error}")))?;
            let number = record.value.as_deref().and_then(number_of);
            let Some(number) = number else {
                return Err(Violation(format!("{tp} shows a record nobody wrote")));
            };
            history.see(tp, record.offset.0, number)?;
            found.records.push((record.offset.0, number));
        }
        found.next = batch.header().next_offset();
    }
    Ok((found.next > offset).then_some(found))
}

/// What one fetch found.
struct Found {
    next: Offset,
    records: Vec<(i64, RecordNumber)>,
}

/// Everything readable of a partition.
fn read_whole(
    node: &Node,
    tp: &TopicPartition,
    history: &mut History,
) -> Result<BTreeMap<i64, RecordNumber>, Violation> {
    let mut records = BTreeMap::new();
    let mut next = Offset::ZERO;
    while let Some(found) = read_from(node, tp, next, history)? {
        records.extend(found.records);
        next = found.next;
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_seeds_are_clean() {
        for seed in 0..40 {
            if let Err(violation) = run(seed, Options::default()) {
                panic!("seed {seed}: {violation}");
            }
        }
    }

    #[test]
    fn one_seed_run_twice_gives_equal_traces() {
        for seed in [3, 14, 15] {
            assert_eq!(
                run(seed, Options::default()),
                run(seed, Options::default()),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn seeds_cut_the_power_and_acknowledge_records() {
        let reports: Vec<_> = (0..10)
            .filter_map(|seed| run(seed, Options::default()).ok())
            .collect();
        assert!(reports.iter().map(|report| report.power_cuts).sum::<u32>() > 10);
        assert!(reports.iter().map(|report| report.acknowledged).sum::<usize>() > 500);
        assert!(reports.iter().map(|report| report.committed).sum::<usize>() > 10);
    }

    fn finds(plant: Plant) -> bool {
        (0..200).any(|seed| {
            run(
                seed,
                Options {
                    planted: Some(plant),
                    ..Options::default()
                },
            )
            .is_err()
        })
    }

    #[test]
    fn acknowledging_without_a_sync_is_found() {
        assert!(finds(Plant::NoSync));
    }

    #[test]
    fn writing_over_a_journal_before_the_segments_have_it_is_found() {
        assert!(finds(Plant::ReuseEarly));
    }

    #[cfg(feature = "planted-bugs")]
    #[test]
    fn recovery_without_checksums_is_found() {
        assert!(finds(Plant::NoChecksums));
    }

    #[cfg(feature = "planted-bugs")]
    #[test]
    fn a_window_of_four_is_found() {
        assert!(finds(Plant::WindowOfFour));
    }
}

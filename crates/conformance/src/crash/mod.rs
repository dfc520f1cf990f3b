//! Kills the broker and cuts its power under load, round after round, and checks that every promise was kept.
//!
//! A round: real clients write (idempotent, acks=all), consume in a group and commit; the broker dies; it starts again;
//! everything acknowledged must be in its place, once and in order, and no committed offset may have gone back. Beside
//! it a topic is written, deleted and made again under its name, over and over: nothing that was deleted may be seen
//! again. The load goes on across the rounds, so that retries meet the recovered state of their producers. A ledger
//! keeps what each round found; a campaign that was interrupted goes on where it stopped.

mod history;
mod ledger;
mod load;
mod power;
mod remade;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::node::{Node, fresh_dir};
use history::History;
use ledger::Ledger;
use load::Load;
use power::Image;

/// The partitions of the topic under load: many in a round of the journal, and few of which much is synced by itself.
const PARTITIONS: [usize; 2] = [24, 2];
const TOPIC: &str = "crash";

/// How many rounds of what.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds that end with SIGKILL.
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// Rounds that end with a power cut (a file system that stops taking writes). Needs root and loop devices.
    #[arg(long, default_value_t = 50)]
    cuts: u32,
    /// Power cuts with `log.durability=pagecache`, at least one of which must be seen to lose records: shows that the
    /// check can fail.
    #[arg(long, default_value_t = 3)]
    controls: u32,
    /// Moves the moments at which the broker dies.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Forget what earlier runs of this binary found.
    #[arg(long)]
    restart: bool,
}

/// Runs the campaign; `true` when every round kept every promise and the negative control was seen to lose.
pub(crate) fn run(binary: &Path, work: &Path, options: &Options) -> Result<bool> {
    std::fs::create_dir_all(work)?;
    let home = work.canonicalize()?.join("crash");
    std::fs::create_dir_all(&home)?;
    let mut campaign = Campaign {
        binary,
        ledger: Ledger::open(&home.join("ledger.tsv"), binary, options.restart)?,
        home,
        moments: Moments(options.seed),
    };
    campaign.kills(options.kills)?;
    campaign.cuts(options.cuts)?;
    let lost = campaign.controls(options.controls)?;
    if options.controls > 0 && !lost {
        println!(
            "negative control: no power cut lost anything without syncing; the check proves nothing here"
        );
    }
    println!("{}", campaign.ledger.summary());
    Ok(campaign.ledger.is_clean() && (options.controls == 0 || lost))
}

/// How many rounds on how many partitions.
fn shares(rounds: u32) -> impl Iterator<Item = (usize, u32)> {
    let [many, few] = PARTITIONS;
    [(many, rounds.div_ceil(2)), (few, rounds / 2)]
        .into_iter()
        .filter(|(_, rounds)| *rounds > 0)
}

fn of_topic(partitions: usize) -> String {
    format!("num.partitions={partitions}")
}

/// A node under load, and what was seen of it before.
struct Loaded {
    node: Node,
    dir: PathBuf,
    load: Load,
    history: History,
}

impl Loaded {
    /// Formats the node and starts it, and its load.
    fn start(mut node: Node, dir: PathBuf, partitions: usize) -> Result<Loaded> {
        node.format()?;
        node.start()?;
        Ok(Loaded {
            load: Load::start(&node, &dir, TOPIC, partitions)?,
            history: History::new(partitions),
            node,
            dir,
        })
    }

    /// Every promise that a restart broke, of either topic.
    fn check(&mut self) -> Result<Vec<String>> {
        let mut anomalies = self.history.check(&self.node, &self.dir, TOPIC)?;
        anomalies.extend(remade::check(&self.node, &self.dir)?);
        Ok(anomalies)
    }

    /// Starts the node after its death, and judges it before the load goes on.
    fn judge(&mut self, ledger: &mut Ledger, kind: &str) -> Result<()> {
        self.node.start()?;
        self.load.wait_until_held()?;
        record(ledger, kind, self.check())?;
        self.load.release()
    }
}

/// The campaign under way.
struct Campaign<'c> {
    binary: &'c Path,
    home: PathBuf,
    moments: Moments,
    ledger: Ledger,
}

impl Campaign<'_> {
    /// Rounds of SIGKILL on a data directory for each number of partitions.
    fn kills(&mut self, rounds: u32) -> Result<()> {
        let todo = rounds.saturating_sub(self.ledger.passed("kill"));
        shares(todo).try_for_each(|(partitions, rounds)| self.kills_on(partitions, rounds))
    }

    fn kills_on(&mut self, partitions: usize, rounds: u32) -> Result<()> {
        let dir = fresh_dir(&self.home.join("kill"))?;
        let settings = [&*of_topic(partitions), "log.segment.bytes=4194304"];
        let node = Node::new(self.binary, &dir, &dir.join("data"), &settings)?;
        let mut loaded = Loaded::start(node, dir, partitions)?;
        for _ in 0..rounds {
            loaded.load.go_on_for(self.moments.between(300, 2500))?;
            loaded.node.kill()?;
            loaded.load.hold()?;
            loaded.judge(&mut self.ledger, "kill")?;
        }
        loaded.load.finish()?;
        record(&mut self.ledger, "kill-final", loaded.check())?;
        loaded.node.stop()?;
        loaded.node.start()?;
        record(&mut self.ledger, "stop-final", loaded.check())
    }

    /// Rounds of power cuts on a file system for each number of partitions; some of them while the broker starts, and some right after a format.
    fn cuts(&mut self, rounds: u32) -> Result<()> {
        let todo = rounds.saturating_sub(self.ledger.passed("cut"));
        shares(todo).try_for_each(|(partitions, rounds)| self.cuts_on(partitions, rounds))
    }

    fn cuts_on(&mut self, partitions: usize, rounds: u32) -> Result<()> {
        let dir = fresh_dir(&self.home.join("cut"))?;
        let image = Image::create(&dir, 2048)?;
        let data = image.mount_point().join("data");
        let node = Node::new(self.binary, &dir, &data, &[&of_topic(partitions)])?;
        let mut loaded = Loaded::start(node, dir, partitions)?;
        for round in 0..rounds {
            loaded.load.go_on_for(self.moments.between(300, 2000))?;
            cut_power(&mut loaded.node, &image)?;
            loaded.load.hold()?;
            if round % 3 == 1 {
                // The power goes once more while the broker recovers.
                loaded.node.launch()?;
                std::thread::sleep(self.moments.between(0, 400));
                cut_power(&mut loaded.node, &image)?;
            }
            loaded.judge(&mut self.ledger, "cut")?;
            if round % 5 == 0 {
                let found = self.cut_after_format();
                record(&mut self.ledger, "cut-after-format", found)?;
            }
        }
        loaded.load.finish()?;
        record(&mut self.ledger, "cut-final", loaded.check())?;
        loaded.node.stop().map(|_| ())
    }

    /// A node whose power goes the moment its directory is formatted must start, and so after a cut in its first start.
    fn cut_after_format(&mut self) -> Result<Vec<String>> {
        let dir = fresh_dir(&self.home.join("format"))?;
        let image = Image::create(&dir, 256)?;
        let mut node = Node::new(self.binary, &dir, &image.mount_point().join("data"), &[])?;
        node.format()?;
        cut_power(&mut node, &image)?;
        node.launch()?;
        std::thread::sleep(self.moments.between(0, 300));
        cut_power(&mut node, &image)?;
        let started = node.start();
        node.kill()?;
        Ok(started
            .err()
            .map(|error| format!("{error:#}"))
            .into_iter()
            .collect())
    }

    /// Power cuts without syncing; whether any acknowledged record was seen to be lost.
    fn controls(&mut self, rounds: u32) -> Result<bool> {
        for _ in 0..rounds {
            if self.ledger.passed("control-lost") > 0 {
                return Ok(true);
            }
            let dir = fresh_dir(&self.home.join("control"))?;
            let image = Image::create(&dir, 1024)?;
            let [partitions, _] = PARTITIONS;
            let settings = [&*of_topic(partitions), "log.durability=pagecache"];
            let node = Node::new(self.binary, &dir, &image.mount_point().join("data"), &settings)?;
            let mut loaded = Loaded::start(node, dir, partitions)?;
            loaded.load.go_on_for(self.moments.between(1500, 3000))?;
            cut_power(&mut loaded.node, &image)?;
            loaded.node.start()?;
            let found = loaded.history.check(&loaded.node, &loaded.dir, TOPIC);
            loaded.load.abandon()?;
            loaded.node.kill()?;
            if found?.iter().any(|anomaly| anomaly.starts_with("lost write")) {
                self.ledger.note("control-lost", &[])?;
            }
        }
        Ok(self.ledger.passed("control-lost") > 0)
    }
}

/// The process stops, the file system takes no more writes, then the process goes, then the file system comes back with what was synced.
fn cut_power(node: &mut Node, image: &Image) -> Result<()> {
    image.cut(node.pid())?;
    node.kill()?;
    image.remount().context("remounting after the cut")
}

/// Notes what a round found. A round that could not be judged ends the campaign, and is no round.
fn record(ledger: &mut Ledger, kind: &str, found: Result<Vec<String>>) -> Result<()> {
    let anomalies = found.with_context(|| format!("{kind}: a round could not be judged"))?;
    ledger.note(kind, &anomalies)?;
    if let Some(first) = anomalies.first() {
        bail!("{kind}: {} broken promises, the first: {first}", anomalies.len());
    }
    Ok(())
}

/// The moments at which things die, from a seed (xorshift).
struct Moments(u64);

impl Moments {
    fn between(&mut self, low_ms: u64, high_ms: u64) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Duration::from_millis(low_ms + (x ^ (x >> 31)) % (high_ms - low_ms))
    }
}

//! Workloads of several loads at once.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::fs::{Advice, fadvise};

use super::ledger::Figures;
use super::rows::Produce;
use super::session::{Session, finish, number, produce_words, put, start};

const KIB: Produce = Produce {
    partitions: 4,
    records: 0,
    size: 1024,
    settings: &["acks=all", "linger.ms=5", "batch.size=65536"],
    topic: &[],
    keys: None,
    rate: None,
    then_consume: false,
};

/// A producer that was just started has its connections, and sends at its rate, after so long.
const STREAM_RUNS_AFTER: Duration = Duration::from_secs(1);

/// Connections that do nothing, until dropped.
pub(super) struct Held(Child);

impl Held {
    /// Starts `load idle` or `load slow` and waits until its connections stand.
    pub(super) fn start(mut command: std::process::Command) -> Result<Held> {
        let mut child = start(&mut command)?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("the output is a pipe")?).read_line(&mut line)?;
        let held = Held(child);
        if !line.contains("ready") {
            anyhow::bail!("the connections could not be made");
        }
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // It may have gone by itself, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Many producers beside idle connections, against few that send as much.
pub(super) fn crowd(session: &Session<'_>) -> Result<Figures> {
    let p99 = |producers: &str, rate: u64| {
        let work = Produce {
            partitions: 16,
            records: rate * 10,
            rate: Some(rate),
            ..KIB
        };
        session.on_topic(work.partitions, &[], |topic| {
            let mut words = produce_words(&work);
            words.extend(["--tick-ms", "5", "--producers", producers].map(str::to_owned));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            number(
                &session.load(&words, topic, work.partitions, work.settings)?,
                "/ack ms/p99",
            )
        })
    };
    let few = p99("4", 12_207)?;
    let mut idle = std::process::Command::new(session.bench.tools.join("load"));
    idle.args([
        "idle",
        "--connections",
        "1000",
        "--bootstrap",
        session.running.bootstrap(),
    ]);
    let held = Held::start(idle)?;
    let many = p99("50", 977)?;
    drop(held);
    let mut figures = Figures::new();
    put(&mut figures, "ack p99 ms", many);
    put(&mut figures, "ack p99 ms of 4 producers", few);
    put(&mut figures, "p99 against 4 producers", many / few);
    Ok(figures)
}

pub(super) fn warm_backlog(session: &Session<'_>) -> Result<Figures> {
    backlog(session, |_| Ok(()))
}

pub(super) fn cold_backlog(session: &Session<'_>) -> Result<Figures> {
    backlog(session, forget_pages)
}

/// 2 GB are drained while 100 MB/s are produced to another topic. What is produced before the drain begins, and after it
/// has ended, does not count: a fast drain would otherwise hide behind the calm that follows it.
fn backlog(session: &Session<'_>, prepare: fn(&Path) -> Result<()>) -> Result<Figures> {
    let stock = Produce {
        records: 2_000_000,
        ..KIB
    };
    let stream = Produce {
        records: 400_000,
        rate: Some(97_656),
        ..KIB
    };
    let words = produce_words(&stream);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let calm = session.on_topic(4, &[], |topic| session.load(&words, topic, 4, stream.settings))?;
    let calm = number(&calm, "/ack ms/p99")?;
    words.push("--window");
    session.on_topic(4, &[], |backlog| {
        let fill = produce_words(&stock);
        let fill: Vec<&str> = fill.iter().map(String::as_str).collect();
        session.load(&fill, backlog, 4, stock.settings)?;
        prepare(&session.running.dir)?;
        session.on_topic(4, &[], |topic| {
            let mut producing = start(&mut session.command(&words, topic, 4, stream.settings))?;
            thread::sleep(STREAM_RUNS_AFTER);
            let drained = session.load(&["consume", "--records", "2000000"], backlog, 4, &[])?;
            let [from, to] = [number(&drained, "/from ns")?, number(&drained, "/to ns")?];
            let window = producing.stdin.as_mut().context("the input is a pipe")?;
            write!(window, "{from:.0} {to:.0}")?;
            // To wait for it closes its input, which ends it.
            let produced = finish(producing)?;
            let p99 = number(&produced, "/ack ms/p99")?;
            let mut figures = Figures::new();
            put(
                &mut figures,
                "records counted",
                number(&produced, "/ack ms/count")?,
            );
            put(&mut figures, "consume MB/s", number(&drained, "/MB~1s")?);
            put(&mut figures, "ack p99 ms", p99);
            put(&mut figures, "ack p99 ms when calm", calm);
            put(&mut figures, "p99 against calm", p99 / calm);
            Ok(figures)
        })
    })
}

/// Writes every file of a folder to disk and out of the page cache.
fn forget_pages(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            forget_pages(&path)?;
        } else if path.is_file() {
            let file = File::open(&path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// What a connection may hold while its client does not read: a buffer for requests of 16 KiB and what stands around it.
/// Answers are sent from the files.
const SLOW_BOUND_MB: f64 = 64.0 / 1024.0;

/// Consumers that never read: what they cost in memory, at most within 5 s.
pub(super) fn slow_consumers(session: &Session<'_>) -> Result<Figures> {
    let stock = Produce {
        records: 600_000,
        ..KIB
    };
    session.on_topic(4, &[], |topic| {
        let words = produce_words(&stock);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        session.load(&words, topic, 4, stock.settings)?;
        let before = session.resident_mb()?;
        let held = Held::start(session.command(&["slow", "--connections", "50"], topic, 4, &[]))?;
        let (more, used) = session.metered(|| {
            let mut most = session.resident_mb()?;
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(250));
                most = most.max(session.resident_mb()?);
            }
            Ok(most - before)
        })?;
        drop(held);
        let mut figures = Figures::new();
        put(&mut figures, "resident MB more", more);
        put(
            &mut figures,
            "resident MB beyond the bound",
            (more - 50.0 * SLOW_BOUND_MB).max(0.0),
        );
        put(
            &mut figures,
            "broker CPU % of a core",
            used.broker_cpu / 5.0 * 100.0,
        );
        Ok(figures)
    })
}

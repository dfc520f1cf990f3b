//! Workloads that start brokers of their own: memory, start-up, idleness, retention, sudden death.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::Bench;
use super::ledger::Figures;
use super::mixed::Held;
use super::process::tree_cpu;
use super::session::{Session, finish_whatever_failed, number, put, start as start_load};
use super::subject::Subject;

const ALL_BATCH_64K: &[&str] = &["acks=all", "linger.ms=5", "batch.size=65536"];

/// Resident memory of a fresh broker that serves, and after 1 GB went in and out.
pub(super) fn memory(bench: &Bench, subject: Subject) -> Result<Figures> {
    let session = Session::new(bench, subject.start(bench, &[])?);
    thread::sleep(Duration::from_secs(2));
    let mut figures = Figures::new();
    put(&mut figures, "resident MB idle", session.resident_mb()?);
    session.create("stock", 4, &[])?;
    let produce = ["produce", "--records", "1000000", "--size", "1024"];
    session.load(&produce, "stock", 4, ALL_BATCH_64K)?;
    session.load(&["consume", "--records", "1000000"], "stock", 4, &[])?;
    put(&mut figures, "resident MB after 1 GB", session.resident_mb()?);
    session.end()?;
    Ok(figures)
}

/// The time to the first answer after a clean stop.
pub(super) fn start(bench: &Bench, subject: Subject) -> Result<Figures> {
    let mut figures = Figures::new();
    let mut session = Session::new(bench, subject.start(bench, &[])?);
    put(&mut figures, "start ms", milliseconds(session.running.restart()?));
    session.create("many", 1_000, &[])?;
    put(
        &mut figures,
        "start with 1,000 partitions ms",
        milliseconds(session.running.restart()?),
    );
    session.end()?;
    Ok(figures)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What many connections and partitions cost when nobody asks anything.
pub(super) fn idle(bench: &Bench, subject: Subject) -> Result<Figures> {
    const SECONDS: u64 = 60;
    let session = Session::new(bench, subject.start(bench, &[])?);
    session.create("many", 1_000, &[])?;
    let mut command = std::process::Command::new(bench.tools.join("load"));
    command.args([
        "idle",
        "--connections",
        "5000",
        "--bootstrap",
        session.running.bootstrap(),
    ]);
    let held = Held::start(command)?;
    thread::sleep(Duration::from_secs(3));
    let pid = session.running.pid()?;
    let before = tree_cpu(pid)?;
    thread::sleep(Duration::from_secs(SECONDS));
    let share = (tree_cpu(pid)? - before) / SECONDS as f64;
    let mut figures = Figures::new();
    put(&mut figures, "broker CPU % of a core", share * 100.0);
    put(&mut figures, "resident MB", session.resident_mb()?);
    drop(held);
    session.end()?;
    Ok(figures)
}

/// Speed and latency before there is anything to delete, and after five minutes of deleting.
pub(super) fn retention(bench: &Bench, subject: Subject) -> Result<Figures> {
    let session = Session::new(
        bench,
        subject.start(bench, &["log.retention.check.interval.ms=1000"])?,
    );
    session.create("free", 4, &["segment.bytes=16777216"])?;
    session.create("full", 4, &["segment.bytes=16777216", "retention.bytes=67108864"])?;
    let at_rate = |topic: &str, seconds: u64| {
        let records = (48_828 * seconds).to_string();
        let words = [
            "produce",
            "--size",
            "1024",
            "--rate",
            "48828",
            "--records",
            &records,
        ];
        number(&session.load(&words, topic, 4, ALL_BATCH_64K)?, "/ack ms/p99")
    };
    let flat_out = |topic: &str| {
        let words = ["produce", "--records", "1000000", "--size", "1024"];
        number(&session.load(&words, topic, 4, ALL_BATCH_64K)?, "/MB~1s")
    };
    let (calm, before) = (at_rate("free", 10)?, flat_out("free")?);
    session.load(&["topic", "--delete"], "free", 1, &[])?;
    at_rate("full", 300)?;
    let (p99, after) = (at_rate("full", 10)?, flat_out("full")?);
    thread::sleep(Duration::from_secs(4));
    let mut figures = Figures::new();
    put(&mut figures, "MB/s before", before);
    put(&mut figures, "MB/s", after);
    put(&mut figures, "MB/s against before", after / before);
    put(&mut figures, "ack p99 ms before", calm);
    put(&mut figures, "ack p99 ms", p99);
    put(&mut figures, "p99 against before", p99 / calm);
    put(&mut figures, "MB on disk", megabytes_under(&session.running.dir)?);
    session.end()?;
    Ok(figures)
}

fn megabytes_under(folder: &Path) -> Result<f64> {
    let mut sum = 0.0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        sum += if path.is_dir() {
            megabytes_under(&path)?
        } else {
            // A file that was deleted meanwhile takes no room.
            path.metadata().map_or(0.0, |meta| meta.len() as f64 / 1e6)
        };
    }
    Ok(sum)
}

/// Dies under load, starts again, and is asked for everything that it acknowledged.
pub(super) fn kill(bench: &Bench, subject: Subject) -> Result<Figures> {
    let mut session = Session::new(bench, subject.start(bench, &[])?);
    session.create("stock", 4, &[])?;
    let journal = session.running.dir.join("acknowledged");
    let journal = journal.to_str().context("the path is text")?;
    let words = ["produce", "--records", "4000000", "--acknowledged", journal];
    let settings = [ALL_BATCH_64K, &["message.timeout.ms=5000"]].concat();
    let producing = start_load(&mut session.command(&words, "stock", 4, &settings))?;
    thread::sleep(Duration::from_millis(900));
    let begin = Instant::now();
    session.running.kill_and_restart()?;
    let restart = begin.elapsed();
    finish_whatever_failed(producing)?;
    let told = session.load(&["consume", "--expect", journal], "stock", 4, &[])?;
    let mut figures = Figures::new();
    put(&mut figures, "restart ms", milliseconds(restart));
    put(&mut figures, "acknowledged records", number(&told, "/promised")?);
    put(
        &mut figures,
        "acknowledged records missing",
        number(&told, "/missing")?,
    );
    session.end()?;
    Ok(figures)
}

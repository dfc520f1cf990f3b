//! One broker that runs, and the loads it is given.

use std::cell::Cell;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::Bench;
use super::java::{self, Tool};
use super::ledger::Figures;
use super::process::{children_cpu, loopback_bytes, tree_cpu, tree_resident_mb};
use super::rows::{Latency, Produce, Row, Work};
use super::subject::Running;

/// Deleted files are off the disk after so long.
const DELETED_AFTER: Duration = Duration::from_millis(1_500);
const WARM_UP_SLICE: u64 = 3_000_000;
const GB: f64 = 1e9;
const MILLION: f64 = 1e6;

/// A broker that takes rows.
pub(super) struct Session<'a> {
    pub(super) bench: &'a Bench,
    pub(super) running: Running,
    topics: Cell<u32>,
}

/// What a measurement used.
pub(super) struct Used {
    pub(super) broker_cpu: f64,
    pub(super) client_cpu: f64,
    pub(super) wire_bytes: f64,
}

impl Session<'_> {
    pub(super) fn new(bench: &Bench, running: Running) -> Session<'_> {
        Session {
            bench,
            running,
            topics: Cell::new(0),
        }
    }

    pub(super) fn is_alive(&mut self) -> bool {
        self.running.is_alive()
    }

    /// Ends the broker and removes what it left.
    pub(super) fn end(self) -> Result<()> {
        let dir = self.running.dir.clone();
        self.running.stop()?;
        Ok(std::fs::remove_dir_all(dir)?)
    }

    /// Takes a row on topics of its own.
    pub(super) fn measure(&self, row: &Row) -> Result<Figures> {
        match row.work {
            Work::Produce(work) => {
                self.on_topic(work.partitions, work.topic, |topic| self.produce(&work, topic))
            }
            Work::Latency(work) => self.on_topic(1, &[], |topic| self.latency(&work, topic)),
            Work::Java(tool) => self.on_topic(1, &[], |topic| self.java(tool, topic)),
            Work::Mixed(work) => work(self),
            Work::Solo(_) => bail!("{} starts brokers of its own", row.name),
        }
    }

    /// Makes a topic, uses it, deletes it.
    pub(super) fn on_topic<T>(
        &self,
        partitions: u32,
        settings: &[&str],
        work: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        let number = self.topics.get() + 1;
        self.topics.set(number);
        let topic = format!("bench-{number}");
        self.create(&topic, partitions, settings)?;
        let outcome = work(&topic);
        if outcome.is_ok() {
            self.load(&["topic", "--delete"], &topic, 1, &[])?;
            thread::sleep(DELETED_AFTER);
        }
        outcome
    }

    pub(super) fn create(&self, topic: &str, partitions: u32, settings: &[&str]) -> Result<()> {
        self.load(&["topic"], topic, partitions, settings)?;
        thread::sleep(Duration::from_millis(500));
        Ok(())
    }

    /// The command of a load against this broker.
    pub(super) fn command(&self, words: &[&str], topic: &str, partitions: u32, settings: &[&str]) -> Command {
        let mut command = Command::new(self.bench.tools.join("load"));
        command.args(words);
        command.args(["--bootstrap", self.running.bootstrap(), "--topic", topic]);
        command.args(["--partitions", &partitions.to_string()]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        command
    }

    /// Runs a load to its end.
    pub(super) fn load(
        &self,
        words: &[&str],
        topic: &str,
        partitions: u32,
        settings: &[&str],
    ) -> Result<Value> {
        finish(start(&mut self.command(words, topic, partitions, settings))?)
    }

    /// What the broker and the clients used while something was done.
    pub(super) fn metered<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Used)> {
        let pid = self.running.pid()?;
        let (broker, client, wire) = (tree_cpu(pid)?, children_cpu()?, loopback_bytes()?);
        let value = work()?;
        let used = Used {
            broker_cpu: tree_cpu(pid)? - broker,
            client_cpu: children_cpu()? - client,
            wire_bytes: loopback_bytes()? - wire,
        };
        Ok((value, used))
    }

    pub(super) fn resident_mb(&self) -> Result<f64> {
        tree_resident_mb(self.running.pid()?)
    }

    fn produce(&self, work: &Produce, topic: &str) -> Result<Figures> {
        let words = produce_words(work);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (told, used) = self.metered(|| self.load(&words, topic, work.partitions, work.settings))?;
        let (millions, bytes) = (work.records as f64 / MILLION, (work.records * work.size) as f64);
        let mut figures = Figures::new();
        put(&mut figures, "MB/s", number(&told, "/MB~1s")?);
        put(
            &mut figures,
            "broker CPU s per million",
            used.broker_cpu / millions,
        );
        put(
            &mut figures,
            "broker CPU s per wire GB",
            used.broker_cpu / used.wire_bytes * GB,
        );
        put(
            &mut figures,
            "client CPU s per million",
            used.client_cpu / millions,
        );
        put(&mut figures, "ack p50 ms", number(&told, "/ack ms/p50")?);
        put(&mut figures, "ack p99 ms", number(&told, "/ack ms/p99")?);
        if work.then_consume {
            let records = work.records.to_string();
            let words = ["consume", "--records", &records];
            let (told, used) = self.metered(|| self.load(&words, topic, work.partitions, &[]))?;
            put(&mut figures, "consume MB/s", number(&told, "/MB~1s")?);
            put(
                &mut figures,
                "consume broker CPU s per GB",
                used.broker_cpu / bytes * GB,
            );
            put(
                &mut figures,
                "consume client CPU s per GB",
                used.client_cpu / bytes * GB,
            );
        }
        put(&mut figures, "resident MB", self.resident_mb()?);
        Ok(figures)
    }

    fn latency(&self, work: &Latency, topic: &str) -> Result<Figures> {
        let (records, rate, size) = (
            work.records.to_string(),
            work.rate.to_string(),
            work.size.to_string(),
        );
        let words = ["latency", "--records", &records, "--rate", &rate, "--size", &size];
        let (told, used) = self.metered(|| self.load(&words, topic, 1, &["acks=all"]))?;
        let mut figures = Figures::new();
        for kind in ["ack", "end to end"] {
            for at in ["p50", "p99", "p99.9", "max"] {
                put(
                    &mut figures,
                    &format!("{kind} {at} ms"),
                    number(&told, &format!("/{kind} ms/{at}"))?,
                );
            }
        }
        put(
            &mut figures,
            "broker CPU s per million",
            used.broker_cpu / work.records as f64 * MILLION,
        );
        Ok(figures)
    }

    fn java(&self, tool: Tool, topic: &str) -> Result<Figures> {
        let bootstrap = self.running.bootstrap();
        let work = match tool {
            Tool::Throughput(work) => work,
            Tool::EndToEnd { records, size } => return java::end_to_end(bootstrap, topic, records, size),
        };
        let (mut figures, used) = self.metered(|| work.produce(bootstrap, topic))?;
        let (millions, bytes) = (work.records as f64 / MILLION, (work.records * work.size) as f64);
        put(
            &mut figures,
            "broker CPU s per million",
            used.broker_cpu / millions,
        );
        let (consumed, used) = self.metered(|| work.consume(bootstrap, topic))?;
        put(&mut figures, "consume MB/s", consumed);
        put(
            &mut figures,
            "consume broker CPU s per GB",
            used.broker_cpu / bytes * GB,
        );
        Ok(figures)
    }
}

/// The arguments of `load` for a producing row.
pub(super) fn produce_words(work: &Produce) -> Vec<String> {
    let mut words = vec!["produce".to_owned()];
    let numbers = [("--records", Some(work.records)), ("--size", Some(work.size))];
    let chosen = [("--keys", work.keys), ("--rate", work.rate)];
    for (flag, value) in numbers.into_iter().chain(chosen) {
        if let Some(value) = value {
            words.extend([flag.to_owned(), value.to_string()]);
        }
    }
    words
}

/// Lets a fresh broker, and the memory under its files, get warm.
pub(super) fn warm_up(bench: &Bench, running: Running, records: u64) -> Result<Session<'_>> {
    let session = Session::new(bench, running);
    let mut left = records;
    while left > 0 {
        let slice = left.min(WARM_UP_SLICE).to_string();
        let settings = ["acks=all", "linger.ms=5", "batch.size=65536"];
        session.on_topic(4, &[], |topic| {
            session.load(&["produce", "--records", &slice], topic, 4, &settings)
        })?;
        left = left.saturating_sub(WARM_UP_SLICE);
    }
    Ok(session)
}

/// Starts a load.
pub(super) fn start(command: &mut Command) -> Result<Child> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| {
            format!(
                "cannot run {}; is `bench/` built?",
                command.get_program().display()
            )
        })
}

/// Waits for a load and returns what it told last. A record that failed is an error.
pub(super) fn finish(child: Child) -> Result<Value> {
    let told = finish_whatever_failed(child)?;
    match told.get("failed").and_then(Value::as_u64) {
        Some(failed) if failed > 0 => bail!("{failed} records failed: {}", told["failure"]),
        _ => Ok(told),
    }
}

/// The same, when records are expected to fail.
pub(super) fn finish_whatever_failed(child: Child) -> Result<Value> {
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().rev().find(|line| line.starts_with("load:"));
        bail!("{}", last.unwrap_or("the load ended badly"));
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(serde_json::from_str(
        text.lines().last().context("the load told nothing")?,
    )?)
}

/// A number in what a load told.
pub(super) fn number(told: &Value, pointer: &str) -> Result<f64> {
    told.pointer(pointer)
        .and_then(Value::as_f64)
        .with_context(|| format!("no {pointer} in {told}"))
}

pub(super) fn put(figures: &mut Figures, name: &str, value: f64) {
    figures.insert(name.to_owned(), value);
}

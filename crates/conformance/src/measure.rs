//! What the broker costs, beside Apache Kafka in the same run: throughput, processor time, memory, start-up.
//!
//! Load comes from Apache Kafka's own perf tools, so it is the same for all; the subjects take turns, each with fresh
//! directories. The client shares the machine: processor time of the broker says more than megabytes a second.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::node::{Node, fresh_dir};

const KAFKA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/kafka");

/// How much is measured.
#[derive(Args)]
pub(crate) struct Options {
    /// Records a run, of 1,000 bytes.
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// How often each subject takes its turn.
    #[arg(long, default_value_t = 3)]
    repetitions: u32,
    /// Records that each subject takes before anything is measured.
    #[arg(long, default_value_t = 300_000)]
    warmup: u64,
    /// Partitions of the directory whose restart is timed.
    #[arg(long, default_value_t = 1_000)]
    partitions: u32,
}

/// What one turn of one subject gave.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    produce_mb_s: f64,
    produce_cpu: f64,
    consume_mb_s: f64,
    consume_cpu: f64,
    idle_mb: f64,
    loaded_mb: f64,
    fresh_start_ms: f64,
}

/// A column of the table: what it is called, and where its figure stands.
type Column = (&'static str, fn(&Figures) -> f64);

const COLUMNS: [Column; 7] = [
    ("produce MB/s", |f| f.produce_mb_s),
    ("broker CPU s per million produced", |f| f.produce_cpu),
    ("consume MB/s", |f| f.consume_mb_s),
    ("broker CPU s per million consumed", |f| f.consume_cpu),
    ("resident MB idle", |f| f.idle_mb),
    ("resident MB after the load", |f| f.loaded_mb),
    ("start of a fresh directory, ms", |f| f.fresh_start_ms),
];

/// Who takes part.
const SUBJECTS: [(&str, Subject); 3] = [
    ("gracchus fsync", Subject::Gracchus("log.durability=fsync")),
    (
        "gracchus pagecache",
        Subject::Gracchus("log.durability=pagecache"),
    ),
    ("Apache Kafka 4.3.1 (no sync)", Subject::Kafka),
];

#[derive(Clone, Copy)]
enum Subject {
    Gracchus(&'static str),
    Kafka,
}

/// A running subject.
enum Running {
    Gracchus(Node),
    Kafka {
        dir: PathBuf,
        bootstrap: String,
        pid: u32,
    },
}

/// Measures every subject in turns and prints medians with minimum and maximum.
pub(crate) fn run(binary: &Path, work: &Path, options: &Options) -> Result<bool> {
    let home = fresh_dir(&work.join("measure"))?;
    let mut turns: Vec<Vec<Figures>> = vec![Vec::new(); SUBJECTS.len()];
    for repetition in 0..options.repetitions {
        for (index, (name, subject)) in SUBJECTS.iter().enumerate() {
            let figures =
                turn(binary, &home, *subject, options).with_context(|| format!("measuring {name}"))?;
            println!("repetition {} {name}: {figures:?}", repetition + 1);
            if let Some(list) = turns.get_mut(index) {
                list.push(figures);
            }
        }
    }
    println!("\nacks=all, one partition, 1,000 B records in batches of 64 KiB; median (minimum..maximum)");
    for (column, figure) in COLUMNS {
        println!("{column}");
        for ((name, _), figures) in SUBJECTS.iter().zip(&turns) {
            println!("  {name:<30} {}", spread(figures.iter().map(figure).collect()));
        }
    }
    let restart = restart_time(binary, &home, options.partitions)?;
    println!(
        "gracchus: restart with {} partitions after a clean stop: {restart:?}",
        options.partitions
    );
    Ok(true)
}

/// One turn: start, warm up, produce, consume.
fn turn(binary: &Path, home: &Path, subject: Subject, options: &Options) -> Result<Figures> {
    let dir = fresh_dir(&home.join("turn"))?;
    let (running, start) = subject.start(binary, &dir)?;
    let pid = running.pid()?;
    std::thread::sleep(Duration::from_secs(2));
    let mut figures = Figures {
        idle_mb: resident_mb(pid)?,
        fresh_start_ms: start.as_secs_f64() * 1e3,
        ..Figures::default()
    };
    let millions = options.records as f64 / 1e6;
    produce(running.bootstrap(), "warm-up", options.warmup)?;
    let before = cpu_seconds(pid)?;
    figures.produce_mb_s = produce(running.bootstrap(), "measured", options.records)?;
    figures.produce_cpu = (cpu_seconds(pid)? - before) / millions;
    let before = cpu_seconds(pid)?;
    figures.consume_mb_s = consume(running.bootstrap(), "measured", options.records)?;
    figures.consume_cpu = (cpu_seconds(pid)? - before) / millions;
    figures.loaded_mb = resident_mb(pid)?;
    running.stop()?;
    Ok(figures)
}

impl Subject {
    fn start(self, binary: &Path, dir: &Path) -> Result<(Running, Duration)> {
        match self {
            Subject::Gracchus(durability) => {
                let mut node = Node::new(binary, dir, &dir.join("data"), &[durability])?;
                node.format()?;
                let begin = Instant::now();
                node.start()?;
                Ok((Running::Gracchus(node), begin.elapsed()))
            }
            Subject::Kafka => {
                let begin = Instant::now();
                let output = Command::new(KAFKA)
                    .env("KAFKA_HEAP", "-Xmx2g -Xms2g")
                    .args([
                        "start",
                        &dir.display().to_string(),
                        "1",
                        "29392",
                        "auto.create.topics.enable=true",
                    ])
                    .stderr(std::process::Stdio::null())
                    .output()?;
                if !output.status.success() {
                    bail!("Apache Kafka did not start");
                }
                let pid = std::fs::read_to_string(dir.join("1.pid"))?.trim().parse()?;
                let bootstrap = String::from_utf8(output.stdout)?.trim().to_owned();
                Ok((
                    Running::Kafka {
                        dir: dir.to_owned(),
                        bootstrap,
                        pid,
                    },
                    begin.elapsed(),
                ))
            }
        }
    }
}

impl Running {
    fn bootstrap(&self) -> &str {
        match self {
            Running::Gracchus(node) => node.bootstrap(),
            Running::Kafka { bootstrap, .. } => bootstrap,
        }
    }

    fn pid(&self) -> Result<u32> {
        match self {
            Running::Gracchus(node) => node.pid().context("the node runs"),
            Running::Kafka { pid, .. } => Ok(*pid),
        }
    }

    fn stop(self) -> Result<()> {
        match self {
            Running::Gracchus(mut node) => node.stop().map(|_| ()),
            Running::Kafka { dir, .. } => {
                Command::new(KAFKA).arg("stop").arg(dir).status()?;
                Ok(())
            }
        }
    }
}

/// MB/s as the tool prints it: `1000000 records sent, 150000.0 records/sec (143.05 MB/sec), ...`.
fn produce(bootstrap: &str, topic: &str, records: u64) -> Result<f64> {
    let text = tool(&[
        "kafka-producer-perf-test",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--num-records",
        &records.to_string(),
        "--record-size",
        "1000",
        "--throughput",
        "-1",
        "--command-property",
        "acks=all",
        "batch.size=65536",
        "linger.ms=5",
    ])?;
    let last = text
        .lines()
        .rev()
        .find(|line| line.contains("MB/sec"))
        .context("no figure of the producer")?;
    let figure = last.split('(').nth(1).and_then(|rest| rest.split(' ').next());
    Ok(figure
        .with_context(|| format!("no figure in {last:?}"))?
        .parse()?)
}

/// MB/s, the fourth column of the tool's table.
fn consume(bootstrap: &str, topic: &str, records: u64) -> Result<f64> {
    let records = records.to_string();
    let text = tool(&[
        "kafka-consumer-perf-test",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--num-records",
        &records,
        "--hide-header",
    ])?;
    let row = text
        .lines()
        .rev()
        .find(|line| line.split(", ").count() >= 6)
        .context("no figure of the consumer")?;
    let figure = row
        .split(", ")
        .nth(3)
        .with_context(|| format!("no figure in {row:?}"))?;
    Ok(figure.parse()?)
}

fn tool(arguments: &[&str]) -> Result<String> {
    let output = Command::new(KAFKA).arg("run").args(arguments).output()?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How long a node with many partitions takes from exec to serving, after a clean stop.
fn restart_time(binary: &Path, home: &Path, partitions: u32) -> Result<Duration> {
    let dir = fresh_dir(&home.join("restart"))?;
    let mut node = Node::new(binary, &dir, &dir.join("data"), &[])?;
    node.format()?;
    node.start()?;
    let status = Command::new(binary)
        .args([
            "topic",
            "create",
            "many",
            "--partitions",
            &partitions.to_string(),
            "--bootstrap-server",
            node.bootstrap(),
        ])
        .stdout(std::process::Stdio::null())
        .status()?;
    if !status.success() {
        bail!("the topic with {partitions} partitions could not be made");
    }
    node.stop()?;
    let begin = Instant::now();
    node.start()?;
    Ok(begin.elapsed())
}

/// User and system time of a process so far.
fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in parentheses, may hold blanks: count from behind it. Field 14 is the user time, 15 the system time.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    match fields.as_slice() {
        [_, _, _, _, _, _, _, _, _, _, _, user, system, ..] => Ok((user.parse::<f64>()?
            + system.parse::<f64>()?)
            / rustix::param::clock_ticks_per_second() as f64),
        _ => bail!("/proc/{pid}/stat has another form"),
    }
}

/// Resident memory.
fn resident_mb(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS")?;
    let kilobytes: f64 = line.split_whitespace().next().context("no VmRSS")?.parse()?;
    Ok(kilobytes / 1024.0)
}

/// `median (minimum..maximum)`.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match (values.first(), values.get(values.len() / 2), values.last()) {
        (Some(low), Some(median), Some(high)) => format!("{median:.2} ({low:.2}..{high:.2})"),
        _ => "-".to_owned(),
    }
}

//! Who takes part, and how each is started and ended.

use std::fmt;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::Bench;
use super::java::KAFKA;
use super::process::Stray;
use super::rows::{Row, Work};
use crate::node::{Node, free_port, fresh_dir, output_file};

/// So far above the port of Apache Kafka's broker is that of its controller.
const KAFKA_CONTROLLER: u16 = 101;
const TANSU: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/tansu");
/// The longest start of a peer.
const START_MAX: Duration = Duration::from_secs(60);
/// Deleted topics leave the disk before the next row.
const SOON_DELETED: &str = "log.segment.delete.delay.ms=1000";

/// A broker that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// Ours; acknowledges acks=all when it is on stable storage.
    GracchusDurable,
    /// Ours; leaves syncing to the kernel, as Apache Kafka does.
    GracchusPagecache,
    /// The do-nothing broker, without syncing.
    Ceiling,
    /// The do-nothing broker with a sync before each acknowledgement.
    CeilingDurable,
    /// Apache Kafka 4.3.1 as it comes.
    Kafka,
    /// Apache Kafka 4.3.1 with a sync for each append.
    KafkaFlush,
    /// Tansu, which keeps everything in memory.
    Tansu,
}

impl Subject {
    pub(super) const ALL: [Subject; 7] = [
        Subject::GracchusDurable,
        Subject::GracchusPagecache,
        Subject::Ceiling,
        Subject::CeilingDurable,
        Subject::Kafka,
        Subject::KafkaFlush,
        Subject::Tansu,
    ];

    /// What it promises when it acknowledges acks=all.
    pub(super) fn promise(self) -> &'static str {
        match self {
            Subject::GracchusDurable | Subject::CeilingDurable => {
                "on stable storage; a power cut loses nothing"
            }
            Subject::KafkaFlush => "on stable storage",
            Subject::GracchusPagecache | Subject::Ceiling | Subject::Kafka => {
                "in the page cache; a power cut loses what was not yet written back"
            }
            Subject::Tansu => "in the memory of the process; its end loses everything",
        }
    }

    /// A Java virtual machine gets faster for so many records; with a sync for each append that takes too long. The
    /// others need fewer, and get as many as leave memory and page cache in the same state.
    pub(super) fn warm_up_records(self) -> u64 {
        match self {
            Subject::Kafka => 15_000_000,
            _ => 3_000_000,
        }
    }

    /// Why it cannot take a row, if so.
    pub(super) fn refuses(self, row: &Row) -> Option<&'static str> {
        match (self, &row.work) {
            (Subject::Ceiling | Subject::CeilingDurable, Work::Java(_)) => {
                Some("the ceiling does not speak the versions that Java's clients ask for")
            }
            _ => None,
        }
    }

    /// Starts it on a fresh directory, with more settings in the form of server.properties for those that read it.
    pub(super) fn start(self, bench: &Bench, settings: &[&str]) -> Result<Running> {
        let dir = fresh_dir(&bench.home.join(self.to_string()))?;
        match self {
            Subject::GracchusDurable | Subject::GracchusPagecache => {
                let node = self.prepare(bench, &dir, settings)?;
                Running::gracchus(self, dir, node)
            }
            Subject::Kafka | Subject::KafkaFlush => Running::kafka(self, dir, settings),
            Subject::Ceiling | Subject::CeilingDurable => {
                let mut command = Command::new(bench.tools.join("ceiling"));
                command.arg("--dir").arg(dir.join("data"));
                if self == Subject::CeilingDurable {
                    command.arg("--durable");
                }
                Running::process(self, dir, |port| {
                    command.args(["--port", port]);
                    command
                })
            }
            Subject::Tansu => {
                let found = Command::new(TANSU).output().context("peers/tansu")?;
                if !found.status.success() {
                    bail!("no Tansu: {}", String::from_utf8_lossy(&found.stderr).trim());
                }
                let binary = String::from_utf8(found.stdout)?;
                Running::process(self, dir, |port| {
                    let url = format!("tcp://127.0.0.1:{port}");
                    let mut command = Command::new(binary.trim());
                    command.env("RUST_LOG", "warn").arg("broker");
                    command.args(["--listener-url", &url, "--advertised-listener-url", &url]);
                    command.args(["--storage-engine", "memory://tansu/"]);
                    command
                })
            }
        }
    }

    /// A formatted node of ours that does not run yet.
    pub(super) fn prepare(self, bench: &Bench, dir: &Path, settings: &[&str]) -> Result<Node> {
        let durability = match self {
            Subject::GracchusPagecache => "log.durability=pagecache",
            _ => "log.durability=fsync",
        };
        let all = [&[durability, SOON_DELETED], settings].concat();
        let node = Node::new(&bench.binary, dir, &dir.join("data"), &all)?;
        node.format()?;
        Ok(node)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            self.to_possible_value()
                .as_ref()
                .map_or("", |value| value.get_name()),
        )
    }
}

/// A broker that runs.
pub(super) struct Running {
    pub(super) subject: Subject,
    pub(super) dir: PathBuf,
    bootstrap: String,
    process: Process,
}

enum Process {
    Gracchus(Node),
    Kafka(Stray),
    Child(Child),
}

impl Running {
    /// Starts a node of ours.
    pub(super) fn gracchus(subject: Subject, dir: PathBuf, mut node: Node) -> Result<Running> {
        node.start()?;
        Ok(Running {
            subject,
            dir,
            bootstrap: node.bootstrap().to_owned(),
            process: Process::Gracchus(node),
        })
    }

    fn kafka(subject: Subject, dir: PathBuf, settings: &[&str]) -> Result<Running> {
        let mut command = Command::new(KAFKA);
        command
            .env("KAFKA_HEAP", "-Xmx2g -Xms2g")
            .arg("start")
            .arg(&dir)
            .args(["1", &kafka_port()?.to_string(), SOON_DELETED]);
        if subject == Subject::KafkaFlush {
            command.arg("log.flush.interval.messages=1");
        }
        let log = dir.join("start.log");
        let status = command
            .args(settings)
            .stdout(output_file(&log)?)
            .stderr(output_file(&dir.join("start.err"))?)
            .status()?;
        if !status.success() {
            bail!("Apache Kafka did not start; see {}", dir.display());
        }
        Ok(Running {
            subject,
            bootstrap: fs::read_to_string(log)?.trim().to_owned(),
            process: Process::Kafka(Stray::started(&dir.join("1.pid"))?),
            dir,
        })
    }

    /// Starts a peer that is told its port, and waits until it listens.
    fn process(subject: Subject, dir: PathBuf, command: impl FnOnce(&str) -> Command) -> Result<Running> {
        let port = free_port()?;
        let log = output_file(&dir.join("broker.log"))?;
        let mut child = command(&port.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {subject}"))?;
        let deadline = Instant::now() + START_MAX;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("{subject} ended while starting ({status}); see {}", dir.display());
            }
            if Instant::now() > deadline {
                child.kill()?;
                bail!("{subject} does not listen after {START_MAX:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Running {
            subject,
            dir,
            bootstrap: format!("127.0.0.1:{port}"),
            process: Process::Child(child),
        })
    }

    /// The address clients start with.
    pub(super) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// The process, the root of its tree.
    pub(super) fn pid(&self) -> Result<u32> {
        match &self.process {
            Process::Gracchus(node) => node.pid().context("the node runs"),
            Process::Kafka(stray) => Ok(stray.pid()),
            Process::Child(child) => Ok(child.id()),
        }
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        match &mut self.process {
            Process::Gracchus(node) => node.is_running(),
            Process::Kafka(stray) => Path::new(&format!("/proc/{}", stray.pid())).exists(),
            Process::Child(child) => matches!(child.try_wait(), Ok(None)),
        }
    }

    /// Ends it; its directory stays.
    pub(super) fn stop(mut self) -> Result<()> {
        self.end(Ending::Clean)
    }

    /// Stops it and starts it again on what it left; the time from exec to its first answer.
    pub(super) fn restart(&mut self) -> Result<Duration> {
        self.end(Ending::Clean)?;
        self.start_again()
    }

    /// The same after SIGKILL.
    pub(super) fn kill_and_restart(&mut self) -> Result<Duration> {
        self.end(Ending::Kill)?;
        self.start_again()
    }

    fn start_again(&mut self) -> Result<Duration> {
        let begin = Instant::now();
        match &mut self.process {
            Process::Gracchus(node) => {
                node.launch()?;
                wait_for_answer(&self.bootstrap)?;
                Ok(begin.elapsed())
            }
            Process::Kafka(stray) => {
                let mut script = Command::new(KAFKA)
                    .arg("resume")
                    .arg(&self.dir)
                    .arg("1")
                    .spawn()?;
                wait_for_answer(&self.bootstrap)?;
                let elapsed = begin.elapsed();
                script.wait()?;
                *stray = Stray::started(&self.dir.join("1.pid"))?;
                Ok(elapsed)
            }
            Process::Child(_) => bail!("{} keeps nothing that it could start again on", self.subject),
        }
    }

    fn end(&mut self, ending: Ending) -> Result<()> {
        match (&mut self.process, ending) {
            (Process::Gracchus(node), Ending::Clean) if node.pid().is_some() => node.stop().map(|_| ()),
            (Process::Gracchus(node), _) => node.kill(),
            (Process::Kafka(stray), Ending::Clean) => {
                stray.ends();
                script(&["stop"], &self.dir, &[])
            }
            (Process::Kafka(stray), Ending::Kill) => {
                stray.ends();
                script(&["kill"], &self.dir, &["1"])
            }
            // They have nothing to bring into safety.
            (Process::Child(child), _) => {
                child.kill()?;
                child.wait()?;
                Ok(())
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `stop` and `kill` nothing is left to end; on the way out of an error this is all that can be done.
        let _ = self.end(Ending::Kill);
    }
}

/// A port for Apache Kafka whose controller finds one too.
fn kafka_port() -> Result<u16> {
    for _ in 0..100 {
        let port = free_port()?;
        let above = port.checked_add(KAFKA_CONTROLLER);
        if above.is_some_and(|above| TcpListener::bind((Ipv4Addr::LOCALHOST, above)).is_ok()) {
            return Ok(port);
        }
    }
    bail!("no two free ports {KAFKA_CONTROLLER} apart");
}

/// Asks for ApiVersions until there is an answer.
fn wait_for_answer(bootstrap: &str) -> Result<()> {
    let deadline = Instant::now() + START_MAX;
    while Instant::now() < deadline {
        if api_versions(bootstrap).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    bail!("no answer from {bootstrap} after {START_MAX:?}")
}

/// One ApiVersions, version 0, and the length of its answer.
fn api_versions(bootstrap: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(bootstrap)?;
    stream.set_read_timeout(Some(START_MAX))?;
    stream.write_all(b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff")?;
    stream.read_exact(&mut [0; 4])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Clean,
    Kill,
}

/// Runs `peers/kafka`.
fn script(before: &[&str], dir: &Path, after: &[&str]) -> Result<()> {
    let status = Command::new(KAFKA).args(before).arg(dir).args(after).status()?;
    if !status.success() {
        bail!("peers/kafka {} failed", before.join(" "));
    }
    Ok(())
}

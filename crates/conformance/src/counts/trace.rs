//! The trace: which requests are sent, in what order, over which connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};

use super::Cost;
use super::messages::{self, Answer, Fetch};
use crate::node::Node;

/// The longest that an answer takes, under callgrind on a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// The time between two looks whether the broker sleeps.
const LOOK: Duration = Duration::from_micros(100);
const GROUP: &str = "counted";
const KIB: usize = 1024;

/// One kind of request, as it is counted.
pub(super) struct Row {
    pub(super) name: &'static str,
    kind: Kind,
    /// Requests before anything is counted.
    pub(super) warm_up: usize,
    /// Requests of a block.
    pub(super) requests: usize,
    /// How far the row may move: the instructions by so many hundredths, the others by so much.
    pub(super) tolerance: Cost,
}

#[derive(Clone, Copy)]
enum Kind {
    /// To so many partitions of a topic, with a batch of so many bytes each.
    Produce {
        topic: &'static str,
        acks: i16,
        partitions: i32,
        bytes: usize,
    },
    /// Of so many bytes that are there.
    Fetch {
        bytes: i32,
    },
    /// A later round of a session in which nothing happened.
    IdleSession,
    /// One connection's fetch waits, another's small produce wakes it.
    Wake {
        topic: &'static str,
        acks: i16,
    },
    Heartbeat,
    Metadata {
        topic: &'static str,
    },
}

const fn row(name: &'static str, kind: Kind, requests: usize, tolerance: [f64; 3]) -> Row {
    let [instructions, system_calls, allocations] = tolerance;
    Row {
        name,
        kind,
        warm_up: requests,
        requests,
        tolerance: Cost {
            instructions,
            system_calls,
            allocations,
        },
    }
}

const fn produce(topic: &'static str, acks: i16, partitions: i32, bytes: usize) -> Kind {
    Kind::Produce {
        topic,
        acks,
        partitions,
        bytes,
    }
}

impl Row {
    /// All of them. The module's page has the noise behind the tolerances: where much comes in at once, the socket
    /// decides by how many reads; and the syncer begins with as many of ten partitions as are written by then.
    pub(super) const ALL: [Row; 12] = [
        row(
            "produce 16 KiB, acks=1, pagecache",
            produce("plain", 1, 1, 16 * KIB),
            100,
            [10.0, 0.5, 1.0],
        ),
        row(
            "produce 1 MiB, acks=1, pagecache",
            produce("plain", 1, 1, 1000 * KIB),
            8,
            [10.0, 4.0, 4.0],
        ),
        row(
            "produce 16 KiB to each of 10 partitions, acks=1, pagecache",
            produce("plain", 1, 10, 16 * KIB),
            30,
            [10.0, 1.0, 2.0],
        ),
        row(
            "produce 16 KiB, acks=all, fsync",
            produce("durable", -1, 1, 16 * KIB),
            100,
            [10.0, 1.5, 1.0],
        ),
        row(
            "produce 1 MiB, acks=all, fsync",
            produce("durable", -1, 1, 1000 * KIB),
            8,
            [10.0, 4.5, 4.0],
        ),
        row(
            "produce 16 KiB to each of 10 partitions, acks=all, fsync",
            produce("durable", -1, 10, 16 * KIB),
            30,
            [40.0, 4.0, 12.0],
        ),
        row(
            "fetch of 64 KiB",
            Kind::Fetch {
                bytes: 64 * KIB as i32,
            },
            100,
            [10.0, 1.0, 1.0],
        ),
        row(
            "produce 200 B, acks=1, pagecache, and the fetch it wakes",
            Kind::Wake {
                topic: "tail",
                acks: 1,
            },
            100,
            [10.0, 0.5, 1.0],
        ),
        row(
            "produce 200 B, acks=all, fsync, and the fetch it wakes",
            Kind::Wake {
                topic: "durable-tail",
                acks: -1,
            },
            100,
            [10.0, 1.0, 1.0],
        ),
        row("heartbeat", Kind::Heartbeat, 200, [10.0, 0.5, 0.5]),
        row(
            "metadata of a topic of 10 partitions",
            Kind::Metadata { topic: "plain" },
            200,
            [10.0, 0.5, 1.0],
        ),
        // Last: the upkeep of its partitions would show in the others.
        row(
            "idle round of a fetch session of 1,000 partitions",
            Kind::IdleSession,
            50,
            [10.0, 1.0, 1.0],
        ),
    ];
}

/// Two connections to the broker, and what a trace has to remember.
pub(super) struct Trace {
    pid: u32,
    binary: PathBuf,
    bootstrap: String,
    connection: TcpStream,
    /// Made anew for each row: what sends nothing for long is closed.
    other: TcpStream,
    now_ms: i64,
    /// The request of the row, where it is the same each time.
    request: Vec<u8>,
    session_id: i32,
    session_epoch: i32,
    offset: i64,
    answer: Vec<u8>,
}

impl Trace {
    /// Makes the topics of a few partitions and connects.
    pub(super) fn begin(node: &Node, pid: u32, binary: &Path) -> Result<Trace> {
        for (topic, partitions, durability) in [
            ("plain", 10, "pagecache"),
            ("durable", 10, "fsync"),
            ("tail", 1, "pagecache"),
            ("durable-tail", 1, "fsync"),
        ] {
            make_topic(binary, node.bootstrap(), topic, partitions, durability)?;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        Ok(Trace {
            pid,
            binary: binary.to_owned(),
            bootstrap: node.bootstrap().to_owned(),
            connection: connect(node.bootstrap())?,
            other: connect(node.bootstrap())?,
            now_ms: i64::try_from(now.as_millis())?,
            request: Vec::new(),
            session_id: 0,
            session_epoch: 0,
            offset: 0,
            answer: Vec::new(),
        })
    }

    /// What has to be there before a row begins.
    pub(super) fn prepare(&mut self, row: &Row) -> Result<()> {
        self.offset = 0;
        self.other = connect(&self.bootstrap)?;
        self.request = match row.kind {
            Kind::Produce {
                topic,
                acks,
                partitions,
                bytes,
            } => messages::produce(topic, acks, partitions, &messages::batch(bytes, self.now_ms)),
            Kind::Wake { topic, acks } => messages::produce(topic, acks, 1, &messages::batch(0, self.now_ms)),
            Kind::Fetch { bytes } => messages::fetch(Fetch {
                topic: "plain",
                partitions: 1,
                offset: 0,
                max_bytes: bytes,
                max_wait_ms: 0,
                session: (0, -1),
            }),
            Kind::IdleSession => self.begin_session()?,
            Kind::Heartbeat => self.join()?,
            Kind::Metadata { topic } => messages::metadata(topic),
        };
        Ok(())
    }

    /// Sends a row's request so many times, each when the one before is answered.
    pub(super) fn replay(&mut self, row: &Row, times: usize) -> Result<()> {
        for _ in 0..times {
            match row.kind {
                Kind::Produce { partitions, .. } => {
                    self.ask()?;
                    check_produced(&self.answer, partitions)?;
                }
                Kind::Fetch { bytes } => {
                    self.ask()?;
                    if self.answer.len() < bytes as usize / 2 {
                        bail!("{} bytes of {bytes}", self.answer.len());
                    }
                }
                Kind::IdleSession => {
                    self.request = messages::fetch(self.session_round());
                    self.session_epoch += 1;
                    self.ask()?;
                    self.fetched_session()?;
                }
                Kind::Wake { topic, .. } => self.wake(topic)?,
                Kind::Heartbeat => {
                    self.ask()?;
                    let mut answer = Answer::new(&self.answer);
                    answer.i32()?;
                    answer.no_error()?;
                }
                Kind::Metadata { .. } => self.ask()?,
            }
        }
        Ok(())
    }

    fn ask(&mut self) -> Result<()> {
        self.wait_until_idle()?;
        self.connection.write_all(&self.request)?;
        self.answer = receive(&mut self.connection)?;
        Ok(())
    }

    /// Waits until every thread of the broker sleeps. A request that is there before the broker has looked for it costs
    /// less than one it has to wait for, and which of the two it is would be up to the machine.
    fn wait_until_idle(&self) -> Result<()> {
        let mut idle = 0;
        while idle < 2 {
            std::thread::sleep(LOOK);
            idle = if sleeps(self.pid)? { idle + 1 } else { 0 };
        }
        Ok(())
    }

    fn wake(&mut self, topic: &'static str) -> Result<()> {
        let fetch = messages::fetch(Fetch {
            topic,
            partitions: 1,
            offset: self.offset,
            max_bytes: 64 * KIB as i32,
            max_wait_ms: 30_000,
            session: (0, -1),
        });
        self.wait_until_idle()?;
        self.other.write_all(&fetch)?;
        self.ask()?;
        check_produced(&self.answer, 1)?;
        if receive(&mut self.other)?.len() < 200 {
            bail!("the fetch was not woken by the record");
        }
        self.offset += 1;
        Ok(())
    }

    fn session_round(&self) -> Fetch<'static> {
        Fetch {
            topic: "many",
            partitions: if self.session_epoch == 0 { 1_000 } else { 0 },
            offset: 0,
            max_bytes: 64 * KIB as i32,
            max_wait_ms: 1,
            session: (self.session_id, self.session_epoch),
        }
    }

    fn begin_session(&mut self) -> Result<Vec<u8>> {
        make_topic(&self.binary, &self.bootstrap, "many", 1_000, "fsync")?;
        self.request = messages::fetch(self.session_round());
        self.ask()?;
        self.session_id = self.fetched_session()?;
        self.session_epoch = 1;
        Ok(Vec::new())
    }

    /// The session of a fetch's answer.
    fn fetched_session(&self) -> Result<i32> {
        let mut answer = Answer::new(&self.answer);
        answer.i32()?;
        answer.no_error()?;
        answer.i32()
    }

    /// Becomes the only member of a group; its heartbeat.
    fn join(&mut self) -> Result<Vec<u8>> {
        self.request = messages::find_coordinator(GROUP);
        self.ask_until_served()?;
        // The first answer only gives the id.
        self.request = messages::join_group(GROUP, "");
        let (_, member) = self.joined()?;
        self.request = messages::join_group(GROUP, &member);
        let (generation, member) = self.joined()?;
        self.request = messages::sync_group(GROUP, generation, &member);
        self.ask_until_served()?;
        Ok(messages::heartbeat(GROUP, generation, &member))
    }

    fn joined(&mut self) -> Result<(i32, String)> {
        let mut joined;
        loop {
            self.ask()?;
            let mut answer = Answer::new(&self.answer);
            answer.i32()?;
            let error = answer.i16()?;
            joined = (
                answer.i32()?,
                answer.string()?,
                answer.string()?,
                answer.string()?,
            );
            match error {
                0 | 79 => return Ok((joined.0, joined.3)),
                14..=16 => std::thread::sleep(Duration::from_millis(50)),
                _ => bail!("the broker answers JoinGroup with error {error}"),
            }
        }
    }

    /// Asks again while a coordinator is being made or loaded.
    fn ask_until_served(&mut self) -> Result<()> {
        loop {
            self.ask()?;
            let mut answer = Answer::new(&self.answer);
            answer.i32()?;
            match answer.i16()? {
                0 => return Ok(()),
                14..=16 => std::thread::sleep(Duration::from_millis(50)),
                error => bail!("the broker answers with error {error}"),
            }
        }
    }
}

fn make_topic(binary: &Path, bootstrap: &str, topic: &str, partitions: u32, durability: &str) -> Result<()> {
    let status = Command::new(binary)
        .args(["topic", "create", topic, "--partitions", &partitions.to_string()])
        .args(["--config", &format!("durability={durability}")])
        .args(["--bootstrap-server", bootstrap])
        .stdout(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => bail!("the topic {topic} could not be made"),
    }
}

/// Whether no thread of a process runs, could run, or waits for a disk.
fn sleeps(pid: u32) -> Result<bool> {
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between the two.
        let stat = std::fs::read_to_string(task?.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        if state.starts_with(['R', 'D']) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn connect(bootstrap: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(bootstrap)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    Ok(stream)
}

fn receive(connection: &mut TcpStream) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    connection.read_exact(&mut length).context("no answer")?;
    let mut answer = vec![0; usize::try_from(u32::from_be_bytes(length))?];
    connection.read_exact(&mut answer)?;
    Ok(answer)
}

/// Fails unless every partition of one topic took its batch.
fn check_produced(answer: &[u8], partitions: i32) -> Result<()> {
    let mut answer = Answer::new(answer);
    let _topics: [u8; 1] = answer.number()?;
    answer.string()?;
    let _partitions: [u8; 1] = answer.number()?;
    for _ in 0..partitions {
        answer.i32()?;
        answer.no_error()?;
        // The offset, two times, no faulty records, no message, no tags.
        let _rest: [u8; 27] = answer.number()?;
    }
    Ok(())
}

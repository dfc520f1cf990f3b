//! One broker process with its configuration file, directory and log.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The line that harnesses wait for.
const READY: &str = "Kafka Server started";
/// The longest start that counts as a start.
const START_MAX: Duration = Duration::from_secs(60);
/// The longest graceful stop.
const STOP_MAX: Duration = Duration::from_secs(60);

/// A broker that this program starts and ends.
pub(crate) struct Node {
    binary: PathBuf,
    home: PathBuf,
    bootstrap: String,
    /// The words that the broker's command line stands behind, such as a profiler's.
    under: Vec<OsString>,
    child: Option<Child>,
}

impl Node {
    /// Writes the configuration of a node under `home`, with its data in `data`; starts nothing. `settings` are lines of
    /// server.properties beyond the necessary ones, and win over them.
    pub(crate) fn new(binary: &Path, home: &Path, data: &Path, settings: &[&str]) -> Result<Node> {
        Node::with_id(0, binary, home, data, settings)
    }

    /// The same with another id than 0.
    pub(crate) fn with_id(
        id: u32,
        binary: &Path,
        home: &Path,
        data: &Path,
        settings: &[&str],
    ) -> Result<Node> {
        fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
        let (port, controller_port) = (free_port()?, free_port()?);
        let mut text = format!(
            "process.roles=broker,controller\nnode.id={id}\ncontroller.listener.names=CONTROLLER\n\
             controller.quorum.voters={id}@127.0.0.1:{controller_port}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
             group.initial.rebalance.delay.ms=0\nauto.create.topics.enable=true\nlog.dirs={}\n",
            data.display()
        );
        for setting in settings {
            text.push_str(setting);
            text.push('\n');
        }
        fs::write(home.join("server.properties"), text)?;
        let binary = binary
            .canonicalize()
            .with_context(|| format!("no binary at {}", binary.display()))?;
        Ok(Node {
            binary,
            home: home.to_owned(),
            bootstrap: format!("127.0.0.1:{port}"),
            under: Vec::new(),
            child: None,
        })
    }

    /// The same node, started behind the words of another program.
    pub(crate) fn under(mut self, words: Vec<OsString>) -> Node {
        self.under = words;
        self
    }

    /// The address clients start with.
    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// The process, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The configuration file; Apache Kafka takes it too.
    pub(crate) fn properties(&self) -> PathBuf {
        self.home.join("server.properties")
    }

    /// The file that takes everything the broker prints.
    pub(crate) fn log(&self) -> PathBuf {
        self.home.join("server.log")
    }

    /// Formats the data directory.
    pub(crate) fn format(&self) -> Result<()> {
        let output = Command::new(&self.binary)
            .args([
                "storage",
                "format",
                "--ignore-formatted",
                "-t",
                "MkU3OEVBNTcwNTJENDM2Qg",
                "-c",
            ])
            .arg(self.properties())
            .output()?;
        if !output.status.success() {
            bail!(
                "format failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(())
    }

    /// Starts the process without waiting for it to serve.
    pub(crate) fn launch(&mut self) -> Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(self.log())?;
        let binary = self.binary.clone().into_os_string();
        let mut words = self.under.iter().chain([&binary]);
        let child = Command::new(words.next().unwrap_or(&binary))
            .args(words)
            .arg("server")
            .arg(self.properties())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Starts the process and waits until it says that it serves.
    pub(crate) fn start(&mut self) -> Result<()> {
        let before = self.log().metadata().map_or(0, |m| m.len());
        self.launch()?;
        let deadline = Instant::now() + START_MAX;
        loop {
            let log = fs::read(self.log())?;
            let fresh = log.get(usize::try_from(before)?..).unwrap_or_default();
            if String::from_utf8_lossy(fresh).contains(READY) {
                return Ok(());
            }
            let ended = self.child.as_mut().map(Child::try_wait).transpose()?.flatten();
            if let Some(status) = ended {
                self.child = None;
                bail!("the broker ended while starting ({status}): {}", tail(fresh));
            }
            if Instant::now() > deadline {
                bail!("the broker does not serve after {START_MAX:?}: {}", tail(fresh));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the process at once (SIGKILL).
    pub(crate) fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Asks the process to stop (SIGTERM) and waits for it.
    pub(crate) fn stop(&mut self) -> Result<ExitStatus> {
        let mut child = self.child.take().context("the broker is not running")?;
        let pid = Pid::from_raw(i32::try_from(child.id())?).context("a process has an id")?;
        kill_process(pid, Signal::TERM)?;
        let deadline = Instant::now() + STOP_MAX;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill()?;
        child.wait()?;
        bail!(
            "the broker did not stop within {STOP_MAX:?} of SIGTERM; see {}",
            self.log().display()
        );
    }

    /// Whether the process still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The run is over, well or badly; a process that is already gone is what is wanted.
        let _ = self.kill();
    }
}

/// The end of a log, on one line, for an error message.
fn tail(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

/// A port nobody listens on now.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// An empty folder of that name.
pub(crate) fn fresh_dir(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot empty {}", path.display()))?;
    }
    fs::create_dir_all(path)?;
    Ok(path.canonicalize()?)
}

/// A new file for a child's output.
pub(crate) fn output_file(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

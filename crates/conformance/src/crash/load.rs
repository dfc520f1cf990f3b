//! The clients that write, consume and commit while the broker dies: `peers/crash/load.py` on librdkafka.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::node::{Node, output_file};

/// The longest a load may wait for its first promise of a round.
const PROMISE_MAX: Duration = Duration::from_secs(60);

/// A running load; it survives the broker.
pub(crate) struct Load {
    child: Child,
    acks: PathBuf,
}

impl Load {
    /// Starts the clients; what is promised to them lands in `acks.tsv` and `commits.tsv` under `dir`.
    pub(crate) fn start(node: &Node, dir: &Path, topic: &str, partitions: usize) -> Result<Load> {
        let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/crash/load.py"))
            .arg(node.bootstrap())
            .arg(dir)
            .args([topic, &partitions.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output_file(&dir.join("load.log"))?)
            .spawn()
            .context("cannot start peers/crash/load.py")?;
        let stdout = child.stdout.take().context("the load's output is a pipe")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if line.trim() != "started" {
            bail!("the load did not start; see {}", dir.join("load.log").display());
        }
        Ok(Load {
            child,
            acks: dir.join("acks.tsv"),
        })
    }

    /// Lets the load run, on a busy machine longer: until something was promised, since a round without a promise shows
    /// nothing. An error when it gave up, as it does when a record definitely failed.
    pub(crate) fn go_on_for(&mut self, time: Duration) -> Result<()> {
        let promised = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
        let (before, start) = (promised(&self.acks), Instant::now());
        std::thread::sleep(time);
        while promised(&self.acks) == before && start.elapsed() < time + PROMISE_MAX {
            std::thread::sleep(Duration::from_millis(20));
        }
        match self.child.try_wait()? {
            Some(status) => bail!("the load ended by itself ({status})"),
            None => Ok(()),
        }
    }

    /// Lets the clients deliver what they still hold, and ends them.
    pub(crate) fn finish(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the load ended badly ({status})");
        }
        Ok(())
    }

    /// Ends the clients at once.
    pub(crate) fn abandon(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Already gone after `finish`; otherwise the round failed and the clients go with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

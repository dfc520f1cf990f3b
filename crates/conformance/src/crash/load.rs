//! The clients that write, consume and commit while the broker dies: `peers/crash/load.py` on librdkafka.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::remade;
use crate::node::{Node, output_file};

/// The longest a load may wait for its first promise of a round.
const PROMISE_MAX: Duration = Duration::from_secs(60);

/// A running load; it survives the broker.
pub(crate) struct Load {
    child: Child,
    answers: BufReader<ChildStdout>,
    /// What was promised: of the topic that stays, and of the one that is made again and again.
    promises: [PathBuf; 2],
}

impl Load {
    /// Starts the clients; what is promised to them lands in `acks.tsv`, `commits.tsv` and `remade.tsv` under `dir`.
    pub(crate) fn start(node: &Node, dir: &Path, topic: &str, partitions: usize) -> Result<Load> {
        let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/crash/load.py"))
            .arg(node.bootstrap())
            .arg(dir)
            .args([topic, &partitions.to_string()])
            .args([remade::TOPIC, &remade::PARTITIONS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output_file(&dir.join("load.log"))?)
            .spawn()
            .context("cannot start peers/crash/load.py")?;
        let answers = BufReader::new(child.stdout.take().context("the load's output is a pipe")?);
        let mut load = Load {
            child,
            answers,
            promises: [dir.join("acks.tsv"), dir.join(remade::PROMISES)],
        };
        load.hears("started")
            .with_context(|| format!("see {}", dir.join("load.log").display()))?;
        Ok(load)
    }

    /// Asks the client of the topic that is made again and again to hold still after its next step.
    pub(crate) fn hold(&mut self) -> Result<()> {
        self.say("hold")
    }

    /// Waits until it does. The broker must be there.
    pub(crate) fn wait_until_held(&mut self) -> Result<()> {
        self.hears("held")
    }

    /// Ends the hold.
    pub(crate) fn release(&mut self) -> Result<()> {
        self.say("go on")
    }

    fn say(&mut self, word: &str) -> Result<()> {
        let stdin = self.child.stdin.as_mut().context("the load's input is a pipe")?;
        writeln!(stdin, "{word}").context("the load takes no orders")
    }

    fn hears(&mut self, word: &str) -> Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim() != word {
            bail!("the load says {:?} instead of {word:?}", line.trim());
        }
        Ok(())
    }

    /// Lets the load run, on a busy machine longer: until something was promised of each topic, since a round without a promise
    /// shows nothing. An error when it gave up, as it does when a record definitely failed.
    pub(crate) fn go_on_for(&mut self, time: Duration) -> Result<()> {
        let promised = || {
            self.promises
                .each_ref()
                .map(|path| path.metadata().map_or(0, |meta| meta.len()))
        };
        let has_none = |before: &[u64; 2]| before.iter().zip(promised()).any(|(before, now)| *before == now);
        let (before, start) = (promised(), Instant::now());
        std::thread::sleep(time);
        while has_none(&before) && start.elapsed() < time + PROMISE_MAX {
            std::thread::sleep(Duration::from_millis(20));
        }
        match self.child.try_wait()? {
            Some(status) => bail!("the load ended by itself ({status})"),
            None => Ok(()),
        }
    }

    /// Lets the clients deliver what they still hold, and ends them.
    pub(crate) fn finish(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the load ended badly ({status})");
        }
        Ok(())
    }

    /// Ends the clients at once.
    pub(crate) fn abandon(&mut self) -> Result<()> {
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

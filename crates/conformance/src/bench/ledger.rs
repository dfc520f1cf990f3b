//! The samples, one line of JSON each, written when measured.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::subject::Subject;

/// Figures by name; the name says the unit.
pub(super) type Figures = BTreeMap<String, f64>;

/// What one broker gave in one row once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Which builds of `gracchus`, `ceiling` and `load` the run was with, and on which machine.
    #[serde(default)]
    pub(super) build: String,
    /// The commit of the tree when this was measured.
    #[serde(default)]
    pub(super) commit: String,
    pub(super) row: String,
    pub(super) broker: Subject,
    pub(super) repetition: u32,
    pub(super) figures: Figures,
    /// The share of the machine that others took meanwhile.
    pub(super) strangers: f64,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

impl Sample {
    pub(super) fn new(
        row: &str,
        broker: Subject,
        repetition: u32,
        outcome: Result<(Figures, f64)>,
    ) -> Sample {
        let (figures, strangers, note) = match outcome {
            Ok((figures, strangers)) => (figures, strangers, None),
            Err(error) => (Figures::new(), 0.0, Some(format!("{error:#}"))),
        };
        Sample {
            build: String::new(),
            commit: String::new(),
            row: row.to_owned(),
            broker,
            repetition,
            figures,
            strangers,
            note,
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}:", self.row, self.broker, self.repetition)?;
        for (name, value) in &self.figures {
            write!(f, " {name} {value:.3};")?;
        }
        if self.strangers > 0.01 {
            write!(f, " others {:.0} %", self.strangers * 100.0)?;
        }
        match &self.note {
            Some(note) => write!(f, " {note}"),
            None => Ok(()),
        }
    }
}

/// The samples of one build of the broker and of what measures it, on one machine; those of others stay in the file and do
/// not count.
pub(super) struct Ledger {
    path: Option<PathBuf>,
    build: String,
    commit: String,
    samples: Vec<Sample>,
}

impl Ledger {
    /// Reads what earlier runs found for the same build on the same machine; with `is_forgetful` nothing is read or written.
    pub(super) fn open(path: &Path, binaries: &[PathBuf], is_forgetful: bool) -> Result<Ledger> {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let processors = fs::read_to_string("/proc/cpuinfo")?;
        Ledger::of_build(
            path,
            build_of(binaries, &machine(&kernel, &processors))?,
            is_forgetful,
        )
    }

    fn of_build(path: &Path, build: String, is_forgetful: bool) -> Result<Ledger> {
        let text = match fs::read_to_string(path) {
            Ok(text) if !is_forgetful => text,
            _ => String::new(),
        };
        let mut samples = Vec::new();
        // A line that was cut off by an interruption is measured again.
        for sample in text
            .lines()
            .filter_map(|line| serde_json::from_str::<Sample>(line).ok())
        {
            if sample.build == build {
                samples.push(sample);
            }
        }
        let commit = Command::new("git")
            .args(["rev-parse", "--short=12", "HEAD"])
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
            .unwrap_or_default();
        Ok(Ledger {
            path: (!is_forgetful).then(|| path.to_owned()),
            build,
            commit,
            samples,
        })
    }

    /// Whether this is measured; or noted, of a broker that refuses the row. What failed is tried again, whoever failed.
    pub(super) fn has(&self, row: &str, broker: Subject, repetition: u32, refusal: Option<&str>) -> bool {
        self.samples.iter().any(|sample| {
            sample.row == row
                && sample.broker == broker
                && sample.repetition == repetition
                && sample.note.as_deref() == refusal
        })
    }

    /// Keeps a sample, on disk before anything else happens.
    pub(super) fn append(&mut self, mut sample: Sample) -> Result<()> {
        sample.build.clone_from(&self.build);
        sample.commit.clone_from(&self.commit);
        if let Some(path) = &self.path {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            writeln!(file, "{}", serde_json::to_string(&sample)?)?;
            file.sync_data()?;
        }
        self.samples.push(sample);
        Ok(())
    }

    /// Everything measured for this build.
    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

/// What tells one machine from another: a median over two of them says nothing of either.
fn machine(kernel: &str, processors: &str) -> String {
    // The rest of it, the clock's speed for one, changes from look to look.
    let models = processors.lines().filter(|line| line.starts_with("model name"));
    std::iter::once(kernel.trim())
        .chain(models)
        .collect::<Vec<_>>()
        .join("\n")
}

/// What tells one set of binaries, and one machine, from another.
fn build_of(binaries: &[PathBuf], machine: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(machine.as_bytes());
    for binary in binaries {
        let bytes = fs::read(binary).with_context(|| format!("no binary at {}", binary.display()))?;
        hasher.write_usize(bytes.len());
        hasher.write(&bytes);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(row: &str, repetition: u32, outcome: Result<(Figures, f64)>) -> Sample {
        Sample::new(row, Subject::GracchusDurable, repetition, outcome)
    }

    #[test]
    fn a_run_goes_on_where_it_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs/bench.jsonl");
        let open = |build: &str| Ledger::of_build(&path, build.to_owned(), false).unwrap();
        let figures = Figures::from([("MB/s".to_owned(), 5.0)]);
        let mut ledger = open("one");
        ledger.append(sample("a", 1, Ok((figures, 0.02)))).unwrap();
        ledger
            .append(sample("a", 2, Err(anyhow::anyhow!("it broke"))))
            .unwrap();
        // What an interruption leaves behind.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        write!(file, "{{\"build\":\"one\",\"row\":\"a\",\"repet").unwrap();

        let ledger = open("one");
        assert!(ledger.has("a", Subject::GracchusDurable, 1, None));
        assert!(!ledger.has("a", Subject::GracchusDurable, 2, None));
        assert!(!ledger.has("a", Subject::Kafka, 1, None));
        assert_eq!(ledger.samples()[0].figures["MB/s"], 5.0);
        assert!(open("two").samples().is_empty(), "another build begins anew");
    }

    #[test]
    fn samples_of_another_machine_do_not_count() {
        let cpu = |model, mhz| format!("processor\t: 0\nmodel name\t: {model}\ncpu MHz\t\t: {mhz}\n");
        let here = machine("6.18.1\n", &cpu("one", 2400));
        assert_eq!(here, machine("6.18.1\n", &cpu("one", 3100)));
        for (kernel, processors) in [
            ("6.18.2\n", cpu("one", 2400)),
            ("6.18.1\n", cpu("two", 2400)),
            ("6.18.1\n", cpu("one", 2400).repeat(2)),
        ] {
            let there = machine(kernel, &processors);
            assert_ne!(build_of(&[], &here).unwrap(), build_of(&[], &there).unwrap());
        }
    }

    #[test]
    fn what_failed_is_tried_again_and_what_is_refused_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::of_build(&dir.path().join("l"), "one".to_owned(), false).unwrap();
        for broker in [Subject::GracchusDurable, Subject::Kafka, Subject::Ceiling] {
            let outcome = Err(anyhow::anyhow!("it does not speak this"));
            ledger.append(Sample::new("a", broker, 1, outcome)).unwrap();
            assert!(!ledger.has("a", broker, 1, None));
        }
        assert!(ledger.has("a", Subject::Ceiling, 1, Some("it does not speak this")));
    }

    #[test]
    fn each_of_the_binaries_tells_builds_apart() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["gracchus", "ceiling", "load"].map(|name| dir.path().join(name));
        let build = |texts: [&str; 3]| {
            for (path, text) in paths.iter().zip(texts) {
                fs::write(path, text).unwrap();
            }
            build_of(&paths, "here").unwrap()
        };
        let first = build(["a", "b", "c"]);
        assert_eq!(build(["a", "b", "c"]), first);
        for other in [["x", "b", "c"], ["a", "x", "c"], ["a", "b", "x"], ["ab", "", "c"]] {
            assert_ne!(build(other), first, "{other:?}");
        }
        fs::remove_file(&paths[2]).unwrap();
        assert!(build_of(&paths, "here").is_err());
    }
}

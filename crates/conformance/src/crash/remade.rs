//! Holds a topic that is deleted and made again, over and over, against what its client was promised.
//!
//! Every record's value begins with its incarnation, a number that grows with each time the topic is made. No record of
//! an incarnation may be seen once its deletion was acknowledged; the present one must have all that it acknowledged.

use std::path::Path;

use anyhow::{Result, bail};

use super::history::{self, History, Observed};
use crate::node::Node;

pub(crate) const TOPIC: &str = "crash-remade";
pub(crate) const PARTITIONS: usize = 8;
/// Where the load notes what was promised.
pub(crate) const PROMISES: &str = "remade.tsv";

/// What the client of the topic was promised.
#[derive(Debug, Default, PartialEq)]
struct Promised {
    topic: Topic,
    /// The last incarnation whose deletion was acknowledged; they begin at 1.
    deleted: u64,
    /// Partition, offset, value of what the present incarnation acknowledged.
    acks: Vec<(usize, usize, String)>,
}

#[derive(Debug, Default, PartialEq)]
enum Topic {
    /// Not made, or its deletion was acknowledged.
    #[default]
    Absent,
    /// Its creation was acknowledged.
    Made,
    /// Its deletion was asked for and has no answer.
    Leaving,
}

/// Reads what was promised, then what the broker holds, and lists every broken promise. The load must hold still.
pub(crate) fn check(node: &Node, dir: &Path) -> Result<Vec<String>> {
    let promised = read_promised(&history::read_lines(&dir.join(PROMISES)))?;
    let observed = history::observe(node, TOPIC, &[0; PARTITIONS])?;
    Ok(judge(promised, observed))
}

/// The comparison itself, without I/O; nothing observed where there is no such topic.
fn judge(promised: Promised, observed: Option<Observed>) -> Vec<String> {
    let deleted = promised.deleted;
    let Some(observed) = observed else {
        let is_lost = promised.topic == Topic::Made;
        return Vec::from_iter(is_lost.then(|| "lost topic: it was made anew, and is gone".to_owned()));
    };
    let mut anomalies = Vec::new();
    for (number, offset, value) in &observed.records {
        if incarnation(value).is_none_or(|number| number <= deleted) {
            anomalies.push(format!(
                "deleted record: {value} is at {number}:{offset}, after the deletion of incarnation {deleted}"
            ));
        }
    }
    match promised.topic {
        Topic::Absent => anomalies.push(format!(
            "deleted topic: it is there after the deletion of incarnation {deleted}"
        )),
        Topic::Made => {
            let promised = history::Promised {
                acks: promised.acks,
                commits: Vec::new(),
            };
            anomalies.extend(History::new(PARTITIONS).judge(&promised, observed));
        }
        Topic::Leaving => {}
    }
    anomalies
}

/// The incarnation of a value `INCARNATION.NUMBER`.
fn incarnation(value: &str) -> Option<u64> {
    value.split_once('.')?.0.parse().ok()
}

fn read_promised(text: &str) -> Result<Promised> {
    let mut promised = Promised::default();
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>().as_slice() {
            ["made", _] => promised.topic = Topic::Made,
            ["acknowledged", partition, offset, value] => {
                promised
                    .acks
                    .push((partition.parse()?, offset.parse()?, (*value).to_owned()));
            }
            ["deleting", _] => {
                promised.topic = Topic::Leaving;
                promised.acks.clear();
            }
            ["deleted", incarnation] => {
                promised.topic = Topic::Absent;
                promised.deleted = incarnation.parse()?;
            }
            _ => bail!("{PROMISES}: {line:?}"),
        }
    }
    Ok(promised)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second incarnation, of which two records were acknowledged.
    const PROMISED: &str = "made\t1\nacknowledged\t0\t0\t1.0\ndeleting\t1\ndeleted\t1\n\
                            made\t2\nacknowledged\t0\t0\t2.0\nacknowledged\t0\t1\t2.8\n";

    fn judge_records(promised: &str, records: &[(usize, &str)]) -> Vec<String> {
        let observed = Observed {
            records: records
                .iter()
                .map(|(offset, value)| (0, *offset, (*value).to_owned()))
                .collect(),
            ends: vec![records.len()],
            committed: vec![-1],
        };
        judge(read_promised(promised).unwrap(), Some(observed))
    }

    #[test]
    fn the_present_incarnation_keeps_its_records_and_those_without_an_answer() {
        assert_eq!(judge_records(PROMISED, &[(0, "2.0"), (1, "2.8")]), [""; 0]);
        assert_eq!(
            judge_records(PROMISED, &[(0, "2.0"), (1, "2.8"), (2, "2.16")]),
            [""; 0]
        );
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        for (what, records) in [
            ("deleted record: 1.0", &[(0, "1.0"), (1, "2.0"), (2, "2.8")][..]),
            ("deleted record: 1.8", &[(0, "2.0"), (1, "2.8"), (2, "1.8")]),
            ("lost write", &[(0, "2.0")]),
            ("lost write", &[]),
            ("duplicate", &[(0, "2.0"), (1, "2.8"), (2, "2.8")]),
            ("order", &[(0, "2.0"), (1, "2.8"), (2, "2.0")]),
        ] {
            let found = judge_records(PROMISED, records);
            assert!(
                found.iter().any(|anomaly| anomaly.starts_with(what)),
                "{what}: {found:?}"
            );
        }
    }

    #[test]
    fn a_topic_that_was_made_is_there_and_one_that_was_deleted_is_not() {
        let deleted = format!("{PROMISED}deleting\t2\ndeleted\t2\n");
        let without_topic = |text: &str| judge(read_promised(text).unwrap(), None);
        assert_eq!(without_topic(&deleted), [""; 0]);
        assert!(without_topic(PROMISED)[0].starts_with("lost topic"));
        assert!(judge_records(&deleted, &[])[0].starts_with("deleted topic"));
        assert!(judge_records(&deleted, &[(0, "2.0")])[0].starts_with("deleted record"));
    }

    #[test]
    fn a_deletion_without_an_answer_promises_nothing_of_its_incarnation() {
        let leaving = format!("{PROMISED}deleting\t2\n");
        assert_eq!(judge(read_promised(&leaving).unwrap(), None), [""; 0]);
        assert_eq!(judge_records(&leaving, &[(0, "2.0")]), [""; 0]);
        assert!(judge_records(&leaving, &[(0, "1.0")])[0].starts_with("deleted record"));
    }
}

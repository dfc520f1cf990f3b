//! The goals G1 to G15 as far as one node can meet them: what must be, and what should be.
//!
//! A durable figure is held to the durable ceiling, and one in the page cache to the plain one. Apache Kafka syncs
//! nothing unless its row says so, so a durable figure of ours is compared with an undurable one of Kafka's.

use serde::{Deserialize, Serialize};

use super::results::Results;
use super::subject::Subject;

use Subject::{GracchusDurable as Durable, GracchusPagecache as PageCache, Kafka, KafkaFlush};

/// A goal.
struct Goal {
    id: &'static str,
    broker: Subject,
    row: &'static str,
    figure: &'static str,
    against: Against,
    bound: Bound,
}

/// What a figure is divided by.
#[derive(Clone, Copy)]
enum Against {
    /// Nothing: it stands for itself.
    Itself,
    /// The same figure of the ceiling of the same mode.
    Ceiling,
    /// The same figure of a peer.
    Peer(Subject),
    /// The same figure of a peer in another row.
    PeerIn { peer: Subject, row: &'static str },
    /// Another figure of the same broker.
    Own { row: &'static str, figure: &'static str },
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast { must: f64, goal: f64 },
    AtMost { must: f64, goal: f64 },
}

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    Goal,
    Must,
    Missed,
    NotMeasured,
}

/// A goal beside what was measured.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Verdict {
    pub(super) id: String,
    pub(super) broker: Subject,
    pub(super) row: String,
    pub(super) figure: String,
    /// What the figure is divided by, in words; empty when by nothing.
    pub(super) against: String,
    pub(super) value: Option<f64>,
    pub(super) must: String,
    pub(super) goal: String,
    pub(super) standing: Standing,
}

const fn at_least(must: f64, goal: f64) -> Bound {
    Bound::AtLeast { must, goal }
}

const fn at_most(must: f64, goal: f64) -> Bound {
    Bound::AtMost { must, goal }
}

const MB_S: &str = "MB/s";
const CPU: &str = "broker CPU s per million";
const BOTH: [Subject; 2] = [Durable, PageCache];

/// Every goal holds what was measured.
pub(super) fn judge(results: &Results) -> Vec<Verdict> {
    goals().iter().map(|goal| goal.judge(results)).collect()
}

fn goals() -> Vec<Goal> {
    let mut list = List(Vec::new());
    throughput(&mut list);
    processor(&mut list);
    consuming_and_latency(&mut list);
    mixed_loads(&mut list);
    standing_still(&mut list);
    list.0
}

struct List(Vec<Goal>);

impl List {
    fn add(
        &mut self,
        id: &'static str,
        brokers: &[Subject],
        what: (&'static str, &'static str),
        against: Against,
        bound: Bound,
    ) {
        let (row, figure) = what;
        self.0.extend(brokers.iter().map(|broker| Goal {
            id,
            broker: *broker,
            row,
            figure,
            against,
            bound,
        }));
    }
}

fn throughput(list: &mut List) {
    let (kafka, flush) = (Against::Peer(Kafka), Against::Peer(KafkaFlush));
    let row = ("produce-200-acks1", MB_S);
    list.add("G1", &BOTH, row, Against::Ceiling, at_least(0.7, 0.9));
    list.add("G1", &BOTH, row, kafka, at_least(2.4, 3.0));
    let row = ("produce-seed-16k", MB_S);
    list.add("G3", &BOTH, row, Against::Ceiling, at_least(0.65, 0.85));
    list.add("G3", &[PageCache], row, kafka, at_least(3.0, 4.0));
    list.add("G3", &[Durable], row, kafka, at_least(2.7, 3.5));
    let row = ("produce-200-all", MB_S);
    list.add("G4", &BOTH, row, Against::Ceiling, at_least(0.8, 0.9));
    list.add("G4", &[PageCache], row, kafka, at_least(2.1, 2.4));
    list.add("G4", &[Durable], row, kafka, at_least(1.8, 2.0));
    list.add("G8", &[Durable], row, flush, at_least(6.0, 8.0));
    let row = ("produce-1k-all", MB_S);
    list.add("G4", &BOTH, row, Against::Ceiling, at_least(0.8, 0.9));
    list.add("G4", &[PageCache], row, kafka, at_least(2.4, 2.7));
    list.add("G4", &[Durable], row, kafka, at_least(2.1, 2.3));
    list.add("G8", &[Durable], row, flush, at_least(6.0, 8.0));
    let row = ("produce-keyed-100", MB_S);
    list.add("G9", &[PageCache], row, Against::Ceiling, at_least(0.75, 0.75));
    list.add("G9", &[Durable], row, Against::Ceiling, at_least(0.9, 0.9));
    list.add("G9", &[PageCache], row, kafka, at_least(3.0, 3.5));
    list.add("G9", &[Durable], row, kafka, at_least(2.5, 3.0));
    list.add(
        "G9",
        &BOTH,
        ("produce-keyed-100-50k", "ack p99 ms"),
        Against::Itself,
        at_most(10.0, 10.0),
    );
}

fn processor(list: &mut List) {
    let kafka = Against::Peer(Kafka);
    for row in [
        "produce-200-acks1",
        "produce-200-all",
        "produce-1k-all",
        "produce-seed-16k",
        "produce-keyed-100",
    ] {
        list.add("G2", &BOTH, (row, CPU), Against::Ceiling, at_most(2.0, 1.4));
    }
    list.add("G2", &BOTH, ("produce-200-acks1", CPU), kafka, at_most(0.2, 0.12));
    // What the durable mode must cost beside Kafka, row by row.
    for (row, bound) in [
        ("produce-200-all", at_most(0.5, 0.35)),
        ("produce-1k-all", at_most(0.6, 0.6)),
        ("produce-seed-16k", at_most(0.2, 0.2)),
        ("produce-keyed-100", at_most(0.2, 0.2)),
    ] {
        list.add("G2", &[Durable], (row, CPU), kafka, bound);
    }
    let wire = "broker CPU s per wire GB";
    let plain = Against::Own {
        row: "produce-1k-all",
        figure: wire,
    };
    for row in ["produce-1k-lz4", "produce-1k-zstd"] {
        list.add("G11", &BOTH, (row, wire), plain, at_most(1.3, 1.3));
        list.add("G11", &BOTH, (row, wire), kafka, at_most(0.25, 0.25));
    }
    // Kafka looks into every batch, so what it costs is in the row without the setting.
    for (row, checked) in [
        ("produce-1k-lz4-header", "produce-1k-lz4"),
        ("produce-1k-zstd-header", "produce-1k-zstd"),
    ] {
        let kafka = Against::PeerIn {
            peer: Kafka,
            row: checked,
        };
        list.add("G11 header", &BOTH, (row, wire), plain, at_most(1.3, 1.3));
        list.add("G11 header", &BOTH, (row, wire), kafka, at_most(0.25, 0.25));
    }
}

fn consuming_and_latency(list: &mut List) {
    let kafka = Against::Peer(Kafka);
    let row = ("produce-1k-all", "consume MB/s");
    list.add("G5", &BOTH, row, Against::Ceiling, at_least(0.85, 0.95));
    list.add("G5", &BOTH, row, kafka, at_least(1.0, 1.1));
    let row = ("produce-1k-all", "consume broker CPU s per GB");
    list.add("G5", &BOTH, row, Against::Itself, at_most(0.6, 0.6));
    list.add("G5", &BOTH, row, kafka, at_most(0.7, 0.55));
    for (p50, p99) in [
        ("ack p50 ms", "ack p99 ms"),
        ("end to end p50 ms", "end to end p99 ms"),
    ] {
        let (p50, p99) = (("latency-1000", p50), ("latency-1000", p99));
        list.add("G6", &[PageCache], p50, Against::Itself, at_most(0.25, 0.25));
        list.add("G6", &[PageCache], p99, Against::Itself, at_most(0.7, 0.7));
        list.add("G6", &[Durable], p50, Against::Itself, at_most(0.7, 0.7));
        list.add("G6", &[Durable], p99, Against::Itself, at_most(2.0, 2.0));
        list.add("G6", &[PageCache], p50, kafka, at_most(0.5, 0.5));
        list.add("G6", &[PageCache], p99, kafka, at_most(0.1, 0.1));
        list.add("G6", &[Durable], p99, kafka, at_most(1.0 / 3.0, 1.0 / 3.0));
    }
}

fn mixed_loads(list: &mut List) {
    let kafka = Against::Peer(Kafka);
    list.add(
        "G10",
        &BOTH,
        ("crowd", "p99 against 4 producers"),
        Against::Itself,
        at_most(2.0, 2.0),
    );
    list.add("G10", &BOTH, ("crowd", "ack p99 ms"), kafka, at_most(0.2, 0.2));
    let from_cache = Against::Own {
        row: "produce-1k-all",
        figure: "consume MB/s",
    };
    let drained = ("backlog", "consume MB/s");
    list.add("G12", &BOTH, drained, from_cache, at_least(0.6, 0.6));
    list.add("G12", &BOTH, drained, kafka, at_least(1.2, 1.2));
    for (id, row, figure, bound) in [
        ("G12", "backlog", "p99 against calm", at_most(3.0, 3.0)),
        ("G12 cold", "backlog-cold", "p99 against calm", at_most(3.0, 3.0)),
        (
            "slow consumers",
            "slow-consumers",
            "resident MB beyond the bound",
            at_most(0.0, 0.0),
        ),
        ("G13", "retention", "MB/s against before", at_least(0.95, 0.95)),
        ("G13", "retention", "p99 against before", at_most(1.5, 1.5)),
    ] {
        list.add(id, &BOTH, (row, figure), Against::Itself, bound);
    }
    // Beside Kafka at its limit; its own before is that of a Java virtual machine that still gets faster.
    list.add("G13", &BOTH, ("retention", MB_S), kafka, at_least(1.0, 1.0));
    list.add(
        "G13",
        &BOTH,
        ("retention", "ack p99 ms"),
        kafka,
        at_most(1.0, 1.0),
    );
}

fn standing_still(list: &mut List) {
    let kafka = Against::Peer(Kafka);
    let start = ("start", "start ms");
    let many = ("start", "start with 1,000 partitions ms");
    for (what, most) in [
        (("memory", "resident MB idle"), 30.0),
        (("memory", "resident MB after 1 GB"), 100.0),
        (start, 100.0),
        (many, 1_000.0),
    ] {
        list.add("G14", &BOTH, what, Against::Itself, at_most(most, most));
    }
    for memory in ["resident MB idle", "resident MB after 1 GB"] {
        list.add("G14", &BOTH, ("memory", memory), kafka, at_most(0.05, 0.05));
    }
    list.add("G14", &BOTH, start, kafka, at_most(0.05, 0.05));
    list.add(
        "G14 idle",
        &BOTH,
        ("idle", "resident MB"),
        Against::Itself,
        at_most(150.0, 150.0),
    );
    list.add(
        "G14 idle",
        &BOTH,
        ("idle", "broker CPU % of a core"),
        Against::Itself,
        at_most(1.0, 1.0),
    );
    list.add(
        "G15",
        &BOTH,
        ("kill", "acknowledged records missing"),
        Against::Itself,
        at_most(0.0, 0.0),
    );
}

/// The ceiling that a mode is held to.
pub(super) fn ceiling_of(broker: Subject) -> Option<Subject> {
    match broker {
        Durable => Some(Subject::CeilingDurable),
        PageCache => Some(Subject::Ceiling),
        _ => None,
    }
}

impl Goal {
    fn judge(&self, results: &Results) -> Verdict {
        let figure = results.median(self.row, self.broker, self.figure);
        let ratio = |base: Option<f64>| Some(figure? / base?).filter(|ratio| ratio.is_finite());
        let peer_in = |row: &str, peer: Subject| results.median(row, peer, self.figure);
        let peer = |peer: Subject| peer_in(self.row, peer);
        let value = match self.against {
            Against::Itself => figure,
            Against::Ceiling => ratio(ceiling_of(self.broker).and_then(peer)),
            Against::Peer(subject) => ratio(peer(subject)),
            Against::PeerIn { peer, row } => ratio(peer_in(row, peer)),
            Against::Own { row, figure } => ratio(results.median(row, self.broker, figure)),
        };
        let (word, must, goal) = match self.bound {
            Bound::AtLeast { must, goal } => ("at least", must, goal),
            Bound::AtMost { must, goal } => ("at most", must, goal),
        };
        Verdict {
            id: self.id.to_owned(),
            broker: self.broker,
            row: self.row.to_owned(),
            figure: self.figure.to_owned(),
            against: match self.against {
                Against::Itself => String::new(),
                Against::Ceiling => {
                    ceiling_of(self.broker).map_or(String::new(), |ceiling| ceiling.to_string())
                }
                Against::Peer(subject) => subject.to_string(),
                Against::PeerIn { peer, row } => format!("{peer} in {row}"),
                Against::Own { row, figure } => format!("own {figure} of {row}"),
            },
            value,
            must: format!("{word} {}", limit(must)),
            goal: format!("{word} {}", limit(goal)),
            standing: self.bound.standing(value),
        }
    }
}

impl Bound {
    fn standing(self, value: Option<f64>) -> Standing {
        let Some(value) = value else {
            return Standing::NotMeasured;
        };
        let holds = |limit: f64| match self {
            Bound::AtLeast { .. } => value >= limit,
            Bound::AtMost { .. } => value <= limit,
        };
        let (Bound::AtLeast { must, goal } | Bound::AtMost { must, goal }) = self;
        match (holds(goal), holds(must)) {
            (true, _) => Standing::Goal,
            (false, true) => Standing::Must,
            (false, false) => Standing::Missed,
        }
    }
}

/// A limit without needless digits.
fn limit(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ledger::{Figures, Sample};
    use crate::bench::results;
    use crate::bench::rows::ROWS;

    #[test]
    fn a_bound_tells_goal_must_and_missed() {
        let faster = at_least(2.4, 3.0);
        assert_eq!(faster.standing(Some(3.0)), Standing::Goal);
        assert_eq!(faster.standing(Some(2.5)), Standing::Must);
        assert_eq!(faster.standing(Some(2.3)), Standing::Missed);
        assert_eq!(at_most(2.0, 1.4).standing(Some(1.5)), Standing::Must);
        assert_eq!(faster.standing(None), Standing::NotMeasured);
    }

    #[test]
    fn memory_beyond_the_bound_of_slow_consumers_is_a_miss() {
        for (beyond, standing) in [(0.0, Standing::Goal), (0.1, Standing::Missed)] {
            let figures = Figures::from([("resident MB beyond the bound".to_owned(), beyond)]);
            let sample = Sample::new("slow-consumers", Durable, 1, Ok((figures, 0.0)));
            let verdicts = results::collect(&[sample]).verdicts;
            let verdict = verdicts.iter().find(|verdict| verdict.value.is_some()).unwrap();
            assert_eq!(
                (verdict.id.as_str(), verdict.standing),
                ("slow consumers", standing)
            );
        }
    }

    #[test]
    fn every_goal_is_about_rows_that_its_brokers_take() {
        let takes = |broker: Subject, name: &str| {
            let row = ROWS.iter().find(|row| row.name == name);
            row.is_some_and(|row| row.concerns(broker))
        };
        for goal in goals() {
            let compared = match goal.against {
                Against::Itself => None,
                Against::Ceiling => ceiling_of(goal.broker).map(|ceiling| (ceiling, goal.row)),
                Against::Peer(peer) => Some((peer, goal.row)),
                Against::PeerIn { peer, row } => Some((peer, row)),
                Against::Own { row, .. } => Some((goal.broker, row)),
            };
            for (broker, row) in [(goal.broker, goal.row)].into_iter().chain(compared) {
                assert!(takes(broker, row), "{} {broker} {row}", goal.id);
            }
        }
    }

    #[test]
    fn a_row_of_ours_alone_is_held_to_another_row_of_a_peer() {
        let wire = "broker CPU s per wire GB";
        let sample = |row: &str, broker, value: f64| {
            let figures = Figures::from([(wire.to_owned(), value)]);
            Sample::new(row, broker, 1, Ok((figures, 0.0)))
        };
        let results = results::collect(&[
            sample("produce-1k-lz4-header", Durable, 0.5),
            sample("produce-1k-lz4", Durable, 2.0),
            sample("produce-1k-lz4", Kafka, 4.0),
        ]);
        let verdict = results
            .verdicts
            .iter()
            .find(|verdict| verdict.row == "produce-1k-lz4-header" && verdict.against.starts_with("kafka"));
        let verdict = verdict.unwrap();
        assert_eq!(verdict.against, "kafka in produce-1k-lz4");
        assert_eq!((verdict.value, verdict.standing), (Some(0.125), Standing::Goal));
    }
}

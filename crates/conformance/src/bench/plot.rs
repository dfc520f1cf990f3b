//! Bar charts as plain SVG, in colours that can be read on white and on black.

use std::fmt::Write as _;

use super::report::short;
use super::results::{Results, Spread};
use super::subject::Subject;

/// A chart: groups of bars, a bar for each broker.
pub(super) struct Plot {
    /// The name of the file.
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    /// Row, figure, and how the group is called.
    groups: &'static [(&'static str, &'static str, &'static str)],
}

const MB_S: &str = "MB/s";
const CPU: &str = "broker CPU s per million";

pub(super) const PLOTS: &[Plot] = &[
    Plot {
        file: "produce.svg",
        title: "Produce, MB/s (more is better)",
        groups: &[
            ("produce-200-acks1", MB_S, "200 B acks=1"),
            ("produce-200-all", MB_S, "200 B acks=all"),
            ("produce-1k-all", MB_S, "1 KiB acks=all"),
            ("produce-seed-16k", MB_S, "200 B, 16 KiB batches"),
            ("produce-keyed-100", MB_S, "keyed, 100 partitions"),
            ("produce-keyed-1000", MB_S, "keyed, 1,000 partitions"),
        ],
    },
    Plot {
        file: "produce-cpu.svg",
        title: "Produce, broker CPU seconds per million records (less is better)",
        groups: &[
            ("produce-200-acks1", CPU, "200 B acks=1"),
            ("produce-200-all", CPU, "200 B acks=all"),
            ("produce-1k-all", CPU, "1 KiB acks=all"),
            ("produce-seed-16k", CPU, "200 B, 16 KiB batches"),
            ("produce-keyed-100", CPU, "keyed, 100 partitions"),
            ("produce-keyed-1000", CPU, "keyed, 1,000 partitions"),
        ],
    },
    Plot {
        file: "consume.svg",
        title: "Consume from the page cache, MB/s (more is better)",
        groups: &[
            ("produce-200-acks1", "consume MB/s", "200 B"),
            ("produce-1k-all", "consume MB/s", "1 KiB"),
        ],
    },
    Plot {
        file: "latency.svg",
        title: "Latency at 1,000 records/s, ms (less is better)",
        groups: &[
            ("latency-1000", "ack p50 ms", "acknowledged, p50"),
            ("latency-1000", "ack p99 ms", "acknowledged, p99"),
            ("latency-1000", "end to end p50 ms", "end to end, p50"),
            ("latency-1000", "end to end p99 ms", "end to end, p99"),
        ],
    },
    Plot {
        file: "memory.svg",
        title: "Resident memory, MB (less is better)",
        groups: &[
            ("memory", "resident MB idle", "idle"),
            ("memory", "resident MB after 1 GB", "after 1 GB"),
        ],
    },
];

const WIDTH: u32 = 860;
const LABELS: u32 = 170;
const BARS: f64 = 540.0;
const BAR: u32 = 13;
const GAP: u32 = 10;
const HEAD: u32 = 56;

const STYLE: &str = "text { font: 12px sans-serif; fill: #1f2328 } .title { font-size: 15px; font-weight: 600 } \
.value { font-size: 11px } .whisker { stroke: #1f2328; stroke-width: 1 } \
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .whisker { stroke: #e6edf3 } }";

impl Plot {
    /// The picture; none when nothing of it was measured.
    pub(super) fn draw(&self, results: &Results) -> Option<String> {
        let bars: Vec<(&str, Vec<(Subject, &Spread)>)> = self
            .groups
            .iter()
            .map(|(row, figure, label)| (*label, spreads(results, row, figure)))
            .filter(|(_, bars)| !bars.is_empty())
            .collect();
        let all = || bars.iter().flat_map(|(_, bars)| bars);
        let most = all().map(|(_, spread)| spread.max).fold(0.0, f64::max);
        if most <= 0.0 {
            return None;
        }
        let lines = all().count() as u32;
        let height = HEAD + lines * (BAR + 2) + bars.len() as u32 * GAP + GAP;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n<text class=\"title\" x=\"8\" y=\"20\">{title}</text>\n",
            title = self.title
        );
        legend(&mut svg, all().map(|(subject, _)| *subject));
        let mut y = HEAD;
        for (label, bars) in &bars {
            let middle = y + bars.len() as u32 * (BAR + 2) / 2 + 4;
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{label}</text>",
                LABELS - 8
            );
            for (subject, spread) in bars {
                bar(&mut svg, *subject, spread, most, y);
                y += BAR + 2;
            }
            y += GAP;
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }
}

fn spreads<'a>(results: &'a Results, row: &str, figure: &str) -> Vec<(Subject, &'a Spread)> {
    let Some(cells) = results.rows.get(row) else {
        return Vec::new();
    };
    let spreads = cells
        .iter()
        .filter_map(|(subject, cell)| Some((*subject, cell.figures.get(figure)?)));
    spreads.collect()
}

fn legend(svg: &mut String, subjects: impl Iterator<Item = Subject>) {
    let mut subjects: Vec<Subject> = subjects.collect();
    subjects.sort_unstable();
    subjects.dedup();
    let mut x = 8;
    for subject in subjects {
        let name = subject.to_string();
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"31\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"40\">{name}</text>",
            colour(subject),
            x + 14
        );
        x += 28 + 7 * name.len();
    }
}

/// A bar with its value behind it, and a line from the least to the largest value.
fn bar(svg: &mut String, subject: Subject, spread: &Spread, most: f64, y: u32) {
    let long = |value: f64| value / most * BARS;
    let middle = y + BAR / 2;
    let left = f64::from(LABELS);
    let _ = writeln!(
        svg,
        "<rect x=\"{LABELS}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{}\"><title>{subject}</title></rect>\
         <line class=\"whisker\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
         <text class=\"value\" x=\"{:.1}\" y=\"{}\">{} {subject}</text>",
        long(spread.median).max(1.0),
        colour(subject),
        left + long(spread.min),
        left + long(spread.max),
        left + long(spread.max) + 6.0,
        y + BAR - 3,
        short(spread.median)
    );
}

fn colour(subject: Subject) -> &'static str {
    match subject {
        Subject::GracchusDurable => "#c2410c",
        Subject::GracchusPagecache => "#f59e0b",
        Subject::Ceiling => "#94a3b8",
        Subject::CeilingDurable => "#64748b",
        Subject::Kafka => "#2563eb",
        Subject::KafkaFlush => "#60a5fa",
        Subject::Tansu => "#16a34a",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ledger::{Figures, Sample};
    use crate::bench::results::collect;

    #[test]
    fn the_longest_bar_takes_the_whole_width() {
        let sample = |broker, value: f64| {
            let figures = Figures::from([("MB/s".to_owned(), value)]);
            Sample::new("produce-200-all", broker, 1, Ok((figures, 0.0)))
        };
        let results = collect(&[sample(Subject::Ceiling, 400.0), sample(Subject::Kafka, 100.0)]);
        let svg = PLOTS[0].draw(&results).unwrap();
        assert!(
            svg.contains("width=\"540.0\" height=\"13\" fill=\"#94a3b8\""),
            "{svg}"
        );
        assert!(
            svg.contains("width=\"135.0\" height=\"13\" fill=\"#2563eb\""),
            "{svg}"
        );
        assert_eq!(svg.matches("<text class=\"value\"").count(), 2);
        assert!(PLOTS[1].draw(&results).is_none(), "nothing of it was measured");
    }
}

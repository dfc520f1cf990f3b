//! The results as a page with plots, and as lines on a terminal.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::goals::{Standing, Verdict, ceiling_of};
use super::plot::PLOTS;
use super::results::{self, Cell, Results};
use super::rows::{ROWS, Row};
use super::subject::Subject;

const OPENING: &str = "# Performance

Written by `cargo xtask bench --report` from [the result file](performance/results.json); do not edit.

Every broker took the same rows in one run on one machine, in turns, each turn on a fresh directory and every row on a topic of its own. A cell is the median of the repetitions with the least and the largest. Client and broker share the machine, so the processor time of the broker says more than megabytes a second: those also measure the client. MB is 10^6 bytes of record values; memory is in units of 2^20 bytes.

`ceiling` is a broker that does only what none can leave out: it checks the CRC32C, writes, sends and wakes (`bench/ceiling`). `ceiling-durable` syncs before each acknowledgement of acks=all, in groups. They are the limits that our two modes are held to: `gracchus-durable` (the default, `log.durability=fsync`) to the second, `gracchus-pagecache` (`log.durability=pagecache`) to the first. Under acks=1 both durable ones acknowledge before the sync, as acks=1 promises no more.
";

const AGAIN: &str = "## To measure again

```
cargo xtask bench                            # everything, with five repetitions: hours; goes on where it stopped
cargo xtask bench --minutes 30               # a slice of it
cargo xtask bench --only keyed --quick       # one look at some rows; keeps nothing
cargo xtask bench --publish                  # the result file from the ledger, then this page
```

Power cuts are not in these tables: `cargo xtask crash` cuts the power under load and checks what was acknowledged.
";

/// Writes the page and its plots from the result file.
pub(super) fn write(page: &Path) -> Result<()> {
    let results = results::read(page)?;
    let folder = page.with_extension("");
    for plot in PLOTS {
        if let Some(svg) = plot.draw(&results) {
            fs::write(folder.join(plot.file), svg)?;
        }
    }
    Ok(fs::write(page, markdown(&results))?)
}

/// The page.
fn markdown(results: &Results) -> String {
    let mut page = OPENING.to_owned();
    page.push_str("\n## What was measured on\n\n| | |\n| --- | --- |\n");
    for (name, value) in &results.machine {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(page, "| {name} | {value} |");
    }
    page.push_str(
        "\n## What an acknowledgement of acks=all promises\n\n| broker | the record is |\n| --- | --- |\n",
    );
    for subject in Subject::ALL {
        let _ = writeln!(page, "| {subject} | {} |", subject.promise());
    }
    page.push_str("\n## At a glance\n\n");
    for plot in PLOTS.iter().filter(|plot| plot.draw(results).is_some()) {
        let _ = writeln!(page, "![{}](performance/{})\n", plot.title, plot.file);
    }
    goals(&mut page, &results.verdicts);
    page.push_str("## Row by row\n\nBelow a figure of ours: what it is of the ceiling of the same mode, and of Apache Kafka.\n\n");
    for row in ROWS {
        table(&mut page, results, row);
    }
    page.push_str(AGAIN);
    page
}

fn goals(page: &mut String, verdicts: &[Verdict]) {
    page.push_str("## Goals\n\nA ratio where something is named in the fourth column.\n\n");
    page.push_str("| | broker | row: figure | against | value | must | goal | |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for verdict in verdicts {
        let value = verdict.value.map_or("-".to_owned(), short);
        let standing = match verdict.standing {
            Standing::Goal => "met",
            Standing::Must => "must met",
            Standing::Missed => "**missed**",
            Standing::NotMeasured => "not measured",
        };
        let _ = writeln!(
            page,
            "| {} | {} | {}: {} | {} | {value} | {} | {} | {standing} |",
            verdict.id,
            verdict.broker,
            verdict.row,
            verdict.figure,
            verdict.against,
            verdict.must,
            verdict.goal
        );
    }
    page.push('\n');
}

/// The figures of a row as lines, the brokers as columns.
fn table(page: &mut String, results: &Results, row: &Row) {
    let Some(cells) = results.rows.get(row.name) else {
        return;
    };
    let _ = write!(page, "### {}\n\n{}.\n\n|", row.name, row.title);
    for subject in cells.keys() {
        let _ = write!(page, " | {subject}");
    }
    page.push_str(" |\n| ---");
    page.push_str(&" | ---".repeat(cells.len()));
    page.push_str(" |\n");
    for figure in figures(cells.values()) {
        let _ = write!(page, "| {figure}");
        for (subject, cell) in cells {
            let _ = write!(page, " | {}", entry(results, row.name, figure, *subject, cell));
        }
        page.push_str(" |\n");
    }
    page.push('\n');
    for (subject, cell) in cells {
        if let Some(note) = &cell.note {
            let _ = writeln!(page, "{subject}: {note}.\n");
        }
    }
}

/// The names of all figures of a row.
fn figures<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<&'a str> {
    let mut names: Vec<&str> = cells
        .flat_map(|cell| cell.figures.keys().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn entry(results: &Results, row: &str, figure: &str, subject: Subject, cell: &Cell) -> String {
    let Some(spread) = cell.figures.get(figure) else {
        return String::new();
    };
    let mut text = short(spread.median);
    if spread.values.len() > 1 {
        let _ = write!(text, " ({}..{})", short(spread.min), short(spread.max));
    }
    let ratio = |to: Subject| results.ratio(row, figure, subject, to);
    let of_ceiling = ceiling_of(subject)
        .and_then(ratio)
        .map(|ratio| format!("{} of ceiling", short(ratio)));
    let of_kafka = ceiling_of(subject)
        .and_then(|_| ratio(Subject::Kafka))
        .map(|ratio| format!("{} of Kafka", short(ratio)));
    let ratios: Vec<String> = of_ceiling.into_iter().chain(of_kafka).collect();
    if !ratios.is_empty() {
        let _ = write!(text, "<br>{}", ratios.join(", "));
    }
    text
}

/// The results as lines: row, figure, then each broker with median, spread, and ratios.
pub(super) fn text(results: &Results) -> String {
    let mut lines = String::new();
    for row in ROWS {
        let Some(cells) = results.rows.get(row.name) else {
            continue;
        };
        let _ = writeln!(lines, "\n{}: {}", row.name, row.title);
        for figure in figures(cells.values()) {
            let _ = writeln!(lines, "  {figure}");
            for (subject, cell) in cells.iter().filter(|(_, cell)| cell.figures.contains_key(figure)) {
                let entry = entry(results, row.name, figure, *subject, cell).replace("<br>", "  = ");
                let _ = writeln!(lines, "    {:<20} {entry}", subject.to_string());
            }
        }
    }
    lines
}

/// Three digits that count.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ledger::{Figures, Sample};

    fn some_results() -> Results {
        let sample = |broker, value: f64| {
            let figures = Figures::from([("MB/s".to_owned(), value)]);
            Sample::new("produce-200-all", broker, 1, Ok((figures, 0.0)))
        };
        let refusal = Err(anyhow::anyhow!("it does not serve this"));
        results::collect(&[
            sample(Subject::GracchusDurable, 300.0),
            sample(Subject::CeilingDurable, 320.0),
            sample(Subject::Kafka, 150.0),
            Sample::new("produce-200-all", Subject::Tansu, 1, refusal),
        ])
    }

    #[test]
    fn a_page_shows_values_ratios_and_verdicts() {
        let page = markdown(&some_results());
        assert!(
            page.contains("| MB/s | 300<br>0.938 of ceiling, 2.00 of Kafka |"),
            "{page}"
        );
        let verdict = "| G4 | gracchus-durable | produce-200-all: MB/s | kafka | 2.00 | at least 1.8 | at least 2 | met |";
        assert!(page.contains(verdict), "{page}");
        assert!(page.contains("tansu: it does not serve this."), "{page}");
        assert!(page.contains("not measured"));
    }

    #[test]
    fn the_terminal_shows_the_same() {
        let lines = text(&some_results());
        assert!(
            lines.contains("gracchus-durable     300  = 0.938 of ceiling, 2.00 of Kafka"),
            "{lines}"
        );
    }

    #[test]
    fn three_digits_count() {
        let shown: Vec<String> = [1234.6, 56.78, 5.678, 0.5678, 0.0]
            .into_iter()
            .map(short)
            .collect();
        assert_eq!(shown, ["1235", "56.8", "5.68", "0.568", "0"]);
    }
}

//! The results as a page with plots, and as lines on a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::STRANGERS_MAX;
use super::goals::{Standing, Verdict, ceiling_of};
use super::plot::PLOTS;
use super::results::{self, Cell, Results};
use super::rows::{ROWS, Row};
use super::subject::Subject;

/// What is written by hand, in the folder of the page: which goals are missed, and why.
const SHORTFALLS: &str = "shortfalls.md";

const OPENING: &str = "# Performance

Written by `cargo xtask bench --report` from [the result file](performance/results.json); do not edit.

Every broker took the same rows in one run on one machine, in turns, a different one first in each repetition, each turn on a fresh directory, after a warm-up, and every row on a topic of its own. {repetitions} Client and broker share the machine, so the processor time of the broker says more than megabytes a second: those also measure the client. MB is 10^6 bytes of record values; memory is in units of 2^20 bytes.

`ceiling` is a broker that does only what none can leave out: it checks the CRC32C, writes, sends and wakes (`bench/ceiling`). `ceiling-durable` syncs before each acknowledgement of acks=all, in groups. They are the limits that our two modes are held to: `gracchus-durable` (the default, `log.durability=fsync`) to the second, `gracchus-pagecache` (`log.durability=pagecache`) to the first. Under acks=1 both durable ones acknowledge before the sync, as acks=1 promises no more. A durable figure of ours beside Apache Kafka's is a sync before each acknowledgement beside none, unless it is beside `kafka-flush`.

A goal has two bounds: what must be, and what is aimed at. Their numbers are those of the plan (G7 is about three nodes and comes with them). They were set by the figures of another day, so a must may lie beyond what the ceiling itself does here. The wire is what went over the network, compressed or not; \"seed\" is the shape of load the design began with.
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
    let shortfalls = match fs::read_to_string(folder.join(SHORTFALLS)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {SHORTFALLS}")),
    };
    Ok(fs::write(page, markdown(&results, &shortfalls))?)
}

/// The page.
fn markdown(results: &Results, shortfalls: &str) -> String {
    let mut page = OPENING.replace("{repetitions}", &repetitions(results));
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
    if !shortfalls.trim().is_empty() {
        let _ = writeln!(page, "## What falls short, and why\n\n{}\n", shortfalls.trim());
    }
    page.push_str("## Row by row\n\nBelow a figure of ours: what it is of the ceiling of the same mode, and of Apache Kafka.\n\n");
    for row in ROWS {
        table(&mut page, results, row);
    }
    page.push_str(AGAIN);
    page
}

/// What a cell is, by how often the rows were measured.
fn repetitions(results: &Results) -> String {
    let cells = results.rows.values().flat_map(BTreeMap::values);
    let counts: Vec<usize> = cells.map(Cell::repetitions).filter(|count| *count > 0).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (_, None | Some(1)) => "Each row was measured once: a cell is that one value.".to_owned(),
        (Some(least), Some(most)) if least == most => {
            format!("A cell is the median of {most} repetitions, with the least and the largest.")
        }
        (least, Some(most)) => format!(
            "There are {} to {most} repetitions, how many stands with each row: a cell is their median, with the least and the largest, or the one value there is.",
            least.unwrap_or(most)
        ),
    }
}

/// How often a row was measured; by broker if that differs.
fn repetitions_of(cells: &BTreeMap<Subject, Cell>) -> String {
    let counts: Vec<(Subject, usize)> = cells
        .iter()
        .map(|(subject, cell)| (*subject, cell.repetitions()))
        .filter(|(_, count)| *count > 0)
        .collect();
    let plural = |count: usize| format!("{count} repetition{}", if count == 1 { "" } else { "s" });
    match counts.first() {
        None => "Nobody was measured".to_owned(),
        Some((_, count)) if counts.iter().all(|(_, other)| other == count) => plural(*count),
        Some(_) => {
            let each = counts.iter().map(|(subject, count)| format!("{subject} {count}"));
            format!("Repetitions: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The largest share of the machine that strangers took, if it is worth telling.
fn strangers(cells: &BTreeMap<Subject, Cell>) -> Option<String> {
    let (subject, cell) = cells
        .iter()
        .max_by(|(_, one), (_, other)| one.strangers_max.total_cmp(&other.strangers_max))?;
    (cell.strangers_max > STRANGERS_MAX).then(|| {
        format!(
            "Others took up to {:.0} % of the machine ({subject}).",
            cell.strangers_max * 100.0
        )
    })
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
    let (times, title) = (repetitions_of(cells), row.title);
    let _ = write!(page, "### {}\n\n{title}. {times}.\n\n|", row.name);
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
    if let Some(strangers) = strangers(cells) {
        let _ = writeln!(page, "{strangers}\n");
    }
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
        let (times, title) = (repetitions_of(cells), row.title);
        let _ = writeln!(lines, "\n{}: {title}. {times}.", row.name);
        if let Some(strangers) = strangers(cells) {
            let _ = writeln!(lines, "  {strangers}");
        }
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
        let page = markdown(&some_results(), "");
        assert!(
            page.contains("| MB/s | 300<br>0.938 of ceiling, 2.00 of Kafka |"),
            "{page}"
        );
        let verdict = "| G4 | gracchus-durable | produce-200-all: MB/s | kafka | 2.00 | at least 1.8 | at least 2 | met |";
        assert!(page.contains(verdict), "{page}");
        assert!(page.contains("tansu: it does not serve this."), "{page}");
        assert!(page.contains("not measured"));
        assert!(!page.contains("falls short"));
    }

    #[test]
    fn a_page_says_how_often_each_row_was_measured() {
        let sample = |row: &str, broker, repetition| {
            let figures = Figures::from([("MB/s".to_owned(), 5.0)]);
            Sample::new(row, broker, repetition, Ok((figures, 0.0)))
        };
        let (ours, kafka) = (Subject::GracchusDurable, Subject::Kafka);
        let page = |samples: &[Sample]| markdown(&results::collect(samples), "");
        let mut samples = vec![sample("backlog", ours, 1)];
        let once = page(&samples);
        assert!(once.contains("Each row was measured once") && once.contains(". 1 repetition.\n"));
        assert!(!once.contains("edian"), "{once}");
        samples.push(sample("backlog", ours, 2));
        let twice = page(&samples);
        assert!(
            twice.contains("A cell is the median of 2 repetitions") && twice.contains(". 2 repetitions.\n")
        );
        samples.push(sample("backlog", kafka, 1));
        let mixed = page(&samples);
        assert!(mixed.contains("There are 1 to 2 repetitions"), "{mixed}");
        assert!(
            mixed.contains("Repetitions: gracchus-durable 2, kafka 1.\n"),
            "{mixed}"
        );
    }

    #[test]
    fn what_strangers_took_is_told_when_it_is_much() {
        let sample = |strangers| {
            let figures = Figures::from([("MB/s".to_owned(), 5.0)]);
            Sample::new("backlog", Subject::Kafka, 1, Ok((figures, strangers)))
        };
        let page = |strangers| markdown(&results::collect(&[sample(strangers)]), "");
        assert!(page(0.124).contains("Others took up to 12 % of the machine (kafka)."));
        assert!(!page(0.04).contains("Others took"));
    }

    #[test]
    fn what_falls_short_stands_behind_the_goals_as_it_was_written() {
        let page = markdown(&some_results(), "- G9: the *disk*.\n");
        let section = "|\n\n## What falls short, and why\n\n- G9: the *disk*.\n\n## Row by row";
        assert!(page.contains(section), "{page}");
    }

    #[test]
    fn a_page_without_a_text_on_what_falls_short_is_written_too() {
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("performance.md");
        fs::create_dir(dir.path().join("performance")).unwrap();
        let text = serde_json::to_string(&some_results()).unwrap();
        fs::write(results::path(&page), text).unwrap();
        write(&page).unwrap();
        assert!(!fs::read_to_string(&page).unwrap().contains("falls short"));
        fs::write(dir.path().join("performance").join(SHORTFALLS), "Much.").unwrap();
        write(&page).unwrap();
        assert!(fs::read_to_string(&page).unwrap().contains("\nMuch.\n"));
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

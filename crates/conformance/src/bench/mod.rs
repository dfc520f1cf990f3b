//! The benchmark: every broker under the same workloads in one run, interleaved, and what came of the goals.
//!
//! A turn is one broker on a fresh directory: it warms up, and takes the rows one after the other, each on a topic of its
//! own that is deleted before the next. Each measured sample goes at once into a ledger, so that a run may be cut
//! anywhere and goes on where it stopped. Load and ceiling come from the workspace `bench/`.

mod goals;
mod java;
mod ledger;
mod mixed;
mod plot;
mod process;
mod report;
mod results;
mod rows;
mod session;
mod solo;
mod subject;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use regex::Regex;

use ledger::{Figures, Ledger, Sample};
use rows::{ROWS, Row, Work};
use session::Session;
use subject::Subject;

/// A sample during which strangers took more of the machine than this share is measured again, twice at most.
const STRANGERS_MAX: f64 = 0.05;
const ATTEMPTS_MAX: u32 = 3;
/// More than one row of one broker needs.
const TOUCHED_BYTES: usize = 2 << 30;

/// What is measured, and what is written.
#[derive(Args)]
pub(crate) struct Options {
    /// Only rows whose name matches.
    #[arg(long, default_value = ".", value_name = "REGEX")]
    only: Regex,
    /// Which brokers, separated by commas: gracchus-durable, gracchus-pagecache, ceiling, ceiling-durable, kafka,
    /// kafka-flush, tansu.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    brokers: Vec<Subject>,
    /// Samples of each row and broker.
    #[arg(long, default_value_t = 5)]
    repetitions: u32,
    /// Begin no turn after so many minutes; the next run goes on.
    #[arg(long)]
    minutes: Option<u64>,
    /// Where samples are kept.
    #[arg(long, default_value = "campaigns/bench.jsonl", value_name = "FILE")]
    ledger: PathBuf,
    /// Neither read nor write the ledger, and measure nothing twice: a look at where things stand.
    #[arg(long)]
    quick: bool,
    /// Where `load` and `ceiling` are.
    #[arg(long, default_value = "bench/target/release", value_name = "DIR")]
    tools: PathBuf,
    /// Measure nothing; make the result file from the ledger.
    #[arg(long)]
    publish: bool,
    /// Measure nothing; make the page and its plots from the result file.
    #[arg(long)]
    report: bool,
    /// The page; results and plots are in the folder of its name beside it.
    #[arg(long, default_value = "docs/performance.md", value_name = "FILE")]
    page: PathBuf,
}

/// What a run needs to start brokers and loads.
struct Bench {
    binary: PathBuf,
    tools: PathBuf,
    home: PathBuf,
    /// How often a sample is taken at most when strangers disturb it.
    attempts_max: u32,
}

/// Measures, publishes or reports.
pub(crate) fn run(binary: &Path, work: &Path, options: &Options) -> Result<bool> {
    if options.report {
        return report::write(&options.page).map(|()| true);
    }
    std::fs::create_dir_all(work)?;
    let bench = Bench {
        binary: binary.to_owned(),
        tools: options.tools.clone(),
        home: work.canonicalize()?.join("bench"),
        attempts_max: if options.quick { 1 } else { ATTEMPTS_MAX },
    };
    let binaries = [
        binary.to_owned(),
        options.tools.join("ceiling"),
        options.tools.join("load"),
    ];
    let mut ledger = Ledger::open(&options.ledger, &binaries, options.quick)?;
    if !options.publish {
        let finished = measure(&bench, options, &mut ledger)?;
        print!("{}", report::text(&results::collect(ledger.samples())));
        return Ok(finished);
    }
    results::publish(&bench, ledger.samples(), &options.page)?;
    report::write(&options.page).map(|()| true)
}

/// All turns that are left; whether everything was measured.
fn measure(bench: &Bench, options: &Options, ledger: &mut Ledger) -> Result<bool> {
    let begin = Instant::now();
    let chosen = |subject: &Subject| options.brokers.is_empty() || options.brokers.contains(subject);
    let subjects: Vec<Subject> = Subject::ALL.into_iter().filter(chosen).collect();
    let rows: Vec<&Row> = ROWS
        .iter()
        .filter(|row| options.only.is_match(row.name))
        .collect();
    if rows.is_empty() {
        let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        bail!("no such row; there are {}", names.join(", "));
    }
    let mut all_well = true;
    let mut is_first = true;
    for repetition in 1..=options.repetitions {
        for subject in &in_order(&subjects, repetition) {
            let left: Vec<&Row> = rows
                .iter()
                .copied()
                .filter(|row| row.concerns(*subject) && repetition <= row.repetitions_max())
                .filter(|row| !ledger.has(row.name, *subject, repetition, subject.refuses(row)))
                .collect();
            if left.is_empty() {
                continue;
            }
            if options
                .minutes
                .is_some_and(|most| begin.elapsed() > Duration::from_secs(most * 60))
            {
                println!("the time is up; the next run goes on with repetition {repetition} of {subject}");
                return Ok(false);
            }
            if std::mem::take(&mut is_first) {
                touch_memory();
            }
            all_well &= turn(bench, *subject, repetition, &left, ledger)?;
        }
    }
    Ok(all_well)
}

/// Who comes after whom in a repetition: another one begins each time, so that nobody always finds the machine rested.
fn in_order(subjects: &[Subject], repetition: u32) -> Vec<Subject> {
    let mut order = subjects.to_vec();
    order.rotate_left((repetition as usize).saturating_sub(1) % subjects.len().max(1));
    order
}

/// Has the host back memory before the first turn needs it: a page that it has not backed costs several times more.
fn touch_memory() {
    drop(std::hint::black_box(vec![1_u8; TOUCHED_BYTES]));
}

/// One broker takes the rows that are left to it; whether all of them could be measured.
fn turn(
    bench: &Bench,
    subject: Subject,
    repetition: u32,
    rows: &[&Row],
    ledger: &mut Ledger,
) -> Result<bool> {
    let (solo, shared): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.is_solo());
    let mut all_well = true;
    let mut note = |row: &Row, outcome: Result<(Figures, f64)>| -> Result<()> {
        let sample = Sample::new(row.name, subject, repetition, outcome);
        all_well &= sample.note.as_deref() == subject.refuses(row);
        println!("{sample}");
        ledger.append(sample)
    };
    if !shared.is_empty() {
        let mut session = start_warm(bench, subject)?;
        for row in shared {
            if let Some(reason) = subject.refuses(row) {
                note(row, Err(anyhow::anyhow!("{reason}")))?;
                continue;
            }
            let outcome = quietly(bench, || session.measure(row));
            note(row, outcome)?;
            if !session.is_alive() {
                session = start_warm(bench, subject)?;
            }
        }
        session.end()?;
    }
    for row in solo {
        let Work::Solo(work) = row.work else {
            continue;
        };
        note(row, quietly(bench, || work(bench, subject)))?;
    }
    Ok(all_well)
}

fn start_warm(bench: &Bench, subject: Subject) -> Result<Session<'_>> {
    let running = subject
        .start(bench, &[])
        .with_context(|| format!("starting {subject}"))?;
    session::warm_up(bench, running, subject.warm_up_records())
}

/// A measurement, repeated while strangers disturb it; with the share that strangers took in the one that counts.
fn quietly(bench: &Bench, mut measurement: impl FnMut() -> Result<Figures>) -> Result<(Figures, f64)> {
    let mut best: Option<(Figures, f64)> = None;
    for _ in 0..bench.attempts_max {
        let before = process::Machine::now()?;
        let figures = measurement()?;
        let strangers = process::Machine::now()?.strangers_since(&before);
        if best.as_ref().is_none_or(|(_, least)| strangers < *least) {
            best = Some((figures, strangers));
        }
        if strangers <= STRANGERS_MAX {
            break;
        }
    }
    best.context("at least one attempt was made")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_repetition_begins_with_another_broker() {
        let all = [Subject::GracchusDurable, Subject::Ceiling, Subject::Kafka];
        let firsts: Vec<Subject> = (1..=4).map(|repetition| in_order(&all, repetition)[0]).collect();
        assert_eq!(
            firsts,
            [
                Subject::GracchusDurable,
                Subject::Ceiling,
                Subject::Kafka,
                Subject::GracchusDurable
            ]
        );
        assert_eq!(
            in_order(&all, 2),
            [Subject::Ceiling, Subject::Kafka, Subject::GracchusDurable]
        );
        assert!(in_order(&[], 2).is_empty());
    }
}

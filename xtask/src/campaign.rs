//! Campaigns: long runs that find what tests do not, each resumable.

use crate::run::{cargo, output, root, run};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Foreign clients (`suites`), faults (`crash`) or figures (`measure`) for the release build of the binary.
pub(crate) fn conformance(campaign: &str, arguments: &[String]) -> Result<()> {
    run(&mut cargo(
        "build --release --locked --package gracchus-cli --package gracchus-conformance",
    ))?;
    run(
        cargo("run --quiet --release --locked --package gracchus-conformance --")
            .arg(campaign)
            .arg("--binary")
            .arg(target_dir().join("release/gracchus"))
            .args(arguments),
    )
}

/// The deterministic node by seeds. A planted fault takes a build of its own.
pub(crate) fn sim(arguments: &[String]) -> Result<()> {
    let mut command = cargo("run --quiet --release --locked --package gracchus-sim");
    if arguments.iter().any(|word| word == "--plant") {
        command.args(["--features", "planted-bugs"]);
    }
    run(command.arg("--").args(arguments))
}

/// Executions of a target when nothing else is asked for.
const RUNS: u64 = 1_000_000;
/// Executions between two rows of the ledger: what an interruption can cost.
const SLICE: u64 = 250_000;

/// Every fuzz target, or those named, each up to its number of executions over all campaigns so far.
pub(crate) fn fuzz(arguments: &[String]) -> Result<()> {
    let mut runs = RUNS;
    let mut chosen = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--runs" => {
                runs = words
                    .next()
                    .and_then(|n| n.parse().ok())
                    .context("--runs needs a number")?
            }
            target => chosen.push(target.to_owned()),
        }
    }
    let all = fuzz_targets()?;
    if let Some(stranger) = chosen.iter().find(|target| !all.contains(target)) {
        bail!("no fuzz target {stranger}; there are {}", all.join(", "));
    }
    let ledger = Ledger::open()?;
    if !root().join("fuzz/corpus").exists() {
        run(nightly("run --quiet --bin seeds").current_dir(root().join("fuzz")))?;
    }
    for target in if chosen.is_empty() { &all } else { &chosen } {
        let mut done = ledger.executions()?.get(target).copied().unwrap_or(0);
        while done < runs {
            let slice = SLICE.min(runs - done);
            let result = fuzz_slice(target, slice, done);
            let word = if result.is_ok() { "clean" } else { "found" };
            ledger.append(target, slice, word)?;
            result.with_context(|| format!("{target} found something: see fuzz/artifacts/{target}"))?;
            done += slice;
        }
        println!("{target}: {done} executions, clean");
    }
    Ok(())
}

fn fuzz_targets() -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets")).context("no fuzz targets")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        targets.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    targets.sort();
    Ok(targets)
}

/// One slice: no panic, no more than 256 MiB, no input that takes a second.
fn fuzz_slice(target: &str, runs: u64, seed: u64) -> Result<()> {
    run(nightly("fuzz run")
        .arg(target)
        .arg("--")
        // What is freed goes back soon, or the sanitizer's own store would count as ours.
        .env("ASAN_OPTIONS", "quarantine_size_mb=16")
        .args([
            "-rss_limit_mb=256",
            "-malloc_limit_mb=256",
            "-timeout=1",
            "-print_final_stats=1",
        ])
        .arg(format!("-runs={runs}"))
        .arg(format!("-seed={}", seed % 1_000_000_007 + 1)))
}

/// A cargo of the nightly toolchain: called by its plain name, so that `+nightly` reaches rustup.
fn nightly(arguments: &str) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(root())
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .arg("+nightly")
        .args(arguments.split_whitespace());
    command
}

/// `campaigns/fuzz.tsv`: one row a slice, so that a campaign goes on where the last one stopped.
struct Ledger {
    path: PathBuf,
}

impl Ledger {
    fn open() -> Result<Ledger> {
        let folder = root().join("campaigns");
        fs::create_dir_all(&folder)?;
        Ok(Ledger {
            path: folder.join("fuzz.tsv"),
        })
    }

    fn executions(&self) -> Result<BTreeMap<String, u64>> {
        Ok(executions(&fs::read_to_string(&self.path).unwrap_or_default()))
    }

    fn append(&self, target: &str, runs: u64, result: &str) -> Result<()> {
        let commit = output(
            Command::new("git")
                .current_dir(root())
                .args(["rev-parse", "--short", "HEAD"]),
        )?;
        let mut file = fs::File::options().append(true).create(true).open(&self.path)?;
        writeln!(file, "{target}\t{runs}\t{result}\t{}", commit.trim())?;
        Ok(())
    }
}

/// The clean executions of each target.
fn executions(ledger: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in ledger.lines() {
        let mut fields = line.split('\t');
        if let (Some(target), Some(runs), Some("clean")) = (fields.next(), fields.next(), fields.next()) {
            *sums.entry(target.to_owned()).or_insert(0) += runs.parse::<u64>().unwrap_or(0);
        }
    }
    sums
}

/// Where cargo builds.
fn target_dir() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::run::root().join("target"), Into::into)
}

#[cfg(test)]
mod tests {
    use super::executions;

    #[test]
    fn a_ledger_adds_up_what_was_clean() {
        let sums = executions(
            "frame\t10\tclean\tabc\nbatch\t5\tclean\tabc\nframe\t7\tfound\tabc\nframe\t1\tclean\tdef\n",
        );
        assert_eq!(
            sums.into_iter().collect::<Vec<_>>(),
            [("batch".to_owned(), 5), ("frame".to_owned(), 11)]
        );
    }
}

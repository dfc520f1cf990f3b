//! Campaigns: long runs that find what tests do not, each resumable, each with a row in its ledger.

use crate::ledger::Ledger;
use crate::run::{cargo, root, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::Command;

/// Foreign clients (`suites`, `interop`) or faults (`crash`) for the release build of the binary.
pub(crate) fn conformance(campaign: &str, arguments: &[String]) -> Result<()> {
    run(&mut cargo(
        "build --release --locked --package gracchus-cli --package gracchus-conformance",
    ))?;
    // Run as built: `cargo run` for one package would build its dependencies once more, with other features.
    let mut command = Command::new(target_dir().join("release/conformance"));
    command
        .current_dir(root())
        .arg(campaign)
        .arg("--binary")
        .arg(target_dir().join("release/gracchus"))
        .args(arguments);
    let ledger = if campaign == "suites" {
        "conformance"
    } else {
        campaign
    };
    Ledger::open(ledger)?.run(&mut command, arguments)
}

/// The benchmark: builds what is measured and what measures, unless the arguments bring it along.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    let brings = |flag: &str| arguments.iter().any(|word| word.split('=').next() == Some(flag));
    let mut command = cargo("run --quiet --release --locked --package gracchus-conformance -- bench");
    if !brings("--report") && !brings("--binary") {
        run(&mut cargo("build --release --locked --package gracchus-cli"))?;
        command.arg("--binary").arg(target_dir().join("release/gracchus"));
    }
    if !brings("--report") && !brings("--tools") {
        run(cargo("build --release --locked").current_dir(root().join("bench")))?;
        let tools =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("bench/target"), Into::into);
        command.arg("--tools").arg(tools.join("release"));
    }
    run(command.args(arguments))
}

/// What requests cost, counted under callgrind, beside the committed counts.
pub(crate) fn counts(arguments: &[String]) -> Result<()> {
    run(&mut cargo(
        "build --profile counts --locked --package gracchus-cli --package gracchus-conformance",
    ))?;
    let built = target_dir().join("counts");
    run(Command::new(built.join("conformance"))
        .arg("--binary")
        .arg(built.join("gracchus"))
        .arg("--work")
        .arg(target_dir().join("conformance"))
        .args(["counts", "--baseline"])
        .arg(root().join("crates/conformance/counts.tsv"))
        .args(arguments))
}

/// The deterministic node by seeds. A planted fault takes a build of its own.
pub(crate) fn sim(arguments: &[String]) -> Result<()> {
    let mut build = cargo("build --release --locked --package gracchus-sim");
    if arguments.iter().any(|word| word == "--plant") {
        build.args(["--features", "planted-bugs"]);
    }
    run(&mut build)?;
    let mut command = Command::new(target_dir().join("release/gracchus-sim"));
    Ledger::open("sim")?.run(command.current_dir(root()).args(arguments), arguments)
}

/// Executions of a target when nothing else is asked for.
const RUNS: u64 = 1_000_000;
/// Executions between two rows of the ledger: what an interruption can cost.
const SLICE: u64 = 250_000;

/// Every fuzz target, or those named, each up to its number of executions in this tree.
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
    let ledger = Ledger::open("fuzz")?;
    if !root().join("fuzz/corpus").exists() {
        run(nightly("run --quiet --bin seeds").current_dir(root().join("fuzz")))?;
    }
    for target in if chosen.is_empty() { &all } else { &chosen } {
        let mut done = ledger.executions(target);
        while done < runs {
            let slice = SLICE.min(runs - done);
            let result = fuzz_slice(target, slice, done);
            ledger.note(target, result.is_ok(), &slice.to_string())?;
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

/// One slice: no panic, no more than 256 MiB, no input that takes five seconds: on a busy machine one may pass unused.
fn fuzz_slice(target: &str, runs: u64, seed: u64) -> Result<()> {
    run(nightly("fuzz run")
        .arg(target)
        .arg("--")
        // What is freed goes back soon, or the sanitizer's own store would count as ours; and a third of the time went into
        // remembering who allocated: an artifact run by itself tells.
        .env("ASAN_OPTIONS", "quarantine_size_mb=16:malloc_context_size=1")
        .args([
            "-rss_limit_mb=256",
            "-malloc_limit_mb=256",
            "-timeout=5",
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

/// Where cargo builds.
fn target_dir() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::run::root().join("target"), Into::into)
}

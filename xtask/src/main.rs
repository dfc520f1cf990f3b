//! The chores of the house: `cargo xtask` lists them.
//!
//! `verify` is the one that says whether a change is fit to land; it writes nothing into the tree. Whatever it finds,
//! `fix` repairs where a machine can.

mod campaign;
mod docs;
mod ledger;
mod run;
mod tidy;
mod verify;

use anyhow::{Result, bail};
use std::process::ExitCode;

const HELP: &str = "cargo xtask CHORE

  verify                  tidy, fmt, clippy, tests, doc, deny, generated docs, counts; writes nothing
  fix                     what of that a machine can repair: fmt, clippy --fix, generated docs
  tidy                    layers, sizes, budgets, the index of ARCHITECTURE.md, the opening of files
  docs [--check]          writes docs/generated from the binary's own tables, or says whether it is current

  conformance [ARGS..]    foreign clients against the built binary; ARGS go to its `suites`
  crash [ARGS..]          kill -9 and power cuts under load; ARGS go to its `crash`
  interop                 one data directory, Apache Kafka and us in turns; Kafka's kafka-dump-log over our files
  bench [ARGS..]          every broker under the same workloads, and docs/performance.md; ARGS go to its `bench`:
                          [--only REGEX] [--brokers LIST] [--repetitions N] [--minutes N] [--quick] [--publish] [--report]
  counts [--write]        instructions, system calls and allocations a request beside the committed counts; needs valgrind
  sim [ARGS..]            the deterministic node by seeds; ARGS go to the simulator
  fuzz [--runs N] [TARGET..]
                          fuzz campaign up to N executions a target (default 1,000,000) of this commit

Campaigns (crash, interop, conformance, sim, fuzz) note what they found in campaigns/NAME.tsv. What their ARGS are say
`target/release/conformance CHORE --help` and `target/release/gracchus-sim --help`, once built. The first run of a chore
builds what it needs, optimized: minutes on two cores.
";

fn main() -> ExitCode {
    match chore() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // On one line: the causes, without a backtrace that says nothing of the tree.
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn chore() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (chore, rest) = match arguments.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    match (chore, rest) {
        ("help" | "--help" | "-h", _) => {
            print!("{HELP}");
            Ok(())
        }
        // Nothing is built, run or noted for somebody who asks what there is.
        (_, rest) if rest.iter().any(|word| word == "--help" || word == "-h") => {
            print!("{HELP}");
            Ok(())
        }
        ("verify", []) => verify::verify(),
        ("fix", []) => verify::fix(),
        ("tidy", []) => tidy::tidy(&run::root()),
        ("docs", []) => docs::write(),
        ("docs", [check]) if check == "--check" => docs::check(),
        ("conformance", rest) => campaign::conformance("suites", rest),
        ("crash", rest) => campaign::conformance("crash", rest),
        ("interop", rest) => campaign::conformance("interop", rest),
        ("bench", rest) => campaign::bench(rest),
        ("counts", rest) => campaign::counts(rest),
        ("sim", rest) => campaign::sim(rest),
        ("fuzz", rest) => campaign::fuzz(rest),
        _ => bail!("no such chore: {}\n\n{HELP}", arguments.join(" ")),
    }
}

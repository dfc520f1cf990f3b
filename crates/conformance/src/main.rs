//! Judges the built binary from outside: by clients nobody here wrote, by killing it and cutting its power, and by
//! measuring it beside other brokers.
//!
//! Nothing here links the broker: what is measured is what a user runs. `cargo xtask conformance` and
//! `cargo xtask crash` build the binary and call this program.

mod bench;
mod counts;
mod crash;
mod interop;
mod node;
mod suites;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Judges a built `gracchus` from outside.
#[derive(Parser)]
struct Arguments {
    /// The binary to judge.
    #[arg(
        long,
        global = true,
        default_value = "target/release/gracchus",
        value_name = "PATH"
    )]
    binary: PathBuf,
    /// Where the runs keep their data and logs.
    #[arg(long, global = true, default_value = "target/conformance", value_name = "DIR")]
    work: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the suites of foreign clients and compare each test with what Apache Kafka scores.
    Suites(suites::Options),
    /// Kill the broker and cut its power under load, and check that nothing acknowledged is lost.
    Crash(crash::Options),
    /// Pass a data directory between us and Apache Kafka, and let Kafka's kafka-dump-log read ours.
    Interop,
    /// Measure brokers under the same workloads in one run, and render what came of it.
    Bench(bench::Options),
    /// Count what requests cost under callgrind, and compare with the committed counts.
    Counts(counts::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Suites(options) => suites::run(&arguments.binary, &arguments.work, options),
        Command::Crash(options) => crash::run(&arguments.binary, &arguments.work, options),
        Command::Interop => interop::run(&arguments.binary, &arguments.work),
        Command::Bench(options) => bench::run(&arguments.binary, &arguments.work, options),
        Command::Counts(options) => counts::run(&arguments.binary, &arguments.work, options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

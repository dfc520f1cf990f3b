//! The binary `gracchus`: the server and every tool, a subcommand each.
//!
//! Called by the name of one of Apache Kafka's scripts (by a link, or as the first argument) it takes that script's
//! flags and prints what that script prints.

use std::process::ExitCode;

mod args;
mod commands;
mod failure;
mod log_dump;
mod output;
mod perf;
mod reference;
mod scripts;
mod signals;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    match scripts::Invocation::of(&arguments) {
        Some(invocation) => invocation.run(),
        None => args::run(&arguments),
    }
}

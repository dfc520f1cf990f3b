//! Running other programs, cargo above all.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// A cargo command in the workspace.
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root()).args(arguments.split_whitespace());
    command
}

/// Runs a command to its end, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!("{} ended with {}", shown(command), output.status);
    }
    String::from_utf8(output.stdout).context("its output is not UTF-8")
}

fn shown(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    format!("{} {}", command.get_program().display(), words.join(" "))
}

/// Runs one step of a chore under a heading, and says how long it took.
pub(crate) fn step(name: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("== {name}");
    let start = Instant::now();
    body().with_context(|| format!("{name} failed"))?;
    eprintln!("== {name}: fine after {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a program is there to be run.
pub(crate) fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether cargo has a subcommand of that name.
pub(crate) fn has_subcommand(name: &str) -> bool {
    cargo(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

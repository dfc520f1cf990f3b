//! `kafka-server-start` and `kafka-storage`: the same flags as this program's own commands, which run.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use clap::Parser;

use crate::commands::server::{self, ServerArgs};
use crate::commands::storage::{self, StorageCommand};
use crate::failure;

/// Runs a node as Kafka's script does.
#[derive(Debug, Parser)]
#[command(name = "kafka-server-start")]
struct ServerStart {
    #[command(flatten)]
    args: ServerArgs,
}

/// Formats data directories as Kafka's script does.
#[derive(Debug, Parser)]
#[command(name = "kafka-storage")]
struct Storage {
    #[command(subcommand)]
    command: StorageCommand,
}

/// Parses arguments; mistakes are reported, with the exit code of a script.
fn parse<P: Parser>(name: &str, arguments: &[String]) -> Result<P, ExitCode> {
    let line = std::iter::once(name.to_owned()).chain(arguments.iter().cloned());
    let parsed = P::command()
        .disable_version_flag(true)
        .try_get_matches_from(line)
        .and_then(|matches| P::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let _ = error.print();
        if error.use_stderr() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    })
}

pub(super) fn storage(arguments: &[String]) -> ExitCode {
    match parse::<Storage>("kafka-storage", arguments) {
        Ok(script) => failure::exit_code(storage::run(script.command)),
        Err(code) => code,
    }
}

pub(super) fn server_start(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|argument| argument == "--version") {
        println!("4.3.1 (gracchus {})", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    // Flags of the shell script, which come before the file: names and garbage collection are the JVM's matter.
    let mut rest = arguments;
    let mut is_daemon = false;
    loop {
        rest = match rest {
            [flag, rest @ ..] if flag == "-daemon" => {
                is_daemon = true;
                rest
            }
            [flag, _, rest @ ..] if flag == "-name" => rest,
            [flag, rest @ ..] if flag == "-loggc" => rest,
            _ => break,
        };
    }
    match parse::<ServerStart>("kafka-server-start", rest) {
        Ok(_) if is_daemon => failure::exit_code(start_daemon(rest)),
        Ok(script) => failure::exit_code(server::run(&script.args)),
        Err(code) => code,
    }
}

/// Starts a node that goes on by itself; its output goes to `$LOG_DIR/kafkaServer.out`, or `./logs`.
fn start_daemon(arguments: &[String]) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt as _;

    let folder = std::env::var_os("LOG_DIR").map_or_else(|| PathBuf::from("logs"), PathBuf::from);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join("kafkaServer.out");
    let out = std::fs::File::create(&path).with_context(|| path.display().to_string())?;
    Command::new(std::env::current_exe()?)
        .arg("server")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .process_group(0)
        .spawn()?;
    Ok(())
}

//! How a command that failed ends: one line on the error output that says what to do, and an exit code.

use std::io;
use std::process::ExitCode;

use model::ErrorCode;

/// Mistakes of the one who called: clap's code for them.
const USAGE: u8 = 2;

/// A command that was called the wrong way, in a manner that the parser cannot see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// An error with the exit code it stands for; already reported.
#[derive(Debug, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Exit(pub(crate) u8);

/// The exit code of a command; reports its error. A reader that went away (`| head`) is no error.
pub(crate) fn exit_code(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if let Some(Exit(code)) = error.downcast_ref() {
        return ExitCode::from(*code);
    }
    eprintln!("error: {error:#}");
    if let Some(hint) = hint(&error) {
        eprintln!("  hint: {hint}");
    }
    ExitCode::from(if error.is::<Usage>() { USAGE } else { 1 })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io_error = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// What to try, where the error itself does not say.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    let client_error = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<client::ClientError>())?;
    if matches!(client_error, client::ClientError::Unreachable(_)) {
        return Some("`gracchus dev` starts a broker; -b names another one");
    }
    if matches!(client_error, client::ClientError::UnsupportedApi { .. }) {
        return Some("Gracchus does not serve it yet in this version; README.md says what works");
    }
    match client_error.code()? {
        ErrorCode::UnknownTopicOrPartition => Some("`gracchus topic list` names the topics there are"),
        ErrorCode::TopicAlreadyExists => Some("--if-not-exists takes an existing topic for success"),
        ErrorCode::NonEmptyGroup => Some("stop the members of the group first"),
        ErrorCode::InvalidReplicationFactor => Some("a cluster holds no more copies than it has brokers"),
        ErrorCode::UnknownMemberId | ErrorCode::RebalanceInProgress => {
            Some("offsets of a group can be set only while it has no members")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_is_found_under_any_context() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("writing");
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("other")));
    }
}

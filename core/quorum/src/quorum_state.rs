//! The file `quorum-state`: the epoch this node leads in, durable before anything is written in it (rule 89).

use std::path::Path;

use model::{LeaderEpoch, Uuid};
use storage::Disk;

use crate::error::OpenError;

pub(crate) const QUORUM_STATE: &str = "quorum-state";

/// Whether the voters stand in the configuration, or in the log itself (KIP-853).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `kraft.version` 0.
    Static,
    /// `kraft.version` 1.
    Dynamic,
}

/// The epoch in the file; 0 where there is none.
pub(crate) fn read_epoch(disk: &dyn Disk, dir: &Path) -> Result<LeaderEpoch, OpenError> {
    let path = dir.join(QUORUM_STATE);
    let Some(content) = disk.read_if_there(&path).map_err(crate::error::disk(&path))? else {
        return Ok(LeaderEpoch(0));
    };
    parse_epoch(&content).ok_or_else(|| OpenError::File {
        path,
        what: "it names no leaderEpoch; remove it when no other controller shares this quorum".to_owned(),
    })
}

/// Finds `"leaderEpoch":N` in the JSON that either form has.
fn parse_epoch(content: &[u8]) -> Option<LeaderEpoch> {
    let text = std::str::from_utf8(content).ok()?;
    let (_, rest) = text.split_once("\"leaderEpoch\"")?;
    let number = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = number.find(|letter: char| !letter.is_ascii_digit())?;
    number.get(..end)?.parse().ok().map(LeaderEpoch)
}

/// The file of a node that leads.
pub(crate) fn render(form: Form, node_id: i32, epoch: LeaderEpoch) -> String {
    match form {
        Form::Static => format!(
            "{{\"clusterId\":\"\",\"leaderId\":{node_id},\"leaderEpoch\":{epoch},\"votedId\":-1,\"appliedOffset\":0,\
             \"currentVoters\":[{{\"voterId\":{node_id}}}],\"data_version\":0}}"
        ),
        Form::Dynamic => format!(
            "{{\"leaderId\":{node_id},\"leaderEpoch\":{epoch},\"votedId\":-1,\"votedDirectoryId\":\"{}\",\
             \"data_version\":1}}",
            Uuid::ZERO
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_one_apache_kafka_writes() {
        let golden = "{\"clusterId\":\"\",\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\"appliedOffset\":0,\
                      \"currentVoters\":[{\"voterId\":1}],\"data_version\":0}";
        assert_eq!(render(Form::Static, 1, LeaderEpoch(1)), golden);
        let golden = "{\"leaderId\":1,\"leaderEpoch\":3,\"votedId\":-1,\
                      \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
        assert_eq!(render(Form::Dynamic, 1, LeaderEpoch(3)), golden);
    }

    #[test]
    fn the_epoch_is_found_in_either_form_and_in_nothing_else() {
        for form in [Form::Static, Form::Dynamic] {
            assert_eq!(
                parse_epoch(render(form, 7, LeaderEpoch(42)).as_bytes()),
                Some(LeaderEpoch(42))
            );
        }
        assert_eq!(parse_epoch(b"{ \"leaderEpoch\" : 5 }"), Some(LeaderEpoch(5)));
        for bad in [
            "",
            "{}",
            "{\"leaderEpoch\":-1}",
            "{\"leaderEpoch\":99999999999}",
            "{\"leaderEpoch\":1",
        ] {
            assert_eq!(parse_epoch(bad.as_bytes()), None, "{bad}");
        }
    }
}

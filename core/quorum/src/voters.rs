//! Who votes: as the configuration says, or as the log itself says (KIP-853).
//!
//! This version runs quorums of one. Any other set of voters is refused: leading alone what others may vote on would
//! split the cluster.

use metadata::batch::ControlRecord;
use model::Uuid;
use wire::internal::raft::{
    Endpoint, KRaftVersionFeature, KRaftVersionRecord, VotersRecord, VotersRecordVoter,
};

use crate::error::OpenError;
use crate::quorum_state::Form;

/// This node as a voter.
#[derive(Clone, Debug, PartialEq)]
pub struct Voter {
    /// `node.id`.
    pub id: i32,
    /// The `directory.id` of the directory with the metadata log.
    pub directory_id: Uuid,
    /// Where it listens as a controller.
    pub endpoints: Vec<Endpoint>,
}

impl Voter {
    /// The records that make this node the only voter.
    pub fn records(&self) -> [ControlRecord; 2] {
        let voter = VotersRecordVoter {
            voter_id: self.id,
            voter_directory_id: self.directory_id,
            endpoints: self.endpoints.clone(),
            kraft_version_feature: KRaftVersionFeature {
                min_supported_version: 0,
                max_supported_version: 1,
            },
        };
        [
            ControlRecord::KRaftVersion(KRaftVersionRecord {
                version: 0,
                kraft_version: 1,
            }),
            ControlRecord::Voters(VotersRecord {
                version: 0,
                voters: vec![voter],
            }),
        ]
    }
}

/// What the log says about the quorum so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    kraft_version: i16,
    voters: Option<VotersRecord>,
    /// Whether the voters stand in the log, not only in the snapshot that a format left.
    in_log: bool,
}

impl Known {
    /// Takes note of control records; those of the snapshot that a format left are not in the log yet.
    pub(crate) fn note(&mut self, records: &[ControlRecord], in_log: bool) {
        for record in records {
            match record {
                ControlRecord::KRaftVersion(record) => self.kraft_version = record.kraft_version,
                ControlRecord::Voters(record) => {
                    self.voters = Some(record.clone());
                    self.in_log = in_log;
                }
                ControlRecord::LeaderChange(_)
                | ControlRecord::SnapshotHeader(_)
                | ControlRecord::SnapshotFooter(_) => {}
            }
        }
    }

    pub(crate) fn kraft_version(&self) -> i16 {
        self.kraft_version
    }

    pub(crate) fn form(&self) -> Form {
        if self.kraft_version > 0 {
            Form::Dynamic
        } else {
            Form::Static
        }
    }

    /// The control records a snapshot carries on.
    pub(crate) fn records(&self) -> Vec<ControlRecord> {
        match &self.voters {
            Some(voters) if self.kraft_version > 0 => vec![
                ControlRecord::KRaftVersion(KRaftVersionRecord {
                    version: 0,
                    kraft_version: self.kraft_version,
                }),
                ControlRecord::Voters(voters.clone()),
            ],
            _ => Vec::new(),
        }
    }

    /// Whether this node is the one voter. With static voters the configuration says so, which its reader has checked.
    pub(crate) fn check(&self, me: &Voter, configured: bool) -> Result<(), OpenError> {
        let wrong = |text: String| Err(OpenError::Voters(text));
        if self.kraft_version > 1 {
            return wrong(format!(
                "the quorum uses kraft.version {}, this version knows 0 and 1",
                self.kraft_version
            ));
        }
        let Some(voters) = self.voters.as_ref().filter(|_| self.kraft_version > 0) else {
            let hint = "format the directory with --standalone, or set controller.quorum.voters=ID@HOST:PORT";
            return if configured {
                Ok(())
            } else {
                wrong(format!("this node has no quorum to belong to: {hint}"))
            };
        };
        match voters.voters.as_slice() {
            [only] if only.voter_id == me.id && only.voter_directory_id == me.directory_id => Ok(()),
            [only] => wrong(format!(
                "the one voter of this quorum is node {} with directory {}, but this is node {} with directory {}: check \
                 node.id and metadata.log.dir",
                only.voter_id, only.voter_directory_id, me.id, me.directory_id
            )),
            several => wrong(format!(
                "the quorum has {} voters, this version runs quorums of one: start this directory with Apache Kafka",
                several.len()
            )),
        }
    }

    /// What a leader tells about voters when its epoch begins: nothing when the log says it already.
    pub(crate) fn to_tell(&self, me: &Voter) -> Vec<ControlRecord> {
        let [_, mine] = me.records();
        let said = self.voters.clone().map(ControlRecord::Voters);
        if self.kraft_version == 0 || (self.in_log && said == Some(mine)) {
            return Vec::new();
        }
        me.records().to_vec()
    }
}

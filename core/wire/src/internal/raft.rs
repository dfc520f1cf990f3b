//! What a KRaft quorum writes beside its records: control records of the log and of snapshots, and the file
//! `quorum-state`.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Key of a control record, behind its two bytes of version.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0")]
pub struct ControlRecordTypeSchema {
    pub r#type: i16,
}

/// Value of the control record that ends a transaction in a partition.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0")]
pub struct EndTxnMarker {
    pub coordinator_epoch: i32,
}

/// Value of the control record that begins a leader's epoch.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct LeaderChangeMessage {
    pub version: i16,
    pub leader_id: i32,
    pub voters: Vec<LeaderChangeMessageVoter>,
    pub granting_voters: Vec<LeaderChangeMessageVoter>,
}

/// An element of [`LeaderChangeMessage::voters`] and [`LeaderChangeMessage::granting_voters`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct LeaderChangeMessageVoter {
    pub voter_id: i32,
    #[wire(versions = "1+")]
    pub voter_directory_id: Uuid,
}

/// Value of a snapshot's first record.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct SnapshotHeaderRecord {
    pub version: i16,
    pub last_contained_log_timestamp: i64,
}

/// Value of a snapshot's last record.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct SnapshotFooterRecord {
    pub version: i16,
}

/// Value of the control record that sets the quorum's version (KIP-853).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct KRaftVersionRecord {
    pub version: i16,
    pub kraft_version: i16,
}

/// Value of the control record that sets the quorum's voters (KIP-853).
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct VotersRecord {
    pub version: i16,
    pub voters: Vec<VotersRecordVoter>,
}

/// An element of [`VotersRecord::voters`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct VotersRecordVoter {
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub endpoints: Vec<Endpoint>,
    pub kraft_version_feature: KRaftVersionFeature,
}

/// An element of [`VotersRecordVoter::endpoints`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub name: Str,
    pub host: Str,
    pub port: u16,
}

/// The value of [`VotersRecordVoter::kraft_version_feature`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct KRaftVersionFeature {
    pub min_supported_version: i16,
    pub max_supported_version: i16,
}

/// The file `quorum-state`: epoch, leader and vote.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct QuorumStateData {
    #[wire(versions = "0")]
    pub cluster_id: Str,
    #[wire(default = -1)]
    pub leader_id: i32,
    #[wire(default = -1)]
    pub leader_epoch: i32,
    #[wire(default = -1)]
    pub voted_id: i32,
    #[wire(versions = "1+")]
    pub voted_directory_id: Uuid,
    #[wire(versions = "0")]
    pub applied_offset: i64,
    #[wire(versions = "0", default = Some(Vec::new()))]
    pub current_voters: Option<Vec<QuorumStateDataVoter>>,
}

/// An element of [`QuorumStateData::current_voters`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct QuorumStateDataVoter {
    pub voter_id: i32,
}

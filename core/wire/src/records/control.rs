//! Control records: the key says what kind, the value is that kind's message.

use super::cursor::Cursor;
use super::record::Record;

/// The kinds of control record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ControlRecordType {
    /// Ends a transaction: what it wrote is not to be read.
    Abort,
    /// Ends a transaction: what it wrote holds.
    Commit,
    /// A KRaft leader was elected.
    LeaderChange,
    /// Begins a snapshot.
    SnapshotHeader,
    /// Ends a snapshot.
    SnapshotFooter,
    /// The level of `kraft.version`.
    KRaftVersion,
    /// The voters of a KRaft quorum.
    KRaftVoters,
}

impl ControlRecordType {
    /// All kinds, in the order of their ids.
    pub const ALL: [ControlRecordType; 7] = [
        ControlRecordType::Abort,
        ControlRecordType::Commit,
        ControlRecordType::LeaderChange,
        ControlRecordType::SnapshotHeader,
        ControlRecordType::SnapshotFooter,
        ControlRecordType::KRaftVersion,
        ControlRecordType::KRaftVoters,
    ];

    /// The id in a key.
    pub fn id(self) -> i16 {
        self as i16
    }

    /// The key of such a record: version 0 and the id.
    pub fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }

    /// The kind that a key names; `None` for a key too short or a kind not known here, which a reader skips.
    pub fn from_key(key: &[u8]) -> Option<ControlRecordType> {
        let mut cursor = Cursor::new(key);
        // A newer version of the key keeps the first fields: they may be read (KIP-98).
        let version = cursor.i16().ok()?;
        let id = cursor.i16().ok()?;
        Self::ALL.into_iter().find(|kind| version >= 0 && kind.id() == id)
    }

    /// The kind of a record of a control batch.
    pub fn of(record: &Record) -> Option<ControlRecordType> {
        record.key.as_deref().and_then(Self::from_key)
    }
}

/// What ends a transaction in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTransactionMarker {
    /// [`ControlRecordType::Commit`] or [`ControlRecordType::Abort`].
    pub kind: ControlRecordType,
    /// The epoch of the coordinator that wrote it (rule 28).
    pub coordinator_epoch: i32,
}

impl EndTransactionMarker {
    /// Reads key and value; `None` when the key names another kind, or the value is not one of a marker.
    pub fn parse(key: &[u8], value: &[u8]) -> Option<EndTransactionMarker> {
        let kind = ControlRecordType::from_key(key)?;
        if !matches!(kind, ControlRecordType::Abort | ControlRecordType::Commit) {
            return None;
        }
        let mut cursor = Cursor::new(value);
        let version = cursor.i16().ok()?;
        let coordinator_epoch = cursor.i32().ok()?;
        (version >= 0).then_some(EndTransactionMarker {
            kind,
            coordinator_epoch,
        })
    }

    /// The value of the record: version 0 and the epoch.
    pub fn value(&self) -> [u8; 6] {
        let [a, b, c, d] = self.coordinator_epoch.to_be_bytes();
        [0, 0, a, b, c, d]
    }
}

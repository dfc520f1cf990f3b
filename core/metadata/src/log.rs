//! The one interface of the logs that can carry the metadata: a KRaft quorum, or an ensemble that orders and keeps
//! records for us.

use model::{LeaderEpoch, Offset};

use crate::image::{Image, LogPosition};
use crate::record::{MetadataRecord, RecordVersions};

/// A log of metadata, as the controller that leads it sees it.
///
/// The order of work: [`append`](MetadataLog::append) what was decided, one call per decision; apply it to an image that
/// nobody else sees; [`commit`](MetadataLog::commit); only then publish the image and answer (rules 86, 87). An error
/// ends the leadership: what was appended may or may not be committed, and nothing may be answered but that. The one
/// exception is an append for which there is no room, where the engine can tell: it has not happened.
pub trait MetadataLog: Send {
    /// What can go wrong.
    type Error: std::error::Error + Send + Sync + 'static;
    /// A snapshot to be written, on whatever thread: see [`MetadataLog::maintain`].
    type Snapshot: Send + 'static;

    /// The epoch this controller leads in.
    fn leader_epoch(&self) -> LeaderEpoch;

    /// The offset the next appended record gets: the epoch of a broker that registers with it (rule 81).
    fn next_offset(&self) -> Offset;

    /// Appends the records of one decision, so that all of them will count or none. Returns the position of the last.
    fn append(
        &mut self,
        records: &[MetadataRecord],
        versions: RecordVersions,
        now_ms: i64,
    ) -> Result<LogPosition, Self::Error>;

    /// Returns once everything appended is committed: on stable storage where the engine promises it.
    fn commit(&mut self) -> Result<(), Self::Error>;

    /// Upkeep, called after commits and now and then: removes what newer snapshots made superfluous, and asks for a
    /// snapshot of the committed image when it is time for one.
    fn maintain(&mut self, committed: &Image, now_ms: i64) -> Result<Option<Self::Snapshot>, Self::Error>;
}

//! A partition of `__consumer_offsets` as its coordinator sees it: a log to append to and to replay.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use coordinator::WriteError;
use model::Offset;
use replication::{AppendRefused, LeaderRefusal, ProduceOutcome};
use storage::{AppendError, Origin};

use crate::replicas::HostedPartition;

/// What becomes of an append, told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The high watermark has passed it.
    Committed,
    /// This broker does not lead the partition any more, or its disk has failed.
    Lost,
}

/// The log. Implemented by the hosted partition; a test has one of its own.
pub(super) trait OffsetsLog: Send + Sync {
    /// Appends one batch. `then` is called when its fate is known: at once on this thread, or on another.
    fn append(
        self: Arc<Self>,
        batch: &Bytes,
        wall_ms: i64,
        then: Box<dyn FnOnce(Fate) + Send>,
    ) -> Result<Offset, WriteError>;

    /// Everything below is committed.
    fn high_watermark(&self) -> Offset;

    /// The first offset, and the one after the last.
    fn bounds(&self) -> io::Result<(Offset, Offset)>;

    /// Whole batches from an offset on, about `max_bytes` of them. May wait for the disk.
    fn read(&self, from: Offset, max_bytes: usize) -> io::Result<Bytes>;
}

impl OffsetsLog for HostedPartition {
    fn append(
        self: Arc<Self>,
        batch: &Bytes,
        wall_ms: i64,
        then: Box<dyn FnOnce(Fate) + Send>,
    ) -> Result<Offset, WriteError> {
        let on_commit = move |outcome| {
            then(match outcome {
                // Rule 55 is for producers: the records are in the log of everyone in sync.
                ProduceOutcome::Replicated | ProduceOutcome::NotEnoughReplicas => Fate::Committed,
                ProduceOutcome::NotLeader | ProduceOutcome::Offline => Fate::Lost,
            });
        };
        let accepted = self.append_internal(batch, Origin::Coordinator, wall_ms, on_commit);
        accepted
            .map(|accepted| accepted.appended.first_offset)
            .map_err(|refused| write_error(&refused))
    }

    fn high_watermark(&self) -> Offset {
        HostedPartition::high_watermark(self).unwrap_or(Offset::ZERO)
    }

    fn bounds(&self) -> io::Result<(Offset, Offset)> {
        HostedPartition::bounds(self).ok_or_else(|| io::Error::other("the partition is gone"))
    }

    fn read(&self, from: Offset, max_bytes: usize) -> io::Result<Bytes> {
        self.read_log(from, max_bytes)
            .map_err(io::Error::other)?
            .records
            .to_bytes()
    }
}

/// What a refused append is to the groups.
fn write_error(refused: &AppendRefused) -> WriteError {
    match refused {
        AppendRefused::Leader(LeaderRefusal::Offline) => WriteError::Storage,
        AppendRefused::Leader(_) => WriteError::NotLeader,
        AppendRefused::NotEnoughReplicas { .. } => WriteError::NotEnoughReplicas,
        AppendRefused::Log(AppendError::TooLarge { .. } | AppendError::LargerThanSegment { .. }) => {
            WriteError::TooLarge
        }
        AppendRefused::Log(_) => WriteError::Storage,
    }
}

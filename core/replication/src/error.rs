//! Why a replica refuses: one enum per operation, each with the code a client is told.

use model::{ErrorCode, LeaderEpoch, Offset};
use storage::{AppendError, ReadError};

/// Why a replica does not act as the leader that the request takes it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaderRefusal {
    /// This broker does not lead the partition.
    #[error("this broker does not lead the partition")]
    NotLeader,
    /// The client knows an older leader (rule 61).
    #[error("leader epoch {asked} is older than the current {current}")]
    Fenced {
        /// The epoch in the request.
        asked: LeaderEpoch,
        /// The epoch here.
        current: LeaderEpoch,
    },
    /// The client knows a newer leader than this broker does (rule 61).
    #[error("leader epoch {asked} is newer than the current {current}")]
    Unknown {
        /// The epoch in the request.
        asked: LeaderEpoch,
        /// The epoch here.
        current: LeaderEpoch,
    },
    /// The disk under the log has failed (rule 107).
    #[error("the log directory of the partition is offline")]
    Offline,
}

impl LeaderRefusal {
    /// What the client is told.
    pub fn code(self) -> ErrorCode {
        match self {
            LeaderRefusal::NotLeader => ErrorCode::NotLeaderOrFollower,
            LeaderRefusal::Fenced { .. } => ErrorCode::FencedLeaderEpoch,
            LeaderRefusal::Unknown { .. } => ErrorCode::UnknownLeaderEpoch,
            LeaderRefusal::Offline => ErrorCode::KafkaStorageError,
        }
    }
}

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendRefused {
    /// Not the leader.
    #[error(transparent)]
    Leader(#[from] LeaderRefusal),
    /// acks=all with fewer replicas in sync than are needed (rule 54).
    #[error("{in_sync} replicas are in sync, {needed} are needed")]
    NotEnoughReplicas {
        /// Those in sync.
        in_sync: usize,
        /// Those needed.
        needed: usize,
    },
    /// The log refused.
    #[error(transparent)]
    Log(#[from] AppendError),
}

impl AppendRefused {
    /// What the client is told.
    pub fn code(&self) -> ErrorCode {
        match self {
            AppendRefused::Leader(refusal) => refusal.code(),
            AppendRefused::NotEnoughReplicas { .. } => ErrorCode::NotEnoughReplicas,
            AppendRefused::Log(error) => error.code(),
        }
    }
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchRefused {
    /// Not the leader.
    #[error(transparent)]
    Leader(#[from] LeaderRefusal),
    /// Before the log's start, after its end, or in an epoch the log knows nothing of (rule 64).
    #[error("offset {0} is not in the log")]
    OutOfRange(Offset),
    /// The log could not be read.
    #[error(transparent)]
    Log(ReadError),
}

impl FetchRefused {
    /// What the client is told.
    pub fn code(&self) -> ErrorCode {
        match self {
            FetchRefused::Leader(refusal) => refusal.code(),
            FetchRefused::OutOfRange(_) => ErrorCode::OffsetOutOfRange,
            FetchRefused::Log(error) => error.code(),
        }
    }
}

impl From<ReadError> for FetchRefused {
    fn from(error: ReadError) -> FetchRefused {
        match error {
            ReadError::OutOfRange { offset, .. } => FetchRefused::OutOfRange(offset),
            other => FetchRefused::Log(other),
        }
    }
}

/// Why an offset was not looked up.
#[derive(Debug, thiserror::Error)]
pub enum OffsetsRefused {
    /// Not the leader.
    #[error(transparent)]
    Leader(#[from] LeaderRefusal),
    /// The watermark has not reached the start of this leader's epoch: what is committed is not known yet (rule 39).
    #[error("the high watermark has not reached the start of this leader's epoch")]
    NotAvailable,
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] ReadError),
}

impl OffsetsRefused {
    /// What the client is told.
    pub fn code(&self) -> ErrorCode {
        match self {
            OffsetsRefused::Leader(refusal) => refusal.code(),
            OffsetsRefused::NotAvailable => ErrorCode::OffsetNotAvailable,
            OffsetsRefused::Log(error) => error.code(),
        }
    }
}

//! A committed offset and the question whether it is past its retention (KIP-211, rule 145).

use crate::record::OffsetCommit;

/// An offset that took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommittedOffset {
    /// What was committed.
    pub(crate) commit: OffsetCommit,
    /// Where its record stands in the partition: of two commits the later one counts.
    pub(crate) record_offset: i64,
}

/// Since when an offset's retention counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetentionFrom {
    /// Since the group had its last member.
    GroupEmptySince(i64),
    /// Since it was committed.
    Commit,
}

impl CommittedOffset {
    /// Whether the offset may be forgotten at `wall_ms`.
    pub(crate) fn is_expired(&self, from: RetentionFrom, retention_ms: i64, wall_ms: i64) -> bool {
        if let Some(expires_ms) = self.commit.expire_timestamp_ms {
            return wall_ms >= expires_ms;
        }
        let since_ms = match from {
            RetentionFrom::GroupEmptySince(empty_ms) => empty_ms,
            RetentionFrom::Commit => self.commit.commit_timestamp_ms,
        };
        wall_ms.saturating_sub(since_ms) >= retention_ms
    }
}

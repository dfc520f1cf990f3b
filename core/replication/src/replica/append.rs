//! Appending as the leader, and waiting for what was appended to be committed.

use bytes::Bytes;
use model::Offset;
use storage::{Appended, Origin};

use super::super::error::AppendRefused;
use super::super::waits::Woken;
use super::{Isolation, Replica};

/// When a produce is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Never: the client does not wait.
    None,
    /// When the leader has appended.
    Leader,
    /// When the records are committed.
    All,
}

impl Acks {
    /// Of the number in a request; `None` for one that has no meaning (rule 2).
    pub fn from_number(acks: i16) -> Option<Acks> {
        match acks {
            0 => Some(Acks::None),
            1 => Some(Acks::Leader),
            -1 => Some(Acks::All),
            _ => None,
        }
    }
}

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Where the records are.
    pub appended: Appended,
    /// The watermark at which they are committed: the offset after the last. For a duplicate as well (rule 21).
    pub required: Offset,
    /// Whether they are already.
    pub committed: bool,
    /// The first offset of the log.
    pub log_start_offset: Offset,
}

impl<P, F: Clone> Replica<P, F> {
    /// Appends one batch as the leader (rules 1 to 28), if enough replicas are in sync for `acks` (rule 54).
    pub fn append(
        &mut self,
        batches: &Bytes,
        origin: Origin,
        acks: Acks,
        now_ms: i64,
        woken: &mut Vec<Woken<P, F>>,
    ) -> Result<Accepted, AppendRefused> {
        let leading = self.leading(None)?;
        let (in_sync, needed) = (leading.at.in_sync, leading.needed(self.min_in_sync));
        if acks == Acks::All && in_sync < needed {
            return Err(AppendRefused::NotEnoughReplicas { in_sync, needed });
        }
        let leader_epoch = leading.at.leader_epoch;
        let appended = self.log.append_as_leader(batches, origin, leader_epoch, now_ms)?;
        let required = Offset(appended.last_offset.0.saturating_add(1));
        if !appended.duplicate {
            self.bytes.append(required, appended.bytes);
            let bytes = u64::try_from(appended.bytes).unwrap_or(u64::MAX);
            self.watches.notify(
                |isolation| (isolation == Isolation::LogEnd).then_some(bytes),
                woken,
            );
            self.advance(woken);
        }
        Ok(Accepted {
            appended,
            required,
            committed: self.high_watermark >= required,
            log_start_offset: self.log.log_start_offset(),
        })
    }

    /// Waits until the watermark reaches `required`. Called under the same lock as the append.
    pub fn park_produce(&mut self, required: Offset, token: P) {
        self.produces.park(required, token);
    }

    /// Forgets the waiting produces that `gone` says nobody waits for any more: their time was up.
    pub fn forget_produces(&mut self, gone: impl Fn(&P) -> bool) {
        self.produces.forget(gone);
    }
}

//! The time, as the host hands it in.

/// Two readings of one moment: deadlines go by the steady clock, so that a clock that is set never expires a member;
/// records and retention go by the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970, as written into records.
    pub wall_ms: i64,
    /// Milliseconds of a clock that only goes forward.
    pub steady_ms: i64,
}

impl Now {
    /// The reading of the steady clock `delay_ms` from now. A negative delay counts as none.
    pub(crate) fn after(self, delay_ms: i32) -> i64 {
        self.steady_ms.saturating_add(i64::from(delay_ms.max(0)))
    }
}

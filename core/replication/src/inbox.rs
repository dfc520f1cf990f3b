//! What the partitions of one fetch, or of one fetch session, have told it since it last looked.
//!
//! Kept apart from the fetch itself: telling must never wait for someone who reads.

use std::collections::BTreeSet;

use super::session::SlotId;
use super::waits::Notice;

/// The notices of a fetch over several partitions, and the fetch while it waits. `T` is what answers it.
#[derive(Debug)]
pub struct FetchInbox<T> {
    changed: BTreeSet<SlotId>,
    gathered: u64,
    broken: bool,
    parked: Option<Parked<T>>,
}

#[derive(Debug)]
struct Parked<T> {
    min_bytes: u64,
    what: T,
}

impl<T> Default for FetchInbox<T> {
    fn default() -> FetchInbox<T> {
        FetchInbox {
            changed: BTreeSet::new(),
            gathered: 0,
            broken: false,
            parked: None,
        }
    }
}

impl<T> FetchInbox<T> {
    /// A partition tells. Returns the parked fetch when it can go on (rule 58).
    pub fn tell(&mut self, slot: SlotId, notice: Notice) -> Option<T> {
        self.changed.insert(slot);
        match notice {
            Notice::Changed { bytes } => self.gathered = self.gathered.saturating_add(bytes),
            Notice::Broken => self.broken = true,
        }
        match &self.parked {
            Some(parked) if self.is_enough(parked.min_bytes) => self.unpark(),
            _ => None,
        }
    }

    /// Parks a fetch until `min_bytes` have come, of which it has found `found` itself. Gives it back at once when
    /// enough came in the meantime.
    pub fn park(&mut self, min_bytes: u64, found: u64, what: T) -> Result<(), T> {
        self.gathered = self.gathered.saturating_add(found);
        if self.is_enough(min_bytes) {
            return Err(what);
        }
        self.parked = Some(Parked { min_bytes, what });
        Ok(())
    }

    fn is_enough(&self, min_bytes: u64) -> bool {
        self.broken || self.gathered >= min_bytes
    }

    /// Takes the parked fetch: its time is up.
    pub fn unpark(&mut self) -> Option<T> {
        self.parked.take().map(|parked| parked.what)
    }

    /// Takes the parked fetch if it is one that `chosen` says is meant.
    pub fn unpark_if(&mut self, chosen: impl FnOnce(&T) -> bool) -> Option<T> {
        let parked = self.parked.take_if(|parked| chosen(&parked.what));
        parked.map(|parked| parked.what)
    }

    /// The partitions that told something since the last call; counting begins anew.
    pub fn take_changed(&mut self) -> BTreeSet<SlotId> {
        self.gathered = 0;
        self.broken = false;
        std::mem::take(&mut self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Notice = Notice::Changed { bytes: 40 };

    #[test]
    fn a_fetch_goes_on_when_its_partitions_together_have_enough() {
        let mut inbox = FetchInbox::default();
        assert_eq!(inbox.park(100, 10, "fetch"), Ok(()));
        assert_eq!(inbox.tell(SlotId(1), SOME), None);
        assert_eq!(inbox.tell(SlotId(2), Notice::Changed { bytes: 0 }), None);
        assert_eq!(inbox.tell(SlotId(1), SOME), None);
        assert_eq!(inbox.tell(SlotId(3), SOME), Some("fetch"));
        assert_eq!(inbox.tell(SlotId(3), SOME), None, "it goes on once");
        assert_eq!(inbox.take_changed().len(), 3);
        assert_eq!(inbox.take_changed().len(), 0);
    }

    #[test]
    fn what_came_between_reading_and_parking_is_not_lost() {
        let mut inbox = FetchInbox::default();
        inbox.take_changed();
        assert_eq!(inbox.tell(SlotId(1), SOME), None);
        assert_eq!(inbox.park(1, 0, "fetch"), Err("fetch"));
    }

    #[test]
    fn a_broken_partition_ends_the_wait_whatever_is_missing() {
        let mut inbox = FetchInbox::default();
        assert_eq!(inbox.park(u64::MAX, 0, "fetch"), Ok(()));
        assert_eq!(inbox.tell(SlotId(1), Notice::Broken), Some("fetch"));
        inbox.take_changed();
        assert_eq!(inbox.park(1, 0, "next"), Ok(()));
        assert_eq!(inbox.unpark_if(|parked| *parked == "fetch"), None);
        assert_eq!(inbox.unpark_if(|parked| *parked == "next"), Some("next"));
        assert_eq!(inbox.park(1, 0, "last"), Ok(()));
        assert_eq!(inbox.unpark(), Some("last"));
        assert_eq!(inbox.unpark(), None);
    }
}

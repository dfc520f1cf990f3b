//! The groups somebody is in, and when each must be looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::group::Group;
use crate::ledger::Ledger;

#[derive(Debug)]
struct Seat<T> {
    group: Group<T>,
    armed: Option<i64>,
}

/// The volatile side of a shard. A group leaves the room when nobody is in it and the log says so too.
#[derive(Debug)]
pub(crate) struct Room<T> {
    seats: BTreeMap<Arc<str>, Seat<T>>,
    alarms: BTreeSet<(i64, Arc<str>)>,
}

impl<T> Room<T> {
    pub(crate) fn new() -> Room<T> {
        Room {
            seats: BTreeMap::new(),
            alarms: BTreeSet::new(),
        }
    }

    pub(crate) fn get(&self, group: &str) -> Option<&Group<T>> {
        self.seats.get(group).map(|seat| &seat.group)
    }

    pub(crate) fn get_mut(&mut self, group: &str) -> Option<&mut Group<T>> {
        self.seats.get_mut(group).map(|seat| &mut seat.group)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Group<T>)> {
        self.seats.iter().map(|(id, seat)| (id, &seat.group))
    }

    pub(crate) fn insert(&mut self, group: Group<T>) {
        let id = Arc::clone(&group.id);
        self.seats.insert(Arc::clone(&id), Seat { group, armed: None });
        self.arm(&id);
    }

    pub(crate) fn remove(&mut self, group: &str) -> Option<Group<T>> {
        let seat = self.seats.remove(group)?;
        if let Some(armed) = seat.armed {
            self.alarms.remove(&(armed, Arc::clone(&seat.group.id)));
        }
        Some(seat.group)
    }

    /// After a group changed: sets its alarm, or lets it go.
    pub(crate) fn settle(&mut self, group: &str, ledger: &Ledger) {
        let Some(seat) = self.seats.get(group) else { return };
        if seat.group.is_deserted() {
            let written = ledger.group(group).and_then(|entry| entry.classic.as_ref());
            let agrees = match written {
                Some(written) => written.members.is_empty() && written.generation == seat.group.generation,
                None => seat.group.generation == 0,
            };
            if agrees {
                self.remove(group);
                return;
            }
        }
        self.arm(group);
    }

    fn arm(&mut self, group: &str) {
        let Some(seat) = self.seats.get_mut(group) else {
            return;
        };
        if seat.armed != seat.group.wake {
            if let Some(armed) = seat.armed {
                self.alarms.remove(&(armed, Arc::clone(&seat.group.id)));
            }
            seat.armed = seat.group.wake;
            if let Some(wake) = seat.armed {
                self.alarms.insert((wake, Arc::clone(&seat.group.id)));
            }
        }
    }

    /// When the first group must be looked at.
    pub(crate) fn next_alarm(&self) -> Option<i64> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// The groups to look at by `steady_ms`.
    pub(crate) fn due(&self, steady_ms: i64) -> Vec<Arc<str>> {
        let due = self.alarms.iter().take_while(|(at, _)| *at <= steady_ms);
        due.map(|(_, group)| Arc::clone(group)).collect()
    }

    pub(crate) fn drain(&mut self) -> Vec<Group<T>> {
        self.alarms.clear();
        std::mem::take(&mut self.seats)
            .into_values()
            .map(|seat| seat.group)
            .collect()
    }
}

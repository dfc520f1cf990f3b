//! Groups of protocols that this shard does not serve yet, as Apache Kafka left them in the log: they are listed, their
//! offsets are readable, and they make room for a classic group when nobody is in them.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

/// The kinds of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupType {
    /// JoinGroup and SyncGroup; also groups that only hold offsets.
    Classic,
    /// KIP-848.
    Consumer,
    /// KIP-932.
    Share,
    /// KIP-1071.
    Streams,
}

impl GroupType {
    /// The name, as lists show it.
    pub const fn name(self) -> &'static str {
        match self {
            GroupType::Classic => "classic",
            GroupType::Consumer => "consumer",
            GroupType::Share => "share",
            GroupType::Streams => "streams",
        }
    }

    /// The type of protocol that a list shows for groups that carry none themselves.
    pub(crate) const fn protocol_type(self) -> &'static str {
        match self {
            GroupType::Classic => "",
            GroupType::Consumer => "consumer",
            GroupType::Share => "share",
            GroupType::Streams => "streams",
        }
    }
}

impl fmt::Display for GroupType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a record of such a group says, as far as the group's state depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFact {
    /// The group's epoch.
    GroupEpoch(i32),
    /// The epoch of the assignment that is wanted.
    TargetEpoch(i32),
    /// A member.
    Member,
    /// How far a member is: the epoch it reached, where it is not busy giving up or waiting for partitions.
    MemberAt {
        /// The epoch; `None` while the member reconciles.
        settled_epoch: Option<i32>,
    },
    /// Nothing that matters here.
    Other,
}

/// A group of another protocol: every live key of it, with what its value says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForeignGroup {
    /// Which protocol.
    pub(crate) group_type: GroupType,
    facts: BTreeMap<Bytes, ForeignFact>,
}

impl ForeignGroup {
    /// Takes one record of the group; the last tombstone removes the group.
    pub(crate) fn apply(
        present: &mut Option<ForeignGroup>,
        group_type: GroupType,
        key: Bytes,
        fact: Option<ForeignFact>,
    ) {
        match fact {
            Some(fact) => {
                let group = present.get_or_insert_with(|| ForeignGroup {
                    group_type,
                    facts: BTreeMap::new(),
                });
                group.group_type = group_type;
                group.facts.insert(key, fact);
            }
            None => {
                if let Some(group) = present {
                    group.facts.remove(&key);
                    if group.facts.is_empty() {
                        *present = None;
                    }
                }
            }
        }
    }

    /// Whether nobody is in the group.
    pub(crate) fn is_empty(&self) -> bool {
        !self
            .facts
            .values()
            .any(|fact| matches!(fact, ForeignFact::Member))
    }

    /// The keys of all its records, so that it can be removed.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Bytes> {
        self.facts.keys()
    }

    /// The state's name. A consumer group assigns until its target is of its own epoch, then reconciles until every
    /// member has settled at that epoch.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_empty() {
            return "Empty";
        }
        if self.group_type == GroupType::Share {
            return "Stable";
        }
        let (mut epoch, mut target) = (0, 0);
        for fact in self.facts.values() {
            match fact {
                ForeignFact::GroupEpoch(value) => epoch = *value,
                ForeignFact::TargetEpoch(value) => target = *value,
                _ => {}
            }
        }
        let settled = |fact: &ForeignFact| match fact {
            ForeignFact::MemberAt { settled_epoch } => *settled_epoch == Some(target),
            _ => true,
        };
        if epoch > target {
            "Assigning"
        } else if self.facts.values().all(settled) {
            "Stable"
        } else {
            "Reconciling"
        }
    }
}

//! ListGroups and DescribeGroups.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::GroupShard;
use crate::ledger::{GroupType, LedgerGroup};
use crate::request::{DescribedGroup, GroupFilter, ListedGroup};

impl GroupFilter {
    fn lets_pass(&self, group: &ListedGroup) -> bool {
        let names = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|asked| asked.trim().eq_ignore_ascii_case(name))
        };
        names(&self.states, group.state) && names(&self.types, group.group_type.name())
    }
}

impl<T> GroupShard<T> {
    /// The groups of this shard that pass the filter, by name.
    pub fn list(&self, filter: &GroupFilter) -> Vec<ListedGroup> {
        let mut groups: BTreeMap<&Arc<str>, ListedGroup> = self
            .ledger
            .groups()
            .iter()
            .map(|(id, entry)| (id, list_committed(id, entry)))
            .collect();
        for (id, group) in self.room.iter() {
            let listed = ListedGroup {
                group: Arc::clone(id),
                protocol_type: group.protocol_type.clone().unwrap_or_default(),
                state: group.state(),
                group_type: GroupType::Classic,
            };
            groups.insert(id, listed);
        }
        groups
            .into_values()
            .filter(|group| filter.lets_pass(group))
            .collect()
    }

    /// A classic group; `None` where there is none of that name.
    pub fn describe(&self, group: &str) -> Option<DescribedGroup> {
        if let Some(present) = self.room.get(group) {
            return Some(present.describe());
        }
        let entry = self.ledger.group(group).filter(|entry| entry.foreign.is_none())?;
        Some(DescribedGroup {
            state: "Empty",
            protocol_type: protocol_type(entry),
            protocol: Arc::default(),
            members: Vec::new(),
        })
    }
}

fn protocol_type(entry: &LedgerGroup) -> Arc<str> {
    entry
        .classic
        .as_ref()
        .and_then(|metadata| metadata.protocol_type.clone())
        .unwrap_or_default()
}

fn list_committed(id: &Arc<str>, entry: &LedgerGroup) -> ListedGroup {
    let (protocol_type, state, group_type) = match &entry.foreign {
        Some(foreign) => (
            foreign.group_type.protocol_type().into(),
            foreign.state(),
            foreign.group_type,
        ),
        None => (protocol_type(entry), "Empty", GroupType::Classic),
    };
    ListedGroup {
        group: Arc::clone(id),
        protocol_type,
        state,
        group_type,
    }
}

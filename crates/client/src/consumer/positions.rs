//! Where a consumer is in each of its partitions.

use std::collections::BTreeMap;

use model::TopicPartition;

use crate::config::OffsetReset;

/// Where the next record of a partition comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// From the group's committed offset, or else as `auto.offset.reset` says.
    Committed,
    /// From one end.
    End(OffsetReset),
    /// From this offset.
    At {
        offset: i64,
        /// The epoch of the record before it; -1 when unknown.
        leader_epoch: i32,
    },
}

impl Place {
    /// Whether it is this offset.
    pub(crate) fn is_at(self, wanted: i64) -> bool {
        matches!(self, Place::At { offset, .. } if offset == wanted)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) place: Place,
    /// Changes whenever the place does otherwise than by reading on: what was fetched for an older one is dropped.
    pub(crate) serial: u64,
}

/// The positions of all partitions a consumer has.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    partitions: BTreeMap<TopicPartition, Position>,
    last_serial: u64,
}

impl Positions {
    /// Keeps the positions of partitions that stay, drops the others; new ones begin where the group was.
    pub(crate) fn assign(&mut self, partitions: &[TopicPartition]) {
        self.partitions
            .retain(|partition, _| partitions.contains(partition));
        for partition in partitions {
            if !self.partitions.contains_key(partition) {
                self.move_to(partition, Place::Committed);
            }
        }
    }

    /// Puts a partition somewhere else.
    pub(crate) fn move_to(&mut self, partition: &TopicPartition, place: Place) {
        self.last_serial += 1;
        let position = Position {
            place,
            serial: self.last_serial,
        };
        self.partitions.insert(partition.clone(), position);
    }

    /// Moves on behind a record, unless the partition was put somewhere else meanwhile.
    pub(crate) fn advance(
        &mut self,
        partition: &TopicPartition,
        serial: u64,
        offset: i64,
        leader_epoch: i32,
    ) {
        if let Some(position) = self.partitions.get_mut(partition)
            && position.serial == serial
        {
            position.place = Place::At { offset, leader_epoch };
        }
    }

    pub(crate) fn get(&self, partition: &TopicPartition) -> Option<Position> {
        self.partitions.get(partition).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Whether the next record of a partition is the one at this offset.
    pub(crate) fn is_at(&self, partition: &TopicPartition, offset: i64) -> bool {
        self.get(partition)
            .is_some_and(|position| position.place.is_at(offset))
    }

    pub(crate) fn contains(&self, partition: &TopicPartition) -> bool {
        self.partitions.contains_key(partition)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TopicPartition, &Position)> {
        self.partitions.iter()
    }

    /// The partitions, in order.
    pub(crate) fn keys(&self) -> Vec<TopicPartition> {
        self.partitions.keys().cloned().collect()
    }

    /// The partitions at a known offset.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&TopicPartition, i64, i32)> {
        self.partitions
            .iter()
            .filter_map(|(partition, position)| match position.place {
                Place::At { offset, leader_epoch } => Some((partition, offset, leader_epoch)),
                Place::Committed | Place::End(_) => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_on_does_not_undo_a_seek() {
        let partition = TopicPartition::new("t", 0);
        let mut positions = Positions::default();
        positions.assign(std::slice::from_ref(&partition));
        positions.move_to(
            &partition,
            Place::At {
                offset: 5,
                leader_epoch: -1,
            },
        );
        let serial = positions.get(&partition).unwrap().serial;
        positions.advance(&partition, serial, 6, 0);
        assert_eq!(positions.known().next(), Some((&partition, 6, 0)));
        positions.move_to(
            &partition,
            Place::At {
                offset: 0,
                leader_epoch: -1,
            },
        );
        positions.advance(&partition, serial, 7, 0);
        assert_eq!(positions.known().next(), Some((&partition, 0, -1)));
    }

    #[test]
    fn an_assignment_keeps_the_place_of_what_stays() {
        let [a, b] = [TopicPartition::new("t", 0), TopicPartition::new("t", 1)];
        let mut positions = Positions::default();
        positions.assign(std::slice::from_ref(&a));
        positions.move_to(
            &a,
            Place::At {
                offset: 5,
                leader_epoch: -1,
            },
        );
        positions.assign(&[a.clone(), b.clone()]);
        assert_eq!(positions.get(&b).unwrap().place, Place::Committed);
        assert_eq!(positions.known().count(), 1);
        positions.assign(std::slice::from_ref(&b));
        assert!(!positions.contains(&a));
    }
}

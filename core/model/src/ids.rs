//! Newtypes for the numbers that must not be swapped: offsets, epochs, ids.

use std::fmt;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number! {
    /// The place of a record in its partition. Never negative in a log; -1 on the wire means "none".
    Offset(i64)
}
number! {
    /// The epoch of a partition's leader: rises with every change of leader. -1 means unknown.
    LeaderEpoch(i32)
}
number! {
    /// The id of a broker or controller (`node.id`). -1 means none.
    BrokerId(i32)
}
number! {
    /// The id of a producer, given out by the controller in blocks. -1 means "not idempotent".
    ProducerId(i64)
}
number! {
    /// The epoch of a producer: fences older instances with the same id. -1 means none.
    ProducerEpoch(i16)
}
number! {
    /// The incarnation of a registered broker: the offset of its registration record. -1 means unknown.
    BrokerEpoch(i64)
}

impl Offset {
    /// The first offset of a new log.
    pub const ZERO: Offset = Offset(0);
    /// "No offset" on the wire.
    pub const NONE: Offset = Offset(-1);

    /// The offset `count` records further on; `None` past the end of the number range.
    pub fn checked_add(self, count: i64) -> Option<Offset> {
        self.0.checked_add(count).map(Offset)
    }
}

impl LeaderEpoch {
    /// "Unknown" on the wire: the receiver skips the epoch check.
    pub const NONE: LeaderEpoch = LeaderEpoch(-1);
}

impl BrokerId {
    /// "No broker" on the wire.
    pub const NONE: BrokerId = BrokerId(-1);
}

impl ProducerId {
    /// The batch carries no producer.
    pub const NONE: ProducerId = ProducerId(-1);
}

impl ProducerEpoch {
    /// The batch carries no producer.
    pub const NONE: ProducerEpoch = ProducerEpoch(-1);
}

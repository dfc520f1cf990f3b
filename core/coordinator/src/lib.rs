//! Replicated state machines on a partition: groups and offsets.

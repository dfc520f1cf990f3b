//! The deterministic node: clock, disk with faults, clients, invariants.

//! Foreign clients and faults against the built binary.

//! The log seen from outside the crate: against what Apache Kafka has written, and against a model.

// Helpers outside `#[test]` functions may unwrap as tests may.
#![cfg(test)]

mod golden;
mod model;

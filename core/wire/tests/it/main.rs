//! The wire against what Apache Kafka itself wrote, against its schema, and against another implementation.

// Helpers outside `#[test]` functions may unwrap as tests may.
#![cfg(test)]

mod bad_input;
mod catalogue;
mod generated;
mod records;
mod schema;
mod vectors;

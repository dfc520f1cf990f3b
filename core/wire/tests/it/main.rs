//! The wire against what Apache Kafka itself wrote.
#![expect(clippy::unwrap_used, reason = "in a test, what is not there is a failure")]

mod records;
mod vectors;

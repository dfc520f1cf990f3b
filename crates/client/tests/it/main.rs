//! The client against a broker made of a socket and a map, which fails on demand.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod connections;
mod consuming;
mod fake_broker;
mod producing;

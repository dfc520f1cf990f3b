//! The broker over real sockets, in this process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod cluster;
mod data;
mod groups;
mod reactor;
mod start;
mod support;
mod topics;

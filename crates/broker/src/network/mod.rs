//! The reactor: acceptors, processors and their connections, and the queue to the request handler threads.
//!
//! Knows frames and outcomes, never what a request means.

mod acceptor;
mod cold_read;
mod connection;
mod deadlines;
mod end_log;
mod limits;
mod log_limit;
mod processor;
mod request_queue;
mod server;

pub(crate) use log_limit::LogLimit;
pub use server::BindError;
pub(crate) use server::{Bound, NetworkServer, bind};

#[cfg(test)]
mod tests;

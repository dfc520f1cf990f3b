//! The node: listeners, dispatch, handlers, replicas, coordinators, controller.

mod broker;
pub mod config;
mod controller;
mod coordinators;
pub mod dispatch;
pub mod format;
mod halt;
pub mod handlers;
mod metadata;
pub mod metrics;
mod network;
mod replicas;
mod serve;
mod storage_dirs;

pub use broker::{Broker, StartError, recover};
pub use halt::Halt;
pub use network::BindError;
pub use serve::{Exit, serve, serve_and};

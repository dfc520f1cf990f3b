//! The node: listeners, dispatch, handlers, replicas, coordinators, controller.

mod broker;
pub mod config;
pub mod dispatch;
mod halt;
pub mod handlers;
pub mod metrics;
mod network;
mod serve;

pub use broker::{Broker, StartError};
pub use halt::Halt;
pub use network::BindError;
pub use serve::{Exit, serve};

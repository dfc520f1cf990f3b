//! From a frame to a handler and back: the one place, with `handlers/`, that knows API versions.

mod api;
mod context;
mod listener;
mod node;
mod registry;
mod serve;

pub use api::{ApiSpec, Handler, Order, Parked, Place, Reply};
pub use context::{ANONYMOUS, ClientSoftware, ConnectionInfo, RequestContext};
pub use listener::ListenerInfo;
pub use node::{Node, now_ms, steady_ms};
pub use registry::{Api, ApiTable, api};
pub(crate) use serve::{CloseReason, Outcome, Pending, Request, parse};

//! Framed connections over TCP, for both sides of them: the broker's reactor and the clients.
//!
//! Knows frames and sockets, nothing of what a frame says. No thread and no runtime is started here.

mod connection;
mod frame;
mod options;
mod send;

pub use connection::{ConnectionError, FramedConnection};
pub use frame::{ForeignProtocol, FrameBuffer, FrameError};
pub use options::TcpOptions;
pub use send::{SendQueue, Sent};

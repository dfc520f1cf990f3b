//! What the log says of connections that ended for a reason of their own making.

use transport::{ConnectionError, ForeignProtocol};

use super::connection::End;
use super::log_limit::LogLimit;
use crate::dispatch::ConnectionInfo;

/// One limit for each kind of line, over all connections.
#[derive(Debug, Default)]
pub(super) struct EndLog {
    http: LogLimit,
    tls: LogLimit,
    requests: LogLimit,
    late: LogLimit,
}

impl EndLog {
    /// Logs the end of a connection, where it tells the operator something.
    pub(super) fn ended(&self, info: &ConnectionInfo, end: &End) {
        let limit = match end {
            End::Network(ConnectionError::Frame(error)) => match error.looks_like() {
                Some(ForeignProtocol::Http) => &self.http,
                Some(ForeignProtocol::Tls) => &self.tls,
                None => &self.requests,
            },
            End::Request(_) => &self.requests,
            End::NotReading | End::NoMemory => &self.late,
            End::Network(_) | End::NoRequest | End::Idle | End::Stopping => {
                tracing::debug!(peer = %info.peer, listener = %info.listener.name, "connection ended: {end}");
                return;
            }
        };
        if let Some(left_out) = limit.permit() {
            let (peer, listener) = (info.peer, &info.listener.name);
            tracing::warn!(%peer, %listener, left_out, "connection closed: {end}");
        }
    }
}

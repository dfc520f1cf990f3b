//! A listener as requests see it.

use std::fmt;
use std::net::SocketAddr;

use crate::config::ListenerUse;

/// A listener that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerInfo {
    /// Its name, such as `PLAINTEXT` or `INTERNAL`.
    pub name: String,
    /// Who connects to it; decides which APIs it serves.
    pub used_by: ListenerUse,
    /// The address it is bound to, with the port the system chose where 0 was asked for.
    pub address: SocketAddr,
}

impl fmt::Display for ListenerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.name, self.address)
    }
}

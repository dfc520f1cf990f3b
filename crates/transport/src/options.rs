//! Options of TCP sockets, set once where a socket is made.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

/// How sockets of one listener, or of one client, are set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// `SO_SNDBUF`; the kernel's own choice when absent.
    pub send_buffer_bytes: Option<usize>,
    /// `SO_RCVBUF`; the kernel's own choice when absent.
    pub receive_buffer_bytes: Option<usize>,
    /// `TCP_CONGESTION`, such as `cubic`: some algorithms pace loopback and local networks down to a third.
    pub congestion_control: Option<String>,
}

/// Keep-alive probes find peers that vanished without a word.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(120);

impl TcpOptions {
    /// Sets the options on a connected socket. No delay and keep-alive are always on.
    pub fn apply<'s>(&self, socket: impl Into<SockRef<'s>>) -> io::Result<()> {
        let socket = socket.into();
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE))?;
        self.apply_inherited(&socket)
    }

    /// The options that accepted sockets inherit from the listening one, and that work best set before the handshake.
    fn apply_inherited(&self, socket: &SockRef<'_>) -> io::Result<()> {
        if let Some(bytes) = self.send_buffer_bytes {
            socket.set_send_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(algorithm) = &self.congestion_control {
            socket.set_tcp_congestion(algorithm.as_bytes())?;
        }
        Ok(())
    }

    /// A listening socket on `address`. Its port may be in `TIME_WAIT` from an earlier run, but not in use.
    pub fn listen(&self, address: SocketAddr, backlog: i32) -> io::Result<std::net::TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() && address.ip().is_unspecified() {
            // `[::]` serves IPv4 too, as Java's wildcard address does.
            socket.set_only_v6(false)?;
        }
        self.apply_inherited(&SockRef::from(&socket))?;
        socket.bind(&address.into())?;
        socket.listen(backlog)?;
        socket.set_nonblocking(true)?;
        Ok(socket.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_an_error() {
        let options = TcpOptions::default();
        let first = options.listen("127.0.0.1:0".parse().unwrap(), 10).unwrap();
        let error = options.listen(first.local_addr().unwrap(), 10).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn options_reach_the_socket() {
        let options = TcpOptions {
            send_buffer_bytes: Some(64 * 1024),
            receive_buffer_bytes: None,
            congestion_control: Some("reno".to_owned()),
        };
        let listener = options.listen("127.0.0.1:0".parse().unwrap(), 10).unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        options.apply(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.tcp_nodelay().unwrap());
        assert_eq!(socket.tcp_congestion().unwrap()[..4], *b"reno");
        // Linux doubles what it is given.
        assert_eq!(socket.send_buffer_size().unwrap(), 128 * 1024);
    }

    #[test]
    fn an_unknown_congestion_control_is_an_error() {
        let options = TcpOptions {
            congestion_control: Some("no-such-algorithm".to_owned()),
            ..TcpOptions::default()
        };
        assert!(options.listen("127.0.0.1:0".parse().unwrap(), 10).is_err());
    }
}

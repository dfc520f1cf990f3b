//! A framed connection: whole frames in, frames out, both directions at once.
//!
//! The broker polls it from its reactor; a client awaits [`FramedConnection::next_frame`] and enqueues what it sends.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::net::TcpStream;
use wire::{FileRange, Segment};

use crate::frame::{FrameBuffer, FrameError};
use crate::send::{SendQueue, Sent};

/// What one turn of sending may take before other connections of the thread have theirs.
const SEND_SHARE: usize = 4 * 1024 * 1024;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The peer closed between two frames: the normal end.
    #[error("the peer closed the connection")]
    Closed,
    /// The peer closed in the middle of a frame.
    #[error("the peer closed the connection after {0} bytes of a frame")]
    ClosedInFrame(usize),
    /// What came is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The network failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A connected socket with its buffers.
#[derive(Debug)]
pub struct FramedConnection {
    socket: TcpStream,
    received: FrameBuffer,
    sending: SendQueue,
}

impl FramedConnection {
    /// Takes over a connected socket; frames from the peer may have `frame_max` bytes.
    pub fn new(socket: TcpStream, frame_max: usize) -> FramedConnection {
        FramedConnection {
            socket,
            received: FrameBuffer::new(frame_max),
            sending: SendQueue::default(),
        }
    }

    /// The peer's address.
    pub fn peer_address(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// The received bytes: what was read but not yet taken as frames, and the memory held for it.
    pub fn received(&self) -> &FrameBuffer {
        &self.received
    }

    /// The same, to take frames from.
    pub fn received_mut(&mut self) -> &mut FrameBuffer {
        &mut self.received
    }

    /// The frames on their way out.
    pub fn sending(&self) -> &SendQueue {
        &self.sending
    }

    /// Appends a frame, its length field included (`wire::Writer::finish_frame`), to what leaves next. Bounded by the
    /// caller: it knows how much may wait.
    pub fn enqueue(&mut self, frame: Vec<Segment>) {
        self.sending.push(frame);
    }

    /// Reads once what the socket has. Ready with the number of bytes; an error at the end of the stream.
    pub fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, ConnectionError>> {
        match ready!(self.received.poll_read(&mut self.socket, context)) {
            Ok(0) => Poll::Ready(Err(self.end_of_stream())),
            Ok(count) => Poll::Ready(Ok(count)),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }

    fn end_of_stream(&self) -> ConnectionError {
        match self.received.partial() {
            0 => ConnectionError::Closed,
            partial => ConnectionError::ClosedInFrame(partial),
        }
    }

    /// Sends until nothing waits. `before_file` is asked before a range of a file is sent from, and says how many of its
    /// bytes may leave before it is asked again, at least one; while it is pending, nothing leaves.
    pub fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        mut before_file: impl FnMut(&FileRange, &mut Context<'_>) -> Poll<usize>,
    ) -> Poll<Result<(), ConnectionError>> {
        let mut share = SEND_SHARE;
        loop {
            let file_bytes = match self.sending.front_file() {
                Some(range) => ready!(before_file(range, context)),
                None => 0,
            };
            match self.sending.send(&self.socket, &mut share, file_bytes)? {
                Sent::All => return Poll::Ready(Ok(())),
                Sent::AtFile => {}
                Sent::Blocked => ready!(self.socket.poll_write_ready(context))?,
                Sent::Yield => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }

    /// The next frame; sends what is enqueued while it waits. Nothing is lost when the future is dropped.
    pub async fn next_frame(&mut self) -> Result<Bytes, ConnectionError> {
        poll_fn(|context| {
            if !self.sending.is_empty() {
                // Pending or done: either way receiving goes on beside it.
                if let Poll::Ready(Err(error)) = self.poll_send(context, |_, _| Poll::Ready(usize::MAX)) {
                    return Poll::Ready(Err(error));
                }
            }
            loop {
                if let Some(frame) = self.received.next_frame()? {
                    return Poll::Ready(Ok(frame));
                }
                ready!(self.poll_receive(context))?;
            }
        })
        .await
    }

    /// Waits until everything enqueued is with the kernel.
    pub async fn flush(&mut self) -> Result<(), ConnectionError> {
        poll_fn(|context| self.poll_send(context, |_, _| Poll::Ready(usize::MAX))).await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (there, _) = listener.accept().await.unwrap();
        (here, there)
    }

    #[tokio::test]
    async fn both_sides_send_more_than_the_sockets_hold_without_a_deadlock() {
        const FRAMES: usize = 50;
        let (a, b) = pair().await;
        let side = |socket: TcpStream, fill: u8| async move {
            let mut connection = FramedConnection::new(socket, 1 << 20);
            for _ in 0..FRAMES {
                let mut frame = 500_000i32.to_be_bytes().to_vec();
                frame.resize(500_004, fill);
                connection.enqueue(vec![Segment::Bytes(frame.into())]);
            }
            for _ in 0..FRAMES {
                let frame = connection.next_frame().await.unwrap();
                assert_eq!(frame.len(), 500_000);
                assert_eq!(frame[0], 1 - fill);
            }
            connection.flush().await.unwrap();
        };
        let one = tokio::spawn(side(a, 0));
        let other = tokio::spawn(side(b, 1));
        one.await.unwrap();
        other.await.unwrap();
    }

    #[tokio::test]
    async fn the_end_of_the_stream_tells_whether_a_frame_was_cut() {
        for (bytes, cut) in [(&b""[..], false), (&[0, 0, 0, 9, 1][..], true)] {
            let (mut here, there) = pair().await;
            here.write_all(bytes).await.unwrap();
            drop(here);
            let error = FramedConnection::new(there, 100).next_frame().await.unwrap_err();
            assert_eq!(matches!(error, ConnectionError::ClosedInFrame(5)), cut, "{error}");
            assert_eq!(matches!(error, ConnectionError::Closed), !cut, "{error}");
        }
    }
}

//! Frames out of a byte stream: a length of four bytes, then as many bytes.
//!
//! Frames are slices of the buffer the socket was read into: nothing is copied but the part of a frame that did not
//! fit. Memory follows what has arrived, never what a length field declares (bad input, row 2): a connection may
//! allocate at once as much as its largest whole frame so far, and beyond that only as fast as bytes come in.

use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The bytes of the length field.
const LENGTH_BYTES: usize = 4;
/// The smallest buffer: what a connection that sends small requests holds while it is active.
const BUFFER_MIN: usize = 16 * 1024;
/// The largest piece a buffer grows by at once for a frame larger than any before.
const GROWTH_MAX: usize = 1024 * 1024;
/// Buffers from this size on begin at a page: copies out of the kernel are several times faster then.
const ALIGNED_FROM: usize = 32 * 1024;
const PAGE: usize = 4096;

/// What a peer sent that is no frame. The connection is of no use any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length below zero.
    #[error("a frame with the negative length {0}")]
    Negative(i32),
    /// A length above the limit.
    #[error("a frame of {length} bytes where {limit} are allowed{}", looks_like_suffix(.prefix))]
    TooLarge {
        /// The declared length.
        length: usize,
        /// The most this side takes.
        limit: usize,
        /// The four bytes of the length, which tell when the peer speaks another protocol.
        prefix: [u8; 4],
    },
}

impl FrameError {
    /// The protocol the peer seems to speak instead, where its first bytes tell.
    pub fn looks_like(&self) -> Option<ForeignProtocol> {
        match self {
            FrameError::TooLarge { prefix, .. } => ForeignProtocol::guess(prefix),
            FrameError::Negative(_) => None,
        }
    }
}

fn looks_like_suffix(prefix: &[u8; 4]) -> String {
    match ForeignProtocol::guess(prefix) {
        Some(protocol) => format!(": this looks like {protocol}"),
        None => String::new(),
    }
}

/// A protocol whose clients are known to knock at the wrong port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProtocol {
    /// An HTTP request line.
    Http,
    /// A TLS record with a ClientHello, or an alert.
    Tls,
}

impl ForeignProtocol {
    fn guess(prefix: &[u8; 4]) -> Option<ForeignProtocol> {
        match prefix {
            b"GET " | b"POST" | b"PUT " | b"HEAD" | b"DELE" | b"OPTI" | b"PATC" | b"CONN" | b"PRI " => {
                Some(ForeignProtocol::Http)
            }
            [0x15 | 0x16, 0x03, 0x00..=0x04, _] => Some(ForeignProtocol::Tls),
            _ => None,
        }
    }
}

impl std::fmt::Display for ForeignProtocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ForeignProtocol::Http => "HTTP",
            ForeignProtocol::Tls => "TLS",
        })
    }
}

/// The receiving half of a framed connection.
#[derive(Debug)]
pub struct FrameBuffer {
    buffer: BytesMut,
    frame_max: usize,
    /// The largest whole frame so far, with its length field: what may be allocated at once.
    largest: usize,
    /// The last whole frame, with its length field: the best guess at the next one's size.
    last: usize,
}

impl FrameBuffer {
    /// A buffer that takes frames of at most `frame_max` bytes. Holds no memory yet.
    pub fn new(frame_max: usize) -> FrameBuffer {
        FrameBuffer {
            buffer: BytesMut::new(),
            frame_max,
            largest: 0,
            last: 0,
        }
    }

    /// The next whole frame without its length field; `None` until more bytes have come.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.declared_length()? else {
            return Ok(None);
        };
        let whole = LENGTH_BYTES + length;
        if self.buffer.len() < whole {
            return Ok(None);
        }
        self.buffer.advance(LENGTH_BYTES);
        self.last = whole;
        self.largest = self.largest.max(whole);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// The length the next frame declares, once its length field is there.
    fn declared_length(&self) -> Result<Option<usize>, FrameError> {
        let Some(prefix) = self.buffer.first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let declared = i32::from_be_bytes(*prefix);
        let length = usize::try_from(declared).map_err(|_| FrameError::Negative(declared))?;
        if length > self.frame_max {
            return Err(FrameError::TooLarge {
                length,
                limit: self.frame_max,
                prefix: *prefix,
            });
        }
        Ok(Some(length))
    }

    /// How many bytes of the frame that has begun are still to come; `None` when not even its length is known.
    fn missing(&self) -> Option<usize> {
        let length = self.declared_length().ok().flatten()?;
        Some((LENGTH_BYTES + length).saturating_sub(self.buffer.len()))
    }

    /// How many bytes to ask the socket for: the rest of the frame that has begun, or about one frame like the last.
    /// Asking for more would only bring the head of a later frame, which would have to be copied to a new buffer.
    fn wanted(&self) -> usize {
        match self.missing() {
            Some(missing) if self.buffer.len() + missing > BUFFER_MIN => missing.max(1),
            _ => self
                .last
                .max(BUFFER_MIN)
                .saturating_sub(self.buffer.len())
                .max(LENGTH_BYTES),
        }
    }

    /// The bytes this buffer is about to grow by for its next read: 0 where it has the room already.
    pub fn growth(&self) -> usize {
        let room = self.buffer.capacity() - self.buffer.len();
        self.allowance().saturating_sub(room)
    }

    /// The most the next read may bring.
    fn allowance(&self) -> usize {
        let trusted = self
            .largest
            .max(BUFFER_MIN)
            .max(self.buffer.len().min(GROWTH_MAX));
        self.wanted().min(trusted)
    }

    /// Reads once what the socket has. Ready with 0 when the peer has sent its last byte.
    pub fn poll_read(
        &mut self,
        socket: &mut TcpStream,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<usize>> {
        // An idle connection costs no buffer.
        ready!(socket.poll_read_ready(context))?;
        let allowance = self.allowance();
        self.make_room(allowance);
        let mut room = (&mut self.buffer).limit(allowance);
        // Unlike `try_read_buf` this remembers that a short read emptied the socket: one system call less a request.
        pin!(socket.read_buf(&mut room)).poll(context)
    }

    /// Takes bytes from elsewhere than a socket.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn make_room(&mut self, additional: usize) {
        if self.buffer.capacity() - self.buffer.len() >= additional {
            return;
        }
        if !self.buffer.is_empty() {
            self.buffer.reserve(additional);
            return;
        }
        let size = additional.next_multiple_of(PAGE);
        let padding_max = if size >= ALIGNED_FROM { PAGE } else { 0 };
        if !self.buffer.try_reclaim(size + padding_max) {
            self.buffer = BytesMut::with_capacity(size + padding_max);
        }
        if padding_max > 0 {
            let padding = self.buffer.as_ptr().align_offset(PAGE).min(PAGE);
            self.buffer.resize(padding, 0);
            self.buffer.advance(padding);
        }
    }

    /// Bytes received that are no whole frame yet.
    pub fn partial(&self) -> usize {
        self.buffer.len()
    }

    /// The memory this buffer holds for itself, frames taken from it not counted.
    pub fn held(&self) -> usize {
        self.buffer.capacity()
    }

    /// Gives the memory back when no frame has begun: an idle connection costs no buffer.
    pub fn release_if_empty(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(body: &[u8]) -> Vec<u8> {
        let mut bytes = (body.len() as i32).to_be_bytes().to_vec();
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn frames_come_out_whole_however_the_bytes_arrive() {
        let mut stream = frame(b"one");
        stream.extend(frame(b""));
        stream.extend(frame(&[7; 3000]));
        for step in [1, 2, 3, 5, 1000, stream.len()] {
            let mut buffer = FrameBuffer::new(1 << 20);
            let mut frames = Vec::new();
            for piece in stream.chunks(step) {
                buffer.extend(piece);
                while let Some(frame) = buffer.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, [&b"one"[..], b"", &[7; 3000]], "step {step}");
            assert_eq!(buffer.partial(), 0);
        }
    }

    #[test]
    fn lengths_outside_the_limits_are_refused_before_any_body() {
        let mut buffer = FrameBuffer::new(1000);
        buffer.extend(&(-1i32).to_be_bytes());
        assert_eq!(buffer.next_frame(), Err(FrameError::Negative(-1)));

        let mut buffer = FrameBuffer::new(1000);
        buffer.extend(&1001i32.to_be_bytes());
        assert!(matches!(
            buffer.next_frame(),
            Err(FrameError::TooLarge { length: 1001, .. })
        ));
    }

    #[test]
    fn other_protocols_are_recognised_by_their_first_bytes() {
        for (bytes, expect) in [
            (b"GET ", ForeignProtocol::Http),
            (b"POST", ForeignProtocol::Http),
            (&[0x16, 3, 1, 2], ForeignProtocol::Tls),
        ] {
            let mut buffer = FrameBuffer::new(104_857_600);
            buffer.extend(bytes);
            let error = buffer.next_frame().unwrap_err();
            assert_eq!(error.looks_like(), Some(expect));
            assert!(error.to_string().contains(&expect.to_string()));
        }
    }

    #[test]
    fn a_declared_length_alone_allocates_nothing_large() {
        let mut buffer = FrameBuffer::new(104_857_600);
        buffer.extend(&100_000_000i32.to_be_bytes());
        assert_eq!(buffer.next_frame(), Ok(None));
        assert!(buffer.growth() <= BUFFER_MIN);
        // Growth follows what has arrived.
        buffer.extend(&[0; 100_000]);
        assert!(buffer.allowance() <= 100_004);
    }

    #[test]
    fn a_connection_may_allocate_at_once_what_it_has_sent_whole_before() {
        let mut buffer = FrameBuffer::new(104_857_600);
        buffer.extend(&frame(&[0; 500_000]));
        assert!(buffer.next_frame().unwrap().is_some());
        assert_eq!(buffer.allowance(), 500_004);
        buffer.extend(&500_000i32.to_be_bytes());
        assert_eq!(buffer.allowance(), 500_000);
    }

    #[test]
    fn large_buffers_begin_at_a_page_and_are_used_again() {
        let mut buffer = FrameBuffer::new(1 << 20);
        buffer.make_room(100_000);
        assert_eq!(buffer.buffer.as_ptr() as usize % PAGE, 0);
        let first = buffer.buffer.as_ptr();
        buffer.extend(&frame(&[1; 90_000]));
        let taken = buffer.next_frame().unwrap().unwrap();
        drop(taken);
        buffer.make_room(100_000);
        assert_eq!(buffer.buffer.as_ptr(), first);
    }
}

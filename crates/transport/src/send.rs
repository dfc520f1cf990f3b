//! The sending half of a framed connection: a queue of frames, written with as few system calls as can be.
//!
//! Bytes in memory leave together in one vectored call; ranges of files leave by `sendfile` and are never read into
//! memory. A call that takes only part of what it was given is normal: the queue remembers where it stopped.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::{Buf, Bytes};
use rustix::net::{SendAncillaryBuffer, SendFlags};
use tokio::io::Interest;
use tokio::net::TcpStream;
use wire::{FileRange, Segment};

/// Slices given to one vectored call.
const SLICES_MAX: usize = 64;
/// The most one `sendfile` call is asked for, so that one connection cannot keep its thread.
const SENDFILE_MAX: usize = 1024 * 1024;
/// The piece read into memory at a time from a file without a descriptor.
const READ_PIECE: usize = 64 * 1024;

/// What a call to [`SendQueue::send`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All is with the kernel.
    All,
    /// The socket takes no more for now.
    Blocked,
    /// There is more, but this connection had its share: come back after the others.
    Yield,
}

/// A frame longer than its length field can say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes is longer than the protocol can say")]
pub struct FrameTooLong(pub usize);

#[derive(Debug)]
enum Piece {
    /// A frame's length field, from the given byte on.
    Length([u8; 4], usize),
    Bytes(Bytes),
    File(FileRange),
}

impl Piece {
    fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Piece::Length(bytes, start) => bytes.get(*start..),
            Piece::Bytes(bytes) => Some(bytes),
            Piece::File(_) => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Piece::Length(bytes, start) => bytes.len() - start,
            Piece::Bytes(bytes) => bytes.len(),
            Piece::File(range) => range.length,
        }
    }

    /// Drops `count` bytes, at most [`Piece::len`], from the front.
    fn advance(&mut self, count: usize) {
        match self {
            Piece::Length(_, start) => *start += count,
            Piece::Bytes(bytes) => bytes.advance(count),
            Piece::File(range) => {
                range.position += count as u64;
                range.length -= count;
            }
        }
    }
}

/// Frames on their way to a socket, in order.
#[derive(Debug, Default)]
pub struct SendQueue {
    pieces: VecDeque<Piece>,
    bytes: usize,
    sent: u64,
}

impl SendQueue {
    /// Appends a frame; its length field is put in front here.
    pub fn push_frame(&mut self, segments: Vec<Segment>) -> Result<(), FrameTooLong> {
        let length: usize = segments.iter().map(Segment::len).sum();
        let declared = i32::try_from(length).map_err(|_| FrameTooLong(length))?;
        let length_field = declared.to_be_bytes();
        self.bytes += length_field.len() + length;
        self.pieces.push_back(Piece::Length(length_field, 0));
        self.pieces
            .extend(segments.into_iter().filter(|s| !s.is_empty()).map(|s| match s {
                Segment::Bytes(bytes) => Piece::Bytes(bytes),
                Segment::File(range) => Piece::File(range),
            }));
        Ok(())
    }

    /// Bytes not yet with the kernel.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether everything is with the kernel.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many bytes the kernel has taken in all: moves exactly when there is progress.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The range of a file that would be sent next, when one is at the front.
    pub fn front_file(&self) -> Option<&FileRange> {
        match self.pieces.front() {
            Some(Piece::File(range)) => Some(range),
            _ => None,
        }
    }

    /// Writes until all is gone, the socket blocks, or about `share` bytes have left.
    pub fn send(&mut self, socket: &TcpStream, share: usize) -> io::Result<Sent> {
        let mut left = share;
        while !self.pieces.is_empty() {
            if left == 0 {
                return Ok(Sent::Yield);
            }
            match socket.try_io(Interest::WRITABLE, || self.send_once(socket.as_fd())) {
                Ok(count) => {
                    self.advance(count)?;
                    left = left.saturating_sub(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Sent::All)
    }

    /// One system call for what is at the front.
    fn send_once(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.load_front()?;
        match self.pieces.front() {
            Some(Piece::File(range)) => send_file(socket, range),
            Some(_) => self.send_bytes(socket),
            None => Ok(0),
        }
    }

    fn send_bytes(&self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        for (slice, bytes) in slices
            .iter_mut()
            .zip(self.pieces.iter().map_while(Piece::in_memory))
        {
            *slice = IoSlice::new(bytes);
            count += 1;
        }
        // What follows soon shares the packet with these bytes: a response's head with its records.
        let flags = if count < self.pieces.len() {
            SendFlags::NOSIGNAL | SendFlags::MORE
        } else {
            SendFlags::NOSIGNAL
        };
        let slices = slices.get(..count).unwrap_or_default();
        Ok(rustix::net::sendmsg(
            socket,
            slices,
            &mut SendAncillaryBuffer::default(),
            flags,
        )?)
    }

    /// Replaces a range of a file that has no descriptor by bytes, a piece at a time.
    fn load_front(&mut self) -> io::Result<()> {
        let Some(Piece::File(range)) = self.pieces.front_mut() else {
            return Ok(());
        };
        if range.source.descriptor().is_some() {
            return Ok(());
        }
        let piece = range.length.min(READ_PIECE);
        let mut bytes = vec![0; piece];
        range.source.read_exact_at(&mut bytes, range.position)?;
        if piece == range.length {
            self.pieces.pop_front();
        } else {
            range.position += piece as u64;
            range.length -= piece;
        }
        self.pieces.push_front(Piece::Bytes(bytes.into()));
        Ok(())
    }

    /// Drops `count` bytes from the front.
    fn advance(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            // `sendfile` says so when the file ends before the range does: the frame can never be completed.
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "a file to send from is shorter than promised",
            ));
        }
        self.bytes = self.bytes.saturating_sub(count);
        self.sent += count as u64;
        let mut left = count;
        while let Some(front) = self.pieces.front_mut() {
            let step = front.len().min(left);
            front.advance(step);
            left -= step;
            if front.len() > 0 {
                break;
            }
            self.pieces.pop_front();
        }
        Ok(())
    }
}

fn send_file(socket: BorrowedFd<'_>, range: &FileRange) -> io::Result<usize> {
    let file = range
        .source
        .descriptor()
        .ok_or_else(|| io::Error::other("the file to send from has no descriptor"))?;
    let mut position = range.position;
    let count = range.length.min(SENDFILE_MAX);
    Ok(rustix::fs::sendfile(socket, file, Some(&mut position), count)?)
}

#[cfg(test)]
mod tests;

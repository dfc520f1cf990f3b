//! The sending half of a framed connection: a queue of frames, written with as few system calls as can be.
//!
//! Bytes in memory leave together in one vectored call; ranges of files leave by `sendfile` and are never read into
//! memory. A call that takes only part of what it was given is normal: the queue remembers where it stopped.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use bytes::Buf;
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
    /// A range of a file is next of which nothing more may be sent yet.
    AtFile,
    /// There is more, but this connection had its share: come back after the others.
    Yield,
}

/// Frames on their way to a socket, in order.
#[derive(Debug, Default)]
pub struct SendQueue {
    segments: VecDeque<Segment>,
    bytes: usize,
    sent: u64,
}

impl SendQueue {
    /// Appends a frame, its length field included (`wire::Writer::finish_frame`).
    pub fn push(&mut self, frame: Vec<Segment>) {
        for segment in frame {
            if !segment.is_empty() {
                self.bytes += segment.len();
                self.segments.push_back(segment);
            }
        }
    }

    /// Bytes not yet with the kernel.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether everything is with the kernel.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// How many bytes the kernel has taken in all: moves exactly when there is progress.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The range of a file that would be sent next, when one is at the front.
    pub fn front_file(&self) -> Option<&FileRange> {
        match self.segments.front() {
            Some(Segment::File(range)) => Some(range),
            _ => None,
        }
    }

    /// Writes until all is gone, the socket blocks, or about `share` bytes have left, which are taken from it. Of the
    /// file in front at most `file_bytes` are sent, and none of any other: a page that is not in memory would hold up
    /// the thread.
    pub fn send(&mut self, socket: &TcpStream, share: &mut usize, file_bytes: usize) -> io::Result<Sent> {
        let mut file_bytes = self.front_file().map_or(0, |range| range.length.min(file_bytes));
        while !self.segments.is_empty() {
            if *share == 0 {
                return Ok(Sent::Yield);
            }
            let is_file = self.front_file().is_some();
            if is_file && file_bytes == 0 {
                return Ok(Sent::AtFile);
            }
            match socket.try_io(Interest::WRITABLE, || self.send_once(socket.as_fd(), file_bytes)) {
                Ok(count) => {
                    self.advance(count)?;
                    *share = share.saturating_sub(count);
                    if is_file {
                        file_bytes = file_bytes.saturating_sub(count);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Sent::All)
    }

    /// One system call for what is at the front.
    fn send_once(&mut self, socket: BorrowedFd<'_>, file_bytes: usize) -> io::Result<usize> {
        self.load_front()?;
        match self.segments.front() {
            Some(Segment::File(range)) => send_file(socket, range, file_bytes),
            Some(_) => self.send_bytes(socket),
            None => Ok(0),
        }
    }

    fn send_bytes(&self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        for (slice, bytes) in slices.iter_mut().zip(self.segments.iter().map_while(in_memory)) {
            *slice = IoSlice::new(bytes);
            count += 1;
        }
        // What follows soon shares the packet with these bytes: a response's head with its records.
        let flags = if count < self.segments.len() {
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
        let Some(Segment::File(range)) = self.segments.front_mut() else {
            return Ok(());
        };
        if range.source.descriptor().is_some() {
            return Ok(());
        }
        let piece = range.length.min(READ_PIECE);
        let mut bytes = vec![0; piece];
        range.source.read_exact_at(&mut bytes, range.position)?;
        if piece == range.length {
            self.segments.pop_front();
        } else {
            range.position += piece as u64;
            range.length -= piece;
        }
        self.segments.push_front(Segment::Bytes(bytes.into()));
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
        while let Some(front) = self.segments.front_mut() {
            let step = front.len().min(left);
            match front {
                Segment::Bytes(bytes) => bytes.advance(step),
                Segment::File(range) => {
                    range.position += step as u64;
                    range.length -= step;
                }
            }
            left -= step;
            if !front.is_empty() {
                break;
            }
            self.segments.pop_front();
        }
        Ok(())
    }
}

fn in_memory(segment: &Segment) -> Option<&[u8]> {
    match segment {
        Segment::Bytes(bytes) => Some(bytes),
        Segment::File(_) => None,
    }
}

fn send_file(socket: BorrowedFd<'_>, range: &FileRange, bytes_max: usize) -> io::Result<usize> {
    let file = range
        .source
        .descriptor()
        .ok_or_else(|| io::Error::other("the file to send from has no descriptor"))?;
    let mut position = range.position;
    let count = range.length.min(SENDFILE_MAX).min(bytes_max);
    Ok(rustix::fs::sendfile(socket, file, Some(&mut position), count)?)
}

#[cfg(test)]
mod tests;

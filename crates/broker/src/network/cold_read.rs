//! Keeps ranges of files that are not in the page cache away from the network threads.
//!
//! `sendfile` waits for the disk where a page is missing, and with it every connection of the thread. So before a range
//! leaves, its pages are probed without waiting; where one is missing, a request handler reads the range first.
//!
//! A small range is read at once instead, where that does not wait: it leaves in the same call as what stands around it.

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use rustix::fs::Advice;
use rustix::io::{Errno, ReadWriteFlags};
use tokio::sync::oneshot;
use wire::{FileRange, FileSource, Segment};

use super::request_queue::{PermitWait, RequestQueue};

/// How much is probed, and where needed read, at a time.
const WINDOW: usize = 1024 * 1024;
/// The distance between two probes: the kernel reads ahead in larger steps than pages.
const PROBE_STRIDE: usize = 128 * 1024;
/// How far the disk is sent ahead of a reader of old records.
const READ_AHEAD: u64 = 1024 * 1024;
/// The piece a request handler reads at a time.
const READ_PIECE: usize = 256 * 1024;

/// Up to this size a copy costs less than a call to `sendfile`, the probe before it and the packets around it (measured
/// on loopback: 6 us against 9 for 4 KiB, the same for 32 KiB).
const SMALL: usize = 16 * 1024;
/// What of one frame is read into memory at most.
const SMALL_TOGETHER: usize = 256 * 1024;

/// Reads the small ranges of files in a frame, as far as they are in the page cache.
pub(super) fn read_small(frame: &mut [Segment]) {
    let mut left = SMALL_TOGETHER;
    for segment in frame {
        let Segment::File(range) = segment else { continue };
        if range.length > SMALL.min(left) {
            continue;
        }
        if let Some(bytes) = read_without_wait(range) {
            left -= bytes.len();
            *segment = Segment::Bytes(bytes.into());
        }
    }
}

fn read_without_wait(range: &FileRange) -> Option<Vec<u8>> {
    let file = range.source.descriptor()?;
    let mut bytes = vec![0; range.length];
    let mut buffers = [IoSliceMut::new(&mut bytes)];
    let read = rustix::io::preadv2(file, &mut buffers, range.position, ReadWriteFlags::NOWAIT);
    (read == Ok(range.length)).then_some(bytes)
}

/// The state of one connection's file ranges.
#[derive(Default)]
pub(super) struct ColdReads {
    permit: PermitWait,
    reading: Option<oneshot::Receiver<()>>,
    warm: Option<Warm>,
}

impl ColdReads {
    /// Ready with the number of bytes from the start of `range` that can be sent without waiting for a disk.
    pub(super) fn poll_resident(
        &mut self,
        range: &FileRange,
        queue: &RequestQueue,
        context: &mut Context<'_>,
    ) -> Poll<usize> {
        if let Some(reading) = &mut self.reading {
            // A reader that failed or was dropped is no matter: sending will meet the error itself.
            let _ = ready!(Pin::new(reading).poll(context));
            self.reading = None;
        }
        if let Some(left) = self.warm.as_ref().and_then(|warm| warm.left(range)) {
            return Poll::Ready(left);
        }
        let window = FileRange {
            length: range.length.min(WINDOW),
            ..range.clone()
        };
        let resident = range
            .source
            .descriptor()
            .is_none_or(|file| is_resident(file, window.position, window.length));
        if !resident {
            let Some(permit) = ready!(self.permit.poll(queue, context)) else {
                return Poll::Ready(window.length);
            };
            let (done, reading) = oneshot::channel();
            let cold = window.clone();
            queue.submit(permit, move || {
                read_ahead(&cold);
                read_through(&cold);
                let _ = done.send(());
            });
            self.warm = Some(Warm::of(&window));
            let reading = self.reading.insert(reading);
            let _ = ready!(Pin::new(reading).poll(context));
            self.reading = None;
        }
        self.warm = Some(Warm::of(&window));
        Poll::Ready(window.length)
    }
}

/// A stretch of a file that was found or made resident.
struct Warm {
    /// Nobody else's address as long as this is held; the file may be closed meanwhile.
    source: Weak<dyn FileSource>,
    positions: Range<u64>,
}

impl Warm {
    fn of(range: &FileRange) -> Warm {
        Warm {
            source: Arc::downgrade(&range.source),
            positions: range.position..range.position + range.length as u64,
        }
    }

    /// The bytes from the start of a range on that lie in it.
    fn left(&self, range: &FileRange) -> Option<usize> {
        let is_same = std::ptr::addr_eq(self.source.as_ptr(), Arc::as_ptr(&range.source));
        let left = self.positions.end.saturating_sub(range.position);
        (is_same && self.positions.contains(&range.position))
            .then(|| usize::try_from(left).unwrap_or(usize::MAX))
    }
}

/// Whether the pages of a range are in the page cache, by samples. Where the kernel cannot tell, they are taken to be.
fn is_resident(file: BorrowedFd<'_>, position: u64, length: usize) -> bool {
    let last = length.saturating_sub(1);
    let probes = (0..last).step_by(PROBE_STRIDE).chain([last]);
    probes
        .map(|offset| position + offset as u64)
        .all(|offset| !would_wait(file, offset))
}

fn would_wait(file: BorrowedFd<'_>, offset: u64) -> bool {
    let mut byte = [0];
    let mut buffers = [IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT) == Err(Errno::AGAIN)
}

/// Has the disk begin with what a reader of a range will want next, and goes on without it.
///
/// With no more: what the kernel would read ahead by itself, 8 MiB on some disks, is in the way of the syncs of whoever
/// produces meanwhile.
fn read_ahead(range: &FileRange) {
    if let Some(file) = range.source.descriptor() {
        let _ = rustix::fs::fadvise(file, 0, None, Advice::Random);
        let length = NonZeroU64::new(range.length as u64 + READ_AHEAD);
        // Advice only: what is not read ahead is read when its turn comes.
        let _ = rustix::fs::fadvise(file, range.position, length, Advice::WillNeed);
    }
}

/// Brings a range into the page cache; errors show when it is sent.
fn read_through(range: &FileRange) {
    let mut piece = vec![0; READ_PIECE.min(range.length)];
    let mut position = range.position;
    let end = range.position + range.length as u64;
    while position < end {
        let left = usize::try_from(end - position).unwrap_or(READ_PIECE);
        let wanted = left.min(READ_PIECE);
        let Some(buffer) = piece.get_mut(..wanted) else {
            return;
        };
        if range.source.read_exact_at(buffer, position).is_err() {
            return;
        }
        position += wanted as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::super::request_queue::RequestHandlers;
    use super::*;

    #[derive(Debug)]
    struct Plain(File);

    impl FileSource for Plain {
        fn descriptor(&self) -> Option<BorrowedFd<'_>> {
            Some(self.0.as_fd())
        }

        fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
            self.0.read_exact_at(buffer, position)
        }
    }

    /// A file whose pages were dropped from the cache, where the file system of the test allows that.
    fn cold_file(length: usize) -> Option<FileRange> {
        let file = tempfile::tempfile_in("/var/tmp").ok()?;
        file.write_all_at(&vec![7; length], 0).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        let cold = would_wait(file.as_fd(), 0);
        cold.then(|| FileRange {
            source: Arc::new(Plain(file)),
            position: 0,
            length,
        })
    }

    #[test]
    fn a_small_range_that_is_in_memory_leaves_as_bytes_and_others_do_not() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"0123456789", 0).unwrap();
        let source: Arc<dyn FileSource> = Arc::new(Plain(file));
        let range = |position, length| {
            Segment::File(FileRange {
                source: source.clone(),
                position,
                length,
            })
        };
        let mut frame = [range(3, 4), range(0, SMALL + 1), range(8, 4)];
        read_small(&mut frame);
        assert!(matches!(&frame[0], Segment::Bytes(bytes) if bytes == "3456"));
        // Too large, and shorter than promised: sending will tell.
        assert!(matches!(&frame[1..], [Segment::File(_), Segment::File(_)]));
    }

    #[tokio::test]
    async fn a_cold_range_is_read_by_a_request_handler_before_it_is_sent() {
        let Some(range) = cold_file(4 * WINDOW) else {
            eprintln!("skipped: this file system does not drop pages on request");
            return;
        };
        let queue = RequestQueue::new(1);
        let handlers = RequestHandlers::start(queue.clone(), 1).unwrap();
        let mut cold = ColdReads::default();
        let first = cold.poll_resident(&range, &queue, &mut Context::from_waker(std::task::Waker::noop()));
        assert_eq!(first, Poll::Pending);
        std::future::poll_fn(|context| cold.poll_resident(&range, &queue, context)).await;
        let file = range.source.descriptor().unwrap();
        assert!(is_resident(file, 0, WINDOW));
        // However far the kernel reads ahead here.
        assert!(would_wait(file, 2 * WINDOW as u64 + READ_AHEAD));
        handlers.stop();
    }

    fn plain(file: File, position: u64, length: usize) -> FileRange {
        FileRange {
            source: Arc::new(Plain(file)),
            position,
            length,
        }
    }

    #[tokio::test]
    async fn only_what_was_looked_at_may_leave() {
        let queue = RequestQueue::new(1);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; 4 * WINDOW], 0).unwrap();
        let mut cold = ColdReads::default();
        let mut range = plain(file, WINDOW as u64, 3 * WINDOW);
        let whole = Poll::Ready(WINDOW);
        assert_eq!(cold.poll_resident(&range, &queue, &mut context), whole);
        range.position += 1000;
        range.length -= 1000;
        let rest = Poll::Ready(WINDOW - 1000);
        assert_eq!(cold.poll_resident(&range, &queue, &mut context), rest);
        // A reader that went back, and another file.
        let before = FileRange {
            position: 0,
            ..range.clone()
        };
        assert!(cold.warm.as_ref().unwrap().left(&before).is_none());
        assert_eq!(cold.poll_resident(&before, &queue, &mut context), whole);
        let other = plain(tempfile::tempfile().unwrap(), 0, WINDOW);
        assert!(cold.warm.as_ref().unwrap().left(&other).is_none());
    }
}

//! The one system call of ours that no safe crate offers.
#![expect(unsafe_code, reason = "`sync_file_range` is in no crate but as C has it")]

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

const WRITE_AND_WAIT: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// [`super::DiskFile::write_back`]; nothing where the system has no such thing.
pub(super) fn write_back(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    let place = i64::try_from(range.start)
        .ok()
        .zip(range.end.checked_sub(range.start))
        .and_then(|(start, bytes)| Some((start, i64::try_from(bytes).ok()?)));
    // No bytes would stand for all up to the end.
    let Some((start, bytes @ 1..)) = place else {
        return Ok(());
    };
    // SAFETY: it is given no memory, and `file` is open as long as it is borrowed.
    let outcome = unsafe { libc::sync_file_range(file.as_raw_fd(), start, bytes, WRITE_AND_WAIT) };
    if outcome == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match Errno::from_io_error(&error) {
        Some(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        _ => Err(error),
    }
}

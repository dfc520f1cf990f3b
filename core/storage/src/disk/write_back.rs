//! The one system call of ours that no safe crate offers.
#![expect(unsafe_code, reason = "`sync_file_range` is in no crate but as C has it")]

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

const WRITE_AND_WAIT: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// [`super::DiskFile::write_back`]. Where the system has no such call, nothing is written, and no error lost.
pub(super) fn write_back(file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<()> {
    let place = i64::try_from(range.start)
        .ok()
        .zip(range.end.checked_sub(range.start))
        .and_then(|(start, bytes)| Some((start, i64::try_from(bytes).ok()?)));
    // No bytes would stand for all up to the end.
    let Some((start, bytes @ 1..)) = place else {
        return Ok(());
    };
    sync_file_range(file, start, bytes, WRITE_AND_WAIT).or_else(|error| {
        // Any number can be a disk's answer. Asked to do nothing, only a system without the call fails.
        match sync_file_range(file, 0, 0, 0) {
            Ok(()) => Err(error),
            Err(_) => Ok(()),
        }
    })
}

fn sync_file_range(file: BorrowedFd<'_>, start: i64, bytes: i64, flags: u32) -> io::Result<()> {
    // SAFETY: it is given no memory, and `file` is open as long as it is borrowed.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), start, bytes, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

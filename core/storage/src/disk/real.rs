//! The disk of the operating system: positioned reads and vectored writes, `fdatasync`, and the lock of a folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FlockOperation;
use wire::FileSource;

use super::write_back::write_back;
use super::{DirEntry, DirLock, Disk, DiskFile};

/// The most slices one `pwritev` takes (`IOV_MAX`).
const SLICES_AT_ONCE: usize = 1024;

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

#[derive(Debug)]
struct RealFile(File);

/// The lock file: open since before anything was written, so that the system owes it every error since.
struct RealLock(File);

impl DirLock for RealLock {
    fn sync_file_system(&self) -> io::Result<()> {
        rustix::fs::syncfs(&self.0)?;
        // ext4 before Linux 6.13 reports success once it has shut itself down, but refuses any write, even of nothing.
        rustix::io::pwrite(&self.0, &[], 0)?;
        Ok(())
    }

    fn reports_failures(&self) -> bool {
        let system = rustix::system::uname();
        system
            .release()
            .to_str()
            .is_ok_and(|release| version(release) >= SYNCFS_REPORTS_SINCE)
    }
}

/// The Linux whose `syncfs` first reported all failures: those of data since 5.8, those of a journal only since this.
const SYNCFS_REPORTS_SINCE: (u32, u32) = (5, 17);

/// The first two numbers of a kernel's release, such as `6.1.0-18-amd64`; zeros for what has none.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

impl FileSource for RealFile {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, position)
    }
}

impl DiskFile for RealFile {
    fn write_all_at(&self, slices: &[IoSlice<'_>], position: u64) -> io::Result<()> {
        let mut position = position;
        for chunk in slices.chunks(SLICES_AT_ONCE) {
            let total: usize = chunk.iter().map(|slice| slice.len()).sum();
            let mut written = rustix::io::retry_on_intr(|| rustix::io::pwritev(&self.0, chunk, position))?;
            if written < total {
                // A short write: rare enough to finish slice by slice.
                let mut at = position;
                for slice in chunk {
                    let skipped = written.min(slice.len());
                    written -= skipped;
                    let rest = slice.get(skipped..).unwrap_or_default();
                    at += skipped as u64;
                    self.0.write_all_at(rest, at)?;
                    at += rest.len() as u64;
                }
            }
            position += total as u64;
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.0.read_at(buffer, position)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write_back(&self, range: Range<u64>) -> io::Result<()> {
        write_back(self.0.as_fd(), range)
    }

    fn reload(&self, position: u64) -> io::Result<()> {
        self.0.sync_data()?;
        // Pages are clean now: this drops them. Those of the page that `position` is in as well.
        let from = position - position % 4096;
        Ok(rustix::fs::fadvise(
            &self.0,
            from,
            None,
            rustix::fs::Advice::DontNeed,
        )?)
    }

    fn as_source(self: Arc<Self>) -> Arc<dyn FileSource> {
        self
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(
            OpenOptions::new().read(true).write(true).open(path)?,
        )))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(File::open(path)?)))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            entries.push(DirEntry {
                name,
                is_dir: entry.file_type()?.is_dir(),
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        fs::exists(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Option<Box<dyn DirLock>>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(dir.join(".lock"))?;
        // Java's FileChannel.tryLock is a POSIX record lock, which keeps Apache Kafka out but not a second holder in
        // this process; flock does that.
        let exclusive = FlockOperation::NonBlockingLockExclusive;
        for taken in [
            rustix::fs::flock(&file, exclusive),
            rustix::fs::fcntl_lock(&file, exclusive),
        ] {
            match taken {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::ACCESS) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(Box::new(RealLock(file))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_whose_syncfs_hides_failures_is_told_by_its_release() {
        for (release, reports) in [
            ("4.18.0-553.el8.x86_64", false),
            ("5.15.0-101-generic", false),
            ("5.17.0", true),
            ("6.1.0-18-amd64", true),
            ("10.0", true),
            ("unknown", false),
        ] {
            assert_eq!(version(release) >= SYNCFS_REPORTS_SINCE, reports, "{release}");
        }
    }
}

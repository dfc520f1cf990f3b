//! The disk as the log sees it: folders, files, and the calls that make them durable.
//!
//! [`RealDisk`] is a thin layer over the operating system; [`SimDisk`] loses what was not synced. Every call may fail,
//! and a failed sync is final: what was not durable before it may be gone (rule 109). Both pass the tests of
//! `contract.rs`.

#[cfg(test)]
mod contract;
mod random;
mod real;
mod sim;
mod write_back;

use std::fmt;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::FileSource;

pub use random::Random;
pub use real::RealDisk;
pub use sim::{SimDisk, SimFaults};

/// A file opened for reading and, unless opened by [`Disk::open_read`], writing.
///
/// Calls take `&self`: positions are explicit, and the one writer of a partition orders its own writes.
pub trait DiskFile: FileSource {
    /// Writes all slices one after the other from `position` on, extending the file where needed. On an error any
    /// part may have been written: the caller truncates back before it writes again (rule 112).
    fn write_all_at(&self, slices: &[IoSlice<'_>], position: u64) -> io::Result<()>;

    /// Reads at most `buffer.len()` bytes from `position` on; 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Cuts the file, or extends it with zeros that take no space.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no byte.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Makes the file's data and length durable. Its name is durable only after [`Disk::sync_dir`] on its folder.
    fn sync_data(&self) -> io::Result<()>;

    /// Has the disk write what it lacks of a range, and waits for that. Nothing is durable by it, since the disk and the
    /// file system may still forget: it leaves less for a sync, behind which the syncs of other files wait. An error counts
    /// as one of [`DiskFile::sync_data`], which does not tell of it again.
    fn write_back(&self, range: Range<u64>) -> io::Result<()>;

    /// Makes the file durable, and has what is read from `position` on come from the disk: after a sync that failed in an
    /// earlier life of the process, the cache may show what the disk does not hold.
    fn reload(&self, position: u64) -> io::Result<()>;

    /// This file as something a response can be sent from.
    fn as_source(self: Arc<Self>) -> Arc<dyn FileSource>;
}

/// A file system.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Opens a file for reading and writing; it must exist.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens a file for reading; it must exist.
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens a file for reading and writing, making it where it does not exist. An existing one keeps its content.
    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// The whole content of a small file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// The length of a file in bytes.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// The names in a folder, sorted, with whether each is a folder itself.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// Whether something has that name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Makes a folder and those above it. Durable after [`Disk::sync_dir`] on each parent.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Gives a file or folder another name in the same folder, replacing a file that has it. Durable after
    /// [`Disk::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Durable after [`Disk::sync_dir`].
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder and all in it. Durable after [`Disk::sync_dir`] on its parent.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the entries of a folder durable: new names, removals.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of a folder (`.lock` in it), held until the guard is dropped; `None` when another
    /// process, Apache Kafka included, or another holder in this one has it (rule 104).
    fn lock_dir(&self, dir: &Path) -> io::Result<Option<Box<dyn DirLock>>>;

    /// Writes a small file whole, replacing what it held. Neither durable nor atomic: the caller syncs the file that
    /// is returned, and its folder.
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.open_or_create(path)?;
        file.set_len(0)?;
        file.write_all_at(&[IoSlice::new(content)], 0)?;
        Ok(file)
    }

    /// Replaces a small file atomically and durably: temporary file, sync, rename, sync of the folder (rule 98).
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        self.write(&temporary, content)?.sync_data()?;
        self.rename(&temporary, path)?;
        match path.parent() {
            Some(dir) => self.sync_dir(dir),
            None => Ok(()),
        }
    }

    /// Removes a file that may be gone already.
    fn remove_file_if_there(&self, path: &Path) -> io::Result<()> {
        match self.remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The whole content of a small file; `None` where there is none.
    fn read_if_there(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match self.read(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The lock of a folder, held until it is dropped.
pub trait DirLock: Send + Sync {
    /// Makes everything on the folder's file system durable, names included: where many files are dirty, one call costs
    /// less than one for each. Fails also for what the system failed to write since the lock was taken or since the
    /// last call, so that nothing is lost between two calls.
    fn sync_file_system(&self) -> io::Result<()>;

    /// Whether a sync of the whole file system fails where it should: an old kernel says nothing of what it failed to
    /// write, and files have to be synced one by one there.
    fn reports_failures(&self) -> bool {
        true
    }
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the folder. Names that are not UTF-8 are left out of listings: none of ours is such.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
}

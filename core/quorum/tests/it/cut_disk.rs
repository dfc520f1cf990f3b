//! A disk whose power goes at the n-th call that changes something.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use storage::{DirEntry, Disk, DiskFile, SimDisk};

#[derive(Debug)]
pub(crate) struct CutDisk {
    inner: SimDisk,
    calls: Arc<AtomicU64>,
    cut_at: u64,
}

impl CutDisk {
    pub(crate) fn new(inner: SimDisk, cut_at: u64) -> CutDisk {
        CutDisk {
            inner,
            calls: Arc::default(),
            cut_at,
        }
    }

    /// Counts the calls that change something.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn step(&self) -> io::Result<()> {
        step(&self.calls, self.cut_at)
    }

    fn wrap(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(CutFile {
            inner: file,
            calls: self.calls.clone(),
            cut_at: self.cut_at,
        })
    }
}

fn step(calls: &AtomicU64, cut_at: u64) -> io::Result<()> {
    if calls.fetch_add(1, Ordering::Relaxed) >= cut_at {
        Err(io::Error::other("no power"))
    } else {
        Ok(())
    }
}

#[derive(Debug)]
struct CutFile {
    inner: Arc<dyn DiskFile>,
    calls: Arc<AtomicU64>,
    cut_at: u64,
}

impl wire::FileSource for CutFile {
    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.inner.descriptor()
    }

    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.inner.read_exact_at(buffer, position)
    }
}

impl DiskFile for CutFile {
    fn write_all_at(&self, slices: &[io::IoSlice<'_>], position: u64) -> io::Result<()> {
        step(&self.calls, self.cut_at)?;
        self.inner.write_all_at(slices, position)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, position)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        step(&self.calls, self.cut_at)?;
        self.inner.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn sync_data(&self) -> io::Result<()> {
        step(&self.calls, self.cut_at)?;
        self.inner.sync_data()
    }

    fn write_back(&self, range: std::ops::Range<u64>) -> io::Result<()> {
        step(&self.calls, self.cut_at)?;
        self.inner.write_back(range)
    }

    fn reload(&self, from: u64) -> io::Result<()> {
        self.inner.reload(from)
    }

    fn as_source(self: Arc<Self>) -> Arc<dyn wire::FileSource> {
        self
    }
}

impl Disk for CutDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(self.inner.open(path)?))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.open_read(path)
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.step()?;
        Ok(self.wrap(self.inner.open_or_create(path)?))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inner.read(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Disk::len(&self.inner, path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.inner.create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.inner.remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.inner.remove_dir_all(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        self.inner.sync_dir(dir)
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Option<Box<dyn storage::DirLock>>> {
        self.inner.lock_dir(dir)
    }
}

//! A disk in memory that fails as disks fail, by seed.
//!
//! What was written lies in a cache until it is synced. [`SimDisk::crash`] decides for each page of 4 KiB that was not
//! whether it is kept, lost or torn at sectors of 512 bytes, for each file how much of its growth is there, and for
//! each name in a folder that was not synced whether it is there. Calls fail as [`SimFaults`] says; a failed sync
//! forgets what it should have kept, and the next one succeeds, as on Linux (rule 109).

mod file;
#[cfg(test)]
mod tests;
mod tree;

use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::FileSource;

use self::file::FileData;
use self::tree::{Node, Tree};
use super::{DirEntry, DirLock, Disk, DiskFile, Random};

/// How often calls fail, and how much fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimFaults {
    /// Reads that fail with EIO, per million.
    pub read_errors: u32,
    /// Writes that fail with EIO after an arbitrary part, per million.
    pub write_errors: u32,
    /// Syncs that fail with EIO and forget what they should have kept, per million.
    pub sync_errors: u32,
    /// Files and folders that cannot be opened for want of a descriptor (EMFILE), per million.
    pub open_errors: u32,
    /// The bytes that fit; beyond them writes fail with ENOSPC after what fitted.
    pub capacity: u64,
}

impl Default for SimFaults {
    /// A disk that never fails and never fills.
    fn default() -> SimFaults {
        SimFaults {
            read_errors: 0,
            write_errors: 0,
            sync_errors: 0,
            open_errors: 0,
            capacity: u64::MAX,
        }
    }
}

/// A simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    random: Random,
    tree: Tree,
    faults: SimFaults,
    /// Counts crashes: what was opened before one is of no use after it.
    life: u64,
    syncs: u64,
    trace: u64,
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    inode: u64,
    life: u64,
}

struct SimLock {
    disk: SimDisk,
    life: u64,
    _held: tree::Held,
}

impl DirLock for SimLock {
    fn sync_file_system(&self) -> io::Result<()> {
        let state = &mut *self.disk.lock();
        if state.life != self.life {
            return Err(io::Error::other("the lock was taken before the crash"));
        }
        state.syncs += 1;
        let done = state.enter(Call::Sync, [1, 0]);
        state.tree.sync_all(done.is_ok());
        done
    }
}

/// What a call does, for the trace and for the faults.
#[derive(Clone, Copy)]
enum Call {
    Read,
    Write,
    Sync,
    Names,
}

impl SimDisk {
    /// An empty disk.
    pub fn new(seed: u64) -> SimDisk {
        let state = State {
            random: Random::new(seed),
            tree: Tree::new(),
            faults: SimFaults::default(),
            life: 0,
            syncs: 0,
            trace: 0xcbf2_9ce4_8422_2325,
        };
        SimDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Sets how calls fail from now on.
    pub fn set_faults(&self, faults: SimFaults) {
        self.lock().faults = faults;
    }

    /// Power is lost and comes back: only what is durable, and an arbitrary part of the rest, is there. Files opened
    /// and locks taken before are void.
    pub fn crash(&self) {
        let state = &mut *self.lock();
        state.life += 1;
        let mut random = state.random.fork();
        state.tree.crash(&mut random);
        state.note(&[0xdead, state.life]);
    }

    /// The process ends and starts again: files and locks are void, but the cache is kept.
    pub fn restart(&self) {
        let state = &mut *self.lock();
        state.life += 1;
        state.tree.unlock();
        state.note(&[0xbeef, state.life]);
    }

    /// Turns one bit of a file around, on the disk and in the cache: `position` in bytes, `bit` from 0 to 7.
    pub fn flip_bit(&self, path: &Path, position: u64, bit: u8) -> io::Result<()> {
        let state = &mut *self.lock();
        let inode = state.tree.file(path)?;
        state.tree.data(inode)?.flip_bit(position, bit)
    }

    /// The bytes in use.
    pub fn used(&self) -> u64 {
        self.lock().tree.used()
    }

    /// The number of calls that made something durable so far.
    pub fn sync_count(&self) -> u64 {
        self.lock().syncs
    }

    /// A number that depends on every call so far: equal for equal runs.
    pub fn trace(&self) -> u64 {
        self.lock().trace
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self, inode: u64, life: u64) -> Arc<dyn DiskFile> {
        Arc::new(SimFile {
            disk: self.clone(),
            inode,
            life,
        })
    }
}

impl State {
    fn note(&mut self, words: &[u64]) {
        for word in words {
            self.trace = (self.trace ^ word)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(23);
        }
    }

    /// Notes a call, and fails it when it is its turn.
    fn enter(&mut self, call: Call, words: [u64; 2]) -> io::Result<()> {
        let (kind, parts) = match call {
            Call::Read => (1, self.faults.read_errors),
            Call::Write => (2, self.faults.write_errors),
            Call::Sync => (3, self.faults.sync_errors),
            Call::Names => (4, 0),
        };
        self.note(&[kind, words[0], words[1]]);
        if self.random.per_million(parts) {
            self.note(&[0xe10]);
            return Err(input_output_error());
        }
        Ok(())
    }

    /// Whoever opens something needs a descriptor for it, also to list a folder or to sync it.
    fn take_descriptor(&mut self) -> io::Result<()> {
        match self.random.per_million(self.faults.open_errors) {
            true => Err(io::Error::from_raw_os_error(24)),
            false => Ok(()),
        }
    }

    fn free(&self) -> u64 {
        match self.faults.capacity {
            u64::MAX => u64::MAX,
            capacity => capacity.saturating_sub(self.tree.used()),
        }
    }

    fn live(&mut self, inode: u64, life: u64) -> io::Result<&mut FileData> {
        if life != self.life {
            return Err(io::Error::other("the file was opened before the crash"));
        }
        self.tree.data(inode)
    }
}

fn input_output_error() -> io::Error {
    io::Error::from_raw_os_error(5)
}

fn no_space() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

impl FileSource for SimFile {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        match self.read_at(buffer, position)? {
            read if read == buffer.len() => Ok(()),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    }
}

impl DiskFile for SimFile {
    fn write_all_at(&self, slices: &[IoSlice<'_>], position: u64) -> io::Result<()> {
        let state = &mut *self.disk.lock();
        let total: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
        state.live(self.inode, self.life)?;
        let failed = state.enter(Call::Write, [position, total]);
        let wanted = if failed.is_err() {
            state.random.below(total)
        } else {
            total
        };
        let free = state.free();
        let data = state.tree.data(self.inode)?;
        let fits = data.fits(position, wanted, free);
        let mut left = fits;
        let mut at = position;
        for slice in slices {
            let part = left.min(slice.len() as u64);
            data.write(
                at,
                slice
                    .get(..usize::try_from(part).unwrap_or(0))
                    .unwrap_or_default(),
            );
            at += part;
            left -= part;
        }
        failed?;
        if fits < total { Err(no_space()) } else { Ok(()) }
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let state = &mut *self.disk.lock();
        state.live(self.inode, self.life)?;
        state.enter(Call::Read, [position, buffer.len() as u64])?;
        Ok(state.tree.data(self.inode)?.read(position, buffer))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let state = &mut *self.disk.lock();
        state.live(self.inode, self.life)?;
        state.enter(Call::Write, [self.inode, length])?;
        state.tree.data(self.inode)?.set_len(length);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().live(self.inode, self.life)?.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        let state = &mut *self.disk.lock();
        state.live(self.inode, self.life)?;
        state.syncs += 1;
        let done = state.enter(Call::Sync, [self.inode, 0]);
        state.tree.data(self.inode)?.sync(done.is_ok());
        done
    }

    /// May fail as a sync does, and then takes as much.
    fn write_back(&self, range: Range<u64>) -> io::Result<()> {
        let state = &mut *self.disk.lock();
        state.live(self.inode, self.life)?;
        let done = state.enter(Call::Sync, [self.inode, range.end]);
        if done.is_err() {
            state.tree.data(self.inode)?.sync(false);
        }
        done
    }

    fn reload(&self, _position: u64) -> io::Result<()> {
        self.sync_data()?;
        let state = &mut *self.disk.lock();
        state.tree.data(self.inode)?.reload();
        Ok(())
    }

    fn as_source(self: Arc<Self>) -> Arc<dyn FileSource> {
        self
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let state = &mut *self.lock();
        state.take_descriptor()?;
        let inode = state.tree.file(path)?;
        Ok(self.opened(inode, state.life))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.open(path)
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let state = &mut *self.lock();
        state.take_descriptor()?;
        state.enter(Call::Names, [1, 0])?;
        let inode = match state.tree.file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if state.free() == 0 {
                    return Err(no_space());
                }
                state.tree.link(path, Node::File(FileData::default()))?
            }
            found => found?,
        };
        Ok(self.opened(inode, state.life))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let mut content = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
        file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let state = &mut *self.lock();
        let inode = state.tree.file(path)?;
        Ok(state.tree.data(inode)?.len())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let state = &mut *self.lock();
        state.take_descriptor()?;
        state.enter(Call::Read, [2, 0])?;
        state.tree.list(dir)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.lock().tree.find(path).is_some())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.lock();
        state.enter(Call::Names, [2, 0])?;
        state.tree.create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.lock();
        state.enter(Call::Names, [3, 0])?;
        state.tree.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.lock();
        state.enter(Call::Names, [4, 0])?;
        state.tree.file(path)?;
        state.tree.unlink(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.lock();
        state.enter(Call::Names, [5, 0])?;
        state.tree.list(path)?;
        state.tree.unlink(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let state = &mut *self.lock();
        state.take_descriptor()?;
        state.syncs += 1;
        let done = state.enter(Call::Sync, [0, 0]);
        state.tree.sync_dir(dir, done.is_ok())?;
        done
    }

    fn lock_dir(&self, dir: &Path) -> io::Result<Option<Box<dyn DirLock>>> {
        self.open_or_create(&dir.join(".lock"))?;
        let mut state = self.lock();
        let life = state.life;
        Ok(state.tree.take_lock(dir).map(|held| {
            Box::new(SimLock {
                disk: self.clone(),
                life,
                _held: held,
            }) as Box<dyn DirLock>
        }))
    }
}

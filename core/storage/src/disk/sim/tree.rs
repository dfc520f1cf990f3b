//! The names of a simulated disk: folders with their entries in the cache and on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::{DirEntry, Random};
use super::file::FileData;

/// What an inode is.
#[derive(Debug)]
pub(super) enum Node {
    Dir(Dir),
    File(FileData),
}

/// A folder. `changes` leads from the durable entries to those in the cache.
#[derive(Debug, Default)]
pub(super) struct Dir {
    entries: BTreeMap<String, u64>,
    durable: BTreeMap<String, u64>,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Link(String, u64),
    Unlink(String),
    Move(String, String, u64),
}

impl Change {
    fn apply(&self, entries: &mut BTreeMap<String, u64>) {
        match self {
            Change::Link(name, inode) => {
                entries.insert(name.clone(), *inode);
            }
            Change::Unlink(name) => {
                entries.remove(name);
            }
            Change::Move(from, to, inode) => {
                entries.remove(from);
                entries.insert(to.clone(), *inode);
            }
        }
    }
}

impl Dir {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.entries);
        self.changes.push(change);
    }

    fn sync(&mut self, succeeds: bool) {
        self.changes.clear();
        if succeeds {
            self.durable = self.entries.clone();
        }
    }

    /// Keeps the first of the changes that were not synced, or any of them: file systems with an ordered journal do
    /// the first, nothing promises it.
    fn crash(&mut self, random: &mut Random) {
        let ordered = random.one_in(2);
        let kept = random.between(0, self.changes.len() as u64);
        for (index, change) in std::mem::take(&mut self.changes).iter().enumerate() {
            let keep = if ordered {
                (index as u64) < kept
            } else {
                random.one_in(2)
            };
            if keep {
                change.apply(&mut self.durable);
            }
        }
        self.entries = self.durable.clone();
    }
}

/// All inodes; 0 is the root.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    locks: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// Gives the lock of a folder back when it is dropped.
pub(super) struct Held {
    locks: Arc<Mutex<BTreeSet<PathBuf>>>,
    dir: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.dir);
    }
}

const ROOT: u64 = 0;

impl Tree {
    pub(super) fn new() -> Tree {
        Tree {
            nodes: BTreeMap::from([(ROOT, Node::Dir(Dir::default()))]),
            next: ROOT + 1,
            locks: Arc::default(),
        }
    }

    pub(super) fn find(&self, path: &Path) -> Option<u64> {
        let mut inode = ROOT;
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            let Some(Node::Dir(dir)) = self.nodes.get(&inode) else {
                return None;
            };
            inode = *dir.entries.get(name.to_str()?)?;
        }
        Some(inode)
    }

    fn dir(&mut self, path: &Path) -> io::Result<&mut Dir> {
        let inode = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        match self.nodes.get_mut(&inode) {
            Some(Node::Dir(dir)) => Ok(dir),
            _ => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        }
    }

    /// The folder that holds a path, and the path's name in it.
    fn holder(&mut self, path: &Path) -> io::Result<(&mut Dir, String)> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or(io::ErrorKind::InvalidInput)?;
        let dir = self.dir(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        Ok((dir, name.to_owned()))
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<u64> {
        let inode = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        match self.nodes.get(&inode) {
            Some(Node::File(_)) => Ok(inode),
            _ => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        }
    }

    /// The bytes of a file, also of one whose name is gone.
    pub(super) fn data(&mut self, inode: u64) -> io::Result<&mut FileData> {
        match self.nodes.get_mut(&inode) {
            Some(Node::File(data)) => Ok(data),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    pub(super) fn link(&mut self, path: &Path, node: Node) -> io::Result<u64> {
        let inode = self.next;
        let (dir, name) = self.holder(path)?;
        dir.change(Change::Link(name, inode));
        self.nodes.insert(inode, node);
        self.next += 1;
        Ok(inode)
    }

    /// Removes a name. The inode stays for those who have it open, and for a crash that brings the name back.
    pub(super) fn unlink(&mut self, path: &Path) -> io::Result<()> {
        let (dir, name) = self.holder(path)?;
        dir.change(Change::Unlink(name));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if from.parent() != to.parent() {
            return Err(io::Error::from(io::ErrorKind::CrossesDevices));
        }
        let inode = self.find(from).ok_or(io::ErrorKind::NotFound)?;
        let (_, old) = self.holder(from)?;
        let (dir, new) = self.holder(to)?;
        dir.change(Change::Move(old, new, inode));
        Ok(())
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        for dir in above {
            if dir.file_name().is_some() && self.find(dir).is_none() {
                self.link(dir, Node::Dir(Dir::default()))?;
            }
        }
        self.dir(path).map(|_| ())
    }

    pub(super) fn list(&mut self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let entries = self.dir(path)?.entries.clone();
        let is_dir = |inode| matches!(self.nodes.get(inode), Some(Node::Dir(_)));
        Ok(entries
            .iter()
            .map(|(name, inode)| DirEntry {
                name: name.clone(),
                is_dir: is_dir(inode),
            })
            .collect())
    }

    pub(super) fn sync_dir(&mut self, path: &Path, succeeds: bool) -> io::Result<()> {
        self.dir(path)?.sync(succeeds);
        Ok(())
    }

    pub(super) fn crash(&mut self, random: &mut Random) {
        self.unlock();
        for node in self.nodes.values_mut() {
            match node {
                Node::Dir(dir) => dir.crash(random),
                Node::File(data) => data.crash(random),
            }
        }
        self.drop_unreachable();
    }

    pub(super) fn unlock(&mut self) {
        self.locks = Arc::default();
    }

    fn reachable(&self) -> BTreeSet<u64> {
        let mut reached = BTreeSet::from([ROOT]);
        let mut open = vec![ROOT];
        while let Some(inode) = open.pop() {
            if let Some(Node::Dir(dir)) = self.nodes.get(&inode) {
                open.extend(dir.entries.values().filter(|inode| reached.insert(**inode)));
            }
        }
        reached
    }

    fn drop_unreachable(&mut self) {
        let reached = self.reachable();
        self.nodes.retain(|inode, _| reached.contains(inode));
    }

    /// The bytes of all files that have a name.
    pub(super) fn used(&self) -> u64 {
        let files = self
            .reachable()
            .into_iter()
            .map(|inode| match self.nodes.get(&inode) {
                Some(Node::File(data)) => data.used(),
                _ => 0,
            });
        files.sum()
    }

    pub(super) fn take_lock(&mut self, dir: &Path) -> Option<Held> {
        let free = self
            .locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(dir.to_owned());
        free.then(|| Held {
            locks: Arc::clone(&self.locks),
            dir: dir.to_owned(),
        })
    }

    /// Makes everything durable; or, when the sync fails, forgets that it was not.
    pub(super) fn sync_all(&mut self, succeeds: bool) {
        for node in self.nodes.values_mut() {
            match node {
                Node::File(data) => data.sync(succeeds),
                Node::Dir(dir) => dir.sync(succeeds),
            }
        }
    }
}

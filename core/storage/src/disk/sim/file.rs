//! The bytes of a simulated file: pages in the cache, pages on the disk, and which of them differ.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use super::super::Random;

pub(super) const PAGE: u64 = 4096;
const SECTOR: usize = 512;

type Page = [u8; PAGE as usize];

/// A file: a page that is not there is full of zeros and takes no space.
#[derive(Clone, Debug, Default)]
pub(super) struct FileData {
    pages: BTreeMap<u64, Arc<Page>>,
    length: u64,
    durable_pages: BTreeMap<u64, Arc<Page>>,
    durable_length: u64,
    unsynced: BTreeSet<u64>,
}

/// The part of a page from `position` on: its number, where in it, and how many bytes of `left`.
fn place(position: u64, left: usize) -> (u64, usize, usize) {
    let within = usize::try_from(position % PAGE).unwrap_or(0);
    (position / PAGE, within, left.min(PAGE as usize - within))
}

impl FileData {
    pub(super) fn len(&self) -> u64 {
        self.length
    }

    pub(super) fn used(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }

    /// How many of `wanted` bytes from `position` on can be written when `free` bytes are left on the disk.
    pub(super) fn fits(&self, position: u64, wanted: u64, free: u64) -> u64 {
        let mut pages = free / PAGE;
        for number in position / PAGE..position.saturating_add(wanted).div_ceil(PAGE) {
            if !self.pages.contains_key(&number) {
                if pages == 0 {
                    return (number * PAGE).saturating_sub(position);
                }
                pages -= 1;
            }
        }
        wanted
    }

    pub(super) fn write(&mut self, position: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (position, bytes);
        while !rest.is_empty() {
            let (number, within, count) = place(at, rest.len());
            let (part, others) = rest.split_at(count);
            let page = self
                .pages
                .entry(number)
                .or_insert_with(|| Arc::new([0; PAGE as usize]));
            if let Some(target) = Arc::make_mut(page).get_mut(within..within + count) {
                target.copy_from_slice(part);
            }
            self.unsynced.insert(number);
            at += count as u64;
            rest = others;
        }
        self.length = self.length.max(at);
    }

    pub(super) fn read(&self, position: u64, buffer: &mut [u8]) -> usize {
        let there = usize::try_from(self.length.saturating_sub(position)).unwrap_or(usize::MAX);
        let total = there.min(buffer.len());
        let mut done = 0;
        while done < total {
            let (number, within, count) = place(position + done as u64, total - done);
            let Some(target) = buffer.get_mut(done..done + count) else {
                break;
            };
            match self
                .pages
                .get(&number)
                .and_then(|page| page.get(within..within + count))
            {
                Some(bytes) => target.copy_from_slice(bytes),
                None => target.fill(0),
            }
            done += count;
        }
        total
    }

    pub(super) fn set_len(&mut self, length: u64) {
        if length < self.length {
            let gone = self.pages.split_off(&length.div_ceil(PAGE));
            self.unsynced.extend(gone.into_keys());
            let (number, within, _) = place(length, 0);
            if within > 0
                && let Some(page) = self.pages.get_mut(&number)
                && let Some(tail) = Arc::make_mut(page).get_mut(within..)
            {
                tail.fill(0);
                self.unsynced.insert(number);
            }
        }
        self.length = length;
    }

    /// Makes everything durable; or, when the sync fails, forgets that it was not.
    pub(super) fn sync(&mut self, succeeds: bool) {
        for number in std::mem::take(&mut self.unsynced) {
            if succeeds {
                keep(&mut self.durable_pages, number, self.pages.get(&number).cloned());
            }
        }
        if succeeds {
            self.durable_length = self.length;
        }
    }

    /// Forgets the cache of a file that is synced.
    pub(super) fn reload(&mut self) {
        self.pages = self.durable_pages.clone();
        self.length = self.durable_length;
    }

    /// What is there after a loss of power.
    pub(super) fn crash(&mut self, random: &mut Random) {
        let (low, high) = (
            self.durable_length.min(self.length),
            self.durable_length.max(self.length),
        );
        let length = match random.below(4) {
            0 => self.durable_length,
            1 => self.length,
            _ => random.between(low, high),
        };
        let mut after = self.durable_pages.clone();
        for &number in &self.unsynced {
            let newer = self.pages.get(&number);
            match random.below(3) {
                0 => {}
                1 => keep(&mut after, number, newer.cloned()),
                _ => {
                    let torn = tear(self.durable_pages.get(&number), newer, random);
                    keep(&mut after, number, Some(Arc::new(torn)));
                }
            }
        }
        self.pages = after;
        self.unsynced.clear();
        self.length = u64::MAX;
        self.set_len(length);
        self.sync(true);
        self.durable_pages = self.pages.clone();
    }

    pub(super) fn flip_bit(&mut self, position: u64, bit: u8) -> io::Result<()> {
        let (number, within, _) = place(position, 1);
        for pages in [&mut self.pages, &mut self.durable_pages] {
            if let Some(page) = pages.get_mut(&number)
                && let Some(byte) = Arc::make_mut(page).get_mut(within)
            {
                *byte ^= 1 << (bit & 7);
            }
        }
        if position < self.length {
            Ok(())
        } else {
            Err(io::Error::from(io::ErrorKind::UnexpectedEof))
        }
    }
}

fn keep(pages: &mut BTreeMap<u64, Arc<Page>>, number: u64, page: Option<Arc<Page>>) {
    match page {
        Some(page) => pages.insert(number, page),
        None => pages.remove(&number),
    };
}

/// Some sectors of the older page, some of the newer one.
fn tear(older: Option<&Arc<Page>>, newer: Option<&Arc<Page>>, random: &mut Random) -> Page {
    let zeros = [0; PAGE as usize];
    let mut torn = older.map_or(zeros, |page| **page);
    let newer = newer.map_or(zeros, |page| **page);
    for (target, source) in torn.chunks_mut(SECTOR).zip(newer.chunks(SECTOR)) {
        if random.one_in(2) {
            target.copy_from_slice(source);
        }
    }
    torn
}

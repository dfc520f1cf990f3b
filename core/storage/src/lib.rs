//! The log of one partition: segments, indexes, producer state, leader epochs, retention and recovery, over a [`Disk`].

mod disk;

pub use disk::{DirEntry, Disk, DiskFile, Random, RealDisk, SimDisk, SimFaults};

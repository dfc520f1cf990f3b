//! What encoding yields: a list of segments, each bytes in memory or a range of a file.
//!
//! A fetch response carries record batches that stay on disk until the socket takes them (`sendfile`); nothing here
//! reads or copies them. This module knows no file system: a file is whatever implements [`FileSource`].

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bytes::Bytes;

/// A file that a range can be sent from.
pub trait FileSource: Send + Sync + fmt::Debug {
    /// The descriptor, for `sendfile`; `None` where there is none (the simulated disk).
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Fills `buffer` from `position` on, without moving a cursor. An error where the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()>;
}

/// `length` bytes of a file from `position` on.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The file; kept open by this reference even when its name is removed.
    pub source: Arc<dyn FileSource>,
    /// The first byte.
    pub position: u64,
    /// The number of bytes.
    pub length: usize,
}

/// A piece of a frame to send.
#[derive(Clone, Debug)]
pub enum Segment {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A range of a file.
    File(FileRange),
}

impl Segment {
    /// The number of bytes this segment puts on the wire.
    pub fn len(&self) -> usize {
        match self {
            Segment::Bytes(bytes) => bytes.len(),
            Segment::File(range) => range.length,
        }
    }

    /// Whether this segment puts nothing on the wire.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A field of type `records`: zero or more record batches, as one slice of a received frame or as segments of a log.
#[derive(Clone, Debug, Default)]
pub struct Records {
    segments: Segments,
}

/// The usual single segment needs no list.
#[derive(Clone, Debug)]
enum Segments {
    One(Segment),
    List(Vec<Segment>),
}

impl Default for Segments {
    fn default() -> Segments {
        Segments::List(Vec::new())
    }
}

impl Records {
    /// No batches. On the wire this is an empty field, not null.
    pub fn empty() -> Records {
        Records::default()
    }

    /// Batches that lie in several places, in order.
    pub fn from_segments(segments: Vec<Segment>) -> Records {
        Records {
            segments: Segments::List(segments),
        }
    }

    /// The segments, in order.
    pub fn segments(&self) -> &[Segment] {
        match &self.segments {
            Segments::One(segment) => std::slice::from_ref(segment),
            Segments::List(segments) => segments,
        }
    }

    /// The segments, in order, without a copy.
    pub fn into_segments(self) -> Vec<Segment> {
        match self.segments {
            Segments::One(segment) => vec![segment],
            Segments::List(segments) => segments,
        }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.segments().iter().map(Segment::len).sum()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.segments().iter().all(Segment::is_empty)
    }

    /// All bytes in one piece: no copy where they already are one slice in memory; files are read.
    pub fn to_bytes(&self) -> io::Result<Bytes> {
        if let [Segment::Bytes(bytes)] = self.segments() {
            return Ok(bytes.clone());
        }
        let mut all = Vec::with_capacity(self.len());
        for segment in self.segments() {
            match segment {
                Segment::Bytes(bytes) => all.extend_from_slice(bytes),
                Segment::File(range) => {
                    let start = all.len();
                    all.resize(start + range.length, 0);
                    let Some(tail) = all.get_mut(start..) else {
                        continue;
                    };
                    range.source.read_exact_at(tail, range.position)?;
                }
            }
        }
        Ok(all.into())
    }
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Records {
        Records {
            segments: Segments::One(Segment::Bytes(bytes)),
        }
    }
}

impl PartialEq for Records {
    /// Compares the bytes, wherever they lie; what cannot be read equals nothing.
    fn eq(&self, other: &Records) -> bool {
        match (self.to_bytes(), other.to_bytes()) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            _ => false,
        }
    }
}

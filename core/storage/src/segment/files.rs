//! The names of a segment's files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Offset;

/// The files of one segment.
#[derive(Clone, Debug)]
pub(crate) struct SegmentFiles {
    dir: Arc<Path>,
    pub(crate) base_offset: Offset,
}

/// What a file in the folder of a partition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    Log,
    OffsetIndex,
    TimeIndex,
    TransactionIndex,
    Snapshot,
}

impl FileKind {
    pub(crate) const ALL: [FileKind; 5] = [
        FileKind::Log,
        FileKind::OffsetIndex,
        FileKind::TimeIndex,
        FileKind::TransactionIndex,
        FileKind::Snapshot,
    ];

    fn suffix(self) -> &'static str {
        match self {
            FileKind::Log => ".log",
            FileKind::OffsetIndex => ".index",
            FileKind::TimeIndex => ".timeindex",
            FileKind::TransactionIndex => ".txnindex",
            FileKind::Snapshot => ".snapshot",
        }
    }
}

impl SegmentFiles {
    pub(crate) fn new(dir: &Arc<Path>, base_offset: Offset) -> SegmentFiles {
        SegmentFiles {
            dir: Arc::clone(dir),
            base_offset,
        }
    }

    pub(crate) fn path(&self, kind: FileKind) -> PathBuf {
        self.dir
            .join(format!("{:020}{}", self.base_offset.0, kind.suffix()))
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path(FileKind::Log)
    }

    pub(crate) fn offset_index(&self) -> PathBuf {
        self.path(FileKind::OffsetIndex)
    }

    pub(crate) fn time_index(&self) -> PathBuf {
        self.path(FileKind::TimeIndex)
    }

    pub(crate) fn transaction_index(&self) -> PathBuf {
        self.path(FileKind::TransactionIndex)
    }

    pub(crate) fn snapshot(&self) -> PathBuf {
        self.path(FileKind::Snapshot)
    }
}

/// The offset and the kind that a name says; `None` for other files.
pub(crate) fn parse_name(name: &str) -> Option<(Offset, FileKind)> {
    let (digits, suffix) = name.split_at_checked(20)?;
    let kind = FileKind::ALL.into_iter().find(|kind| kind.suffix() == suffix)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let offset = digits.parse().ok().filter(|_| is_number)?;
    Some((Offset(offset), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas_and_read_back() {
        let files = SegmentFiles::new(&Arc::from(Path::new("/t-0")), Offset(271));
        assert_eq!(files.log(), Path::new("/t-0/00000000000000000271.log"));
        for kind in FileKind::ALL {
            let path = files.path(kind);
            let name = path.file_name().unwrap().to_str().unwrap();
            assert_eq!(parse_name(name), Some((Offset(271), kind)));
        }
        for other in [
            "271.log",
            "00000000000000000271.logx",
            "00000000000000000271",
            "0000000000000000027x.log",
            "-0000000000000000271.log",
            "99999999999999999999.log",
            "leader-epoch-checkpoint",
            "größer-als-zwanzig-zeichen.log",
        ] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }
}

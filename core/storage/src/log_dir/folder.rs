//! The names of the folders in a log directory: `topic-N`, and those of folders out of use.

use std::path::{Path, PathBuf};

use model::{TopicPartition, Uuid, validate_topic_name};

/// The longest name of a folder.
const NAME_MAX: usize = 255;

/// What a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderKind {
    /// The folder of a partition.
    Live,
    /// Of a deleted partition; to be removed.
    Deleted,
    /// Of a partition that the metadata does not know; kept for the operator (rule 105).
    Stray,
    /// A replica on its way from another directory; not used here.
    Future,
}

/// A folder of a partition in a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionFolder {
    /// Where it lies.
    pub path: PathBuf,
    /// The partition; for a folder out of use, what is left of its name.
    pub topic_partition: TopicPartition,
    /// What it is.
    pub kind: FolderKind,
}

impl FolderKind {
    fn suffix(self) -> &'static str {
        match self {
            FolderKind::Live => "",
            FolderKind::Deleted => "-delete",
            FolderKind::Stray => "-stray",
            FolderKind::Future => "-future",
        }
    }
}

impl PartitionFolder {
    /// Reads a name; `None` when it is not one of a partition's folder.
    pub(super) fn parse(dir: &Path, name: &str) -> Option<PartitionFolder> {
        let retired = [FolderKind::Deleted, FolderKind::Stray, FolderKind::Future]
            .into_iter()
            .find_map(|kind| {
                let (rest, unique) = name.strip_suffix(kind.suffix())?.rsplit_once('.')?;
                let is_unique = unique.len() == 32 && unique.bytes().all(|byte| byte.is_ascii_hexdigit());
                is_unique.then_some((kind, rest))
            });
        let (kind, rest) = retired.unwrap_or((FolderKind::Live, name));
        let (topic, partition) = rest.rsplit_once('-')?;
        validate_topic_name(topic).ok()?;
        let is_number = !partition.is_empty() && partition.bytes().all(|byte| byte.is_ascii_digit());
        let partition = partition.parse().ok().filter(|_| is_number)?;
        Some(PartitionFolder {
            path: dir.join(name),
            topic_partition: TopicPartition::new(topic, partition),
            kind,
        })
    }
}

/// The name a folder gets when it goes out of use; the topic's name is cut where it would be too long.
pub(super) fn retired_name(name: &str, kind: FolderKind, unique: Uuid) -> String {
    let unique: String = unique.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let (topic, partition) = name.rsplit_once('-').unwrap_or((name, "0"));
    let suffix = format!("-{partition}.{unique}{}", kind.suffix());
    let kept = topic.len().min(NAME_MAX.saturating_sub(suffix.len()));
    format!("{}{suffix}", topic.get(..kept).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> Option<(String, i32, FolderKind)> {
        PartitionFolder::parse(Path::new("/d"), name).map(|folder| {
            (
                folder.topic_partition.topic.to_string(),
                folder.topic_partition.partition,
                folder.kind,
            )
        })
    }

    #[test]
    fn names_are_read_as_kafka_writes_them() {
        let unique = "0123456789abcdef0123456789abcdef";
        assert_eq!(
            parsed("my-topic-12"),
            Some(("my-topic".into(), 12, FolderKind::Live))
        );
        assert_eq!(
            parsed(&format!("t-0.{unique}-delete")),
            Some(("t".into(), 0, FolderKind::Deleted))
        );
        assert_eq!(
            parsed(&format!("t-0.{unique}-stray")),
            Some(("t".into(), 0, FolderKind::Stray))
        );
        assert_eq!(
            parsed(&format!("t-0.{unique}-future")),
            Some(("t".into(), 0, FolderKind::Future))
        );
        assert_eq!(parsed("t-1.x-2"), Some(("t-1.x".into(), 2, FolderKind::Live)));
    }

    #[test]
    fn other_folders_are_left_alone() {
        for name in [
            "lost+found",
            "snapshots",
            "t-",
            "-1",
            "t-x",
            "t-+1",
            "t--1",
            "t-99999999999",
            "a b-0",
            "",
        ] {
            assert_eq!(
                parsed(name),
                if name == "t--1" {
                    Some(("t-".into(), 1, FolderKind::Live))
                } else {
                    None
                }
            );
        }
    }

    #[test]
    fn a_retired_name_is_read_back_and_never_too_long() {
        let unique = Uuid([0xab; 16]);
        let name = retired_name("orders-3", FolderKind::Deleted, unique);
        assert_eq!(name, format!("orders-3.{}-delete", "ab".repeat(16)));
        assert_eq!(parsed(&name), Some(("orders".into(), 3, FolderKind::Deleted)));
        let long = retired_name(&format!("{}-3", "x".repeat(249)), FolderKind::Stray, unique);
        assert_eq!(long.len(), 255);
        assert_eq!(parsed(&long).map(|folder| folder.2), Some(FolderKind::Stray));
    }
}

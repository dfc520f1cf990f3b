//! Topic names and partitions.

use std::fmt;
use std::sync::Arc;

/// The longest name of a topic, in characters.
pub const TOPIC_NAME_MAX: usize = 249;

/// The topic that holds committed offsets and groups.
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";
/// The topic that holds the state of transactions.
pub const TRANSACTION_STATE: &str = "__transaction_state";
/// The topic that holds the state of share groups.
pub const SHARE_GROUP_STATE: &str = "__share_group_state";
/// The log of the cluster's metadata; not a topic to clients.
pub const CLUSTER_METADATA: &str = "__cluster_metadata";

/// Whether clients may not write to the topic.
pub fn is_internal(name: &str) -> bool {
    matches!(
        name,
        CONSUMER_OFFSETS | TRANSACTION_STATE | SHARE_GROUP_STATE | CLUSTER_METADATA
    )
}

/// Why a text cannot be the name of a topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicNameError {
    /// The empty text.
    #[error("topic name is empty; name it with 1 to {TOPIC_NAME_MAX} characters of a-z A-Z 0-9 . _ -")]
    Empty,
    /// `.` or `..`, which are folders.
    #[error("topic name cannot be \".\" or \"..\"")]
    Dots,
    /// More than [`TOPIC_NAME_MAX`] characters.
    #[error("topic name has {0} characters, the longest allowed has {TOPIC_NAME_MAX}")]
    TooLong(usize),
    /// A character outside `[a-zA-Z0-9._-]`.
    #[error("topic name has the character {0:?}; allowed are a-z A-Z 0-9 . _ -")]
    Character(char),
}

/// Checks a name before anything is done with it: paths are built only from names that pass.
pub fn validate_topic_name(name: &str) -> Result<(), TopicNameError> {
    if name.is_empty() {
        return Err(TopicNameError::Empty);
    }
    if name == "." || name == ".." {
        return Err(TopicNameError::Dots);
    }
    if let Some(bad) = name
        .chars()
        .find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')))
    {
        return Err(TopicNameError::Character(bad));
    }
    if name.len() > TOPIC_NAME_MAX {
        return Err(TopicNameError::TooLong(name.len()));
    }
    Ok(())
}

/// Two names collide when they differ only by `.` and `_`: metric names could not tell them apart.
pub fn names_collide(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .all(|(x, y)| x == y || (matches!(x, b'.' | b'_') && matches!(y, b'.' | b'_')))
}

/// A partition of a topic. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's index, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// A partition by name and index.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> TopicPartition {
        TopicPartition {
            topic: topic.into(),
            partition,
        }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        for bad in ["", ".", "..", "../x", "a/b", "a\0b", "grüße", "a b"] {
            assert!(validate_topic_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            validate_topic_name(&"x".repeat(250)),
            Err(TopicNameError::TooLong(250))
        );
        for good in ["a", "a.b", "...", "__consumer_offsets", &"x".repeat(249)] {
            assert_eq!(validate_topic_name(good), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn dots_and_underscores_collide() {
        assert!(names_collide("a.b", "a_b"));
        assert!(names_collide("a.b", "a.b"));
        assert!(!names_collide("a.b", "a-b"));
        assert!(!names_collide("a.b", "a.bc"));
    }
}

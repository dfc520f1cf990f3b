//! Why bytes are not a message, and why a message has no bytes.

/// Bytes that are not what they should be, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {position}")]
pub struct DecodeError {
    /// What is wrong.
    pub reason: DecodeReason,
    /// The position in the frame, counted from where reading began.
    pub position: usize,
}

/// What is wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeReason {
    /// The frame ends inside a field.
    #[error("{needed} bytes needed, {left} left")]
    Truncated {
        /// The bytes the field takes.
        needed: usize,
        /// The bytes there are.
        left: usize,
    },
    /// A length below zero that is not -1.
    #[error("length {0} is negative")]
    NegativeLength(i32),
    /// More elements than the rest of the frame can hold.
    #[error("{count} elements cannot fit in {left} bytes")]
    CountTooLarge {
        /// The number of elements announced.
        count: usize,
        /// The bytes there are.
        left: usize,
    },
    /// The elements of the frame would take more memory than a request may.
    #[error("the elements take more than {limit} bytes of memory")]
    BudgetExceeded {
        /// The bytes all elements together may take.
        limit: usize,
    },
    /// A null where the version knows none.
    #[error("null in a field that cannot be null")]
    Null,
    /// A string that is not UTF-8.
    #[error("string is not UTF-8")]
    InvalidUtf8,
    /// A varint of more than 5 (10) bytes, or with bits beyond 32 (64).
    #[error("varint is longer than its type")]
    VarintTooLong,
    /// Tags out of order, or one twice.
    #[error("tag {tag} after tag {previous}, expected ascending tags")]
    TagOrder {
        /// The tag read.
        tag: u32,
        /// The tag before it.
        previous: u32,
    },
    /// A known tagged field that is shorter or longer than its size says.
    #[error("tagged field takes {taken} bytes, its size says {size}")]
    TagSize {
        /// The size announced.
        size: usize,
        /// The bytes the value took.
        taken: usize,
    },
    /// Bytes behind the message, where there must be none.
    #[error("{0} bytes behind the message")]
    TrailingBytes(usize),
    /// A version this message does not have.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A key that stands for no API or type of record known here.
    #[error("{kind} {key} is unknown")]
    UnknownKey {
        /// What the key counts: "api key", "record type".
        kind: &'static str,
        /// The key read.
        key: i32,
    },
}

/// A value that has no form on the wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A version this message does not have.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A null where the version knows none.
    #[error("`{field}` cannot be null in version {version}")]
    Null {
        /// The field's name.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A string, array or frame too long for its length field.
    #[error("length {length} exceeds {limit}")]
    TooLong {
        /// The length there is.
        length: usize,
        /// The longest possible.
        limit: usize,
    },
    /// A file range of the message that cannot be read into memory.
    #[error("a file range of the message cannot be read: {0}")]
    Unreadable(std::io::ErrorKind),
}

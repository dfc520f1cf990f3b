//! Replicated state machines on a partition: the groups and the committed offsets of one `__consumer_offsets` partition.
//!
//! [`GroupShard`] is the whole of it. A request is decided on what is committed and on who is in the room; what comes
//! out is data: records to append, and answers. Records change the state only when they are committed, and only then
//! are the answers that depend on them given:
//!
//! 1. `shard.join(now, request, token)` gives a [`Step`]: answers that can go out now, and [`Write`]s.
//! 2. The host appends each write as one batch, in order, and says [`GroupShard::appended`], or
//!    [`GroupShard::append_failed`].
//! 3. When the high watermark has passed, [`GroupShard::committed`] applies the records and gives the answers.
//! 4. At [`GroupShard::next_deadline`] the host calls [`GroupShard::tick`].
//!
//! What is here must not know versions of the protocol, clocks, sockets or threads.

mod batch;
mod config;
mod error;
mod group;
mod ledger;
mod record;
mod request;
mod shard;
mod time;

pub use batch::{EncodeBatchError, Passed, encode_batch};
pub use config::GroupConfig;
pub use error::{GroupError, WriteError};
pub use ledger::{ForeignFact, GroupType};
pub use record::{DecodeRecordError, GroupMember, GroupMetadata, OffsetCommit, Record, RecordBytes};
pub use request::{
    Answer, CommitOffsets, DescribedGroup, DescribedMember, FetchOffsets, FetchedOffset, FetchedTopic,
    GivenOffset, GroupFilter, Heartbeat, JoinGroup, JoinRefused, Joined, JoinedMember, LeaveGroup,
    LeavingMember, LeftMember, ListedGroup, MetadataTooLarge, Newcomers, OffsetToCommit, Protocol, Rejoins,
    Stability, SyncGroup, Synced, TopicToFetch, UnstableOffset,
};
pub use shard::{GroupEvent, GroupShard, Happening, Marker, Step, Write};
pub use time::Now;

//! One replica of a partition, between its log and those who wait: watermark, reads and their limits, look-ups of
//! offsets, waiting lists, fetch sessions.
//!
//! The same code runs in the broker and in the simulator: no thread, no clock, no callback. A method that lets someone
//! go on returns that as a [`Woken`]; the caller acts on it after it has let go of its lock (rule 60).

mod deadlines;
mod error;
mod inbox;
mod replica;
mod session;
mod waits;

pub use deadlines::{DeadlineKey, Deadlines};
pub use error::{AppendRefused, FetchRefused, LeaderRefusal, OffsetsRefused};
pub use inbox::FetchInbox;
pub use replica::{
    Accepted, Acks, Durability, Fetch, FetchPlan, Fetched, FoundOffset, Isolation, Leadership, OffsetPlan,
    OffsetQuery, Replica, Seen,
};
pub use session::{
    CacheLimits, Newcomer, Opened, PartitionFetch, PartitionOutcome, Session, SessionCache, SessionError,
    SessionRequest, SlotId, TopicNaming,
};
pub use waits::{Notice, ProduceOutcome, WatchId, Woken};

//! The commands, one file each. What a command does stands here once, for `gracchus` and for the scripts' names alike.

pub(crate) mod consume;
pub(crate) mod dev;
pub(crate) mod group;
pub(crate) mod log;
pub(crate) mod perf;
pub(crate) mod produce;
pub(crate) mod record_format;
pub(crate) mod reset;
pub(crate) mod server;
pub(crate) mod storage;
pub(crate) mod topic;

//! The commands, one file each. What a command does stands here once, for `gracchus` and for the scripts' names alike.

pub(crate) mod consume;
pub(crate) mod group;
pub(crate) mod produce;
pub(crate) mod record_format;
pub(crate) mod reset;
pub(crate) mod server;
pub(crate) mod topic;

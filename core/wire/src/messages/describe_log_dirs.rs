//! The messages of `DescribeLogDirs`, API key 35.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see a broker's log directories and what lies in them.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeLogDirs, versions = "1-5", flexible = "2+")]
pub struct DescribeLogDirsRequest {
    #[wire(default = Some(Vec::new()))]
    pub topics: Option<Vec<DescribableLogDirTopic>>,
}

/// An element of [`DescribeLogDirsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribableLogDirTopic {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

/// Answers [`DescribeLogDirsRequest`]: the directories.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-5", flexible = "2+")]
pub struct DescribeLogDirsResponse {
    pub throttle_time_ms: i32,
    #[wire(versions = "3+")]
    pub error_code: i16,
    pub results: Vec<DescribeLogDirsResult>,
}

/// An element of [`DescribeLogDirsResponse::results`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeLogDirsResult {
    pub error_code: i16,
    pub log_dir: Str,
    pub topics: Vec<DescribeLogDirsTopic>,
    #[wire(versions = "4+", default = -1)]
    pub total_bytes: i64,
    #[wire(versions = "4+", default = -1)]
    pub usable_bytes: i64,
    #[wire(versions = "5+")]
    pub is_cordoned: bool,
}

/// An element of [`DescribeLogDirsResult::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeLogDirsTopic {
    pub name: Str,
    pub partitions: Vec<DescribeLogDirsPartition>,
}

/// An element of [`DescribeLogDirsTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeLogDirsPartition {
    pub partition_index: i32,
    pub partition_size: i64,
    pub offset_lag: i64,
    pub is_future_key: bool,
}

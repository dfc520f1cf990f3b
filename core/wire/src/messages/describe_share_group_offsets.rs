//! The messages of `DescribeShareGroupOffsets`, API key 90.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to know how far share groups have consumed.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeShareGroupOffsets, versions = "0-1", flexible = "0+")]
pub struct DescribeShareGroupOffsetsRequest {
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
}

/// An element of [`DescribeShareGroupOffsetsRequest::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    pub group_id: Str,
    #[wire(default = Some(Vec::new()))]
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
}

/// An element of [`DescribeShareGroupOffsetsRequestGroup::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    pub topic_name: Str,
    pub partitions: Vec<i32>,
}

/// Answers [`DescribeShareGroupOffsetsRequest`]: the offsets.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "0+")]
pub struct DescribeShareGroupOffsetsResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
}

/// An element of [`DescribeShareGroupOffsetsResponse::groups`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    pub group_id: Str,
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

/// An element of [`DescribeShareGroupOffsetsResponseGroup::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    pub topic_name: Str,
    pub topic_id: Uuid,
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
}

/// An element of [`DescribeShareGroupOffsetsResponseTopic::partitions`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    pub partition_index: i32,
    pub start_offset: i64,
    pub leader_epoch: i32,
    #[wire(versions = "1+", default = -1)]
    pub lag: i64,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

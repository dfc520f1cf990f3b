//! The messages of `DeleteShareGroupOffsets`, API key 92.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete a share group's offsets.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DeleteShareGroupOffsets, versions = "0", flexible = "0+")]
pub struct DeleteShareGroupOffsetsRequest {
    pub group_id: Str,
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
}

/// An element of [`DeleteShareGroupOffsetsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    pub topic_name: Str,
}

/// Answers [`DeleteShareGroupOffsetsRequest`]: the outcome for each topic.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DeleteShareGroupOffsetsResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    pub error_message: Option<Str>,
    pub responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
}

/// An element of [`DeleteShareGroupOffsetsResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteShareGroupOffsetsResponseTopic {
    pub topic_name: Str,
    pub topic_id: Uuid,
    pub error_code: i16,
    pub error_message: Option<Str>,
}

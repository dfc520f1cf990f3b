//! The messages of `DeleteTopics`, API key 20.

use model::Uuid;
use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to delete topics.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DeleteTopics, versions = "1-6", flexible = "4+")]
pub struct DeleteTopicsRequest {
    #[wire(versions = "6+")]
    pub topics: Vec<DeleteTopicState>,
    #[wire(versions = "1-5")]
    pub topic_names: Vec<Str>,
    pub timeout_ms: i32,
}

/// An element of [`DeleteTopicsRequest::topics`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeleteTopicState {
    pub name: Option<Str>,
    pub topic_id: Uuid,
}

/// Answers [`DeleteTopicsRequest`]: the outcome for each topic.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "1-6", flexible = "4+")]
pub struct DeleteTopicsResponse {
    pub throttle_time_ms: i32,
    pub responses: Vec<DeletableTopicResult>,
}

/// An element of [`DeleteTopicsResponse::responses`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct DeletableTopicResult {
    #[wire(nullable = "6+", default = Some(Str::new()))]
    pub name: Option<Str>,
    #[wire(versions = "6+")]
    pub topic_id: Uuid,
    pub error_code: i16,
    #[wire(versions = "5+")]
    pub error_message: Option<Str>,
}

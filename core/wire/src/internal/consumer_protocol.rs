//! What consumers tell each other inside JoinGroup and SyncGroup, behind two bytes of version.

use bytes::Bytes;
use wire_derive::{Fields, Message};

use crate::Str;

/// What a member wants to consume.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-3")]
pub struct ConsumerProtocolSubscription {
    pub topics: Vec<Str>,
    pub user_data: Option<Bytes>,
    #[wire(versions = "1+")]
    pub owned_partitions: Vec<TopicPartition>,
    #[wire(versions = "2+", default = -1)]
    pub generation_id: i32,
    #[wire(versions = "3+")]
    pub rack_id: Option<Str>,
}

/// An element of [`ConsumerProtocolSubscription::owned_partitions`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct TopicPartition {
    pub topic: Str,
    pub partitions: Vec<i32>,
}

/// What a member shall consume.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-3")]
pub struct ConsumerProtocolAssignment {
    pub assigned_partitions: Vec<TopicPartition>,
    pub user_data: Option<Bytes>,
}

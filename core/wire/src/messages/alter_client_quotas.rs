//! The messages of `AlterClientQuotas`, API key 49.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to change client quotas.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = AlterClientQuotas, versions = "0-1", flexible = "1+")]
pub struct AlterClientQuotasRequest {
    pub entries: Vec<AlterClientQuotasRequestEntryData>,
    pub validate_only: bool,
}

/// An element of [`AlterClientQuotasRequest::entries`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterClientQuotasRequestEntryData {
    pub entity: Vec<EntityData>,
    pub ops: Vec<OpData>,
}

/// An element of [`AlterClientQuotasRequestEntryData::entity`] and the like.
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EntityData {
    pub entity_type: Str,
    #[wire(default = Some(Str::new()))]
    pub entity_name: Option<Str>,
}

/// An element of [`AlterClientQuotasRequestEntryData::ops`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct OpData {
    pub key: Str,
    pub value: f64,
    pub remove: bool,
}

/// Answers [`AlterClientQuotasRequest`]: the outcome for each entity.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "1+")]
pub struct AlterClientQuotasResponse {
    pub throttle_time_ms: i32,
    pub entries: Vec<AlterClientQuotasResponseEntryData>,
}

/// An element of [`AlterClientQuotasResponse::entries`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct AlterClientQuotasResponseEntryData {
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    pub entity: Vec<EntityData>,
}

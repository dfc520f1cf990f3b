//! The messages of `DescribeClientQuotas`, API key 48.

use wire_derive::{Fields, Message};

use crate::Str;

/// Asks to see client quotas.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(api = DescribeClientQuotas, versions = "0-1", flexible = "1+")]
pub struct DescribeClientQuotasRequest {
    pub components: Vec<ComponentData>,
    pub strict: bool,
}

/// An element of [`DescribeClientQuotasRequest::components`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ComponentData {
    pub entity_type: Str,
    pub match_type: i8,
    #[wire(default = Some(Str::new()))]
    pub r#match: Option<Str>,
}

/// Answers [`DescribeClientQuotasRequest`]: the quotas.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0-1", flexible = "1+")]
pub struct DescribeClientQuotasResponse {
    pub throttle_time_ms: i32,
    pub error_code: i16,
    #[wire(default = Some(Str::new()))]
    pub error_message: Option<Str>,
    #[wire(default = Some(Vec::new()))]
    pub entries: Option<Vec<EntryData>>,
}

/// An element of [`DescribeClientQuotasResponse::entries`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EntryData {
    pub entity: Vec<EntityData>,
    pub values: Vec<ValueData>,
}

/// An element of [`EntryData::entity`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct EntityData {
    pub entity_type: Str,
    #[wire(default = Some(Str::new()))]
    pub entity_name: Option<Str>,
}

/// An element of [`EntryData::values`].
#[derive(Fields, Clone, Debug, PartialEq)]
pub struct ValueData {
    pub key: Str,
    pub value: f64,
}

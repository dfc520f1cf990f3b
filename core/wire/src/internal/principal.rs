//! A principal inside an Envelope request.

use wire_derive::Message;

use crate::Str;

/// Whom a forwarded request comes from.
#[derive(Message, Clone, Debug, PartialEq)]
#[wire(versions = "0", flexible = "0+")]
pub struct DefaultPrincipalData {
    pub r#type: Str,
    pub name: Str,
    pub token_authenticated: bool,
}

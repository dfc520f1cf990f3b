//! Derive macros that give plain structs their form on the wire.
//!
//! `#[derive(Message)]` serves requests, responses and records of logs; `#[derive(Fields)]` serves the structs nested
//! in them. Fields stand on the wire in the order of the struct, tagged ones behind the others by ascending tag.
//! Attributes of a message:
//!
//! - `#[wire(versions = "4-18")]`: the versions it has (required); `flexible = "12+"`: from which version on lengths
//!   are compact and structs end with tagged fields;
//! - `api = Fetch` on a request: implements `Request`, answered by the struct named `...Response` beside it;
//! - `key = 3` on a record of a log: implements `Keyed`.
//!
//! Attributes of a field:
//!
//! - `versions = "7+"`: the versions that have it; all, unless said. Others leave it out and read its default;
//! - `nullable = "10+"`: on an `Option` that may be null in some versions only;
//! - `tag = 0`: a tagged field, written only when it differs from its default;
//! - `default = -1`: an expression; `Default::default()` unless said;
//! - `int16_length`: a string whose length has 16 bits in flexible versions, too.
//!
//! Nothing here knows a message: which field exists in which version is said once, at the field.

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Default`, `Field`, `Struct` and `Message`, and `Request` or `Keyed` where asked for.
#[proc_macro_derive(Message, attributes(wire))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::message(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Implements `Default`, `Field` and `Struct` for a struct nested in a message.
#[proc_macro_derive(Fields, attributes(wire))]
pub fn derive_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::fields(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

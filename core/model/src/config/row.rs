//! The words of the tables: how one key is declared on one line.
//!
//! The tables are macros so that a key stays a row of data, the way a reader looks it up.

pub(super) use super::key::{ConfigKey, Kind, Scope, Synonyms, Update, Valid};

/// The doc of a key that is understood, checked and shown, and that nothing acts on yet.
pub(super) const LATER: &str = "";

pub(super) const ANY: Valid = Valid::Any;
pub(super) const NOT_EMPTY: Valid = Valid::NotEmpty;
pub(super) const THROTTLED: Valid = Valid::ThrottledReplicas;
pub(super) const OFFSET_RESET: Valid = Valid::OffsetReset;
pub(super) use Valid::{ListOf as LIST_OF, OneOf as ONE_OF, OneOfAnyCase as ONE_OF_ANY_CASE};

pub(super) const fn at_least(least: i64) -> Valid {
    Valid::Between(least, i64::MAX)
}

pub(super) const fn between(least: i64, most: i64) -> Valid {
    Valid::Between(least, most)
}

pub(super) const fn between_or(least: i64, most: i64, or: i64) -> Valid {
    Valid::BetweenOr { least, most, or }
}

pub(super) const fn fraction(least: f64, most: f64) -> Valid {
    Valid::Fraction(least, most)
}

pub(super) const ALONE: Synonyms = Synonyms::None;

pub(super) const fn same(broker_key: &'static str) -> Synonyms {
    Synonyms::Same(broker_key)
}

macro_rules! default {
    (NONE) => {
        None
    };
    ($text:literal) => {
        Some($text)
    };
}

/// Rows of broker keys: name, kind, default, what is valid, how it may change at run time, doc.
macro_rules! broker_keys {
    ($($name:literal $kind:ident $default:tt, $valid:expr, $update:ident, $doc:expr;)*) => {
        pub(super) const KEYS: &[ConfigKey] = &[$(ConfigKey {
            scope: Scope::Broker,
            name: $name,
            kind: Kind::$kind,
            default: default!($default),
            valid: $valid,
            update: Update::$update,
            synonyms: Synonyms::None,
            doc: $doc,
        },)*];
    };
}

/// Rows of a topic's or a group's keys: name, kind, default, what is valid, the broker keys that give its default, doc.
macro_rules! resource_keys {
    ($scope:ident; $($name:literal $kind:ident $default:tt, $valid:expr, $synonyms:expr, $doc:expr;)*) => {
        const KEYS: &[ConfigKey] = &[$(ConfigKey {
            scope: Scope::$scope,
            name: $name,
            kind: Kind::$kind,
            default: default!($default),
            valid: $valid,
            update: Update::PerResource,
            synonyms: $synonyms,
            doc: $doc,
        },)*];
    };
}

pub(super) use {broker_keys, default, resource_keys};

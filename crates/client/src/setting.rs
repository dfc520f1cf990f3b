//! Client settings by Kafka's names: one table per client, from which the struct, its defaults and the look-up by name
//! come.

use std::time::Duration;

/// A setting that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No setting of this client has the name.
    #[error("unknown setting `{0}`")]
    Unknown(String),
    /// The value does not fit the setting.
    #[error("`{value}` cannot be the value of `{key}`: expected {expected}")]
    Value {
        /// The setting's name.
        key: String,
        /// What was given.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
}

/// A type that a setting's text can be read as.
pub(crate) trait FromText: Sized {
    /// What a text of this type looks like, for the error message.
    const EXPECTED: &'static str;

    fn from_text(text: &str) -> Option<Self>;
}

macro_rules! from_text_by_parse {
    ($($type:ty: $expected:literal;)*) => {
        $(impl FromText for $type {
            const EXPECTED: &'static str = $expected;

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}

from_text_by_parse! {
    i32: "a number";
    u32: "a number of at least 0";
    usize: "a number of at least 0";
    bool: "`true` or `false`";
    String: "a text";
}

impl FromText for Option<String> {
    const EXPECTED: &'static str = "a text";

    fn from_text(text: &str) -> Option<Self> {
        Some((!text.is_empty()).then(|| text.to_owned()))
    }
}

impl FromText for Duration {
    const EXPECTED: &'static str = "a number of milliseconds";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok().map(Duration::from_millis)
    }
}

impl FromText for Vec<String> {
    const EXPECTED: &'static str = "a list separated by commas";

    fn from_text(text: &str) -> Option<Self> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Some(parts.map(str::to_owned).collect())
    }
}

/// Declares a struct of settings: field, type, default, Kafka's name for it.
macro_rules! settings {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr, $key:literal;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $name {
            /// The names of these settings, as Kafka spells them.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            /// Sets one setting by its name.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), $crate::setting::SettingError> {
                use $crate::setting::{FromText, SettingError};
                match key {
                    $($key => {
                        self.$field = <$type as FromText>::from_text(value.trim()).ok_or_else(|| SettingError::Value {
                            key: key.to_owned(),
                            value: value.to_owned(),
                            expected: <$type as FromText>::EXPECTED,
                        })?;
                    })*
                    _ => return Err(SettingError::Unknown(key.to_owned())),
                }
                Ok(())
            }
        }
    };
}

pub(crate) use settings;

//! From a text to a typed value, and what is wrong with a text that cannot be one.

use super::key::{ConfigKey, Kind, Valid};
use std::fmt;

/// A value of the type its key declares.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a boolean.
    Boolean(bool),
    /// Of a short, an int or a long.
    Integer(i64),
    /// Of a double.
    Double(f64),
    /// Of a string, a class or a password.
    Text(String),
    /// Of a list.
    List(Vec<String>),
}

/// Why a configuration cannot be used: names the key, the value and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The value is not one the key takes.
    #[error("{key}={value:?} is not allowed: {expected}")]
    Invalid {
        /// The key.
        key: String,
        /// The value as given; dots for a password.
        value: String,
        /// What would be allowed.
        expected: String,
    },
    /// A key that must be set is not.
    #[error("{key} is not set: {expected}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What would be allowed.
        expected: String,
    },
    /// No such key.
    #[error("unknown {what} config name: {name}")]
    Unknown {
        /// `topic` or `group`.
        what: &'static str,
        /// The name as given.
        name: String,
    },
}

impl ConfigKey {
    /// The typed value of a text, spaces around it removed.
    ///
    /// # Errors
    /// When the text is not of the key's type, or not among what is valid for it.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        let text = text.trim();
        self.typed(text)
            .filter(|value| self.accepts(value))
            .ok_or_else(|| self.invalid(text))
    }

    fn typed(&self, text: &str) -> Option<Value> {
        Some(match self.kind {
            Kind::Boolean if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
            Kind::Boolean if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
            Kind::Boolean => return None,
            Kind::Short => Value::Integer(text.parse::<i16>().ok()?.into()),
            Kind::Int => Value::Integer(text.parse::<i32>().ok()?.into()),
            Kind::Long => Value::Integer(text.parse().ok()?),
            Kind::Double => Value::Double(text.parse().ok().filter(|number: &f64| !number.is_nan())?),
            Kind::String | Kind::Class | Kind::Password => Value::Text(text.to_owned()),
            Kind::List if text.is_empty() => Value::List(Vec::new()),
            Kind::List => Value::List(text.split(',').map(|item| item.trim().to_owned()).collect()),
        })
    }

    fn accepts(&self, value: &Value) -> bool {
        match (&self.valid, value) {
            (Valid::Between(least, most), Value::Integer(number)) => (least..=most).contains(&number),
            (Valid::BetweenOr { least, most, or }, Value::Integer(number)) => {
                (least..=most).contains(&number) || number == or
            }
            (Valid::Fraction(least, most), Value::Double(number)) => (least..=most).contains(&number),
            (Valid::OneOf(texts), Value::Text(text)) => texts.contains(&text.as_str()),
            (Valid::OneOfAnyCase(texts), Value::Text(text)) => {
                texts.iter().any(|allowed| allowed.eq_ignore_ascii_case(text))
            }
            (Valid::NotEmpty, Value::Text(text)) => !text.is_empty(),
            (Valid::ListOf(texts), Value::List(items)) => {
                all_differ(items) && items.iter().all(|item| texts.contains(&item.as_str()))
            }
            (Valid::ThrottledReplicas, Value::List(items)) => are_throttled_replicas(items),
            (Valid::OffsetReset, Value::Text(text)) => {
                matches!(text.as_str(), "latest" | "earliest") || text.starts_with("by_duration:P")
            }
            (Valid::Any, _) => true,
            _ => false,
        }
    }

    fn invalid(&self, text: &str) -> ConfigError {
        ConfigError::Invalid {
            key: self.name.to_owned(),
            value: if self.is_sensitive() {
                "***".to_owned()
            } else {
                text.to_owned()
            },
            expected: format!("it must be {}", self.expected()),
        }
    }

    /// What the key takes, in words.
    pub fn expected(&self) -> String {
        match (self.kind, &self.valid) {
            (Kind::Boolean, _) => "true or false".to_owned(),
            (Kind::Short, valid) => whole_number(valid, i16::MIN.into(), i16::MAX.into()),
            (Kind::Int, valid) => whole_number(valid, i32::MIN.into(), i32::MAX.into()),
            (Kind::Long, valid) => whole_number(valid, i64::MIN, i64::MAX),
            (Kind::Double, Valid::Fraction(least, most)) => format!("a number from {least} to {most}"),
            (Kind::Double, _) => "a number".to_owned(),
            (_, Valid::OneOf(texts) | Valid::OneOfAnyCase(texts)) => format!("one of {}", texts.join(", ")),
            (_, Valid::ListOf(texts)) => format!("a list, without repetition, of {}", texts.join(", ")),
            (_, Valid::ThrottledReplicas) => "* or a list of partition:broker".to_owned(),
            (_, Valid::OffsetReset) => {
                "latest, earliest, or by_duration: and an ISO 8601 duration".to_owned()
            }
            (_, Valid::NotEmpty) => "a text that is not empty".to_owned(),
            (Kind::List, _) => "a list separated by commas".to_owned(),
            (Kind::Class, _) => "the name of a class".to_owned(),
            _ => "a text".to_owned(),
        }
    }
}

fn whole_number(valid: &Valid, least: i64, most: i64) -> String {
    match *valid {
        Valid::Between(low, i64::MAX) => format!("a whole number from {low} to {most}"),
        Valid::Between(low, high) => format!("a whole number from {low} to {high}"),
        Valid::BetweenOr {
            least,
            most: high,
            or,
        } => {
            format!("a whole number from {least} to {}, or {or}", high.min(most))
        }
        _ => format!("a whole number from {least} to {most}"),
    }
}

fn all_differ(items: &[String]) -> bool {
    items
        .iter()
        .enumerate()
        .all(|(at, item)| !items.iter().take(at).any(|earlier| earlier == item))
}

fn are_throttled_replicas(items: &[String]) -> bool {
    let is_pair = |item: &String| {
        item.split_once(':').is_some_and(|(partition, broker)| {
            partition.parse::<u32>().is_ok() && broker.parse::<u32>().is_ok()
        })
    };
    matches!(items, [star] if star == "*") || items.iter().all(is_pair)
}

/// As Kafka writes the value: what a description of the configuration shows.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(flag) => write!(f, "{flag}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Double(number) => f.write_str(&java_double(*number)),
            Value::Text(text) => f.write_str(text),
            Value::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// As Java prints a double: always with a fraction, with an exponent from ten million on.
fn java_double(number: f64) -> String {
    if number != 0.0 && !(1e-3..1e7).contains(&number.abs()) {
        let text = format!("{number:E}");
        match text.split_once('E') {
            Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
            _ => text,
        }
    } else {
        format!("{number:?}")
    }
}

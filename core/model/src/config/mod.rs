//! The table of configuration keys: each declared once, with its type, default, range, scope and doc.
//!
//! Reading a properties file, DescribeConfigs, the checks of CreateTopics and the reference page all come from it.
//! Names, types, defaults and ranges are those of Apache Kafka 4.3.1; a few keys are our own and say so.

mod broker;
mod client_metrics;
mod group;
mod key;
mod row;
mod topic;
mod value;

#[cfg(test)]
mod tests;

pub use broker::{Chapter, broker_chapters, broker_key, broker_keys};
pub use client_metrics::client_metrics_keys;
pub use group::{group_key, group_keys};
pub use key::{ConfigKey, Kind, Scope, Synonyms, Update, Valid};
pub use topic::{topic_key, topic_keys, validate_topic_configs};
pub use value::{ConfigError, Value};

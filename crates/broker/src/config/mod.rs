//! The configuration of a node: read from `server.properties` and the environment, checked, and typed.
//!
//! Keys, defaults and ranges come from the table in `model::config`; this module knows which key governs what.
//! Nothing here opens a file of the data directory or a socket.

mod layers;
mod listeners;
mod node;
mod properties;
mod topic;

pub use layers::{ConfigSource, Effective, Layers, Setting};
pub use listeners::{Endpoint, Listener, ListenerUse, SecurityProtocol};
pub use node::{
    Durability, FetchConfig, GroupsConfig, LogsConfig, MetadataLogConfig, NetworkConfig, NodeConfig,
    ProducersConfig, TopicsConfig,
};
pub use properties::{
    Properties, ReadError, environment_properties, keys_without_effect, read_properties, unknown_keys,
};
pub use topic::TopicConfig;

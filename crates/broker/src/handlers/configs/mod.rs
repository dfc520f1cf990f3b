//! Reading and changing the configuration of topics, brokers, groups and subscriptions.

pub mod describe_configs;

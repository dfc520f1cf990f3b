//! Producer, consumer and admin for Kafka brokers.
//!
//! [`Client`] holds what they share: connections, metadata, coordinators. Settings have Kafka's names
//! ([`ClientConfig`], [`ProducerConfig`], [`ConsumerConfig`]). This crate never looks into a broker: it knows the wire.

mod admin;
mod backoff;
mod client;
mod config;
mod connection;
mod consumer;
mod error;
mod metadata;
mod producer;
mod setting;
mod versions;

pub use admin::*;
pub use client::{Client, WhenMissing};
pub use config::{
    Acks, ClientConfig, ConsumerConfig, GroupProtocol, IsolationLevel, OffsetReset, ProducerConfig,
    SecurityProtocol, SettingTarget, TransactionalId, apply_settings,
};
pub use consumer::*;
pub use error::{BrokerError, ClientError};
pub use metadata::{Broker, Metadata, Partition, Topic};
pub use producer::*;
pub use setting::SettingError;
pub use versions::Versions;

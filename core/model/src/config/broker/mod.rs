//! The keys of a node, by subject.

mod cluster;
mod groups;
mod hidden;
mod logs;
mod network;
mod quotas;
mod remote;
mod replication;
mod security;
mod share;
mod transactions;

use super::row::ConfigKey;

/// A chapter of the broker's keys.
#[derive(Debug)]
pub struct Chapter {
    /// What its keys have in common.
    pub title: &'static str,
    /// Its keys, by name.
    pub keys: &'static [ConfigKey],
}

const fn chapter(title: &'static str, keys: &'static [ConfigKey]) -> Chapter {
    Chapter { title, keys }
}

const CHAPTERS: &[Chapter] = &[
    chapter("Nodes, the quorum and the metadata log", cluster::KEYS),
    chapter("Connections, requests and threads", network::KEYS),
    chapter("Logs: the defaults of topics, and upkeep", logs::KEYS),
    chapter("Replication", replication::KEYS),
    chapter("Groups and their offsets", groups::KEYS),
    chapter("The state of share groups", share::KEYS),
    chapter("Transactions and producers", transactions::KEYS),
    chapter("Security", security::KEYS),
    chapter("Quotas, metrics and telemetry", quotas::KEYS),
    chapter("Tiered storage", remote::KEYS),
];

/// The keys that DescribeConfigs shows, by subject.
pub fn broker_chapters() -> &'static [Chapter] {
    CHAPTERS
}

/// The keys that DescribeConfigs shows.
pub fn broker_keys() -> impl Iterator<Item = &'static ConfigKey> {
    CHAPTERS.iter().flat_map(|chapter| chapter.keys)
}

/// The key of that name, shown or not.
pub fn broker_key(name: &str) -> Option<&'static ConfigKey> {
    broker_keys().chain(hidden::KEYS).find(|key| key.name == name)
}

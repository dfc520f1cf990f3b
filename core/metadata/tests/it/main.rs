//! Against what Apache Kafka 4.3.1 wrote: metadata logs, its own snapshots of them, and what its dump tool says of each.
//!
//! `static-quorum.log` and `bootstrap.checkpoint` are those of a node with `controller.quorum.voters`;
//! `dynamic-quorum.log` and the numbered checkpoints those of a node formatted with `--standalone`, with ACLs, quotas,
//! SCRAM credentials, delegation tokens, settings of every kind of resource, and topics made, grown and deleted.

#[cfg(test)]
mod kafka_files;
#[cfg(test)]
mod properties;

//! Transactions and producers.

use super::super::row::*;

broker_keys! {
    "add.partitions.to.txn.retry.backoff.max.ms" Int "100", at_least(0), ReadOnly, LATER;
    "add.partitions.to.txn.retry.backoff.ms" Int "20", at_least(1), ReadOnly, LATER;
    "producer.id.expiration.ms" Int "86400000", at_least(1), ClusterWide,
        "How long a partition remembers an idempotent producer that is silent.";
    "transaction.abort.timed.out.transaction.cleanup.interval.ms" Int "10000", at_least(1), ReadOnly, LATER;
    "transaction.max.timeout.ms" Int "900000", at_least(1), ReadOnly, LATER;
    "transaction.partition.verification.enable" Boolean "true", ANY, ClusterWide, LATER;
    "transaction.remove.expired.transaction.cleanup.interval.ms" Int "3600000", at_least(1), ReadOnly, LATER;
    "transaction.state.log.load.buffer.size" Int "5242880", at_least(1), ReadOnly, LATER;
    "transaction.state.log.min.isr" Int "2", at_least(1), ReadOnly, LATER;
    "transaction.state.log.num.partitions" Int "50", at_least(1), ReadOnly, LATER;
    "transaction.state.log.replication.factor" Short "3", at_least(1), ReadOnly, LATER;
    "transaction.state.log.segment.bytes" Int "104857600", at_least(1), ReadOnly, LATER;
    "transaction.two.phase.commit.enable" Boolean "false", ANY, ReadOnly, LATER;
    "transactional.id.expiration.ms" Int "604800000", at_least(1), ReadOnly, LATER;
}

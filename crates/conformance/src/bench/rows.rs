//! The workloads. A row runs 3 s or more at the ceiling where brokers are ranked by it, and leaves about 1 GB at most.

use anyhow::Result;

use super::Bench;
use super::java::{Throughput, Tool};
use super::ledger::Figures;
use super::session::Session;
use super::subject::Subject;
use super::{mixed, solo};

/// A workload.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What it does, in the words of the report.
    pub(super) title: &'static str,
    pub(super) work: Work,
    /// Who takes it.
    who: &'static [Subject],
}

/// How a row is measured.
#[derive(Clone, Copy)]
pub(super) enum Work {
    Produce(Produce),
    Latency(Latency),
    Java(Tool),
    /// Something of several loads, on a broker that other rows use too.
    Mixed(fn(&Session<'_>) -> Result<Figures>),
    /// Something that starts brokers of its own.
    Solo(fn(&Bench, Subject) -> Result<Figures>),
}

/// Producing by librdkafka, and reading it back.
#[derive(Clone, Copy)]
pub(super) struct Produce {
    pub(super) partitions: u32,
    pub(super) records: u64,
    pub(super) size: u64,
    /// Settings of the producer.
    pub(super) settings: &'static [&'static str],
    /// Settings of the topic.
    pub(super) topic: &'static [&'static str],
    pub(super) keys: Option<u64>,
    /// Records a second; flat out without it.
    pub(super) rate: Option<u64>,
    pub(super) then_consume: bool,
}

/// Acknowledgement and arrival at a rate, on one partition.
#[derive(Clone, Copy)]
pub(super) struct Latency {
    pub(super) records: u64,
    pub(super) rate: u64,
    pub(super) size: u64,
}

const ALL_BATCH_64K: &[&str] = &["acks=all", "linger.ms=5", "batch.size=65536"];
const ALL_BATCH_16K: &[&str] = &["acks=all", "linger.ms=5", "batch.size=16384"];

/// The start of every producing row.
const PRODUCE: Produce = Produce {
    partitions: 4,
    records: 6_000_000,
    size: 200,
    settings: ALL_BATCH_64K,
    topic: &[],
    keys: None,
    rate: None,
    then_consume: false,
};

const LZ4: Produce = Produce {
    records: 1_200_000,
    size: 1024,
    settings: &[
        "acks=all",
        "linger.ms=5",
        "batch.size=65536",
        "compression.codec=lz4",
    ],
    ..PRODUCE
};
const ZSTD: Produce = Produce {
    settings: &[
        "acks=all",
        "linger.ms=5",
        "batch.size=65536",
        "compression.codec=zstd",
    ],
    ..LZ4
};
/// Compressed records are not looked into.
const BY_HEADER: &[&str] = &["compressed.batch.check=header"];

const EVERYONE: &[Subject] = &[
    Subject::GracchusDurable,
    Subject::GracchusPagecache,
    Subject::Ceiling,
    Subject::CeilingDurable,
    Subject::Kafka,
    Subject::Tansu,
];
const EVERYONE_AND_FLUSH: &[Subject] = &Subject::ALL;
const OURS_AND_KAFKA: &[Subject] = &[
    Subject::GracchusDurable,
    Subject::GracchusPagecache,
    Subject::Kafka,
];
const OURS: &[Subject] = &[Subject::GracchusDurable, Subject::GracchusPagecache];
const THOSE_WITH_FILES: &[Subject] = &[
    Subject::GracchusDurable,
    Subject::GracchusPagecache,
    Subject::Ceiling,
    Subject::CeilingDurable,
    Subject::Kafka,
];

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "produce-200-acks1",
        title: "200 B, acks=1, batches of 64 KiB, 4 partitions; then read from the page cache",
        work: Work::Produce(Produce {
            settings: &["acks=1", "linger.ms=5", "batch.size=65536"],
            then_consume: true,
            ..PRODUCE
        }),
        who: EVERYONE,
    },
    Row {
        name: "produce-200-all",
        title: "200 B, acks=all, batches of 64 KiB, 4 partitions",
        work: Work::Produce(PRODUCE),
        who: EVERYONE_AND_FLUSH,
    },
    Row {
        name: "produce-1k-all",
        title: "1 KiB, acks=all, batches of 64 KiB, 4 partitions; then read from the page cache",
        work: Work::Produce(Produce {
            records: 1_200_000,
            size: 1024,
            then_consume: true,
            ..PRODUCE
        }),
        who: EVERYONE_AND_FLUSH,
    },
    Row {
        name: "produce-seed-16k",
        title: "200 B, acks=-1, batches of 16 KiB, no linger, one partition",
        work: Work::Produce(Produce {
            partitions: 1,
            records: 3_500_000,
            settings: &["acks=-1", "linger.ms=0", "batch.size=16384"],
            ..PRODUCE
        }),
        who: EVERYONE,
    },
    Row {
        name: "produce-seed-500k",
        title: "the same with 500,000 records: a smoke test, too short to rank by",
        work: Work::Produce(Produce {
            partitions: 1,
            records: 500_000,
            settings: &["acks=-1", "linger.ms=0", "batch.size=16384"],
            ..PRODUCE
        }),
        who: EVERYONE,
    },
    Row {
        name: "produce-keyed-100",
        title: "200 B, 100,000 keys, 100 partitions, acks=all, batches of 16 KiB at most",
        work: Work::Produce(Produce {
            partitions: 100,
            records: 2_500_000,
            keys: Some(100_000),
            settings: ALL_BATCH_16K,
            ..PRODUCE
        }),
        who: EVERYONE,
    },
    Row {
        name: "produce-keyed-100-50k",
        title: "the same without linger, at 50,000 records/s for 10 s",
        work: Work::Produce(Produce {
            partitions: 100,
            records: 500_000,
            keys: Some(100_000),
            settings: &["acks=all", "linger.ms=0", "batch.size=16384"],
            rate: Some(50_000),
            ..PRODUCE
        }),
        who: EVERYONE,
    },
    Row {
        name: "produce-keyed-1000",
        title: "200 B, 100,000 keys, 1,000 partitions, acks=all, linger of 5 ms: small batches for many partitions",
        work: Work::Produce(Produce {
            partitions: 1_000,
            records: 1_000_000,
            keys: Some(100_000),
            settings: ALL_BATCH_16K,
            ..PRODUCE
        }),
        who: EVERYONE,
    },
    Row {
        name: "produce-1k-lz4",
        title: "1 KiB of words, acks=all, lz4 by the client",
        work: Work::Produce(LZ4),
        who: EVERYONE,
    },
    Row {
        name: "produce-1k-lz4-header",
        title: "the same, the topic with compressed.batch.check=header: stored as it came, by header and CRC32C",
        work: Work::Produce(Produce {
            topic: BY_HEADER,
            ..LZ4
        }),
        who: OURS,
    },
    Row {
        name: "produce-1k-zstd",
        title: "1 KiB of words, acks=all, zstd by the client",
        work: Work::Produce(ZSTD),
        who: EVERYONE,
    },
    Row {
        name: "produce-1k-zstd-header",
        title: "the same, the topic with compressed.batch.check=header: stored as it came, by header and CRC32C",
        work: Work::Produce(Produce {
            topic: BY_HEADER,
            ..ZSTD
        }),
        who: OURS,
    },
    Row {
        name: "latency-1000",
        title: "200 B at 1,000 records/s, acks=all, no linger, one partition; open loop",
        work: Work::Latency(Latency {
            records: 10_000,
            rate: 1_000,
            size: 200,
        }),
        who: EVERYONE,
    },
    Row {
        name: "java-1k",
        title: "ProducerPerformance and ConsumerPerformance: 1,000 B, acks=all, batches of 64 KiB, one partition",
        work: Work::Java(Tool::Throughput(Throughput {
            records: 1_000_000,
            size: 1_000,
            producer: ALL_BATCH_64K,
            consumer: &[],
        })),
        who: EVERYONE,
    },
    Row {
        name: "java-seed",
        title: "ProducerPerformance: 500,000 of 200 B, acks=-1; ConsumerPerformance with a fetch size of 2,000",
        work: Work::Java(Tool::Throughput(Throughput {
            records: 500_000,
            size: 200,
            producer: &["acks=-1"],
            consumer: &["--fetch-size", "2000"],
        })),
        who: EVERYONE,
    },
    Row {
        name: "java-end-to-end",
        title: "EndToEndLatency: 200 B, acks=all, each record awaited before the next",
        work: Work::Java(Tool::EndToEnd {
            records: 5_000,
            size: 200,
        }),
        who: EVERYONE,
    },
    Row {
        name: "crowd",
        title: "50 producers of 1 MB/s and 1,000 idle connections, against 4 producers of the same sum",
        work: Work::Mixed(mixed::crowd),
        who: EVERYONE,
    },
    Row {
        name: "backlog",
        title: "2 GB drained from the page cache while 100 MB/s are produced",
        work: Work::Mixed(mixed::warm_backlog),
        who: EVERYONE,
    },
    Row {
        name: "backlog-cold",
        title: "2 GB drained from disk while 100 MB/s are produced",
        work: Work::Mixed(mixed::cold_backlog),
        who: THOSE_WITH_FILES,
    },
    Row {
        name: "slow-consumers",
        title: "50 consumers that ask for 600 MB again and again and never drain their socket: the most memory within 5 s, and how much of it is beyond 64 KiB for each",
        work: Work::Mixed(mixed::slow_consumers),
        who: EVERYONE,
    },
    Row {
        name: "memory",
        title: "resident memory: idle, and after 1 GB was produced and read",
        work: Work::Solo(solo::memory),
        who: EVERYONE,
    },
    Row {
        name: "start",
        title: "from exec to the first answer to ApiVersions: with no topic, and with 1,000 partitions, after a clean stop",
        work: Work::Solo(solo::start),
        who: OURS_AND_KAFKA,
    },
    Row {
        name: "idle",
        title: "5,000 open connections and 1,000 partitions, nothing asked for a minute",
        work: Work::Solo(solo::idle),
        who: OURS_AND_KAFKA,
    },
    Row {
        name: "retention",
        title: "50 MB/s for 5 minutes into a topic at its limit; after against before",
        work: Work::Solo(solo::retention),
        who: OURS_AND_KAFKA,
    },
    Row {
        name: "kill",
        title: "kill -9 while acks=all is produced flat out: what was acknowledged is there after the restart",
        work: Work::Solo(solo::kill),
        who: OURS,
    },
];

impl Row {
    /// Whether a broker takes it.
    pub(super) fn concerns(&self, subject: Subject) -> bool {
        self.who.contains(&subject)
    }

    pub(super) fn is_solo(&self) -> bool {
        matches!(self.work, Work::Solo(_))
    }

    /// What takes minutes or cannot vary is done once.
    pub(super) fn repetitions_max(&self) -> u32 {
        match self.name {
            "retention" => 1,
            "idle" | "kill" | "memory" => 3,
            _ => u32::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_share_a_name() {
        let names: std::collections::HashSet<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
    }
}

//! `gracchus perf`: how fast records go in, come out, and go through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use client::{ClientError, Consumer, ConsumerConfig, OffsetSpec, Producer, ProducerConfig, WhenMissing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::args::Format;
use crate::commands::topic::ClusterArgs;
use crate::failure::Usage;
use crate::output;
use crate::perf::latencies::Latencies;
use crate::perf::latency;
use crate::perf::payload::Payload;
use crate::perf::producing::{Load, Observer, produce};
use crate::perf::{cpu_time, milliseconds};
use crate::signals::StopSignals;

#[derive(Debug, Subcommand)]
pub(crate) enum PerfCommand {
    /// Write records as fast as can be, or at a rate, and time their acknowledgements
    Produce(ProduceArgs),
    /// Read records as fast as can be
    Consume(ConsumeArgs),
    /// Write records at a rate, read them, and time both from the moment each was due
    Latency(LatencyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProduceArgs {
    /// The topic to write to
    topic: String,
    /// How many records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000_000)]
    records: u64,
    /// The bytes of each value
    #[arg(short, long, value_name = "BYTES", default_value_t = 100)]
    size: usize,
    /// Records a second, timed from the moment each is due [default: as many as can be]
    #[arg(short, long, value_name = "N")]
    rate: Option<f64>,
    /// Give records one of so many keys
    #[arg(short, long, value_name = "N")]
    keys: Option<u64>,
    /// How many copies a record must have: all, 1 or 0
    #[arg(long)]
    acks: Option<String>,
    /// How batches are compressed: none, gzip, snappy, lz4 or zstd
    #[arg(short = 'z', long, value_name = "CODEC")]
    compression: Option<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConsumeArgs {
    /// The topic to read, from its first record on
    topic: String,
    /// End at so many records; the last poll (max.poll.records) counts whole, as in Kafka's tool [default: at what is the
    /// end of the topic now]
    #[arg(short = 'n', long, value_name = "N")]
    records: Option<u64>,
    /// End when no record came for this many seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LatencyArgs {
    /// The topic to write to and read from
    topic: String,
    /// How many records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10_000)]
    records: u64,
    /// The bytes of each value, 16 at least
    #[arg(short, long, value_name = "BYTES", default_value_t = 100)]
    size: usize,
    /// Records a second
    #[arg(short, long, value_name = "N", default_value_t = 1000.0)]
    rate: f64,
    /// How many copies a record must have: all or 1
    #[arg(long)]
    acks: Option<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

pub(crate) async fn run(command: PerfCommand) -> anyhow::Result<()> {
    match command {
        PerfCommand::Produce(args) => args.run().await,
        PerfCommand::Consume(args) => args.run().await,
        PerfCommand::Latency(args) => args.run().await,
    }
}

/// Set by the first Ctrl-C or SIGTERM: what was measured until then is still told.
fn stopped_by_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = StopSignals::listen()?;
    let told = stop.clone();
    tokio::spawn(async move {
        signals.stopped().await;
        told.store(true, Ordering::Relaxed);
    });
    Ok(stop)
}

/// A bar on the error output, where that is a terminal.
fn progress_bar(records: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(records), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} {per_sec} {eta}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A rate must be a number of records that can come in a second.
fn checked_rate(rate: f64) -> Result<f64, Usage> {
    if rate.is_finite() && rate > 0.0 {
        Ok(rate)
    } else {
        Err(Usage(format!("--rate must be above 0, not {rate}")))
    }
}

/// What a run moved in what time.
#[derive(Clone, Copy, Debug)]
struct Throughput {
    records: u64,
    bytes: u64,
    elapsed: Duration,
    cpu: Duration,
}

impl Throughput {
    fn per_second(self, count: u64) -> f64 {
        count as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    fn sentence(self, did: &str) -> String {
        format!(
            "{did} {} records in {:.2} s: {:.0} records/s, {:.1} MB/s, {:.2} s of this client's CPU per million\n",
            self.records,
            self.elapsed.as_secs_f64(),
            self.per_second(self.records),
            self.per_second(self.bytes) / 1e6,
            self.cpu.as_secs_f64() * 1e6 / self.records.max(1) as f64,
        )
    }

    fn json(self) -> Value {
        json!({
            "records": self.records,
            "bytes": self.bytes,
            "seconds": self.elapsed.as_secs_f64(),
            "records_per_second": self.per_second(self.records),
            "bytes_per_second": self.per_second(self.bytes),
            "cpu_seconds": self.cpu.as_secs_f64(),
        })
    }
}

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

fn latency_json(latencies: &Latencies) -> Value {
    let mut found: serde_json::Map<String, Value> = QUANTILES
        .iter()
        .map(|(name, part)| ((*name).to_owned(), milliseconds(latencies.quantile(*part)).into()))
        .collect();
    found.insert("mean".to_owned(), milliseconds(latencies.mean()).into());
    found.insert("max".to_owned(), milliseconds(latencies.max()).into());
    found.into()
}

fn latency_table(rows: &[(&str, &Latencies)]) -> String {
    let mut columns = vec!["MS UNTIL", "MEAN"];
    let names = QUANTILES.map(|(name, _)| name.to_uppercase());
    columns.extend(names.iter().map(String::as_str));
    columns.push("MAX");
    let row = |(name, latencies): &(&str, &Latencies)| {
        let quantiles = QUANTILES.map(|(_, part)| latencies.quantile(part));
        let times = [latencies.mean()]
            .into_iter()
            .chain(quantiles)
            .chain([latencies.max()]);
        let times = times.map(|time| format!("{:.3}", milliseconds(time)));
        [(*name).to_owned()].into_iter().chain(times).collect()
    };
    output::table(&columns, rows.iter().map(row).collect())
}

/// What became of the records of `perf produce`.
struct Tally {
    latencies: Latencies,
    bytes: u64,
    failed: u64,
    failure: Option<ClientError>,
    bar: ProgressBar,
}

impl Observer for Tally {
    fn delivered(&mut self, _index: u64, latency: Duration, bytes: usize) {
        self.latencies.record(latency);
        self.bytes += bytes as u64;
        if self.latencies.count().is_multiple_of(1024) {
            self.bar.set_position(self.latencies.count());
        }
    }

    fn failed(&mut self, error: &ClientError) {
        self.failed += 1;
        self.failure.get_or_insert_with(|| error.clone());
    }
}

impl ProduceArgs {
    async fn run(&self) -> anyhow::Result<()> {
        let mut config = ProducerConfig::default();
        for (key, value) in [("acks", &self.acks), ("compression.type", &self.compression)] {
            if let Some(value) = value {
                config.set(key, value)?;
            }
        }
        let client = self.cluster.connect.client_with(Some(&mut config)).await?;
        // Making the topic is not part of what is measured.
        client.topic(&self.topic, WhenMissing::Create).await?;
        let mut load = Load {
            topic: self.topic.clone(),
            records: self.records,
            payload: Payload::letters(self.size),
            keys: self.keys,
            rate: self.rate.map(checked_rate).transpose()?,
            counts_from_due: true,
        };
        let mut tally = Tally {
            latencies: Latencies::default(),
            bytes: 0,
            failed: 0,
            failure: None,
            bar: progress_bar(self.records),
        };
        let producer = Producer::new(client, config);
        let (began, cpu) = (Instant::now(), cpu_time());
        produce(&producer, &mut load, &*stopped_by_signal()?, &mut tally).await?;
        let throughput = Throughput {
            records: tally.latencies.count(),
            bytes: tally.bytes,
            elapsed: began.elapsed(),
            cpu: cpu_time() - cpu,
        };
        producer.close().await;
        tally.bar.finish_and_clear();
        match self.cluster.output {
            Format::Json => {
                let mut found = throughput.json();
                found["failed"] = tally.failed.into();
                found["latency_ms"] = latency_json(&tally.latencies);
                output::line(&found.to_string())?;
            }
            Format::Table => {
                let table = latency_table(&[("acknowledged", &tally.latencies)]);
                output::text(&(throughput.sentence("wrote") + &table))?;
            }
        }
        refuse_failed(tally.failed, tally.failure)
    }
}

/// A run with failures does not end well.
fn refuse_failed(failed: u64, first: Option<ClientError>) -> anyhow::Result<()> {
    match first {
        Some(error) => Err(anyhow::Error::from(error).context(format!("{failed} records failed, the first"))),
        None if failed > 0 => anyhow::bail!("{failed} records failed"),
        None => Ok(()),
    }
}

impl ConsumeArgs {
    async fn run(&self) -> anyhow::Result<()> {
        let timeout = Duration::try_from_secs_f64(self.timeout)
            .map_err(|_| Usage(format!("--timeout must be 0 or more, not {}", self.timeout)))?;
        let mut config = ConsumerConfig::default();
        let client = self.cluster.connect.client_with(Some(&mut config)).await?;
        let isolation = config.isolation_level;
        let mut consumer = Consumer::new(client.clone(), config)?;
        let partitions = consumer.partitions_of(&self.topic).await?;
        let wanted = partitions
            .iter()
            .map(|partition| (partition.clone(), OffsetSpec::Latest));
        let mut ends = std::collections::BTreeMap::new();
        for (partition, found) in client.list_offsets(&wanted.collect(), isolation).await? {
            let end = found.map_err(|error| anyhow::anyhow!("finding the end of {partition}: {error}"))?;
            ends.insert(partition, end.offset.unwrap_or(0));
        }
        consumer.assign(&partitions);
        for partition in &partitions {
            consumer.seek_to(partition, client::OffsetReset::Earliest)?;
        }
        let bar = progress_bar(
            self.records
                .unwrap_or_else(|| ends.values().sum::<i64>().unsigned_abs()),
        );
        let stop = stopped_by_signal()?;
        let (began, cpu) = (Instant::now(), cpu_time());
        let (mut records, mut bytes, mut last) = (0, 0, began);
        let is_at_end = |consumer: &Consumer| {
            let position = |partition| consumer.position(partition).unwrap_or(-1);
            ends.iter().all(|(partition, end)| position(partition) >= *end)
        };
        while !stop.load(Ordering::Relaxed) && last.elapsed() <= timeout {
            let is_done = self
                .records
                .map_or_else(|| is_at_end(&consumer), |wanted| records >= wanted);
            if is_done {
                break;
            }
            let polled = consumer.poll(Duration::from_millis(100)).await?;
            if let Some(first) = polled.first() {
                tracing::trace!(offset = first.offset, "read");
                last = Instant::now();
            }
            records += polled.len() as u64;
            let sized = |part: &Option<bytes::Bytes>| part.as_ref().map_or(0, bytes::Bytes::len) as u64;
            bytes += polled
                .iter()
                .map(|record| sized(&record.key) + sized(&record.value))
                .sum::<u64>();
            bar.set_position(records);
        }
        let throughput = Throughput {
            records,
            bytes,
            elapsed: last.duration_since(began),
            cpu: cpu_time() - cpu,
        };
        bar.finish_and_clear();
        if last.elapsed() > timeout {
            eprintln!(
                "WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. You can use \
                 the --timeout option to increase the timeout.",
                timeout.as_millis()
            );
        }
        match self.cluster.output {
            Format::Json => output::line(&throughput.json().to_string()),
            Format::Table => output::text(&throughput.sentence("read")),
        }
    }
}

impl LatencyArgs {
    async fn run(&self) -> anyhow::Result<()> {
        let mut producer_config = ProducerConfig {
            linger: Duration::ZERO,
            ..ProducerConfig::default()
        };
        if let Some(acks) = &self.acks {
            producer_config.set("acks", acks)?;
        }
        if producer_config.acks == client::Acks::None {
            return Err(Usage(
                "--acks must be all or 1: what is not acknowledged cannot be timed".to_owned(),
            )
            .into());
        }
        if self.size < latency::STAMP {
            return Err(Usage(format!(
                "--size must be {} or more, not {}",
                latency::STAMP,
                self.size
            ))
            .into());
        }
        let rate = checked_rate(self.rate)?;
        let client = self
            .cluster
            .connect
            .client_with(Some(&mut producer_config))
            .await?;
        client.topic(&self.topic, WhenMissing::Create).await?;
        let mut consumer = Consumer::new(client.clone(), ConsumerConfig::default())?;
        latency::stand_at_end(&mut consumer, &self.topic).await?;
        let producer = Producer::new(client, producer_config);
        let bar = progress_bar(self.records);
        let stop = stopped_by_signal()?;
        let measured = latency::measure(
            &producer,
            consumer,
            (&self.topic, self.size),
            (self.records, rate),
            &stop,
            |index| bar.set_position(index),
        )
        .await?;
        producer.close().await;
        bar.finish_and_clear();
        let (acknowledged, arrived) = (&measured.acknowledged, &measured.arrived);
        match self.cluster.output {
            Format::Json => {
                let found = json!({
                    "records": acknowledged.count(),
                    "arrived": arrived.count(),
                    "failed": measured.failed,
                    "records_per_second": rate,
                    "acknowledged_ms": latency_json(acknowledged),
                    "arrived_ms": latency_json(arrived),
                });
                output::line(&found.to_string())?;
            }
            Format::Table => {
                let table = latency_table(&[("acknowledged", acknowledged), ("arrived", arrived)]);
                let sentence = format!("{} records at {rate} a second\n", acknowledged.count());
                output::text(&(sentence + &table))?;
            }
        }
        if arrived.count() < acknowledged.count() {
            let lost = acknowledged.count() - arrived.count();
            anyhow::bail!("{lost} records were acknowledged and did not arrive");
        }
        refuse_failed(measured.failed, None)
    }
}

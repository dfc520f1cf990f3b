//! `kafka-producer-perf-test`: its flags and its lines.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use client::{Client, ClientConfig, ClientError, Producer, ProducerConfig};
use regex::Regex;

use super::java;
use super::options::{Flag, Misuse, Parsed, Script, flag, option, several};
use super::perf_output::{self, average};
use crate::args::{PATIENCE, with_runtime};
use crate::output;
use crate::perf::latencies::Latencies;
use crate::perf::payload::Payload;
use crate::perf::producing::{Load, Observer, produce};

const PROGRAM: &str = "kafka-producer-perf-test";

pub(super) const SCRIPT: Script = Script {
    about: "This tool is used to verify the producer performance.",
    flags: &FLAGS,
    program: Some(PROGRAM),
};

const FLAGS: [Flag; 17] = [
    option(
        "bootstrap-server",
        "BOOTSTRAP-SERVER",
        "Brokers to ask first, host:port,..",
    ),
    option("topic", "TOPIC", "REQUIRED: produce records to this topic."),
    option("num-records", "NUM-RECORDS", "REQUIRED: how many records."),
    option(
        "payload-delimiter",
        "PAYLOAD-DELIMITER",
        "What stands between the payloads of --payload-file (default: \\n).",
    ),
    option(
        "throughput",
        "THROUGHPUT",
        "REQUIRED: records a second, about; -1 for as many as can be.",
    ),
    several(
        "producer-props",
        "PROP-NAME=PROP-VALUE ..",
        "(DEPRECATED) The old name of --command-property.",
    ),
    several(
        "command-property",
        "PROP-NAME=PROP-VALUE ..",
        "Settings of the producer, such as linger.ms=10 batch.size=32768. They win over those of --command-config.",
    ),
    option(
        "producer.config",
        "CONFIG-FILE",
        "(DEPRECATED) The old name of --command-config.",
    ),
    option(
        "command-config",
        "CONFIG-FILE",
        "A file with settings of the producer.",
    ),
    flag("print-metrics", "Print metrics of the producer at the end."),
    option(
        "transactional-id",
        "TRANSACTIONAL-ID",
        "Refused: transactions are not served yet.",
    ),
    option(
        "transaction-duration-ms",
        "TRANSACTION-DURATION",
        "Refused: transactions are not served yet.",
    ),
    option(
        "warmup-records",
        "WARMUP-RECORDS",
        "So many first records do not count in the line about the steady state (default: 0).",
    ),
    option(
        "reporting-interval",
        "INTERVAL-MS",
        "How often progress is told (default: 5000).",
    ),
    option(
        "record-size",
        "RECORD-SIZE",
        "The bytes of each record: this, or one of the two next.",
    ),
    option(
        "payload-file",
        "PAYLOAD-FILE",
        "A UTF-8 text file with payloads, of which each record has one.",
    ),
    flag("payload-monotonic", "Payloads are numbers that rise."),
];

/// What the flags ask for.
#[derive(Debug)]
struct Task {
    load: Load,
    warmup: u64,
    reporting_interval: Duration,
    client: ClientConfig,
    producer: ProducerConfig,
}

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    let mut task = Task::read(parsed)?;
    for (old, new) in [
        ("producer-props", "command-property"),
        ("producer.config", "command-config"),
    ] {
        if parsed.has(old) {
            output::line(&format!(
                "Option --{old} has been deprecated and will be removed in a future version. Use --{new} instead."
            ))?;
        }
    }
    if let Some(file) = parsed.get("payload-file") {
        task.load.payload = read_payloads(file, parsed.get("payload-delimiter").unwrap_or("\\n"))?;
    }
    with_runtime(measure(task, parsed.has("print-metrics")))
}

async fn measure(mut task: Task, prints_metrics: bool) -> anyhow::Result<()> {
    let client_id = task.client.client_id.clone();
    let client = Client::new(task.client)?;
    client.connect(PATIENCE).await?;
    let producer = Producer::new(client, task.producer);
    if task.warmup > 0 {
        output::line(&format!(
            "Warmup first {} records. Steady state results will print after the complete test summary.",
            task.warmup
        ))?;
    }
    let began = Instant::now();
    let mut stats = Stats {
        all: Window::new(task.reporting_interval, ""),
        steady: None,
        warmup: task.warmup,
        reporting_interval: task.reporting_interval,
    };
    produce(&producer, &mut task.load, &AtomicBool::new(false), &mut stats).await?;
    producer.flush().await;
    output::line(&stats.all.total())?;
    if let Some(steady) = &stats.steady {
        output::line(&steady.total())?;
    }
    if prints_metrics {
        output::text(&metrics(&producer, &client_id, &task.load.topic, began.elapsed()))?;
    }
    producer.close().await;
    Ok(())
}

/// A mistake as the script's parser words it.
fn misuse(message: impl std::fmt::Display) -> Misuse {
    Misuse::with_usage(format!("{PROGRAM}: error: {message}"))
}

impl Task {
    fn read(parsed: &Parsed) -> anyhow::Result<Task> {
        let payload = payload(parsed)?;
        let topic = required(parsed, "topic")?.to_owned();
        let records: i64 = number("num-records", required(parsed, "num-records")?, "Long")?;
        let throughput: f64 = number("throughput", required(parsed, "throughput")?, "Double")?;
        let given = |name, default, kind| match parsed.get(name) {
            Some(text) => number::<i64>(name, text, kind),
            None => Ok(default),
        };
        let warmup = given("warmup-records", 0, "Long")?.max(0);
        let interval = given("reporting-interval", 5000, "Long")?;
        let transaction = given("transaction-duration-ms", 1, "Long")?;
        if records <= 0 {
            return Err(misuse("--num-records should be greater than zero.").into());
        }
        if warmup >= records {
            return Err(misuse(
                "The value for --warmup-records must be strictly fewer than the number of records in the test, \
                 --num-records.",
            )
            .into());
        }
        for (name, value) in [
            ("reporting-interval", interval),
            ("transaction-duration-ms", transaction),
        ] {
            if value <= 0 {
                return Err(misuse(format!("--{name} should be greater than zero.")).into());
            }
        }
        let (client, producer) = configs(parsed)?;
        Ok(Task {
            load: Load {
                topic,
                records: records.unsigned_abs(),
                payload,
                keys: None,
                rate: (throughput > 0.0).then_some(throughput),
                counts_from_due: false,
            },
            warmup: warmup.unsigned_abs(),
            reporting_interval: Duration::from_millis(interval.unsigned_abs()),
            client,
            producer,
        })
    }
}

fn required<'a>(parsed: &'a Parsed, name: &str) -> Result<&'a str, Misuse> {
    parsed
        .get(name)
        .ok_or_else(|| misuse(format!("argument --{name} is required")))
}

fn number<T: std::str::FromStr>(name: &str, text: &str, kind: &str) -> Result<T, Misuse> {
    text.parse()
        .map_err(|_| misuse(format!("argument --{name}: could not convert '{text}' to {kind}")))
}

/// The payload that exactly one flag asks for; that of a file is read later.
fn payload(parsed: &Parsed) -> Result<Payload, Misuse> {
    let kinds = ["record-size", "payload-file", "payload-monotonic"];
    let given: Vec<&str> = kinds.into_iter().filter(|kind| parsed.has(kind)).collect();
    match given.as_slice() {
        ["record-size"] => {
            let size: i32 = number("record-size", required(parsed, "record-size")?, "Integer")?;
            match usize::try_from(size) {
                Ok(size) if size > 0 => Ok(Payload::letters(size)),
                _ => Err(misuse("--record-size should be greater than zero.")),
            }
        }
        ["payload-file"] => Ok(Payload::one_of(Vec::new())),
        [_] => Ok(Payload::Counting(String::new())),
        [] => Err(misuse(
            "one of the arguments --record-size --payload-file --payload-monotonic is required",
        )),
        [first, second, ..] => Err(misuse(format!(
            "argument --{second}: not allowed with argument --{first}"
        ))),
    }
}

/// The settings: the file's, then those given one by one, then the flags'.
fn configs(parsed: &Parsed) -> anyhow::Result<(ClientConfig, ProducerConfig)> {
    for (old, new) in [
        ("producer-props", "command-property"),
        ("producer.config", "command-config"),
    ] {
        if parsed.has(old) && parsed.has(new) {
            return Err(misuse(format!("--{new} and --{old} cannot be specified together.")).into());
        }
    }
    let sources = [
        "bootstrap-server",
        "command-property",
        "producer-props",
        "producer.config",
        "command-config",
    ];
    if !sources.iter().any(|source| parsed.has(source)) {
        return Err(misuse(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or \
             --command-config must be specified.",
        )
        .into());
    }
    let mut settings = parsed.settings(&["producer.config", "command-config"], &[])?;
    for text in parsed
        .all("producer-props")
        .into_iter()
        .chain(parsed.all("command-property"))
    {
        match text.split('=').collect::<Vec<_>>().as_slice() {
            [key, value] => settings.push(((*key).to_owned(), (*value).to_owned())),
            _ => return Err(Misuse::plain(format!("Invalid property: {text}")).into()),
        }
    }
    let servers = parsed.get("bootstrap-server");
    settings.extend(servers.map(|servers| ("bootstrap.servers".to_owned(), servers.to_owned())));
    let is_transactional = ["transactional-id", "transaction-duration-ms"]
        .iter()
        .any(|flag| parsed.has(flag))
        || settings.iter().any(|(key, _)| key == "transactional.id");
    if is_transactional {
        return Err(Misuse::plain(
            "transactions are not served yet: leave out --transactional-id, --transaction-duration-ms and \
             transactional.id",
        )
        .into());
    }
    let mut client = ClientConfig {
        client_id: "perf-producer-client".to_owned(),
        ..ClientConfig::default()
    };
    let mut producer = ProducerConfig::default();
    let pairs = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    client::apply_settings(&mut [&mut producer, &mut client], pairs)?;
    Ok((client, producer))
}

/// The payloads of a file, between what `delimiter`, a regular expression, matches.
fn read_payloads(file: &str, delimiter: &str) -> anyhow::Result<Payload> {
    let path = std::path::absolute(file)?;
    output::line(&format!("Reading payloads from: {}", path.display()))?;
    let bytes = std::fs::read(&path).unwrap_or_default();
    if bytes.is_empty() {
        return Err(Misuse::plain("File does not exist or empty file provided.").into());
    }
    let text = String::from_utf8_lossy(&bytes);
    let delimiter = Regex::new(delimiter)
        .map_err(|error| Misuse::plain(format!("--payload-delimiter is no regular expression: {error}")))?;
    let mut values: Vec<Vec<u8>> = delimiter
        .split(&text)
        .map(|value| value.as_bytes().to_vec())
        .collect();
    // A delimiter at the start or the end separates nothing.
    for end in [values.len() - 1, 0] {
        if values.len() > 1 && values.get(end).is_some_and(Vec::is_empty) {
            values.remove(end);
        }
    }
    output::line(&format!("Number of records read: {}", values.len()))?;
    Ok(Payload::one_of(values))
}

/// The figures of a stretch of records, and of the time since the last report.
#[derive(Debug)]
struct Window {
    /// What the records are called in the total.
    kind: &'static str,
    start: Instant,
    latencies: Latencies,
    bytes: u64,
    interval: Duration,
    recent: Recent,
}

#[derive(Debug)]
struct Recent {
    start: Instant,
    count: u64,
    bytes: u64,
    total: u64,
    max: u64,
}

impl Recent {
    fn new() -> Recent {
        Recent {
            start: Instant::now(),
            count: 0,
            bytes: 0,
            total: 0,
            max: 0,
        }
    }

    fn line(&self) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        format!(
            "{} records sent, {:.1} records/sec ({:.2} MB/sec), {:.1} ms avg latency, {:.1} ms max latency.",
            self.count,
            self.count as f64 / seconds,
            self.bytes as f64 / seconds / MIB,
            average(self.total as f64, self.count),
            self.max as f64,
        )
    }
}

const MIB: f64 = 1_048_576.0;

impl Window {
    fn new(interval: Duration, kind: &'static str) -> Window {
        Window {
            kind,
            start: Instant::now(),
            latencies: Latencies::default(),
            bytes: 0,
            interval,
            recent: Recent::new(),
        }
    }

    /// Counts a record; the figures since the last report when the next one is due.
    fn record(&mut self, latency: Duration, bytes: usize) -> Option<Recent> {
        // The script counts in whole milliseconds.
        let whole = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
        self.latencies.record(Duration::from_millis(whole));
        self.bytes += bytes as u64;
        self.recent.count += 1;
        self.recent.bytes += bytes as u64;
        self.recent.total += whole;
        self.recent.max = self.recent.max.max(whole);
        let is_due = self.recent.start.elapsed() >= self.interval;
        is_due.then(|| std::mem::replace(&mut self.recent, Recent::new()))
    }

    fn total(&self) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let milliseconds = |part| (self.latencies.quantile(part).as_secs_f64() * 1000.0).round();
        let count = self.latencies.count();
        let mean = if count == 0 {
            f64::NAN
        } else {
            self.latencies.mean().as_secs_f64() * 1000.0
        };
        format!(
            "{count}{} records sent, {:.6} records/sec ({:.2} MB/sec), {mean:.2} ms avg latency, {:.2} ms max latency, \
             {} ms 50th, {} ms 95th, {} ms 99th, {} ms 99.9th.",
            self.kind,
            count as f64 / seconds,
            self.bytes as f64 / seconds / MIB,
            self.latencies.max().as_secs_f64() * 1000.0,
            milliseconds(0.5),
            milliseconds(0.95),
            milliseconds(0.99),
            milliseconds(0.999),
        )
    }
}

/// All records, and those after the warm-up.
#[derive(Debug)]
struct Stats {
    all: Window,
    steady: Option<Window>,
    warmup: u64,
    reporting_interval: Duration,
}

impl Observer for Stats {
    fn sending(&mut self, index: u64) {
        if self.warmup > 0 && index == self.warmup {
            self.steady = Some(Window::new(self.reporting_interval, " steady state"));
        }
    }

    fn delivered(&mut self, index: u64, latency: Duration, bytes: usize) {
        let mut report = self.all.record(latency, bytes);
        if let Some(steady) = self.steady.as_mut().filter(|_| index >= self.warmup) {
            // From here on only the steady state is told of.
            report = steady.record(latency, bytes);
            if report
                .as_ref()
                .is_some_and(|recent| recent.count == steady.latencies.count())
            {
                println!("In steady state.");
            }
        } else if self.steady.is_some() {
            report = None;
        }
        if let Some(recent) = report {
            println!("{}", recent.line());
        }
    }

    fn failed(&mut self, error: &ClientError) {
        eprintln!("{}", java::exception_of(error));
    }
}

fn metrics(producer: &Producer, client_id: &str, topic: &str, elapsed: Duration) -> String {
    let found = producer.metrics();
    let per_second = |count: u64| count as f64 / elapsed.as_secs_f64();
    let request_ms = found.request_time.as_secs_f64() * 1000.0;
    let group = [
        (
            "batch-size-avg",
            average(found.batch_bytes as f64, found.batches_sent),
        ),
        ("batch-size-max", found.batch_bytes_max as f64),
        ("batch-split-total", found.batches_split as f64),
        ("buffer-available-bytes", found.buffer_available_bytes as f64),
        ("buffer-total-bytes", found.buffer_total_bytes as f64),
        ("record-error-total", found.records_failed as f64),
        ("record-retry-total", found.records_retried as f64),
        ("record-send-rate", per_second(found.records_sent)),
        ("record-send-total", found.records_sent as f64),
        (
            "records-per-request-avg",
            average(found.records_sent as f64, found.requests),
        ),
        ("request-latency-avg", average(request_ms, found.requests)),
        (
            "request-latency-max",
            found.request_time_max.as_secs_f64() * 1000.0,
        ),
        ("request-rate", per_second(found.requests)),
        ("request-total", found.requests as f64),
    ];
    let of_topic = [
        ("byte-rate", per_second(found.batch_bytes)),
        ("byte-total", found.batch_bytes as f64),
        ("record-error-total", found.records_failed as f64),
        ("record-retry-total", found.records_retried as f64),
        ("record-send-rate", per_second(found.records_sent)),
        ("record-send-total", found.records_sent as f64),
    ];
    let tags = format!("client-id={client_id}");
    let topic_tags = format!("client-id={client_id}, topic={topic}");
    perf_output::metrics(&[
        ("producer-metrics", &tags, &group),
        ("producer-topic-metrics", &topic_tags, &of_topic),
    ])
}

#[cfg(test)]
mod tests;

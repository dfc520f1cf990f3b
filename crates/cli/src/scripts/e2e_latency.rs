//! `kafka-e2e-latency`: its flags and its lines. One record at a time: sent, acknowledged, read, then the next.

use std::time::{Duration, Instant};

use client::{
    Client, ClientConfig, Consumer, ConsumerConfig, ConsumerRecord, CreateMode, NewTopic, Producer,
    ProducerConfig, ProducerRecord,
};
use wire::records::RecordHeader;

use super::options::{Flag, Misuse, Parsed, Script, option, optional};
use crate::args::{PATIENCE, with_runtime};
use crate::output;
use crate::perf::latency::stand_at_end;
use crate::perf::payload::{Payload, Random};

pub(super) const SCRIPT: Script = Script {
    about: "This tool measures end-to-end latency in Kafka by sending messages and timing their reception.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 10] = [
    option(
        "bootstrap-server",
        "String: bootstrap-server",
        "REQUIRED: brokers to ask first, host:port,..",
    ),
    optional(
        "command-config",
        "String: config-file",
        "A file with settings of the producer, the consumer and the admin client.",
    ),
    optional(
        "num-headers",
        "Integer: count",
        "How many headers each record has (default: 0).",
    ),
    option("num-records", "Integer: count", "REQUIRED: how many records."),
    option(
        "producer-acks",
        "String: producer-acks",
        "REQUIRED: how many copies a record must have, 1 or all.",
    ),
    optional(
        "record-header-key-size",
        "Integer: bytes",
        "The bytes of each header's key (default: 0).",
    ),
    optional(
        "record-header-size",
        "Integer: bytes",
        "The bytes of each header's value; -1 for null (default: 0).",
    ),
    optional(
        "record-key-size",
        "Integer: bytes",
        "The bytes of each key; no key when 0 (default: 0).",
    ),
    option(
        "record-size",
        "Integer: bytes",
        "REQUIRED: the bytes of each value.",
    ),
    option(
        "topic",
        "String: topic-name",
        "REQUIRED: the topic to write to and read from.",
    ),
];

const POSITIONAL: [&str; 6] = [
    "bootstrap-server",
    "topic",
    "num-records",
    "producer-acks",
    "record-size",
    "command-config",
];
/// How long a record may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(60);

/// Arguments without names, as older versions took them, with their names.
pub(super) fn named(arguments: &[String]) -> Result<Vec<String>, Misuse> {
    if arguments.is_empty() || arguments.iter().any(|argument| argument == "--bootstrap-server") {
        return Ok(arguments.to_vec());
    }
    if arguments
        .iter()
        .any(|argument| argument.starts_with("--bootstrap-server=") || argument == "--version")
    {
        return Ok(arguments.to_vec());
    }
    if !(5..=6).contains(&arguments.len()) {
        return Err(Misuse::plain(format!(
            "Invalid number of arguments. Expected 5 or 6 positional arguments, but got {}. Usage: bootstrap-server topic \
             num-records producer-acks record-size [optional] command-config",
            arguments.len()
        )));
    }
    println!(
        "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named \
         arguments instead: --bootstrap-server, --topic, --num-records, --producer-acks, --record-size, --command-config"
    );
    let pairs = POSITIONAL.iter().zip(arguments);
    Ok(pairs
        .flat_map(|(name, value)| [format!("--{name}"), value.clone()])
        .collect())
}

/// What the flags ask for.
#[derive(Debug)]
struct Task {
    topic: String,
    records: usize,
    value_size: usize,
    key_size: usize,
    headers: usize,
    header_key_size: usize,
    /// `None` for null.
    header_value_size: Option<usize>,
    client: ClientConfig,
    producer: ProducerConfig,
    consumer: ConsumerConfig,
}

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    with_runtime(measure(Task::read(parsed)?))
}

impl Task {
    fn read(parsed: &Parsed) -> anyhow::Result<Task> {
        for name in [
            "bootstrap-server",
            "topic",
            "num-records",
            "producer-acks",
            "record-size",
        ] {
            parsed.require(name)?;
        }
        let acks = parsed.require("producer-acks")?;
        if !["1", "all"].contains(&acks) {
            return Err(Misuse::with_usage(
                "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. Please use '1' or \
                 'all'.",
            )
            .into());
        }
        let records: i32 = parsed.number("num-records")?.unwrap_or_default();
        if records <= 0 {
            return Err(Misuse::with_usage("Value for --num-records must be a positive integer.").into());
        }
        let size = |name: &str| -> Result<usize, Misuse> {
            usize::try_from(parsed.number::<i32>(name)?.unwrap_or_default()).map_err(|_| {
                Misuse::with_usage(format!("Value for --{name} must be a non-negative integer."))
            })
        };
        let header_value_size = match parsed.number::<i32>("record-header-size")? {
            Some(-1) => None,
            Some(negative @ ..-1) => {
                return Err(Misuse::with_usage(format!(
                    "Value for --record-header-size must be a non-negative integer or -1 for null header value, not {negative}."
                ))
                .into());
            }
            size => Some(size.unwrap_or_default().unsigned_abs() as usize),
        };
        let (mut client, mut producer, mut consumer) = (
            ClientConfig::default(),
            ProducerConfig::default(),
            ConsumerConfig::default(),
        );
        let settings = parsed.settings(&["command-config"], &[])?;
        let pairs = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        client::apply_settings(&mut [&mut client, &mut producer, &mut consumer], pairs)?;
        client.set("bootstrap.servers", parsed.require("bootstrap-server")?)?;
        producer.set("acks", acks)?;
        producer.linger = Duration::ZERO;
        consumer.fetch_max_wait = Duration::ZERO;
        Ok(Task {
            topic: parsed.require("topic")?.to_owned(),
            records: records.unsigned_abs() as usize,
            value_size: size("record-size")?,
            key_size: size("record-key-size")?,
            headers: size("num-headers")?,
            header_key_size: size("record-header-key-size")?,
            header_value_size,
            client,
            producer,
            consumer,
        })
    }

    fn record(&self, random: &mut Random) -> ProducerRecord {
        let mut letters = |size| {
            let index = random.next();
            let mut payload = Payload::Letters {
                value: vec![0; size],
                random: random.clone(),
            };
            bytes::Bytes::copy_from_slice(payload.next(index))
        };
        ProducerRecord {
            key: (self.key_size > 0).then(|| letters(self.key_size)),
            headers: (0..self.headers)
                .map(|_| RecordHeader {
                    key: letters(self.header_key_size),
                    value: self.header_value_size.map(&mut letters),
                })
                .collect(),
            ..ProducerRecord::new(self.topic.clone(), letters(self.value_size))
        }
    }
}

async fn measure(task: Task) -> anyhow::Result<()> {
    let client = Client::new(task.client.clone())?;
    client.connect(PATIENCE).await?;
    if client.refresh_all().await?.topic(&task.topic).is_none() {
        output::line(&format!(
            "Topic \"{}\" does not exist. Will create topic with 1 partition(s) and replication factor = 1",
            task.topic
        ))?;
        create_topic(&client, &task.topic).await?;
    }
    let mut consumer = Consumer::new(client.clone(), task.consumer.clone())?;
    stand_at_end(&mut consumer, &task.topic).await?;
    let producer = Producer::new(client, task.producer.clone());
    let mut random = Random::default();
    let mut total = Duration::ZERO;
    let mut latencies: Vec<u128> = Vec::with_capacity(task.records);
    for index in 0..task.records {
        let record = task.record(&mut random);
        let began = Instant::now();
        producer.send(record.clone()).await?.await?;
        let records = consumer.poll(ARRIVAL).await?;
        let elapsed = began.elapsed();
        check(&record, &records)?;
        if index % 1000 == 0 {
            output::line(&format!("{index}\t{}", elapsed.as_nanos() as f64 / 1e6))?;
        }
        total += elapsed;
        latencies.push(elapsed.as_millis());
    }
    producer.close().await;
    output::text(&results(total, latencies))
}

async fn create_topic(client: &Client, name: &str) -> anyhow::Result<()> {
    let topic = NewTopic {
        partitions: Some(1),
        replication_factor: Some(1),
        name: name.to_owned(),
        ..NewTopic::default()
    };
    for (_, outcome) in client.create_topics(&[topic], CreateMode::Create).await? {
        outcome.map_err(|error| anyhow::anyhow!("Creation of topic {name} failed: {error}"))?;
    }
    // The broker answers before it leads what it made.
    client.topic(name, client::WhenMissing::Create).await?;
    Ok(())
}

/// What was read must be what was sent, and nothing else.
fn check(sent: &ProducerRecord, read: &[ConsumerRecord]) -> Result<(), Misuse> {
    let Some(first) = read.first() else {
        return Err(Misuse::plain(
            "poll() timed out before finding a result (timeout:[60000ms])",
        ));
    };
    let text = |bytes: &Option<bytes::Bytes>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    for (what, sent, read) in [
        ("value", &sent.value, &first.value),
        ("key", &sent.key, &first.key),
    ] {
        if sent != read {
            return Err(Misuse::plain(format!(
                "The message {what} read [{}] did not match the message {what} sent [{}]",
                text(read),
                text(sent)
            )));
        }
    }
    if sent.headers != first.headers {
        return Err(Misuse::plain("The message headers read did not match those sent"));
    }
    if read.len() != 1 {
        return Err(Misuse::plain(format!(
            "Only one result was expected during this test. We found [{}]",
            read.len()
        )));
    }
    Ok(())
}

fn results(total: Duration, mut latencies: Vec<u128>) -> String {
    latencies.sort_unstable();
    let count = latencies.len();
    let percentile = |part: f64| {
        latencies
            .get((count as f64 * part) as usize)
            .copied()
            .unwrap_or_default()
    };
    format!(
        "Avg latency: {:.4} ms\nPercentiles: 50th = {}, 99th = {}, 99.9th = {}\n",
        total.as_secs_f64() * 1000.0 / count.max(1) as f64,
        percentile(0.5),
        percentile(0.99),
        percentile(0.999)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let arguments = named(&arguments).map_err(|error| error.to_string())?;
        let parsed = SCRIPT.parse(&arguments).map_err(|error| error.to_string())?;
        Task::read(&parsed).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_have_names_or_their_place() {
        let by_place = task("h:1 t 50 all 20").unwrap();
        let by_name =
            task("--bootstrap-server h:1 --topic t --num-records 50 --producer-acks all --record-size 20")
                .unwrap();
        for task in [by_place, by_name] {
            assert_eq!(
                (task.topic.as_str(), task.records, task.value_size),
                ("t", 50, 20)
            );
            assert_eq!(task.producer.acks, client::Acks::All);
            assert!(task.producer.linger.is_zero());
        }
        assert!(task("--help").unwrap_err().starts_with(
            "Invalid number of arguments. Expected 5 or 6 positional arguments, but got 1. Usage: bootstrap-server"
        ));
    }

    #[test]
    fn mistakes_have_the_scripts_words() {
        let line = |change: &str| {
            task(&format!(
                "--bootstrap-server h:1 --topic t --num-records 5 --producer-acks 1 --record-size 1 {change}"
            ))
        };
        for (change, expected) in [
            (
                "--num-records 0",
                "Value for --num-records must be a positive integer.",
            ),
            (
                "--record-size -2",
                "Value for --record-size must be a non-negative integer.",
            ),
            (
                "--record-key-size=-2",
                "Value for --record-key-size must be a non-negative integer.",
            ),
            (
                "--num-headers=-1",
                "Value for --num-headers must be a non-negative integer.",
            ),
            (
                "--producer-acks 0",
                "Invalid value for --producer-acks. Latency testing requires",
            ),
            (
                "--record-header-size=-2",
                "Value for --record-header-size must be a non-negative integer or -1",
            ),
        ] {
            let error = line(change).unwrap_err();
            assert!(error.starts_with(expected), "{change}: {error}");
        }
        assert_eq!(line("--record-header-size=-1").unwrap().header_value_size, None);
        assert_eq!(
            task("--bootstrap-server h:1").unwrap_err(),
            "Missing required argument \"[topic]\""
        );
    }

    #[test]
    fn records_have_the_sizes_asked_for() {
        let task = task(
            "--bootstrap-server h:1 --topic t --num-records 5 --producer-acks 1 --record-size 9 --record-key-size 5 \
             --num-headers 2 --record-header-key-size 3 --record-header-size 4",
        )
        .unwrap();
        let record = task.record(&mut Random::default());
        let sizes: Vec<usize> = record
            .headers
            .iter()
            .map(|h| h.key.len() + h.value.as_ref().unwrap().len())
            .collect();
        assert_eq!(sizes, [7, 7]);
        assert_eq!(record.key.unwrap().len() + record.value.unwrap().len(), 14);
    }

    #[test]
    fn the_results_are_two_lines() {
        assert_eq!(
            results(Duration::from_micros(7_500), vec![3, 1, 2]),
            "Avg latency: 2.5000 ms\nPercentiles: 50th = 2, 99th = 3, 99.9th = 3\n"
        );
    }
}

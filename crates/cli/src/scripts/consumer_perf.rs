//! `kafka-consumer-perf-test`: its flags and its lines.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use client::{Client, ClientConfig, Consumer, ConsumerConfig};

use super::options::{Flag, Misuse, Parsed, Script, flag, option, optional};
use super::perf_output::{self, DatePattern, average};
use crate::args::{PATIENCE, with_runtime};
use crate::output;

pub(super) const SCRIPT: Script = Script {
    about: "This tool is used to verify the consumer performance.",
    flags: &FLAGS,
    program: None,
};

const FLAGS: [Flag; 18] = [
    option(
        "bootstrap-server",
        "String: server to connect to",
        "REQUIRED: brokers to ask first, host:port,..",
    ),
    option(
        "command-config",
        "String: config file",
        "A file with settings of the consumer.",
    ),
    option(
        "command-property",
        "String: prop1=val1",
        "A setting of the consumer. Several times for several.",
    ),
    option(
        "consumer.config",
        "String: config file",
        "(DEPRECATED) The old name of --command-config.",
    ),
    option(
        "date-format",
        "String: date format",
        "How times are written, by the pattern letters y, M, d, H, m, s and S; UTC (default: yyyy-MM-dd HH:mm:ss:SSS).",
    ),
    option(
        "fetch-size",
        "Integer: size",
        "The most bytes of one partition in an answer (default: 1048576).",
    ),
    flag(
        "from-latest",
        "Begin at the end where the group has no offset, and not with the first record.",
    ),
    option(
        "group",
        "String: gid",
        "The group to read in (default: perf-consumer- and a number).",
    ),
    flag("hide-header", "Leave the names of the columns out."),
    option(
        "include",
        "String: Java regex (String)",
        "Read all topics whose names match.",
    ),
    option(
        "messages",
        "Long: count",
        "(DEPRECATED) The old name of --num-records.",
    ),
    option("num-records", "Long: count", "REQUIRED: how many records."),
    flag("print-metrics", "Print metrics of the consumer at the end."),
    option(
        "reporting-interval",
        "Long: interval_ms",
        "How often progress is told (default: 5000).",
    ),
    flag(
        "show-detailed-stats",
        "Tell of each interval, and not of the whole.",
    ),
    option(
        "socket-buffer-size",
        "Integer: size",
        "Accepted for compatibility; the kernel chooses.",
    ),
    optional(
        "timeout",
        "Long: milliseconds",
        "The longest wait for the next records (default: 10000).",
    ),
    option("topic", "String: topic", "The topic to read."),
];

const EXTENDED: &str = ", rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec";
const MIB: f64 = 1_048_576.0;

/// What the flags ask for.
#[derive(Debug)]
struct Task {
    topics: Result<String, String>,
    records: i64,
    timeout: i64,
    interval: Duration,
    dates: DatePattern,
    is_detailed: bool,
}

pub(super) fn run(parsed: &Parsed) -> anyhow::Result<()> {
    let task = Task::read(parsed)?;
    let (client, consumer) = configs(parsed)?;
    for (old, new) in [("messages", "num-records"), ("consumer.config", "command-config")] {
        if parsed.has(old) {
            output::line(&format!("Warning: --{old} is deprecated. Use --{new} instead."))?;
        }
    }
    if !parsed.has("hide-header") {
        let first = if task.is_detailed {
            "time, threadId"
        } else {
            "start.time, end.time"
        };
        output::line(&format!(
            "{first}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec{EXTENDED}"
        ))?;
    }
    with_runtime(measure(task, client, consumer, parsed.has("print-metrics")))
}

impl Task {
    fn read(parsed: &Parsed) -> Result<Task, Misuse> {
        parsed.require("bootstrap-server")?;
        let one_of = |names: [&'static str; 2]| {
            parsed.exactly_one(&names).map_err(|_| {
                Misuse::with_usage(format!(
                    "Exactly one of the following arguments is required: [{}], [{}]",
                    names[0], names[1]
                ))
            })
        };
        let records = one_of(["messages", "num-records"])?;
        let topics = match one_of(["topic", "include"])? {
            "topic" => Ok(parsed.require("topic")?.to_owned()),
            _ => Err(parsed.require("include")?.to_owned()),
        };
        parsed.forbid_with("consumer.config", &["command-config"])?;
        let interval: i64 = parsed.number("reporting-interval")?.unwrap_or(5000);
        if interval <= 0 {
            return Err(Misuse::plain("Reporting interval must be greater than 0."));
        }
        Ok(Task {
            topics,
            records: parsed.number(records)?.unwrap_or_default(),
            timeout: parsed.number("timeout")?.unwrap_or(10_000),
            interval: Duration::from_millis(interval.unsigned_abs()),
            dates: DatePattern::parse(parsed.get("date-format").unwrap_or("yyyy-MM-dd HH:mm:ss:SSS"))?,
            is_detailed: parsed.has("show-detailed-stats"),
        })
    }
}

/// The settings: the file's, then those given one by one, then the flags' and the script's own.
fn configs(parsed: &Parsed) -> anyhow::Result<(ClientConfig, ConsumerConfig)> {
    let mut client = ClientConfig {
        client_id: "perf-consumer-client".to_owned(),
        ..ClientConfig::default()
    };
    let mut consumer = ConsumerConfig::default();
    let mut settings = parsed.settings(&["consumer.config", "command-config"], &["command-property"])?;
    let group = match parsed.get("group") {
        Some(group) => group.to_owned(),
        None => format!("perf-consumer-{}", RandomState::new().hash_one(0) % 100_000),
    };
    let reset = if parsed.has("from-latest") {
        "latest"
    } else {
        "earliest"
    };
    for (key, value) in [
        ("bootstrap.servers", parsed.require("bootstrap-server")?),
        ("group.id", &group),
        (
            "max.partition.fetch.bytes",
            parsed.get("fetch-size").unwrap_or("1048576"),
        ),
        ("auto.offset.reset", reset),
        ("check.crcs", "false"),
    ] {
        settings.push((key.to_owned(), value.to_owned()));
    }
    let pairs = settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    client::apply_settings(&mut [&mut consumer, &mut client], pairs)?;
    Ok((client, consumer))
}

/// How far the reading has come.
#[derive(Clone, Copy, Debug)]
struct Progress {
    at: SystemTime,
    records: u64,
    bytes: u64,
    rebalancing: Duration,
}

impl Progress {
    /// The columns of what came since `earlier`, with the times that stand before them.
    fn columns(&self, earlier: &Progress, times: &str, shows_all: &Progress) -> String {
        let elapsed = self.at.duration_since(earlier.at).unwrap_or_default();
        let rebalancing = self.rebalancing.saturating_sub(earlier.rebalancing);
        let (seconds, fetching) = (
            elapsed.as_secs_f64(),
            elapsed.as_millis() as i128 - rebalancing.as_millis() as i128,
        );
        let megabytes = (self.bytes - earlier.bytes) as f64 / MIB;
        let records = (self.records - earlier.records) as f64;
        let while_fetching = |amount: f64| {
            if fetching > 0 {
                amount * 1000.0 / fetching as f64
            } else {
                0.0
            }
        };
        format!(
            "{times}, {:.4}, {:.4}, {}, {:.4}, {}, {fetching}, {:.4}, {:.4}",
            shows_all.bytes as f64 / MIB,
            megabytes / seconds,
            shows_all.records,
            records / seconds,
            rebalancing.as_millis(),
            while_fetching(megabytes),
            while_fetching(records),
        )
    }
}

async fn measure(
    task: Task,
    client_config: ClientConfig,
    config: ConsumerConfig,
    prints_metrics: bool,
) -> anyhow::Result<()> {
    let client_id = client_config.client_id.clone();
    let client = Client::new(client_config)?;
    client.connect(PATIENCE).await?;
    let start = Progress {
        at: SystemTime::now(),
        records: 0,
        bytes: 0,
        rebalancing: Duration::ZERO,
    };
    let mut consumer = Consumer::new(client, config)?;
    match &task.topics {
        Ok(topic) => consumer.subscribe(std::slice::from_ref(topic)).await?,
        Err(pattern) => consumer.subscribe_pattern(pattern).await?,
    }
    let end = read(&task, &mut consumer, start).await?;
    let found = consumer.metrics();
    consumer.close().await?;
    if !task.is_detailed {
        let times = format!("{}, {}", task.dates.format(start.at), task.dates.format(end.at));
        output::line(&end.columns(&start, &times, &end))?;
    }
    if prints_metrics {
        let elapsed = end.at.duration_since(start.at).unwrap_or_default().as_secs_f64();
        let tags = format!("client-id={client_id}");
        let fetch_ms = found.fetch_time.as_secs_f64() * 1000.0;
        let rebalance_ms = found.rebalance_time.as_secs_f64() * 1000.0;
        let fetching = [
            ("bytes-consumed-rate", found.bytes as f64 / elapsed),
            ("bytes-consumed-total", found.bytes as f64),
            ("fetch-latency-avg", average(fetch_ms, found.fetches)),
            ("fetch-latency-max", found.fetch_time_max.as_secs_f64() * 1000.0),
            ("fetch-rate", found.fetches as f64 / elapsed),
            ("fetch-size-avg", average(found.bytes as f64, found.fetches)),
            ("fetch-total", found.fetches as f64),
            ("records-consumed-rate", found.records as f64 / elapsed),
            ("records-consumed-total", found.records as f64),
            (
                "records-per-request-avg",
                average(found.records as f64, found.fetches),
            ),
        ];
        let group = [
            ("rebalance-latency-avg", average(rebalance_ms, found.rebalances)),
            ("rebalance-latency-total", rebalance_ms),
            ("rebalance-total", found.rebalances as f64),
        ];
        output::text(&perf_output::metrics(&[
            ("consumer-coordinator-metrics", &tags, &group),
            ("consumer-fetch-manager-metrics", &tags, &fetching),
        ]))?;
    }
    Ok(())
}

/// Reads until there are enough records, or none come any more.
async fn read(task: &Task, consumer: &mut Consumer, start: Progress) -> anyhow::Result<Progress> {
    let mut now = start;
    let (mut reported, mut last_records) = (start, start.at);
    let wanted = u64::try_from(task.records).unwrap_or_default();
    let idle = |now: &Progress, since| now.at.duration_since(since).unwrap_or_default().as_millis() as i128;
    while now.records < wanted && idle(&now, last_records) <= i128::from(task.timeout) {
        let records = consumer.poll(Duration::from_millis(100)).await?;
        now.at = SystemTime::now();
        now.rebalancing = consumer.metrics().rebalance_time;
        if !records.is_empty() {
            last_records = now.at;
        }
        for record in &records {
            let sized = |part: &Option<bytes::Bytes>| part.as_ref().map_or(0, bytes::Bytes::len) as u64;
            now.records += 1;
            now.bytes += sized(&record.key) + sized(&record.value);
            if idle(&now, reported.at) >= task.interval.as_millis() as i128 {
                if task.is_detailed {
                    let times = format!("{}, 0", task.dates.format(now.at));
                    output::line(&now.columns(&reported, &times, &now))?;
                }
                reported = now;
            }
        }
    }
    if now.records < wanted {
        output::line(&format!(
            "WARNING: Exiting before consuming the expected number of records: timeout ({} ms) exceeded. You can use the \
             --timeout option to increase the timeout.",
            task.timeout
        ))?;
    }
    Ok(now)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let parsed = SCRIPT.parse(&arguments).map_err(|error| error.to_string())?;
        Task::read(&parsed).map_err(|error| error.to_string())
    }

    #[test]
    fn mistakes_have_the_scripts_words() {
        let b = "--bootstrap-server h:1";
        for (line, expected) in [
            (
                "--topic t --num-records 5",
                "Missing required argument \"[bootstrap-server]\"",
            ),
            (
                &format!("{b} --topic t"),
                "Exactly one of the following arguments is required: [messages], [num-records]",
            ),
            (
                &format!("{b} --topic t --messages 1 --num-records 1"),
                "Exactly one of the following arguments is required: [messages], [num-records]",
            ),
            (
                &format!("{b} --num-records 5"),
                "Exactly one of the following arguments is required: [topic], [include]",
            ),
            (
                &format!("{b} --topic t --num-records x"),
                "Cannot parse argument 'x' of option num-records",
            ),
            (
                &format!("{b} --topic t --num-records 5 --reporting-interval 0"),
                "Reporting interval must be greater than 0.",
            ),
            (
                &format!("{b} --topic t --num-records 5 --consumer.config a --command-config b"),
                "Option \"[consumer.config]\" can't be used with option \"[command-config]\"",
            ),
        ] {
            assert_eq!(task(line).unwrap_err(), expected, "{line}");
        }
        let read = task(&format!(
            "{b} --include a.* --messages 5 --timeout 7 --show-detailed-stats"
        ))
        .unwrap();
        assert_eq!(read.topics, Err("a.*".to_owned()));
        assert_eq!((read.records, read.timeout, read.is_detailed), (5, 7, true));
    }

    #[test]
    fn flags_become_settings_and_win() {
        let line = "--bootstrap-server h:1 --topic t --num-records 1 --group g --fetch-size 7 --from-latest \
                    --command-property client.id=me --command-property group.id=other";
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (client, consumer) = configs(&SCRIPT.parse(&arguments).unwrap()).unwrap();
        assert_eq!(client.client_id, "me");
        assert_eq!(consumer.group_id.as_deref(), Some("g"));
        assert_eq!(consumer.max_partition_fetch_bytes, 7);
        assert_eq!(consumer.auto_offset_reset, client::OffsetReset::Latest);
        assert!(!consumer.check_crcs);
    }

    #[test]
    fn the_columns_are_those_of_the_script() {
        let at = |milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds);
        let start = Progress {
            at: at(0),
            records: 0,
            bytes: 0,
            rebalancing: Duration::ZERO,
        };
        let end = Progress {
            at: at(1678),
            records: 500,
            bytes: 50_000,
            rebalancing: Duration::from_millis(1366),
        };
        // As the script of Kafka 4.3.1 printed it for these figures.
        assert_eq!(
            end.columns(&start, "a, b", &end),
            "a, b, 0.0477, 0.0284, 500, 297.9738, 1366, 312, 0.1528, 1602.5641"
        );
        assert!(
            start
                .columns(&start, "a, b", &start)
                .ends_with(", 0, NaN, 0, 0, 0.0000, 0.0000")
        );
    }
}

//! Apache Kafka's own perf tools: the load that every operator can repeat.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::ledger::Figures;

/// The script that fetches, starts and calls Apache Kafka.
pub(super) const KAFKA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/kafka");

/// A run of the tools.
#[derive(Clone, Copy)]
pub(super) enum Tool {
    /// ProducerPerformance, then ConsumerPerformance over what it wrote.
    Throughput(Throughput),
    /// EndToEndLatency: one record at a time, each waited for.
    EndToEnd { records: u64, size: u64 },
}

/// What the two are asked for.
#[derive(Clone, Copy)]
pub(super) struct Throughput {
    pub(super) records: u64,
    pub(super) size: u64,
    /// Settings of the producer.
    pub(super) producer: &'static [&'static str],
    /// More arguments of the consumer.
    pub(super) consumer: &'static [&'static str],
}

/// Bytes of a megabyte as Java's tools count them, in ours.
const MEBIBYTE: f64 = 1.048_576;

impl Throughput {
    /// `500000 records sent, 150000.0 records/sec (28.61 MB/sec), 3.42 ms avg latency, ..., 12 ms 99th, ...`.
    pub(super) fn produce(&self, bootstrap: &str, topic: &str) -> Result<Figures> {
        let (records, size) = (self.records.to_string(), self.size.to_string());
        let head = [
            "kafka-producer-perf-test",
            "--bootstrap-server",
            bootstrap,
            "--topic",
            topic,
        ];
        let rest = [
            "--num-records",
            &records,
            "--record-size",
            &size,
            "--throughput",
            "-1",
            "--command-property",
        ];
        let text = tool(&[&head[..], &rest, self.producer].concat())?;
        parse_produce(&text)
    }

    /// MB/s, the fourth column of the tool's table.
    pub(super) fn consume(&self, bootstrap: &str, topic: &str) -> Result<f64> {
        let records = self.records.to_string();
        let head = [
            "kafka-consumer-perf-test",
            "--bootstrap-server",
            bootstrap,
            "--topic",
            topic,
        ];
        let rest = ["--num-records", &records, "--hide-header"];
        parse_consume(&tool(&[&head[..], &rest, self.consumer].concat())?)
    }
}

/// Latencies of records sent and awaited one by one.
pub(super) fn end_to_end(bootstrap: &str, topic: &str, records: u64, size: u64) -> Result<Figures> {
    let (records, size) = (records.to_string(), size.to_string());
    let head = [
        "kafka-e2e-latency",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
    ];
    let rest = [
        "--num-records",
        &records,
        "--producer-acks",
        "all",
        "--record-size",
        &size,
    ];
    parse_end_to_end(&tool(&[&head[..], &rest].concat())?)
}

fn parse_produce(text: &str) -> Result<Figures> {
    let line = text
        .lines()
        .rev()
        .find(|line| line.contains("99th"))
        .context("no summary of the producer")?;
    let number_before = |unit: &str| {
        let words: Vec<&str> = line
            .split(unit)
            .next()
            .unwrap_or_default()
            .split([' ', '('])
            .collect();
        let word = words.iter().rev().find(|word| !word.is_empty());
        word.and_then(|word| word.parse::<f64>().ok())
            .with_context(|| format!("no {unit} in {line:?}"))
    };
    Ok(Figures::from([
        ("MB/s".to_owned(), number_before("MB/sec")? * MEBIBYTE),
        ("ack p99 ms".to_owned(), number_before("ms 99th")?),
    ]))
}

fn parse_consume(text: &str) -> Result<f64> {
    let row = text
        .lines()
        .rev()
        .find(|line| line.split(", ").count() >= 6)
        .context("no figure of the consumer")?;
    let figure = row.split(", ").nth(3).context("a row has more fields")?;
    let figure: f64 = figure.parse().with_context(|| format!("no figure in {row:?}"))?;
    Ok(figure * MEBIBYTE)
}

/// `Avg latency: 0.5000 ms` and `Percentiles: 50th = 0, 99th = 2, 99.9th = 7`.
fn parse_end_to_end(text: &str) -> Result<Figures> {
    let mut figures = Figures::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Avg latency:") {
            let word = rest.split_whitespace().next().context("no average")?;
            figures.insert("end to end mean ms".to_owned(), word.parse()?);
        }
        for (mark, name) in [
            (" 99th = ", "end to end p99 ms"),
            (" 99.9th = ", "end to end p99.9 ms"),
        ] {
            if let Some((_, rest)) = line.split_once(mark) {
                let word: String = rest.chars().take_while(char::is_ascii_digit).collect();
                figures.insert(name.to_owned(), word.parse()?);
            }
        }
    }
    if figures.is_empty() {
        bail!("no figures in {text:?}");
    }
    Ok(figures)
}

fn tool(arguments: &[&str]) -> Result<String> {
    let output = Command::new(KAFKA).arg("run").args(arguments).output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{}: {}",
            arguments.join(" "),
            errors.lines().last().unwrap_or_default()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_lines_are_read() {
        let produced = "500000 records sent, 302480.3 records/sec (57.69 MB/sec), 9.40 ms avg latency, 271.00 ms max \
                        latency, 2 ms 50th, 57 ms 95th, 71 ms 99th, 75 ms 99.9th.\n";
        let figures = parse_produce(produced).unwrap();
        assert!((figures["MB/s"] - 60.49).abs() < 0.01);
        assert_eq!(figures["ack p99 ms"], 71.0);
        let consumed =
            "2026-01-01 00:00:00:000, 2026-01-01 00:00:01:000, 95.4, 100.0, 500054, 524, 3, 997, 95.7, 501\n";
        assert!((parse_consume(consumed).unwrap() - 104.86).abs() < 0.01);
        let measured = "0\t3.1\nAvg latency: 0.6120 ms\n\nPercentiles: 50th = 0, 99th = 2, 99.9th = 11\n";
        let figures = parse_end_to_end(measured).unwrap();
        assert_eq!(figures["end to end mean ms"], 0.612);
        assert_eq!(figures["end to end p99.9 ms"], 11.0);
    }
}

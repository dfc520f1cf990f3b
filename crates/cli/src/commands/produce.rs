//! `gracchus produce`: write records, one for each line of the input.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _};

use bytes::Bytes;
use clap::Args;
use client::{ClientError, Producer, ProducerConfig, ProducerRecord, Sent};
use serde_json::json;
use tokio::sync::mpsc;
use wire::records::RecordHeader;

use crate::args::{Format, key_value};
use crate::commands::topic::ClusterArgs;
use crate::failure::{Exit, Usage};
use crate::signals::StopSignals;

/// Lines read ahead, and records on their way of which the answer is awaited.
const WINDOW: usize = 10_000;

#[derive(Debug, Args)]
pub(crate) struct ProduceArgs {
    /// The topic to write to
    topic: String,
    /// The key of every record
    #[arg(short, long, conflicts_with = "key_separator")]
    key: Option<String>,
    /// Write one record with this value, and read no input
    #[arg(short, long)]
    value: Option<String>,
    /// What stands between key and value in a line; \t is a tab
    #[arg(short = 'K', long, value_name = "TEXT")]
    key_separator: Option<String>,
    /// A header of every record; may be given several times
    #[arg(short = 'H', long, value_name = "KEY=VALUE", value_parser = key_value)]
    header: Vec<(String, String)>,
    /// The partition of every record [default: by key, or else for even load]
    #[arg(short, long)]
    partition: Option<i32>,
    /// A key or value of this text is null
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// How many copies a record must have: all, 1 or 0
    #[arg(long)]
    acks: Option<String>,
    /// How batches are compressed: none, gzip, snappy, lz4 or zstd
    #[arg(short = 'z', long, value_name = "CODEC")]
    compression: Option<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

pub(crate) async fn run(args: ProduceArgs) -> anyhow::Result<()> {
    let mut config = ProducerConfig::default();
    for (key, value) in [("acks", &args.acks), ("compression.type", &args.compression)] {
        if let Some(value) = value {
            config.set(key, value)?;
        }
    }
    let client = args.cluster.connect.client_with(Some(&mut config)).await?;
    let mut stop = StopSignals::listen()?;
    let producer = Producer::new(client, config);
    let outcome = match args.value.clone() {
        Some(value) => {
            let record = args.record(value.into_bytes())?;
            tokio::select! {
                sent = send_one(&producer, record) => sent.map(|()| 1),
                code = stop.stopped() => return Err(Exit(code).into()),
            }
        }
        None => {
            if io::stdin().is_terminal() {
                eprintln!("each line is a record; Ctrl-D ends");
            }
            send_lines(&producer, stdin_lines(), stop, |line| args.record(line)).await
        }
    };
    producer.close().await;
    let records = outcome?;
    let sentence = format!(
        "wrote {records} record{} to {}",
        if records == 1 { "" } else { "s" },
        args.topic
    );
    match args.cluster.output {
        Format::Json => crate::output::line(&json!({ "topic": args.topic, "records": records }).to_string()),
        Format::Table => {
            eprintln!("{sentence}");
            Ok(())
        }
    }
}

impl ProduceArgs {
    fn record(&self, line: Vec<u8>) -> anyhow::Result<ProducerRecord> {
        let separator = self
            .key_separator
            .as_deref()
            .map(|text| text.replace("\\t", "\t"));
        let (key, value) = match &separator {
            Some(separator) => {
                let Some(at) = find(&line, separator.as_bytes()) else {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    return Err(Usage(format!(
                        "no {separator:?} between key and value in the line {line:?}"
                    ))
                    .into());
                };
                let key = line.get(..at).unwrap_or_default().to_vec();
                let value = line.get(at + separator.len()..).unwrap_or_default().to_vec();
                (Some(key), value)
            }
            None => (self.key.clone().map(String::into_bytes), line),
        };
        let present = |bytes: Vec<u8>| {
            let is_null = self.null.as_ref().is_some_and(|null| null.as_bytes() == bytes);
            (!is_null).then(|| Bytes::from(bytes))
        };
        let header = |(key, value): &(String, String)| RecordHeader {
            key: Bytes::copy_from_slice(key.as_bytes()),
            value: Some(Bytes::copy_from_slice(value.as_bytes())),
        };
        Ok(ProducerRecord {
            topic: self.topic.clone(),
            partition: self.partition,
            timestamp: None,
            key: key.and_then(present),
            value: present(value),
            headers: self.header.iter().map(header).collect(),
        })
    }
}

/// The place of `needle` in `haystack`.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// The lines of the standard input without their ends, read on a thread of their own: a terminal may take its time.
pub(crate) fn stdin_lines() -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (lines, reader) = mpsc::channel(WINDOW);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = match input.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => Ok(trimmed(line)),
                Err(error) => Err(error),
            };
            let is_last = read.is_err();
            if lines.blocking_send(read).is_err() || is_last {
                return;
            }
        }
    });
    reader
}

fn trimmed(mut line: Vec<u8>) -> Vec<u8> {
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    line
}

/// Sends a record and waits until it is delivered.
pub(crate) async fn send_one(producer: &Producer, record: ProducerRecord) -> anyhow::Result<()> {
    producer.send(record).await?.await?;
    Ok(())
}

/// Sends a record for each line, until the input ends, a line is wrong, a delivery fails, or a signal comes. The number
/// of records delivered.
pub(crate) async fn send_lines(
    producer: &Producer,
    mut lines: mpsc::Receiver<io::Result<Vec<u8>>>,
    mut stop: StopSignals,
    record: impl Fn(Vec<u8>) -> anyhow::Result<ProducerRecord>,
) -> anyhow::Result<u64> {
    let mut on_their_way: VecDeque<Sent> = VecDeque::new();
    let mut delivered = 0;
    let outcome = loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = stop.stopped() => None,
        };
        let Some(line) = line else {
            break Ok(());
        };
        let sent = match line.map_err(anyhow::Error::from).and_then(&record) {
            Ok(record) => producer.send(record).await,
            Err(error) => break Err(error),
        };
        match sent {
            Ok(sent) => on_their_way.push_back(sent),
            Err(error) => break Err(error.into()),
        }
        if on_their_way.len() >= WINDOW
            && let Err(error) = confirm_first(&mut on_their_way, &mut delivered).await
        {
            break Err(error.into());
        }
    };
    // What was sent before the end, or before a mistake, is still to be confirmed.
    producer.flush().await;
    while !on_their_way.is_empty() {
        confirm_first(&mut on_their_way, &mut delivered).await?;
    }
    outcome.map(|()| delivered)
}

async fn confirm_first(on_their_way: &mut VecDeque<Sent>, delivered: &mut u64) -> Result<(), ClientError> {
    if let Some(sent) = on_their_way.pop_front() {
        sent.await?;
        *delivered += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ProduceArgs,
    }

    fn record(arguments: &[&str], line: &str) -> anyhow::Result<ProducerRecord> {
        let arguments = ["produce", "t"].iter().chain(arguments);
        let args = Line::try_parse_from(arguments).unwrap().args;
        args.record(line.as_bytes().to_vec())
    }

    #[test]
    fn a_line_is_split_at_the_first_separator() {
        let sent = record(&["-K", ":", "-H", "a=b=c"], "k:v:w").unwrap();
        assert_eq!(sent.key.as_deref(), Some(&b"k"[..]));
        assert_eq!(sent.value.as_deref(), Some(&b"v:w"[..]));
        assert_eq!(sent.headers[0].value.as_deref(), Some(&b"b=c"[..]));
        let error = record(&["-K", "\\t"], "no tab").unwrap_err();
        assert!(error.to_string().contains("no \"\\t\" between"), "{error}");
    }

    #[test]
    fn the_null_text_is_null_in_key_and_value() {
        let sent = record(&["-K", "=", "--null", "NIL"], "NIL=NIL").unwrap();
        assert_eq!((sent.key, sent.value), (None, None));
    }

    #[test]
    fn line_ends_of_both_kinds_are_taken_off() {
        assert_eq!(trimmed(b"a\r\n".to_vec()), b"a");
        assert_eq!(trimmed(b"a\n".to_vec()), b"a");
        assert_eq!(trimmed(b"a\r".to_vec()), b"a\r");
        assert_eq!(trimmed(b"\n".to_vec()), b"");
    }
}

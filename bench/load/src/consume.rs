//! Reads a topic from the beginning, as fast as it comes.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::Target;
use crate::librdkafka::Consumer;
use crate::payload::Stamp;
use crate::stats::{cpu_seconds, now};

/// librdkafka rests for a second when its queue is full, so the queue is never full.
const SETTINGS: [(&str, &str); 5] = [
    ("group.id", "bench"),
    ("enable.auto.commit", "false"),
    ("queued.min.messages", "10000000"),
    ("queued.max.messages.kbytes", "1048576"),
    ("fetch.queue.backoff.ms", "1"),
];
const BATCH: usize = 10_000;
const BATCH_MS: i32 = 20;
/// Without a record for so long, the rest will not come.
const SILENCE_MAX: u64 = 30_000_000_000;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// End after so many records; without it, after a second without any.
    #[arg(long)]
    records: Option<u64>,
    /// What `produce --acknowledged` wrote: each of these records must be in its place.
    #[arg(long)]
    expect: Option<PathBuf>,
}

/// Reads and says how it went. Time counts from the first record; `from ns` is when it began to ask.
pub(crate) fn run(options: &Options) -> Result<Value> {
    let mut expected = match &options.expect {
        Some(path) => read_expected(path)?,
        None => HashMap::new(),
    };
    let promised = expected.len();
    let cpu = cpu_seconds();
    let from = now();
    let mut consumer = Consumer::new(&options.target, &SETTINGS, BATCH)?;
    let (mut records, mut bytes) = (0_u64, 0_u64);
    let (mut begin, mut last) = (0, now());
    let silence_max = options.records.map_or(1_000_000_000, |_| SILENCE_MAX);
    while options.records.is_none_or(|enough| records < enough) {
        let before = records;
        consumer.take(BATCH_MS, |place, payload| {
            records += 1;
            bytes += payload.len() as u64;
            let key = (place.partition, place.offset);
            if promised > 0 && Stamp::of(payload).map(|stamp| stamp.sequence) == expected.get(&key).copied() {
                expected.remove(&key);
            }
        })?;
        if records > before {
            last = now();
            begin = if before == 0 { last } else { begin };
        } else if now() - last > silence_max {
            break;
        }
    }
    if options.records.is_some_and(|wanted| records < wanted) {
        bail!(
            "{records} records came, and then none for {} s",
            SILENCE_MAX / 1_000_000_000
        );
    }
    let seconds = (last - begin).max(1) as f64 / 1e9;
    Ok(json!({
        "records": records,
        "bytes": bytes,
        "seconds": seconds,
        "from ns": from,
        "to ns": last,
        "records/s": records as f64 / seconds,
        "MB/s": bytes as f64 / seconds / 1e6,
        "promised": promised,
        "missing": expected.len(),
        "cpu": cpu_seconds() - cpu,
    }))
}

/// The number of the record at each partition and offset.
fn read_expected(path: &PathBuf) -> Result<HashMap<(i32, i64), u64>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .map(|line| {
            let mut fields = line.split(' ');
            let mut field = || fields.next().context("partition, offset and number");
            Ok(((field()?.parse()?, field()?.parse()?), field()?.parse()?))
        })
        .collect()
}

//! Produces: as fast as the broker takes it, or at a rate, by one producer or many.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use clap::Args;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::Target;
use crate::librdkafka::{Deliveries, Place, Producer, Sent};
use crate::payload::{Payloads, Stamp};
use crate::stats::{Latencies, cpu_seconds, now};
use crate::window::Window;

/// Room for records in the client, so that the broker is never short of them.
const QUEUE: [(&str, &str); 2] = [
    ("queue.buffering.max.messages", "1000000"),
    ("queue.buffering.max.kbytes", "524288"),
];
/// So many records in a row go to one partition, as a sticky partitioner does.
const RUN: u64 = 200;
/// Flat out, every so manieth record carries the time it was handed over.
const STAMP_EVERY: u64 = 64;
/// Flat out, reports are looked at after so many records.
const POLL_EVERY: u64 = 1024;
/// The longest wait for what is on its way when all is sent.
const FLUSH_MS: i32 = 120_000;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// Records of each producer; with `--window` the least number.
    #[arg(long)]
    records: u64,
    /// Go on until standard input ends, and count only the latencies of records that were due between two times: the
    /// numbers it tells, in nanoseconds on the shared clock.
    #[arg(long, requires = "rate")]
    window: bool,
    /// Bytes of a record's value, 16 at least.
    #[arg(long, default_value_t = 200)]
    size: usize,
    /// Producers, each a client of its own with its own connections.
    #[arg(long, default_value_t = 1)]
    producers: u32,
    /// Records a second of each producer; flat out without it.
    #[arg(long)]
    rate: Option<u64>,
    /// At a rate, records fall due every so many milliseconds, all of that time at once.
    #[arg(long, default_value_t = 1)]
    tick_ms: u64,
    /// Give each record one of so many keys, which choose its partition.
    #[arg(long)]
    keys: Option<u64>,
    /// Write partition, offset and number of each acknowledged record to this file, for `consume --expect`.
    #[arg(long)]
    acknowledged: Option<PathBuf>,
}

/// What came back.
#[derive(Default)]
struct Reports {
    delivered: u64,
    failed: u64,
    first_failure: Option<String>,
    /// By the time at which the record was due.
    latencies: Vec<(u64, u64)>,
    journal: Option<BufWriter<File>>,
}

impl Deliveries for Reports {
    fn delivered(&mut self, place: Place, payload: &[u8]) {
        self.delivered += 1;
        let Some(stamp) = Stamp::of(payload) else {
            return;
        };
        if stamp.sent > 0 {
            self.latencies
                .push((stamp.sent, now().saturating_sub(stamp.sent)));
        }
        if let Some(journal) = &mut self.journal {
            // A full disk shows when the journal is flushed.
            let _ = writeln!(journal, "{} {} {}", place.partition, place.offset, stamp.sequence);
        }
    }

    fn failed(&mut self, error: &str) {
        self.failed += 1;
        self.first_failure.get_or_insert_with(|| error.to_owned());
    }
}

/// Produces and says how it went.
pub(crate) fn run(options: &Options) -> Result<Value> {
    let window = options.window.then(|| Window::follow(std::io::stdin()));
    let mut producers = Vec::new();
    for index in 0..options.producers {
        let mut reports = Reports::default();
        if let (Some(path), 0) = (&options.acknowledged, index) {
            reports.journal = Some(BufWriter::new(File::create(path)?));
        }
        producers.push(Producer::new(
            &options.target,
            &QUEUE,
            Arc::new(Mutex::new(reports)),
        )?);
    }
    let (begin, cpu, window) = (now(), cpu_seconds(), window.as_deref());
    thread::scope(|scope| {
        let threads: Vec<_> = producers
            .iter()
            .map(|producer| {
                scope.spawn(move || match options.rate {
                    Some(rate) => at_a_rate(options, producer, rate, window),
                    None => flat_out(options, producer),
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().ok().context("a producer's thread panicked")?)
    })?;
    let (seconds, cpu) = ((now() - begin) as f64 / 1e9, cpu_seconds() - cpu);
    let (mut total, mut latencies) = (Reports::default(), Latencies::default());
    for producer in &producers {
        let mut reports = std::mem::take(&mut *producer.deliveries().lock());
        if let Some(journal) = &mut reports.journal {
            journal.flush().context("cannot write what was acknowledged")?;
        }
        total.delivered += reports.delivered;
        total.failed += reports.failed;
        total.first_failure = total.first_failure.or(reports.first_failure);
        let counts = |due: u64| window.is_none_or(|window| window.has(due));
        for (due, latency) in reports.latencies {
            if counts(due) {
                latencies.note(latency);
            }
        }
    }
    let per_second = total.delivered as f64 / seconds;
    Ok(json!({
        "delivered": total.delivered,
        "failed": total.failed,
        "failure": total.first_failure,
        "seconds": seconds,
        "records/s": per_second,
        "MB/s": per_second * options.size as f64 / 1e6,
        "ack ms": latencies.percentiles(),
        "cpu": cpu,
    }))
}

/// The records of one producer, with the partition and key of each.
struct Source<'a> {
    options: &'a Options,
    payloads: Payloads,
    key: Vec<u8>,
}

impl Source<'_> {
    fn new(options: &Options) -> Source<'_> {
        Source {
            options,
            payloads: Payloads::new(options.size),
            key: Vec::new(),
        }
    }

    /// Hands record `sequence` over, waiting for room.
    fn send(&mut self, producer: &Producer<Reports>, stamp: Stamp) -> Result<()> {
        let partition = match self.options.keys {
            Some(keys) => {
                self.key.clear();
                write!(self.key, "k{}", stamp.sequence % keys)?;
                None
            }
            None => Some((stamp.sequence / RUN % u64::from(self.options.target.partitions)) as i32),
        };
        let payload = self.payloads.next(stamp);
        while producer.send(partition, &self.key, payload)? == Sent::Full {
            producer.poll(5);
        }
        Ok(())
    }
}

fn flat_out(options: &Options, producer: &Producer<Reports>) -> Result<()> {
    let mut source = Source::new(options);
    for sequence in 0..options.records {
        let sent = if sequence % STAMP_EVERY == 0 { now() } else { 0 };
        source.send(producer, Stamp { sent, sequence })?;
        if sequence % POLL_EVERY == 0 {
            producer.poll(0);
        }
    }
    producer.flush(FLUSH_MS);
    Ok(())
}

/// Open loop: a record is stamped with the time at which it falls due, however late it is handed over. With a window it
/// goes on until that is over and nothing of it is left to send.
fn at_a_rate(
    options: &Options,
    producer: &Producer<Reports>,
    rate: u64,
    window: Option<&Window>,
) -> Result<()> {
    let mut source = Source::new(options);
    let tick = options.tick_ms.max(1) * 1_000_000;
    let begin = now();
    let mut sequence = 0;
    for due in (0..).map(|index| begin + index * tick) {
        while now() < due {
            let left_ms = (due.saturating_sub(now())).div_ceil(1_000_000);
            producer.poll(left_ms as i32);
        }
        let until = ((due + tick - begin) as u128 * u128::from(rate) / 1_000_000_000) as u64;
        let most = window.map_or(options.records, |_| u64::MAX);
        while sequence < until.min(most) {
            source.send(producer, Stamp { sent: due, sequence })?;
            sequence += 1;
        }
        if sequence >= options.records && window.is_none_or(|window| window.is_over_at(due)) {
            break;
        }
    }
    producer.flush(FLUSH_MS);
    Ok(())
}

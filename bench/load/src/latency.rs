//! How long records take at a rate: until they are acknowledged, and until a consumer has them.
//!
//! Open loop: the schedule does not wait for the broker, and a latency counts from the moment the record was meant to
//! leave. So a stall shows in every record that it delayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::Target;
use crate::librdkafka::{Consumer, Deliveries, Place, Producer, Sent};
use crate::payload::{Payloads, Stamp};
use crate::stats::{Latencies, cpu_seconds, now};

const PRODUCER: [(&str, &str); 1] = [("linger.ms", "0")];
const CONSUMER: [(&str, &str); 2] = [("group.id", "bench"), ("enable.auto.commit", "false")];
/// A sleep ends about so much late; the rest of the time to a record is spent yielding.
const SLEEP_SLACK: u64 = 200_000;
/// How long the consumer may take for what is still on its way at the end.
const TAIL: Duration = Duration::from_secs(2);
/// The longest wait for the first record to come through.
const READY_MAX: u64 = 30_000_000_000;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    /// Records to measure.
    #[arg(long)]
    records: u64,
    /// Records a second.
    #[arg(long)]
    rate: u64,
    /// Records that go ahead at the same rate and are not measured.
    #[arg(long, default_value_t = 1_000)]
    warm_up: u64,
    /// Bytes of a record's value, 16 at least.
    #[arg(long, default_value_t = 200)]
    size: usize,
}

/// Acknowledgements; records without a time are not measured.
#[derive(Default)]
struct Acknowledged {
    failed: u64,
    latencies: Latencies,
}

impl Deliveries for Acknowledged {
    fn delivered(&mut self, _: Place, payload: &[u8]) {
        if let Some(stamp) = Stamp::of(payload).filter(|stamp| stamp.sent > 0) {
            self.latencies.note(now().saturating_sub(stamp.sent));
        }
    }

    fn failed(&mut self, _: &str) {
        self.failed += 1;
    }
}

/// What the threads share.
#[derive(Default)]
struct Shared {
    arrived: AtomicU64,
    is_over: AtomicBool,
}

/// Sends, listens, and says how long it took.
pub(crate) fn run(options: &Options) -> Result<Value> {
    let producer = Producer::new(
        &options.target,
        &PRODUCER,
        Arc::new(Mutex::new(Acknowledged::default())),
    )?;
    // One at a time: librdkafka would wait for a batch to fill.
    let consumer = Consumer::new(&options.target, &CONSUMER, 1)?;
    let shared = Shared::default();
    let mut cpu = 0.0;
    let arrivals = thread::scope(|scope| {
        let listener = scope.spawn(|| listen(consumer, &shared));
        let reporter = scope.spawn(|| {
            while !shared.is_over.load(Ordering::Relaxed) {
                producer.poll(50);
            }
        });
        let outcome = drive(options, &producer, &shared, &mut cpu);
        shared.is_over.store(true, Ordering::Relaxed);
        reporter.join().ok().context("the reporting thread panicked")?;
        let arrivals = listener.join().ok().context("the consuming thread panicked")?;
        outcome.and(arrivals)
    })?;
    let acknowledged = std::mem::take(&mut *producer.deliveries().lock());
    Ok(json!({
        "failed": acknowledged.failed,
        "ack ms": acknowledged.latencies.percentiles(),
        "end to end ms": arrivals.percentiles(),
        "cpu": cpu_seconds() - cpu,
    }))
}

/// Waits until records come through, warms up, then sends what is measured.
fn drive(options: &Options, producer: &Producer<Acknowledged>, shared: &Shared, cpu: &mut f64) -> Result<()> {
    let begin = now();
    let mut sender = Sender {
        options,
        producer,
        payloads: Payloads::new(options.size),
        sequence: 0,
    };
    while shared.arrived.load(Ordering::Relaxed) < u64::from(options.target.partitions) {
        if now() - begin > READY_MAX {
            bail!("no record came through");
        }
        sender.send(0)?;
        thread::sleep(Duration::from_millis(20));
    }
    sender.keep_rate(options.warm_up, Measured::No)?;
    *cpu = cpu_seconds();
    sender.keep_rate(options.records, Measured::Yes)?;
    let before = now();
    while !producer.flush(100) && now() - before < TAIL.as_nanos() as u64 {}
    thread::sleep(Duration::from_millis(200));
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measured {
    Yes,
    No,
}

struct Sender<'a> {
    options: &'a Options,
    producer: &'a Producer<Acknowledged>,
    payloads: Payloads,
    sequence: u64,
}

impl Sender<'_> {
    fn send(&mut self, sent: u64) -> Result<()> {
        let stamp = Stamp {
            sent,
            sequence: self.sequence,
        };
        let partition = self.sequence % u64::from(self.options.target.partitions);
        self.sequence += 1;
        let payload = self.payloads.next(stamp);
        while self.producer.send(Some(partition as i32), &[], payload)? == Sent::Full {
            thread::yield_now();
        }
        Ok(())
    }

    fn keep_rate(&mut self, records: u64, measured: Measured) -> Result<()> {
        let begin = now();
        for index in 0..records {
            let due = begin + (u128::from(index) * 1_000_000_000 / u128::from(self.options.rate)) as u64;
            wait_until(due);
            self.send(if measured == Measured::Yes { due } else { 0 })?;
        }
        Ok(())
    }
}

fn wait_until(due: u64) {
    loop {
        match due.saturating_sub(now()) {
            0 => return,
            left if left > 2 * SLEEP_SLACK => thread::sleep(Duration::from_nanos(left - SLEEP_SLACK)),
            _ => thread::yield_now(),
        }
    }
}

fn listen(mut consumer: Consumer, shared: &Shared) -> Result<Latencies> {
    let mut latencies = Latencies::default();
    while !shared.is_over.load(Ordering::Relaxed) {
        consumer.take(100, |_, payload| {
            shared.arrived.fetch_add(1, Ordering::Relaxed);
            if let Some(stamp) = Stamp::of(payload).filter(|stamp| stamp.sent > 0) {
                latencies.note(now().saturating_sub(stamp.sent));
            }
        })?;
    }
    Ok(latencies)
}

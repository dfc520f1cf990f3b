//! Sending many records, and timing each one's delivery.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::{ClientError, Delivery, Producer, RecordView, Sent};

use super::pace::Pace;
use super::payload::Payload;

/// Deliveries are looked at after so many records, when sending leaves no time for it.
const LOOK_EVERY: u64 = 64;

/// What is to be sent.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) topic: String,
    pub(crate) records: u64,
    pub(crate) payload: Payload,
    /// Records have one of so many keys.
    pub(crate) keys: Option<u64>,
    /// Records a second; as many as can be when absent.
    pub(crate) rate: Option<f64>,
    /// Whether a record's time begins when it was due, and not when it was sent.
    pub(crate) counts_from_due: bool,
}

/// Told what became of records.
pub(crate) trait Observer {
    /// The record of this number comes next.
    fn sending(&mut self, _index: u64) {}

    /// The record of this number, of `bytes` bytes, is delivered.
    fn delivered(&mut self, index: u64, latency: Duration, bytes: usize);

    /// A record could not be delivered.
    fn failed(&mut self, error: &ClientError);
}

/// A record on its way.
#[derive(Debug)]
struct Flying {
    index: u64,
    began: Instant,
    bytes: usize,
    sent: Sent,
}

impl Flying {
    fn tell(&self, outcome: &Result<Delivery, ClientError>, observer: &mut impl Observer) {
        match outcome {
            Ok(delivery) => {
                let latency = delivery.acknowledged.saturating_duration_since(self.began);
                observer.delivered(self.index, latency, self.bytes);
            }
            Err(error) => observer.failed(error),
        }
    }
}

/// Sends all records, or as many as it can until `stop`, and waits for them; the number that was sent.
pub(crate) async fn produce(
    producer: &Producer,
    load: &mut Load,
    stop: &AtomicBool,
    observer: &mut impl Observer,
) -> anyhow::Result<u64> {
    let pace = load.rate.map(Pace::start).transpose()?;
    let mut flying: VecDeque<Flying> = VecDeque::new();
    let mut key = String::new();
    let mut index = 0;
    while index < load.records && !stop.load(Ordering::Relaxed) {
        let mut began = Instant::now();
        let is_late = match &pace {
            Some(pace) => {
                let due = pace.due(index);
                let is_late = due <= began;
                if !is_late {
                    pace.wait_until(due).await?;
                }
                began = if load.counts_from_due { due } else { Instant::now() };
                is_late
            }
            None => true,
        };
        if let Some(keys) = load.keys {
            key = format!("key-{}", index % keys.max(1));
        }
        observer.sending(index);
        let value = load.payload.next(index);
        let bytes = value.len();
        let record = RecordView {
            topic: &load.topic,
            key: load.keys.map(|_| key.as_bytes()),
            value: Some(value),
            ..RecordView::default()
        };
        match producer.send_view(&record).await {
            Ok(sent) => flying.push_back(Flying {
                index,
                began,
                bytes,
                sent,
            }),
            Err(error) => observer.failed(&error),
        }
        index += 1;
        if !is_late || index % LOOK_EVERY == 0 {
            look(&mut flying, observer);
        }
    }
    while let Some(mut record) = flying.pop_front() {
        let outcome = (&mut record.sent).await;
        record.tell(&outcome, observer);
    }
    Ok(index)
}

/// Tells of the records that have an answer, up to the first that has none.
fn look(flying: &mut VecDeque<Flying>, observer: &mut impl Observer) {
    while let Some(outcome) = flying.front().and_then(|record| record.sent.answer()) {
        if let Some(record) = flying.pop_front() {
            record.tell(&outcome, observer);
        }
    }
}

//! From the moment a record is due to its acknowledgement, and to its arrival at a consumer: an open loop, in which a
//! record that is held up does not hold up the measuring of those behind it.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use client::{ClientError, Consumer, OffsetReset, Producer, RecordView};
use model::TopicPartition;

use super::latencies::Latencies;
use super::pace::Pace;

/// How long the last records may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// The bytes that tell a run and a record from others: a value has at least these.
pub(crate) const STAMP: usize = 16;

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Until the acknowledgement.
    pub(crate) acknowledged: Latencies,
    /// Until the arrival.
    pub(crate) arrived: Latencies,
    /// Records that were not taken, or not acknowledged.
    pub(crate) failed: u64,
}

/// Has a consumer stand at the end of all partitions of a topic.
pub(crate) async fn stand_at_end(consumer: &mut Consumer, topic: &str) -> anyhow::Result<()> {
    let partitions: Vec<TopicPartition> = consumer.partitions_of(topic).await?;
    consumer.assign(&partitions);
    for partition in &partitions {
        consumer.seek_to(partition, OffsetReset::Latest)?;
    }
    while partitions
        .iter()
        .any(|partition| consumer.position(partition).is_none())
    {
        consumer.poll(Duration::from_millis(1)).await?;
    }
    Ok(())
}

/// Sends `records` records of `size` bytes at `rate` a second, and reads them with a consumer that stands at the end.
pub(crate) async fn measure(
    producer: &Producer,
    consumer: Consumer,
    (topic, size): (&str, usize),
    (records, rate): (u64, f64),
    stop: &AtomicBool,
    mut progress: impl FnMut(u64),
) -> anyhow::Result<Measured> {
    let run = std::process::id();
    let pace = std::sync::Arc::new(Pace::start(rate)?);
    let (told, sent) = tokio::sync::watch::channel(None);
    let arriving = tokio::spawn(arrivals(consumer, pace.clone(), run, sent));
    let mut answers = tokio::task::JoinSet::new();
    let mut measured = Measured::default();
    let mut value = vec![b'.'; size.max(STAMP)];
    let mut index = 0;
    while index < records && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        let due = pace.due(index);
        pace.wait_until(due).await?;
        write_stamp(&mut value, run, index);
        let record = RecordView {
            topic,
            value: Some(&value),
            ..RecordView::default()
        };
        match producer.send_view(&record).await {
            Ok(sent) => {
                answers.spawn(async move { Ok::<_, ClientError>(sent.await?.acknowledged - due) });
            }
            Err(_) => measured.failed += 1,
        }
        index += 1;
        progress(index);
        while let Some(answer) = answers.try_join_next() {
            measured.take(answer?);
        }
    }
    while let Some(answer) = answers.join_next().await {
        measured.take(answer?);
    }
    told.send_replace(Some(measured.acknowledged.count()));
    measured.arrived = arriving.await??;
    Ok(measured)
}

impl Measured {
    fn take(&mut self, answer: Result<Duration, ClientError>) {
        match answer {
            Ok(latency) => self.acknowledged.record(latency),
            Err(_) => self.failed += 1,
        }
    }
}

/// Times the records of this run, until as many came as were sent, or the last ones take too long.
async fn arrivals(
    mut consumer: Consumer,
    pace: std::sync::Arc<Pace>,
    run: u32,
    sent: tokio::sync::watch::Receiver<Option<u64>>,
) -> anyhow::Result<Latencies> {
    let mut arrived = Latencies::default();
    let mut last = Instant::now();
    loop {
        if let Some(sent) = *sent.borrow()
            && (arrived.count() >= sent || last.elapsed() > PATIENCE)
        {
            return Ok(arrived);
        }
        for record in consumer.poll(Duration::from_millis(50)).await? {
            let now = Instant::now();
            if let Some(index) = record.value.as_deref().and_then(|value| read_stamp(value, run)) {
                arrived.record(now.saturating_duration_since(pace.due(index)));
                last = now;
            }
        }
    }
}

fn write_stamp(value: &mut [u8], run: u32, index: u64) {
    if let Some((stamp, _)) = value.split_first_chunk_mut::<STAMP>() {
        stamp[..8].copy_from_slice(&index.to_be_bytes());
        stamp[8..].copy_from_slice(&u64::from(run).to_be_bytes());
    }
}

/// The number of a record of this run.
fn read_stamp(value: &[u8], run: u32) -> Option<u64> {
    let (index, rest) = value.split_first_chunk::<8>()?;
    let (known, _) = rest.split_first_chunk::<8>()?;
    (u64::from_be_bytes(*known) == u64::from(run)).then_some(u64::from_be_bytes(*index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_records_of_this_run_are_known() {
        let mut value = vec![0; 20];
        write_stamp(&mut value, 7, 1234);
        assert_eq!(read_stamp(&value, 7), Some(1234));
        assert_eq!(read_stamp(&value, 8), None);
        assert_eq!(read_stamp(b"short", 7), None);
    }
}

//! `gracchus consume`: read records, alone or in a group.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::Args;
use client::{Client, Consumer, ConsumerConfig, ConsumerRecord, OffsetReset, OffsetSpec};
use model::TopicPartition;
use tokio::time::Instant;

use crate::args::Format;
use crate::commands::record_format::{self, Template};
use crate::commands::topic::ClusterArgs;
use crate::failure::Usage;
use crate::signals::StopSignals;

/// The longest a poll waits, so that limits of time are noticed.
const POLL: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct ConsumeArgs {
    /// The topics to read
    #[arg(required = true)]
    topics: Vec<String>,
    /// Share the work with the other members of this group, and go on where it was
    #[arg(short, long)]
    group: Option<String>,
    /// Begin with the first record there is; in a group, where it has no offset yet
    #[arg(short, long, conflicts_with = "offset")]
    from_beginning: bool,
    /// Begin at earliest, latest, an offset, -N for the last N records of each partition, or @MS for a time
    #[arg(
        long,
        value_name = "WHERE",
        allow_hyphen_values = true,
        conflicts_with = "group"
    )]
    offset: Option<String>,
    /// Read this partition only; may be given several times
    #[arg(short, long, value_name = "N", conflicts_with = "group")]
    partition: Vec<i32>,
    /// End after this many records
    #[arg(short = 'n', long, value_name = "N")]
    max: Option<u64>,
    /// End when no record came for this many seconds
    #[arg(short, long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// End at what is the end of the partitions now
    #[arg(short = 'e', long, conflicts_with = "group")]
    until_end: bool,
    /// Leave out records of transactions that are open or were aborted
    #[arg(long)]
    committed: bool,
    /// Print keys
    #[arg(short, long)]
    keys: bool,
    /// Print headers
    #[arg(short = 'H', long)]
    headers: bool,
    /// Print partitions and offsets
    #[arg(short = 'O', long)]
    offsets: bool,
    /// Print timestamps
    #[arg(short = 'T', long)]
    timestamps: bool,
    /// Print by a template: %t topic, %p partition, %o offset, %T timestamp, %h headers, %k key, %v value, \n, \t
    #[arg(long, value_name = "TEMPLATE", conflicts_with_all = ["keys", "headers", "offsets", "timestamps"])]
    format: Option<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

pub(crate) async fn run(args: ConsumeArgs) -> anyhow::Result<()> {
    let template = Template::parse(&args.format.clone().unwrap_or_else(|| args.template())).map_err(Usage)?;
    let mut config = ConsumerConfig {
        group_id: args.group.clone(),
        ..ConsumerConfig::default()
    };
    if args.from_beginning {
        config.auto_offset_reset = OffsetReset::Earliest;
    }
    if args.committed {
        config.set("isolation.level", "read_committed")?;
    }
    let client = args.cluster.connect.client_with(Some(&mut config)).await?;
    let stop = StopSignals::listen()?;
    let mut consumer = Consumer::new(client.clone(), config)?;
    let mut limits = Limits {
        max: args.max,
        idle: args
            .timeout
            .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        ends: None,
    };
    if args.group.is_some() {
        for topic in &args.topics {
            client.topic(topic, client::WhenMissing::Fail).await?;
        }
        consumer.subscribe(&args.topics).await?;
    } else {
        args.assign(&client, &mut consumer, &mut limits).await?;
        args.say_what_is_awaited();
    }
    let write = |record: &ConsumerRecord, out: &mut Vec<u8>| match args.cluster.output {
        Format::Table => template.write(record, out),
        Format::Json => out.extend_from_slice(format!("{}\n", record_format::json(record)).as_bytes()),
    };
    let outcome = read(&mut consumer, &limits, stop, write).await;
    let closed = consumer.close().await;
    outcome?;
    Ok(closed?)
}

impl ConsumeArgs {
    /// The template that the flags amount to.
    fn template(&self) -> String {
        let shown = [
            (self.timestamps, "%T\\t"),
            (self.offsets, "%t-%p@%o\\t"),
            (self.headers, "%h\\t"),
            (self.keys, "%k\\t"),
        ];
        let columns = shown
            .iter()
            .filter(|(is_shown, _)| *is_shown)
            .map(|(_, column)| *column);
        columns.chain(["%v\\n"]).collect()
    }

    /// Takes the partitions by itself, each from where it was told to begin.
    async fn assign(
        &self,
        client: &Client,
        consumer: &mut Consumer,
        limits: &mut Limits,
    ) -> anyhow::Result<()> {
        let mut partitions = Vec::new();
        for topic in &self.topics {
            let all = consumer.partitions_of(topic).await?;
            let chosen: Vec<TopicPartition> = all
                .iter()
                .filter(|partition| {
                    self.partition.is_empty() || self.partition.contains(&partition.partition)
                })
                .cloned()
                .collect();
            let found = |wanted: &&i32| chosen.iter().any(|partition| partition.partition == **wanted);
            if let Some(missing) = self.partition.iter().find(|wanted| !found(wanted)) {
                return Err(Usage(format!(
                    "topic {topic} has no partition {missing}; it has {}",
                    all.len()
                ))
                .into());
            }
            partitions.extend(chosen);
        }
        consumer.assign(&partitions);
        let begin = self
            .offset
            .as_deref()
            .map(Begin::parse)
            .transpose()
            .map_err(Usage)?;
        if let Some(begin) = begin {
            begin.seek(client, consumer, &partitions).await?;
        }
        if self.until_end {
            limits.ends = Some(ends(client, &partitions, OffsetSpec::Latest).await?);
        }
        Ok(())
    }

    fn say_what_is_awaited(&self) {
        let from_the_end = !self.from_beginning && self.offset.is_none();
        if from_the_end && io::stderr().is_terminal() {
            let topics = self.topics.join(", ");
            eprintln!("waiting for new records of {topics}; -f reads what is there already, Ctrl-C ends");
        }
    }
}

/// Where to begin in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    End(OffsetReset),
    Offset(i64),
    /// The last so many records.
    Last(i64),
    /// The first record of at least this time.
    Time(i64),
}

impl Begin {
    pub(crate) fn parse(text: &str) -> Result<Begin, String> {
        let wrong = || {
            format!(
                "`{text}` is no place to begin; expected earliest, latest, an offset, -N or @milliseconds"
            )
        };
        match text {
            "earliest" | "beginning" => Ok(Begin::End(OffsetReset::Earliest)),
            "latest" | "end" => Ok(Begin::End(OffsetReset::Latest)),
            _ => match text.split_at_checked(1) {
                Some(("@", time)) => time.parse().map(Begin::Time).map_err(|_| wrong()),
                Some(("-", count)) => count.parse().map(Begin::Last).map_err(|_| wrong()),
                _ => text.parse().map(Begin::Offset).map_err(|_| wrong()),
            },
        }
    }

    async fn seek(
        self,
        client: &Client,
        consumer: &mut Consumer,
        partitions: &[TopicPartition],
    ) -> anyhow::Result<()> {
        let from: BTreeMap<TopicPartition, i64> = match self {
            Begin::End(end) => {
                for partition in partitions {
                    consumer.seek_to(partition, end)?;
                }
                return Ok(());
            }
            Begin::Offset(offset) => partitions
                .iter()
                .map(|partition| (partition.clone(), offset))
                .collect(),
            Begin::Last(count) => {
                let first = ends(client, partitions, OffsetSpec::Earliest).await?;
                let end = ends(client, partitions, OffsetSpec::Latest).await?;
                let from = |(partition, end): (TopicPartition, i64)| {
                    let first = first.get(&partition).copied().unwrap_or(0);
                    (partition, end.saturating_sub(count).max(first))
                };
                end.into_iter().map(from).collect()
            }
            Begin::Time(time) => ends(client, partitions, OffsetSpec::Timestamp(time)).await?,
        };
        for (partition, offset) in &from {
            consumer.seek(partition, *offset)?;
        }
        Ok(())
    }
}

/// An offset of each partition; where there is none at or after a time, the end.
async fn ends(
    client: &Client,
    partitions: &[TopicPartition],
    spec: OffsetSpec,
) -> anyhow::Result<BTreeMap<TopicPartition, i64>> {
    let isolation = client::IsolationLevel::ReadUncommitted;
    let wanted = |spec| {
        partitions
            .iter()
            .map(|partition| (partition.clone(), spec))
            .collect()
    };
    let found = client.list_offsets(&wanted(spec), isolation).await?;
    let latest = client
        .list_offsets(&wanted(OffsetSpec::Latest), isolation)
        .await?;
    let mut offsets = BTreeMap::new();
    for (partition, outcome) in found {
        let end = latest
            .get(&partition)
            .and_then(|outcome| outcome.as_ref().ok()?.offset);
        let offset = outcome?.offset.or(end).unwrap_or(0);
        offsets.insert(partition, offset);
    }
    Ok(offsets)
}

/// When to stop reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// After so many records.
    pub(crate) max: Option<u64>,
    /// When none came for so long.
    pub(crate) idle: Option<Duration>,
    /// When every partition has been read up to here.
    pub(crate) ends: Option<BTreeMap<TopicPartition, i64>>,
}

/// Why reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As many records as were wanted, or all there were.
    Done,
    /// None came for as long as was allowed.
    Idle,
    /// A signal, with the exit code it stands for.
    Stopped(u8),
}

/// What reading came to.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) records: u64,
    pub(crate) ended: Ended,
}

/// Reads and writes records until a limit or a signal. Records fetched but not written stay unread: the consumer is put
/// back before them, so that what it commits is what was written.
pub(crate) async fn read(
    consumer: &mut Consumer,
    limits: &Limits,
    mut stop: StopSignals,
    write: impl FnMut(&ConsumerRecord, &mut Vec<u8>),
) -> anyhow::Result<Tally> {
    let mut tally = Tally {
        records: 0,
        ended: Ended::Done,
    };
    let reading = read_to_limit(consumer, limits, &mut tally, write);
    tokio::select! {
        ended = reading => tally.ended = ended?,
        code = stop.stopped() => tally.ended = Ended::Stopped(code),
    }
    Ok(tally)
}

async fn read_to_limit(
    consumer: &mut Consumer,
    limits: &Limits,
    tally: &mut Tally,
    mut write: impl FnMut(&ConsumerRecord, &mut Vec<u8>),
) -> anyhow::Result<Ended> {
    let mut out = Vec::new();
    let mut last = Instant::now();
    loop {
        if limits.max.is_some_and(|max| tally.records >= max) || is_at(consumer, limits.ends.as_ref()) {
            return Ok(Ended::Done);
        }
        let patience = limits
            .idle
            .map_or(POLL, |idle| idle.saturating_sub(last.elapsed()).min(POLL));
        let records = consumer.poll(patience).await?;
        if records.is_empty() {
            if limits.idle.is_some_and(|idle| last.elapsed() >= idle) {
                return Ok(Ended::Idle);
            }
            continue;
        }
        let wanted = limits.max.map_or(usize::MAX, |max| {
            usize::try_from(max - tally.records).unwrap_or(usize::MAX)
        });
        for record in records.iter().take(wanted) {
            write(record, &mut out);
            tally.records += 1;
        }
        put_back(consumer, records.get(wanted..).unwrap_or_default())?;
        let mut stdout = io::stdout().lock();
        stdout.write_all(&out)?;
        stdout.flush()?;
        out.clear();
        last = Instant::now();
    }
}

fn put_back(consumer: &mut Consumer, unread: &[ConsumerRecord]) -> anyhow::Result<()> {
    let mut first: BTreeMap<&TopicPartition, i64> = BTreeMap::new();
    for record in unread {
        first.entry(&record.partition).or_insert(record.offset);
    }
    for (partition, offset) in first {
        consumer.seek(partition, offset)?;
    }
    Ok(())
}

fn is_at(consumer: &Consumer, ends: Option<&BTreeMap<TopicPartition, i64>>) -> bool {
    let Some(ends) = ends else {
        return false;
    };
    let is_read =
        |(partition, end): (&TopicPartition, &i64)| consumer.position(partition).is_some_and(|at| at >= *end);
    ends.iter().all(is_read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_begin_are_told_apart() {
        assert_eq!(Begin::parse("earliest"), Ok(Begin::End(OffsetReset::Earliest)));
        assert_eq!(Begin::parse("17"), Ok(Begin::Offset(17)));
        assert_eq!(Begin::parse("-5"), Ok(Begin::Last(5)));
        assert_eq!(Begin::parse("@1700000000000"), Ok(Begin::Time(1_700_000_000_000)));
        for bad in ["", "soon", "@now", "-x", "1.5"] {
            assert!(
                Begin::parse(bad).unwrap_err().contains("no place to begin"),
                "{bad}"
            );
        }
    }
}

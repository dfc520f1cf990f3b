//! Fetch, versions 4 to 11: waits until there is enough, then sends headers from memory and batches from the files.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::fs::sendfile;
use rustix::net::{SendFlags, send};

use crate::Broker;
use crate::connection::Request;
use crate::log::{Minimum, Partition, Range};
use crate::topics::Topic;
use crate::wire::{Reader, Writer, set_length};

pub(crate) const KEY: i16 = 1;

/// What a client asks for.
struct Wanted {
    deadline: Instant,
    min_bytes: usize,
    max_bytes: usize,
    topics: Vec<WantedTopic>,
}

struct WantedTopic {
    name: String,
    topic: Topic,
    partitions: Vec<WantedPartition>,
}

struct WantedPartition {
    index: i32,
    offset: i64,
    max_bytes: usize,
}

/// What a partition has for it.
struct Found {
    partition: Arc<Partition>,
    range: Range,
    end_offset: i64,
}

/// Answers a fetch on the stream.
pub(crate) fn answer(broker: &Broker, request: &Request, body: &[u8], stream: &TcpStream) -> Result<()> {
    let wanted = read(broker, request.version, body)?;
    let found = loop {
        let seen = broker.topics.appends();
        let found = look(&wanted)?;
        let bytes: usize = found.iter().flatten().map(|found| found.range.length).sum();
        if bytes >= wanted.min_bytes || Instant::now() >= wanted.deadline {
            break found;
        }
        broker.topics.wait_for_append(seen, wanted.deadline);
    };
    reply(request, &wanted, &found, stream)
}

fn read(broker: &Broker, version: i16, body: &[u8]) -> Result<Wanted> {
    let mut reader = Reader::new(body);
    reader.i32()?; // the replica's id
    let wait = u64::try_from(reader.i32()?).unwrap_or(0);
    let (min_bytes, max_bytes) = (size(reader.i32()?), size(reader.i32()?));
    reader.i8()?; // the isolation level
    if version >= 7 {
        reader.i32()?; // the session
        reader.i32()?; // and its epoch: there are no sessions here, every round is a full one
    }
    let topics = reader.list(|reader| {
        let name = reader.string()?.to_owned();
        Ok(WantedTopic {
            topic: broker.topics.get(&name)?,
            partitions: reader.list(|reader| partition(reader, version))?,
            name,
        })
    })?;
    Ok(Wanted {
        deadline: Instant::now() + Duration::from_millis(wait),
        min_bytes,
        max_bytes,
        topics,
    })
}

fn partition(reader: &mut Reader<'_>, version: i16) -> Result<WantedPartition> {
    let index = reader.i32()?;
    if version >= 9 {
        reader.i32()?; // the leader epoch
    }
    let offset = reader.i64()?;
    if version >= 5 {
        reader.i64()?; // the follower's log start
    }
    Ok(WantedPartition {
        index,
        offset,
        max_bytes: size(reader.i32()?),
    })
}

/// What there is now, topic by topic.
fn look(wanted: &Wanted) -> Result<Vec<Vec<Found>>> {
    let mut total = 0;
    let mut look_at = |topic: &WantedTopic, ask: &WantedPartition| {
        let partition = topic.topic.get(ask.index as usize).context("no such partition")?;
        let limit = ask.max_bytes.min(wanted.max_bytes.saturating_sub(total));
        let minimum = if total == 0 {
            Minimum::AtLeastOne
        } else {
            Minimum::Nothing
        };
        let (range, end_offset) = partition.read(ask.offset, limit, minimum);
        total += range.length;
        Ok(Found {
            partition: partition.clone(),
            range,
            end_offset,
        })
    };
    let topics = wanted.topics.iter();
    topics
        .map(|topic| topic.partitions.iter().map(|ask| look_at(topic, ask)).collect())
        .collect()
}

fn reply(request: &Request, wanted: &Wanted, found: &[Vec<Found>], stream: &TcpStream) -> Result<()> {
    let mut writer = Writer::response(request.correlation);
    let mut pieces: Vec<(Vec<u8>, &Found)> = Vec::new();
    let mut length = 0;
    writer.i32(0); // throttle time
    if request.version >= 7 {
        writer.i16(0);
        writer.i32(0); // no session
    }
    writer.count(wanted.topics.len());
    for (topic, found) in wanted.topics.iter().zip(found) {
        writer.string(&topic.name);
        writer.count(found.len());
        for (ask, found) in topic.partitions.iter().zip(found) {
            writer.i32(ask.index);
            writer.i16(0);
            writer.i64(found.end_offset); // the high watermark
            writer.i64(found.end_offset); // the last stable offset
            if request.version >= 5 {
                writer.i64(0); // the log's start
            }
            writer.i32(-1); // no aborted transactions
            if request.version >= 11 {
                writer.i32(-1); // no other replica to read from
            }
            writer.count(found.range.length);
            if found.range.length > 0 {
                length += writer.len() + found.range.length;
                pieces.push((writer.take(), found));
            }
        }
    }
    length += writer.len();
    let mut rest = writer.take();
    let beginning = pieces.first_mut().map_or(&mut rest, |(head, _)| head);
    set_length(beginning, length);
    for (head, found) in &pieces {
        send_all(stream, head, SendFlags::MORE | SendFlags::NOSIGNAL)?;
        send_range(stream, found)?;
    }
    send_all(stream, &rest, SendFlags::NOSIGNAL)
}

fn send_all(stream: &TcpStream, mut bytes: &[u8], flags: SendFlags) -> Result<()> {
    while !bytes.is_empty() {
        let sent = send(stream, bytes, flags)?;
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

fn send_range(stream: &TcpStream, found: &Found) -> Result<()> {
    let Range { mut position, length } = found.range;
    let mut left = length;
    while left > 0 {
        match sendfile(stream, &found.partition.file, Some(&mut position), left)? {
            0 => bail!("a file is shorter than what was written to it"),
            sent => left -= sent,
        }
    }
    Ok(())
}

/// A size from the wire; a negative one is none.
fn size(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}

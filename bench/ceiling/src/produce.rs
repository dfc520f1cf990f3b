//! Produce, versions 3 to 7: each partition's batch is written where it stands in the frame.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::Broker;
use crate::connection::Request;
use crate::log::Partition;
use crate::wire::{Reader, Writer};

pub(crate) const KEY: i16 = 0;

const CORRUPT_MESSAGE: i16 = 2;
/// acks=all, as it is written on the wire.
const ALL: i16 = -1;

/// A reply, and what must be durable before it leaves: nothing unless acks=all asks for it.
pub(crate) type Reply = (Vec<u8>, Vec<(Arc<Partition>, i64)>);

/// Appends, and returns the reply; none for acks=0.
pub(crate) fn answer(broker: &Broker, request: &Request, body: &mut [u8]) -> Result<Option<Reply>> {
    let mut reader = Reader::new(body);
    reader.string()?; // the transactional id
    let acks = reader.i16()?;
    reader.i32()?; // the timeout
    let topics = reader.list(|reader| {
        let name = reader.string()?.to_owned();
        Ok((name, reader.list(partition)?))
    })?;

    let mut writer = Writer::response(request.correlation);
    let (mut waits_for, mut dirty) = (Vec::new(), Vec::new());
    writer.count(topics.len());
    for (name, partitions) in topics {
        let topic = broker.topics.get(&name)?;
        writer.string(&name);
        writer.count(partitions.len());
        for (index, place) in partitions {
            let partition = topic.get(index as usize).context("no such partition")?;
            let appended = partition.append(&mut body[place])?;
            writer.i32(index);
            writer.i16(if appended.is_some() { 0 } else { CORRUPT_MESSAGE });
            writer.i64(appended.as_ref().map_or(-1, |appended| appended.base_offset));
            writer.i64(-1); // the time of the append
            if request.version >= 5 {
                writer.i64(0); // the log's start
            }
            let Some(appended) = appended else {
                continue;
            };
            if appended.makes_dirty {
                dirty.push(partition.clone());
            }
            if acks == ALL && broker.syncer.is_some() {
                waits_for.push((partition.clone(), appended.end_offset));
            }
        }
    }
    writer.i32(0); // throttle time
    broker.topics.note_append();
    if let Some(syncer) = &broker.syncer {
        syncer.add(dirty);
    }
    Ok((acks != 0).then(|| (writer.finish(), waits_for)))
}

/// The index of a partition, and where its batch stands.
fn partition(reader: &mut Reader<'_>) -> Result<(i32, Range<usize>)> {
    let index = reader.i32()?;
    let length = reader.bytes()?.len();
    let end = reader.position();
    Ok((index, end - length..end))
}

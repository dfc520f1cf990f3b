//! Everything around produce and fetch that librdkafka cannot do without.

use anyhow::{Context as _, Result, bail};

use crate::Broker;
use crate::connection::Request;
use crate::wire::{Reader, Writer};

const LIST_OFFSETS: i16 = 2;
const METADATA: i16 = 3;
const FIND_COORDINATOR: i16 = 10;
const API_VERSIONS: i16 = 18;
const CREATE_TOPICS: i16 = 19;
const DELETE_TOPICS: i16 = 20;
const INIT_PRODUCER_ID: i16 = 22;

/// Which versions of which APIs are served.
const SERVED: [(i16, i16, i16); 9] = [
    (crate::produce::KEY, 3, 7),
    (crate::fetch::KEY, 4, 11),
    (LIST_OFFSETS, 1, 2),
    (METADATA, 1, 4),
    (FIND_COORDINATOR, 0, 0),
    (API_VERSIONS, 0, 2),
    (CREATE_TOPICS, 2, 4),
    (DELETE_TOPICS, 1, 1),
    (INIT_PRODUCER_ID, 0, 1),
];

const UNSUPPORTED_VERSION: i16 = 35;
/// The time that asks ListOffsets for the beginning.
const EARLIEST: i64 = -2;
const HOST: &str = "127.0.0.1";
const NODE: i32 = 1;

/// Writes the answer to a request that is neither a produce nor a fetch.
pub(crate) fn answer(broker: &Broker, request: &Request, body: &[u8], writer: &mut Writer) -> Result<()> {
    let mut reader = Reader::new(body);
    match request.key {
        API_VERSIONS => api_versions(request.version, writer),
        METADATA => return metadata(broker, request.version, &mut reader, writer),
        LIST_OFFSETS => return list_offsets(broker, request.version, &mut reader, writer),
        CREATE_TOPICS => return create_topics(broker, &mut reader, writer),
        DELETE_TOPICS => return delete_topics(broker, &mut reader, writer),
        FIND_COORDINATOR => {
            writer.i16(0);
            node(broker, writer);
        }
        INIT_PRODUCER_ID => {
            writer.i32(0);
            writer.i16(0);
            writer.i64(1);
            writer.i16(0);
        }
        key => bail!("the ceiling does not serve API {key}"),
    }
    Ok(())
}

fn api_versions(version: i16, writer: &mut Writer) {
    // A version from the future is answered in the form of version 0, with an error that names what is served.
    writer.i16(if version > 2 { UNSUPPORTED_VERSION } else { 0 });
    writer.count(SERVED.len());
    for (key, low, high) in SERVED {
        writer.i16(key);
        writer.i16(low);
        writer.i16(high);
    }
    if (1..=2).contains(&version) {
        writer.i32(0);
    }
}

/// Id, host and port of the one node.
fn node(broker: &Broker, writer: &mut Writer) {
    writer.i32(NODE);
    writer.string(HOST);
    writer.i32(i32::from(broker.port));
}

fn metadata(broker: &Broker, version: i16, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<()> {
    let is_everything = Reader::new(reader.rest()).i32()? < 0;
    let mut names = reader.list(|reader| Ok(reader.string()?.to_owned()))?;
    if is_everything {
        names = broker.topics.names();
    }
    if version >= 3 {
        writer.i32(0);
    }
    writer.i32(1);
    node(broker, writer);
    writer.i16(-1); // no rack
    if version >= 2 {
        writer.string("ceiling");
    }
    writer.i32(NODE); // the controller
    writer.count(names.len());
    for name in names {
        let topic = broker.topics.get(&name)?;
        writer.i16(0);
        writer.string(&name);
        writer.i8(0);
        writer.count(topic.len());
        for index in 0..topic.len() {
            writer.i16(0);
            writer.count(index);
            // The leader, one replica and one in sync, all the same.
            for value in [NODE, 1, NODE, 1, NODE] {
                writer.i32(value);
            }
        }
    }
    Ok(())
}

fn list_offsets(broker: &Broker, version: i16, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<()> {
    reader.i32()?; // the replica's id
    if version >= 2 {
        reader.i8()?; // the isolation level
    }
    let topics = reader.list(|reader| {
        let name = reader.string()?.to_owned();
        Ok((name, reader.list(|reader| Ok((reader.i32()?, reader.i64()?)))?))
    })?;
    if version >= 2 {
        writer.i32(0);
    }
    writer.count(topics.len());
    for (name, partitions) in topics {
        let topic = broker.topics.get(&name)?;
        writer.string(&name);
        writer.count(partitions.len());
        for (index, time) in partitions {
            let partition = topic.get(index as usize).context("no such partition")?;
            writer.i32(index);
            writer.i16(0);
            writer.i64(-1);
            writer.i64(if time == EARLIEST {
                0
            } else {
                partition.end_offset()
            });
        }
    }
    Ok(())
}

fn create_topics(broker: &Broker, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<()> {
    let topics = reader.list(|reader| {
        let name = reader.string()?.to_owned();
        let partitions = reader.i32()?;
        reader.i16()?; // the replication factor
        reader.list(|reader| {
            reader.i32()?;
            reader.list(Reader::i32)
        })?;
        reader.list(|reader| Ok((reader.string()?, reader.string()?)))?; // settings: nothing here has any
        Ok((name, partitions))
    })?;
    writer.i32(0);
    writer.count(topics.len());
    for (name, partitions) in topics {
        broker.topics.create(&name, u32::try_from(partitions)?)?;
        writer.string(&name);
        writer.i16(0);
        writer.i16(-1); // no message
    }
    Ok(())
}

fn delete_topics(broker: &Broker, reader: &mut Reader<'_>, writer: &mut Writer) -> Result<()> {
    let names = reader.list(|reader| Ok(reader.string()?.to_owned()))?;
    writer.i32(0);
    writer.count(names.len());
    for name in names {
        broker.topics.delete(&name)?;
        writer.string(&name);
        writer.i16(0);
    }
    Ok(())
}

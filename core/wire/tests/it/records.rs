//! `tests/vectors/records.jsonl`: batches of every format and codec, built by Apache Kafka 4.3.1, with what they hold.

use bytes::Bytes;
use model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};
use serde_json::{Value, json};
use wire::records::{
    Batch, BatchBuilder, Codec, Compression, ControlRecordType, DecompressionLimit, EndTransactionMarker,
    Entry, HeaderRef, Producer, Record, TimestampType, entries,
};

const VECTORS: &str = include_str!("../vectors/records.jsonl");

fn vectors() -> Vec<Value> {
    VECTORS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn bytes_of(vector: &Value) -> Bytes {
    unhex(vector["hex"].as_str().unwrap()).into()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn nullable(bytes: Option<&Bytes>) -> Value {
    bytes.map_or(Value::Null, |bytes| json!(hex(bytes)))
}

fn show_record(record: &Record) -> Value {
    let headers = record.headers.iter();
    let headers = headers.map(|header| {
        json!([
            String::from_utf8_lossy(&header.key),
            nullable(header.value.as_ref())
        ])
    });
    json!({
        "offset": record.offset.0, "timestamp": record.timestamp, "sequence": record.sequence,
        "key": nullable(record.key.as_ref()), "value": nullable(record.value.as_ref()),
        "headers": headers.collect::<Vec<_>>(),
    })
}

/// An entry in the words of the vectors.
fn show(entry: &Entry) -> Value {
    let records = entry.records(DecompressionLimit::default()).unwrap();
    let codec = match entry {
        Entry::Batch(batch) => batch.header().attributes.codec(),
        Entry::Message(message) => message.codec(),
    };
    let timestamp_type = match entry.timestamp_type() {
        None => "NoTimestampType",
        Some(TimestampType::CreateTime) => "CreateTime",
        Some(TimestampType::LogAppendTime) => "LogAppendTime",
    };
    let mut shown = json!({
        "magic": entry.magic(), "base_offset": records[0].offset.0,
        "last_offset": entry.last_offset().0, "next_offset": entry.last_offset().0 + 1,
        "max_timestamp": entry.max_timestamp(), "timestamp_type": timestamp_type,
        "codec": codec.unwrap().name(), "producer_id": -1, "producer_epoch": -1, "base_sequence": -1,
        "last_sequence": -1, "leader_epoch": -1, "transactional": false, "control": false,
        "size": entry.bytes().len(), "records": records.iter().map(show_record).collect::<Vec<_>>(),
    });
    if let Entry::Batch(batch) = entry {
        let header = batch.header();
        shown["base_offset"] = json!(header.base_offset.0);
        shown["next_offset"] = json!(header.next_offset().0);
        shown["producer_id"] = json!(header.producer_id.0);
        shown["producer_epoch"] = json!(header.producer_epoch.0);
        shown["base_sequence"] = json!(header.base_sequence);
        shown["last_sequence"] = json!(header.last_sequence());
        shown["leader_epoch"] = json!(header.leader_epoch.0);
        shown["transactional"] = json!(header.attributes.is_transactional());
        shown["control"] = json!(header.attributes.is_control());
    }
    shown
}

#[test]
fn every_vector_reads_as_apache_kafka_says() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 49);
    for vector in vectors {
        let read: Vec<Entry> = entries(&bytes_of(&vector)).map(Result::unwrap).collect();
        assert!(
            read.iter().all(|entry| entry.verify_crc().is_ok()),
            "{}",
            vector["name"]
        );
        let shown: Vec<Value> = read.iter().map(show).collect();
        assert_eq!(json!(shown), vector["batches"], "{}", vector["name"]);
    }
}

#[test]
fn every_vector_notices_a_flipped_bit() {
    for vector in vectors() {
        let whole = bytes_of(&vector);
        let entry_size = entries(&whole).next().unwrap().unwrap().bytes().len();
        for at in [21, entry_size / 2, entry_size - 1] {
            let mut damaged = whole.to_vec();
            damaged[at] ^= 1;
            let first = entries(&damaged.into()).next().unwrap();
            assert!(
                first.and_then(|entry| entry.verify_crc()).is_err(),
                "{} at {at}",
                vector["name"]
            );
        }
    }
}

/// Builds anew what a batch of a vector holds.
fn rebuild(batch: &Batch, codec: Codec) -> Bytes {
    let header = batch.header();
    let mut builder = BatchBuilder::new()
        .with_base_offset(header.base_offset)
        .with_leader_epoch(header.leader_epoch)
        .with_compression(Compression::of(codec))
        .with_producer(Producer {
            id: header.producer_id,
            epoch: header.producer_epoch,
            base_sequence: header.base_sequence,
        });
    if header.attributes.timestamp_type() == TimestampType::LogAppendTime {
        builder = builder.with_log_append_time(header.max_timestamp);
    }
    if header.attributes.is_transactional() {
        builder = builder.transactional();
    }
    for record in batch.records(DecompressionLimit::default()).unwrap() {
        let record = record.unwrap();
        // The producer's own time is lost in a batch with append time: walk the deltas instead.
        let delta = record.offset.0 - header.base_offset.0;
        let timestamp = header.base_timestamp + if delta == 0 { 0 } else { original_delta(delta) };
        let headers: Vec<HeaderRef<'_>> = record
            .headers
            .iter()
            .map(|header| HeaderRef {
                key: &header.key,
                value: header.value.as_deref(),
            })
            .collect();
        if header.attributes.is_control() {
            let kind = ControlRecordType::of(&record).unwrap();
            builder
                .append_control(kind, record.value.as_deref().unwrap(), timestamp)
                .unwrap();
        } else if header.has_producer() {
            let time = record.timestamp;
            builder
                .append(time, record.key.as_deref(), record.value.as_deref(), &headers)
                .unwrap();
        } else {
            builder
                .append(
                    timestamp,
                    record.key.as_deref(),
                    record.value.as_deref(),
                    &headers,
                )
                .unwrap();
        }
    }
    builder.build().unwrap()
}

/// The timestamps that the vectors' generator gives record `index`, relative to the first.
fn original_delta(index: i64) -> i64 {
    (index % 5) * 1_000 - index
}

#[test]
fn batches_built_here_are_byte_for_byte_what_apache_kafka_builds() {
    let mut compared = 0;
    for vector in vectors() {
        let Ok(batch) = Batch::parse(&bytes_of(&vector)) else {
            continue;
        };
        let codec = batch.header().attributes.codec().unwrap();
        let built = rebuild(&batch, codec);
        if codec == Codec::None {
            assert_eq!(hex(&built), vector["hex"].as_str().unwrap(), "{}", vector["name"]);
            compared += 1;
        }
        // Compressed bytes are one valid choice among many: what they hold must be the same.
        let shown = show(&entries(&built).next().unwrap().unwrap());
        let mut expected = vector["batches"][0].clone();
        expected["size"] = json!(built.len());
        assert_eq!(shown, expected, "{}", vector["name"]);
    }
    assert_eq!(compared, 9);
}

#[test]
fn markers_are_byte_for_byte_those_of_apache_kafka() {
    for (name, kind) in [
        ("COMMIT", ControlRecordType::Commit),
        ("ABORT", ControlRecordType::Abort),
    ] {
        let marker = EndTransactionMarker {
            kind,
            coordinator_epoch: 12,
        };
        let (id, epoch) = (ProducerId(9_001), ProducerEpoch(4));
        let built = BatchBuilder::end_transaction(marker, id, epoch, 1_700_000_000_000).unwrap();
        let built = built
            .with_base_offset(Offset(40))
            .with_leader_epoch(LeaderEpoch(3))
            .build()
            .unwrap();
        let name = format!("end transaction marker {name}");
        let vector = vectors()
            .into_iter()
            .find(|vector| vector["name"] == json!(name))
            .unwrap();
        assert_eq!(hex(&built), vector["hex"].as_str().unwrap());
    }
}

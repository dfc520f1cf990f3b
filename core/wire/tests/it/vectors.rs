//! Every message at every version against bytes that Apache Kafka 4.3.1's own classes wrote.

use bytes::Bytes;
use serde_json::Value as Json;

use crate::catalogue::{catalogue, hex, json, unhex};

/// One line of the file.
pub(crate) struct Vector {
    pub(crate) message: String,
    pub(crate) version: i16,
    pub(crate) bytes: Bytes,
    pub(crate) value: Json,
}

impl Vector {
    fn place(&self) -> String {
        format!("{} version {}, {}", self.message, self.version, hex(&self.bytes))
    }
}

pub(crate) fn vectors() -> Vec<Vector> {
    let lines = include_str!("../vectors/wire.jsonl").lines();
    let vectors = lines.map(|line| {
        let line: Json = serde_json::from_str(line).expect("a line of JSON");
        Vector {
            message: line["message"].as_str().expect("a name").to_owned(),
            version: line["version"].as_i64().expect("a version") as i16,
            bytes: unhex(line["hex"].as_str().expect("bytes in hexadecimal")).into(),
            value: line["value"].clone(),
        }
    });
    let vectors: Vec<Vector> = vectors.collect();
    assert_eq!(vectors.len(), 2217);
    vectors
}

#[test]
fn every_vector_decodes_to_its_value_and_encodes_to_its_bytes() {
    let catalogue = catalogue();
    for vector in vectors() {
        let place = vector.place();
        let entry = &catalogue[vector.message.as_str()];
        let decoded = (entry.decode)(vector.bytes.clone(), vector.version)
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(json(&decoded.value), vector.value, "{place}");
        let encoded = decoded.encoded.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(hex(&encoded), hex(&vector.bytes), "{place}");
    }
}

#[test]
fn the_default_of_every_message_is_kafkas() {
    let catalogue = catalogue();
    let mut checked = 0;
    // The first of the three vectors of a message and version is its default.
    for vector in vectors().iter().step_by(3) {
        let place = vector.place();
        let encoded = (catalogue[vector.message.as_str()].default)(vector.version);
        let encoded = encoded.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(hex(&encoded), hex(&vector.bytes), "{place}");
        checked += 1;
    }
    assert_eq!(checked, 739);
}

#[test]
fn every_message_and_version_has_a_vector() {
    let vectors = vectors();
    for (name, entry) in catalogue() {
        for version in entry.versions.0..=entry.versions.1 {
            let count = vectors
                .iter()
                .filter(|vector| vector.message == name && vector.version == version)
                .count();
            assert_eq!(count, 3, "{name} version {version}");
        }
    }
}

//! Seeds for the targets from the vectors that Apache Kafka's own classes wrote: a campaign that starts from them
//! spends no time on learning what a request looks like.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

mod internal_messages;

use bytes::Bytes;
use internal_messages::MESSAGES;
use serde_json::Value;
use wire::Message as _;
use wire::api::ApiKey;
use wire::header::RequestHeader;

/// Where a seed goes.
struct Seed {
    target: &'static str,
    bytes: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    let vectors = fuzz.join("../core/wire/tests/vectors");
    let mut seeds = Vec::new();
    for line in fs::read_to_string(vectors.join("wire.jsonl"))?.lines() {
        let vector = serde_json::from_str(line)?;
        seeds.extend(message_seed(&vector));
        seeds.extend(internal_seed(&vector));
        seeds.extend(image_seed(&vector));
    }
    for line in fs::read_to_string(vectors.join("records.jsonl"))?.lines() {
        let vector: Value = serde_json::from_str(line)?;
        seeds.push(Seed { target: "records", bytes: unhex(&vector["hex"]) });
    }
    seeds.extend(journal_seeds());
    for (number, seed) in seeds.iter().enumerate() {
        let folder: PathBuf = fuzz.join("corpus").join(seed.target);
        fs::create_dir_all(&folder)?;
        fs::File::create(folder.join(format!("seed-{number}")))?.write_all(&seed.bytes)?;
    }
    println!("{} seeds", seeds.len());
    Ok(())
}

fn message_seed(vector: &Value) -> Option<Seed> {
    let name = vector["message"].as_str()?;
    let version = i16::try_from(vector["version"].as_i64()?).ok()?;
    let body = unhex(&vector["hex"]);
    let key_of = |suffix: &str| {
        let name = name.strip_suffix(suffix)?;
        ApiKey::ALL.iter().copied().find(|key| key.name() == name)
    };
    if let Some(key) = key_of("Request") {
        let header = RequestHeader {
            request_api_key: key.key(),
            request_api_version: version,
            correlation_id: 1,
            client_id: None,
        };
        let header: Bytes = header.to_bytes(RequestHeader::version(key, version)).ok()?;
        return Some(Seed { target: "request", bytes: [&header[..], &body].concat() });
    }
    if let Some(key) = key_of("Response") {
        let prefix = [u8::try_from(key.key()).ok()?, u8::try_from(version).ok()?];
        return Some(Seed { target: "response", bytes: [&prefix[..], &body].concat() });
    }
    // A value of some coordinator's record: the first byte chooses the topic, two more are its version.
    let prefix = [0, 0, u8::try_from(version).ok()?];
    name.ends_with("Value").then(|| Seed { target: "log_records", bytes: [&prefix[..], &body].concat() })
}

fn internal_seed(vector: &Value) -> Option<Seed> {
    let name = vector["message"].as_str()?;
    let version = u8::try_from(vector["version"].as_i64()?).ok()?;
    let message = MESSAGES.iter().position(|(message, _)| *message == name)?;
    let prefix = [u8::try_from(message).ok()?, version];
    Some(Seed { target: "internal", bytes: [&prefix[..], &unhex(&vector["hex"])].concat() })
}

/// A record of the metadata log, behind its length and KRaft's framing.
fn image_seed(vector: &Value) -> Option<Seed> {
    let name = vector["message"].as_str()?;
    let version = u8::try_from(vector["version"].as_i64()?).ok()?;
    let body = unhex(&vector["hex"]);
    let framed = |kind: u8| [&[1, kind, version], &body[..]].concat();
    let is_named = |value: &Vec<u8>| {
        let record = metadata::MetadataRecord::decode(Bytes::copy_from_slice(value));
        record.is_ok_and(|(_, record)| record.name() == name)
    };
    let value = (0..32).map(framed).find(is_named)?;
    let length = u16::try_from(value.len()).ok()?.to_be_bytes();
    Some(Seed { target: "image", bytes: [&length[..], &value].concat() })
}

/// Scripts of the journal's target: rounds of two partitions, one to three entries each, checkpoints and deletions
/// between them; then a change to one of the files.
fn journal_seeds() -> impl Iterator<Item = Seed> {
    let changes: [&[u8]; 6] =
        [&[], &[0, 0, 0, 70, 3, 1, 2, 3], &[1, 1, 16, 9, 0], &[3, 0, 32, 0, 5], &[4, 0, 16, 80, 0], &[5, 0, 0, 0, 9, 70]];
    (0..48).map(move |number: u8| {
        let mut bytes = vec![number * 4 + 1];
        for round in 0..number % 16 {
            let operation = [1, 0, 9, 5, 8, 1, 6, 2][usize::from(round.wrapping_mul(number) % 8)];
            bytes.extend([1, operation]);
            if operation % 8 < 4 {
                bytes.push(round.wrapping_mul(number).wrapping_mul(16));
            }
        }
        bytes.push(0);
        bytes.extend(changes[usize::from(number % 6)]);
        Seed { target: "journal", bytes }
    })
}

fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap_or_default();
    (0..text.len() / 2).filter_map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

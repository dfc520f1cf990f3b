//! Generated values of every message and version, against two oracles: an encoder that follows `schema.txt`, and the
//! crate `kafka-protocol`.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{self as oracle, ApiKey as OracleKey, RequestKind, ResponseKind};
use kafka_protocol::protocol::{Decodable, Encodable, Message as OracleMessage};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use wire::ApiKey;

use crate::catalogue::{catalogue, hex, json};
use crate::schema::{Schema, schemas};

/// Values tried of each message and version.
const CASES: u32 = 12;

#[test]
fn the_schema_and_the_messages_say_the_same() {
    let mut catalogue = catalogue();
    for schema in schemas() {
        let entry = catalogue
            .remove(schema.name.as_str())
            .unwrap_or_else(|| panic!("no message {}", schema.name));
        assert_eq!(entry.versions, schema.versions, "{}", schema.name);
        assert_eq!(entry.flexible_from, schema.flexible_from, "{}", schema.name);
    }
    assert!(catalogue.is_empty(), "not in the schema: {:?}", catalogue.keys());
}

/// Runs `check` on generated values of every message and version: the message, its version, its bytes.
fn for_generated(
    mut check: impl FnMut(&Schema, i16, &serde_json::Value, Bytes) -> Result<(), TestCaseError>,
) {
    for schema in schemas() {
        for version in schema.versions.0..=schema.versions.1 {
            let config = Config {
                cases: CASES,
                failure_persistence: None,
                ..Config::default()
            };
            let check = std::cell::RefCell::new(&mut check);
            let outcome = TestRunner::new(config).run(&schema.values(version), |value| {
                let bytes = schema.encode(&value, version).into();
                (check.borrow_mut())(&schema, version, &value, bytes)
            });
            outcome.unwrap_or_else(|error| panic!("{} version {version}: {error}", schema.name));
        }
    }
}

#[test]
fn every_generated_value_decodes_and_encodes_as_the_schema_says() {
    let catalogue = catalogue();
    for_generated(|schema, version, value, bytes| {
        let decoded = (catalogue[schema.name.as_str()].decode)(bytes.clone(), version);
        let decoded = decoded.map_err(|error| TestCaseError::fail(error.to_string()))?;
        proptest::prop_assert_eq!(&json(&decoded.value), value);
        let encoded = decoded
            .encoded
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        proptest::prop_assert_eq!(hex(&encoded), hex(&bytes));
        Ok(())
    });
}

/// What `kafka-protocol` makes of the bytes; `None` where it does not know the message or the version.
fn through_oracle(name: &str, version: i16, bytes: Bytes) -> Option<Result<Bytes, String>> {
    let known = |range: kafka_protocol::protocol::VersionRange| range.min <= version && version <= range.max;
    let (stem, is_request) = match (name.strip_suffix("Request"), name.strip_suffix("Response")) {
        (Some(stem), _) => (stem, true),
        (None, Some(stem)) => (stem, false),
        (None, None) => return other_through_oracle(name, version, bytes),
    };
    let api = ApiKey::ALL.iter().find(|api| api.name() == stem)?;
    let key = OracleKey::try_from(api.key()).ok()?;
    if !known(key.valid_versions()) {
        return None;
    }
    let mut input = bytes;
    let mut output = BytesMut::new();
    let outcome = if is_request {
        RequestKind::decode(key, &mut input, version).and_then(|request| request.encode(&mut output, version))
    } else {
        ResponseKind::decode(key, &mut input, version)
            .and_then(|response| response.encode(&mut output, version))
    };
    match outcome
        .map(|()| output.freeze())
        .map_err(|error| format!("{error:#}"))
    {
        // The table of its versions is ahead of its decoders in some places.
        Err(error) if error.contains("specified version not supported") => None,
        outcome => Some(outcome),
    }
}

fn other_through_oracle(name: &str, version: i16, bytes: Bytes) -> Option<Result<Bytes, String>> {
    fn run<M: OracleMessage + Encodable + Decodable>(
        version: i16,
        mut bytes: Bytes,
    ) -> Option<Result<Bytes, String>> {
        let known = M::VERSIONS.min <= version && version <= M::VERSIONS.max;
        let mut output = BytesMut::new();
        let outcome = M::decode(&mut bytes, version).and_then(|message| message.encode(&mut output, version));
        known.then(|| {
            outcome
                .map(|()| output.freeze())
                .map_err(|error| error.to_string())
        })
    }
    // Not LeaderChangeMessage and VotersRecord: there the oracle takes the field `version` for the message's version.
    match name {
        "ConsumerProtocolAssignment" => run::<oracle::ConsumerProtocolAssignment>(version, bytes),
        "ConsumerProtocolSubscription" => run::<oracle::ConsumerProtocolSubscription>(version, bytes),
        "DefaultPrincipalData" => run::<oracle::DefaultPrincipalData>(version, bytes),
        "EndTxnMarker" => run::<oracle::EndTxnMarker>(version, bytes),
        "KRaftVersionRecord" => run::<oracle::KRaftVersionRecord>(version, bytes),
        "SnapshotFooterRecord" => run::<oracle::SnapshotFooterRecord>(version, bytes),
        "SnapshotHeaderRecord" => run::<oracle::SnapshotHeaderRecord>(version, bytes),
        "RequestHeaderData" => run::<oracle::RequestHeader>(version, bytes),
        "ResponseHeaderData" => run::<oracle::ResponseHeader>(version, bytes),
        _ => None,
    }
}

#[test]
fn kafka_protocol_reads_and_writes_what_we_write() {
    let catalogue = catalogue();
    let mut messages = std::collections::BTreeSet::new();
    for_generated(|schema, version, _, bytes| {
        let ours = (catalogue[schema.name.as_str()].decode)(bytes, version);
        let ours = ours
            .map_err(|error| TestCaseError::fail(error.to_string()))?
            .encoded;
        let ours = ours.map_err(|error| TestCaseError::fail(error.to_string()))?;
        if let Some(theirs) = through_oracle(&schema.name, version, ours.clone()) {
            messages.insert((schema.name.clone(), version));
            let theirs = theirs.map_err(|error| TestCaseError::fail(format!("{error}: {}", hex(&ours))))?;
            proptest::prop_assert_eq!(hex(&theirs), hex(&ours));
        }
        Ok(())
    });
    assert!(
        messages.len() > 480,
        "only {} messages and versions are known to both",
        messages.len()
    );
}

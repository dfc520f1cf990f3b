//! Every message at every version against bytes that Apache Kafka 4.3.1's own classes wrote.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Number, Value as Json};
use wire::api::Visitor;
use wire::header::{RequestHeader, ResponseHeader};
use wire::{ApiKey, Message, Request, Value};

/// One line of the file.
struct Vector {
    message: String,
    version: i16,
    bytes: Bytes,
    value: Json,
}

/// How a message named in the file is checked.
type Check = fn(&Vector);

fn vectors() -> Vec<Vector> {
    let lines = include_str!("../vectors/wire.jsonl").lines();
    lines
        .map(|line| {
            let line: Json = serde_json::from_str(line).expect("a line of JSON");
            let hex = line["hex"].as_str().expect("bytes in hexadecimal");
            Vector {
                message: line["message"].as_str().expect("a name").to_owned(),
                version: line["version"].as_i64().expect("a version") as i16,
                bytes: unhex(hex).into(),
                value: line["value"].clone(),
            }
        })
        .collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |index: usize| {
        text.get(index..index + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    (0..text.len())
        .step_by(2)
        .map(|index| digit(index).expect("a pair of digits"))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value in the file's form: bytes and ids in hexadecimal.
fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(value) => Json::Number((*value).into()),
        Value::Float(value) => Json::Number(Number::from_f64(*value).expect("a finite number")),
        Value::String(text) => Json::String(text.to_string()),
        Value::Bytes(bytes) => Json::String(hex(bytes)),
        Value::Uuid(id) => Json::String(hex(&id.0)),
        Value::Array(elements) => Json::Array(elements.iter().map(json).collect()),
        Value::Struct(members) => {
            let members = members
                .iter()
                .map(|member| (member.name.to_owned(), json(&member.value)));
            Json::Object(members.collect())
        }
    }
}

fn check<M: Message>(vector: &Vector) {
    let place = format!(
        "{} version {}, {}",
        vector.message,
        vector.version,
        hex(&vector.bytes)
    );
    let decoded = M::decode_all(vector.bytes.clone(), vector.version)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(json(&decoded.to_value(vector.version)), vector.value, "{place}");
    let encoded = decoded
        .to_bytes(vector.version)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(hex(&encoded), hex(&vector.bytes), "{place}");
}

struct AddApi<'a>(&'a mut BTreeMap<&'static str, Check>);

impl Visitor for AddApi<'_> {
    type Output = ();

    fn visit<R: Request>(self) {
        self.0.insert(R::NAME, check::<R>);
        self.0.insert(R::Response::NAME, check::<R::Response>);
    }
}

macro_rules! add_records {
    ($checks:ident; $($module:ident: $($message:ident),*;)*) => {
        $($($checks.insert(wire::internal::$module::$message::NAME, check::<wire::internal::$module::$message>);)*)*
    };
}

fn checks() -> BTreeMap<&'static str, Check> {
    let mut checks: BTreeMap<&'static str, Check> = BTreeMap::new();
    for api in ApiKey::ALL {
        api.accept(AddApi(&mut checks));
    }
    add_records! {
        checks;
    consumer_groups: ConsumerGroupMetadataKey, ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue, ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue, ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue;
    consumer_protocol: ConsumerProtocolSubscription, ConsumerProtocolAssignment;
    metadata_log: RegisterBrokerRecord, UnregisterBrokerRecord, TopicRecord, PartitionRecord, ConfigRecord, PartitionChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord, RemoveTopicRecord, DelegationTokenRecord, UserScramCredentialRecord, FeatureLevelRecord, ClientQuotaRecord, ProducerIdsRecord, BrokerRegistrationChangeRecord, AccessControlEntryRecord, RemoveAccessControlEntryRecord, NoOpRecord, ZkMigrationStateRecord, RemoveUserScramCredentialRecord, BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord, RemoveDelegationTokenRecord, RegisterControllerRecord, ClearElrRecord;
    offsets: LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue, GroupMetadataKey, GroupMetadataValue;
    principal: DefaultPrincipalData;
    raft: ControlRecordTypeSchema, EndTxnMarker, LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, VotersRecord, QuorumStateData;
    remote_log: RemoteLogSegmentMetadataRecord, RemoteLogSegmentMetadataUpdateRecord, RemotePartitionDeleteMetadataRecord, RemoteLogSegmentMetadataSnapshotRecord;
    share_groups: ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue, ShareGroupMetadataKey, ShareGroupMetadataValue, ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue, ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue, ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue, ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue;
    share_state: ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue;
    snapshot: ProducerSnapshot;
    streams: SubscriptionInfoData;
    streams_groups: StreamsGroupMetadataKey, StreamsGroupMetadataValue, StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue, StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue, StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue, StreamsGroupTopologyKey, StreamsGroupTopologyValue;
    transactions: TransactionLogKey, TransactionLogValue;
    }
    checks.insert("RequestHeaderData", check::<RequestHeader>);
    checks.insert("ResponseHeaderData", check::<ResponseHeader>);
    checks
}

#[test]
fn every_vector_decodes_to_its_value_and_encodes_to_its_bytes() {
    let mut checks_left = checks();
    let all = checks();
    let vectors = vectors();
    assert_eq!(vectors.len(), 2217);
    for vector in &vectors {
        let check = all
            .get(vector.message.as_str())
            .unwrap_or_else(|| panic!("no message {}", vector.message));
        check(vector);
        checks_left.remove(vector.message.as_str());
    }
    let without = checks_left.keys().collect::<Vec<_>>();
    assert!(without.is_empty(), "no vector for {without:?}");
}

//! Every message by name, for tests that go through all of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Number, Value as Json};
use wire::api::Visitor;
use wire::header::{RequestHeader, ResponseHeader};
use wire::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, Value};

/// What tests do with a message.
pub(crate) struct Entry {
    pub(crate) versions: (i16, i16),
    pub(crate) flexible_from: Option<i16>,
    /// Decodes all bytes; the value, and what it encodes to.
    pub(crate) decode: fn(Bytes, i16) -> Result<Decoded, DecodeError>,
    /// Decodes and leaves the rest.
    pub(crate) read: fn(&mut Reader, i16) -> Result<(), DecodeError>,
    /// The bytes of the default.
    pub(crate) default: fn(i16) -> Result<Bytes, EncodeError>,
}

/// A decoded message.
pub(crate) struct Decoded {
    pub(crate) value: Value,
    pub(crate) encoded: Result<Bytes, EncodeError>,
}

fn entry<M: Message>() -> Entry {
    Entry {
        versions: (M::MIN_VERSION, M::MAX_VERSION),
        flexible_from: M::FLEXIBLE_FROM,
        decode: |bytes, version| {
            let message = M::decode_all(bytes, version)?;
            Ok(Decoded {
                value: message.to_value(version),
                encoded: message.to_bytes(version),
            })
        },
        read: |reader, version| M::decode(reader, version).map(|_| ()),
        default: |version| M::default().to_bytes(version),
    }
}

struct AddApi<'a>(&'a mut BTreeMap<&'static str, Entry>);

impl Visitor for AddApi<'_> {
    type Output = ();

    fn visit<R: Request>(self) {
        self.0.insert(R::NAME, entry::<R>());
        self.0.insert(R::Response::NAME, entry::<R::Response>());
    }
}

macro_rules! add_records {
    ($entries:ident; $($module:ident: $($message:ident),*;)*) => {
        $($($entries.insert(
            wire::internal::$module::$message::NAME,
            entry::<wire::internal::$module::$message>(),
        );)*)*
    };
}

/// Every message under its name in `schema.txt`.
pub(crate) fn catalogue() -> BTreeMap<&'static str, Entry> {
    let mut entries = BTreeMap::new();
    for api in ApiKey::ALL {
        api.accept(AddApi(&mut entries));
    }
    add_records! {
        entries;
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
    entries.insert("RequestHeaderData", entry::<RequestHeader>());
    entries.insert("ResponseHeaderData", entry::<ResponseHeader>());
    entries
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).expect("a digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect()
}

/// A value in the vectors' form: bytes and ids in hexadecimal.
pub(crate) fn json(value: &Value) -> Json {
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

//! The kinds of records in the topics of coordinators, for tools that print what they do not otherwise understand.

use bytes::Bytes;

use super::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use super::{
    consumer_groups, from_key_bytes, from_versioned_bytes, key_type, offsets, share_groups, share_state,
};
use super::{streams_groups, transactions};
use crate::error::{DecodeError, DecodeReason};
use crate::message::{Keyed, Message};
use crate::reader::Reader;
use crate::value::Value;

/// A kind of record: what its key and its value are.
#[derive(Clone, Copy, Debug)]
pub struct RecordKind {
    /// The type that begins the key.
    pub key: i16,
    read_key: fn(Bytes) -> Result<Value, DecodeError>,
    read_value: fn(Bytes) -> Result<(i16, Value), DecodeError>,
    show: Option<fn(&mut Value)>,
}

impl RecordKind {
    const fn of<K: Keyed, V: Message>() -> RecordKind {
        RecordKind {
            key: K::KEY,
            read_key: |bytes| Ok(from_key_bytes::<K>(bytes)?.to_value(K::MIN_VERSION)),
            read_value: |bytes| {
                let (version, value) = from_versioned_bytes::<V>(bytes)?;
                Ok((version, value.to_value(version)))
            },
            show: None,
        }
    }

    /// The kind of the record with this key, among `kinds`.
    pub fn find(kinds: &'static [RecordKind], key: &Bytes) -> Result<&'static RecordKind, DecodeError> {
        let found = key_type(key)?;
        kinds.iter().find(|kind| kind.key == found).ok_or_else(|| {
            Reader::new(key.clone()).error(DecodeReason::UnknownKey {
                kind: "record type",
                key: i32::from(found),
            })
        })
    }

    /// A record's key.
    pub fn key_to_value(&self, key: Bytes) -> Result<Value, DecodeError> {
        (self.read_key)(key)
    }

    /// The version of a record's value, and the value as it lies in the log.
    pub fn stored_value(&self, value: Bytes) -> Result<(i16, Value), DecodeError> {
        (self.read_value)(value)
    }

    /// The version of a record's value, and the value as Kafka's dump shows it.
    pub fn value_to_value(&self, value: Bytes) -> Result<(i16, Value), DecodeError> {
        let (version, mut value) = (self.read_value)(value)?;
        if let Some(show) = self.show {
            show(&mut value);
        }
        Ok((version, value))
    }
}

/// Shows what the members of a classic group of consumers told each other, as Kafka's dump does; bytes that say nothing
/// stay bytes.
fn show_consumers(group: &mut Value) {
    if group.get("protocol_type") != Some(&Value::String("consumer".into())) {
        return;
    }
    let Some(Value::Array(members)) = group.get_mut("members") else {
        return;
    };
    for member in members {
        show::<ConsumerProtocolSubscription>(member, "subscription");
        show::<ConsumerProtocolAssignment>(member, "assignment");
    }
}

fn show<M: Message>(member: &mut Value, name: &str) {
    let Some(value) = member.get_mut(name) else {
        return;
    };
    if let Value::Bytes(bytes) = value
        && let Ok((version, message)) = from_versioned_bytes::<M>(bytes.clone())
    {
        *value = message.to_value(version);
    }
}

macro_rules! kinds {
    ($($module:ident::$key:ident, $value:ident $(, $show:ident)?;)*) => {
        &[$(RecordKind { $(show: Some($show),)? ..RecordKind::of::<$module::$key, $module::$value>() },)*]
    };
}

/// The records of `__consumer_offsets`.
pub const GROUP_RECORDS: &[RecordKind] = kinds! {
    offsets::LegacyOffsetCommitKey, LegacyOffsetCommitValue;
    offsets::OffsetCommitKey, OffsetCommitValue;
    offsets::GroupMetadataKey, GroupMetadataValue, show_consumers;
    consumer_groups::ConsumerGroupMetadataKey, ConsumerGroupMetadataValue;
    consumer_groups::ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue;
    consumer_groups::ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue;
    consumer_groups::ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue;
    consumer_groups::ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue;
    consumer_groups::ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue;
    share_groups::ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue;
    share_groups::ShareGroupMetadataKey, ShareGroupMetadataValue;
    share_groups::ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue;
    share_groups::ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue;
    share_groups::ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue;
    share_groups::ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue;
    consumer_groups::ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue;
    streams_groups::StreamsGroupMetadataKey, StreamsGroupMetadataValue;
    streams_groups::StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue;
    streams_groups::StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue;
    streams_groups::StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue;
    streams_groups::StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue;
    streams_groups::StreamsGroupTopologyKey, StreamsGroupTopologyValue;
};

/// The records of `__transaction_state`.
pub const TRANSACTION_RECORDS: &[RecordKind] = kinds! {
    transactions::TransactionLogKey, TransactionLogValue;
};

/// The records of `__share_group_state`.
pub const SHARE_STATE_RECORDS: &[RecordKind] = kinds! {
    share_state::ShareSnapshotKey, ShareSnapshotValue;
    share_state::ShareUpdateKey, ShareUpdateValue;
};

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{GROUP_RECORDS, RecordKind, SHARE_STATE_RECORDS, TRANSACTION_RECORDS};
    use crate::error::DecodeReason;

    #[test]
    fn every_type_stands_once_and_in_order() {
        for kinds in [GROUP_RECORDS, TRANSACTION_RECORDS, SHARE_STATE_RECORDS] {
            assert!(kinds.is_sorted_by(|one, next| one.key < next.key));
        }
    }

    /// The JSON of a record that Apache Kafka wrote into `__consumer_offsets`.
    fn print(key: &'static [u8], value: &'static [u8]) -> (String, i16, String) {
        let kind = RecordKind::find(GROUP_RECORDS, &Bytes::from_static(key)).unwrap();
        let key = kind.key_to_value(Bytes::from_static(key)).unwrap();
        let (version, value) = kind.value_to_value(Bytes::from_static(value)).unwrap();
        (key.to_string(), version, value.to_string())
    }

    #[test]
    fn a_committed_offset_prints_as_in_kafkas_dump() {
        let (key, version, value) = print(
            b"\0\x01\0\x0cgolden-group\0\x05plain\0\0\0\0",
            b"\0\x04\0\0\0\0\0\0\0\xb3\0\0\0\0\x01\0\0\x01\xa2\x29\x48\xd9\x30\x01\0\x10\
              \x9b\x8d\xf2\x0b\xa8\xbf\x4f\x55\x92\xc5\xca\x4b\xbf\xc1\xb2\x39",
        );
        assert_eq!(key, r#"{"group":"golden-group","topic":"plain","partition":0}"#);
        assert_eq!(version, 4);
        let expected = r#"{"offset":179,"leaderEpoch":0,"metadata":"","commitTimestamp":1795988969776,"topicId":"m43yC6i_T1WSxcpLv8GyOQ"}"#;
        assert_eq!(value, expected);
    }

    #[test]
    fn what_consumers_told_each_other_prints_as_in_kafkas_dump() {
        let (_, version, value) = print(
            b"\0\x02\0\x01g",
            b"\0\x03\0\x08consumer\0\0\0\x01\0\x05range\xff\xff\0\0\0\0\0\0\0\x05\0\0\0\x01\0\x01m\xff\xff\0\x01c\0\x01h\
              \0\x04\x93\xe0\0\0\xaf\xc8\0\0\0\x1b\0\x03\0\0\0\x01\0\x05plain\0\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\x01?",
        );
        assert_eq!(version, 3);
        let expected = r#"{"protocolType":"consumer","generation":1,"protocol":"range","leader":null,"currentStateTimestamp":5,"members":[{"memberId":"m","groupInstanceId":null,"clientId":"c","clientHost":"h","rebalanceTimeout":300000,"sessionTimeout":45000,"subscription":{"topics":["plain"],"userData":"","ownedPartitions":[],"generationId":-1,"rackId":""},"assignment":"Pw=="}]}"#;
        assert_eq!(value, expected);
    }

    #[test]
    fn a_null_struct_in_a_tagged_field_prints_as_in_kafkas_dump() {
        let (_, version, value) = print(
            b"\0\x05\0\x0bgolden-next\0\x16QmBPW7KmTxKz1kHDhqWkYg",
            b"\0\0\0\0\x08rdkafka\x0b/127.0.0.1\x02\x0acodec-lz4\x01\0\x04\x93\xe0\0\x01\0\x01\0",
        );
        assert_eq!(version, 0);
        let expected = r#"{"instanceId":null,"rackId":null,"clientId":"rdkafka","clientHost":"/127.0.0.1","subscribedTopicNames":["codec-lz4"],"subscribedTopicRegex":"","rebalanceTimeoutMs":300000,"serverAssignor":null,"classicMemberMetadata":null}"#;
        assert_eq!(value, expected);
    }

    #[test]
    fn an_unknown_type_is_refused() {
        let key = Bytes::from_static(b"\0\x09");
        let refused = RecordKind::find(GROUP_RECORDS, &key).unwrap_err();
        assert!(matches!(refused.reason, DecodeReason::UnknownKey { key: 9, .. }));
    }
}

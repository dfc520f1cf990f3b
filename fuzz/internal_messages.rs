//! Every record and file that is no request, by name: what the target `internal` chooses from, and what its seeds name.

use bytes::Bytes;
use wire::Message;
use wire::internal::{consumer_groups, consumer_protocol, metadata_log, offsets, principal, raft, remote_log};
use wire::internal::{share_groups, share_state, snapshot, streams, streams_groups, transactions};

/// What can be read of a message in a version is written again, and read to the same message.
type RoundTrip = fn(Bytes, i16);

fn round_trip<M: Message>(bytes: Bytes, version: i16) {
    let Ok(message) = M::decode_all(bytes, version) else { return };
    let bytes = message.to_bytes(version).expect("what was read can be written");
    let again = M::decode_all(bytes.clone(), version).expect("what was written can be read");
    // Compared as bytes, since a float that is not a number does not equal itself.
    assert_eq!(again.to_bytes(version).expect("as before"), bytes);
    let _ = again.to_value(version).to_string();
}

macro_rules! messages {
    ($($module:ident::{$($message:ident),*};)*) => {
        &[$($((stringify!($message), round_trip::<$module::$message>),)*)*]
    };
}

/// The messages and their round trips; fewer than 256.
pub const MESSAGES: &[(&str, RoundTrip)] = messages! {
    consumer_groups::{
        ConsumerGroupMetadataKey, ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataKey,
        ConsumerGroupPartitionMetadataValue, ConsumerGroupMemberMetadataKey,
        ConsumerGroupMemberMetadataValue, ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupTargetAssignmentMetadataValue, ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupRegularExpressionKey,
        ConsumerGroupRegularExpressionValue
    };
    consumer_protocol::{ConsumerProtocolSubscription, ConsumerProtocolAssignment};
    metadata_log::{
        RegisterBrokerRecord, UnregisterBrokerRecord, TopicRecord, PartitionRecord, ConfigRecord,
        PartitionChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord, RemoveTopicRecord,
        DelegationTokenRecord, UserScramCredentialRecord, FeatureLevelRecord, ClientQuotaRecord,
        ProducerIdsRecord, BrokerRegistrationChangeRecord, AccessControlEntryRecord,
        RemoveAccessControlEntryRecord, NoOpRecord, ZkMigrationStateRecord, RemoveUserScramCredentialRecord,
        BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord, RemoveDelegationTokenRecord,
        RegisterControllerRecord, ClearElrRecord
    };
    offsets::{
        LegacyOffsetCommitKey, LegacyOffsetCommitValue, OffsetCommitKey, OffsetCommitValue,
        GroupMetadataKey, GroupMetadataValue
    };
    principal::{DefaultPrincipalData};
    raft::{
        ControlRecordTypeSchema, EndTxnMarker, LeaderChangeMessage, SnapshotHeaderRecord,
        SnapshotFooterRecord, KRaftVersionRecord, VotersRecord, QuorumStateData
    };
    remote_log::{
        RemoteLogSegmentMetadataRecord, RemoteLogSegmentMetadataUpdateRecord,
        RemotePartitionDeleteMetadataRecord, RemoteLogSegmentMetadataSnapshotRecord
    };
    share_groups::{
        ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue, ShareGroupMetadataKey,
        ShareGroupMetadataValue, ShareGroupTargetAssignmentMetadataKey,
        ShareGroupTargetAssignmentMetadataValue, ShareGroupTargetAssignmentMemberKey,
        ShareGroupTargetAssignmentMemberValue, ShareGroupCurrentMemberAssignmentKey,
        ShareGroupCurrentMemberAssignmentValue, ShareGroupStatePartitionMetadataKey,
        ShareGroupStatePartitionMetadataValue
    };
    share_state::{ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue};
    snapshot::{ProducerSnapshot};
    streams::{SubscriptionInfoData};
    streams_groups::{
        StreamsGroupMetadataKey, StreamsGroupMetadataValue, StreamsGroupMemberMetadataKey,
        StreamsGroupMemberMetadataValue, StreamsGroupTargetAssignmentMetadataKey,
        StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTargetAssignmentMemberKey,
        StreamsGroupTargetAssignmentMemberValue, StreamsGroupCurrentMemberAssignmentKey,
        StreamsGroupCurrentMemberAssignmentValue, StreamsGroupTopologyKey, StreamsGroupTopologyValue
    };
    transactions::{TransactionLogKey, TransactionLogValue};
};

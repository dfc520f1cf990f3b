//! The table of all APIs: key, name, versions, listeners, messages.
//!
//! What a node serves is its dispatch's matter; this is what Apache Kafka 4.3.1 serves. A version beyond the stable ones
//! may exist as a message (InitProducerId 6 does) but is not in the table.

use crate::message::{Message as _, Request};
use crate::messages;

/// Which listeners an API is served on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listeners {
    /// Brokers' only.
    Broker,
    /// Controllers' only.
    Controller,
    /// Brokers' and controllers'.
    Both,
}

/// Something to do with the messages of an API that is known only at run time.
pub trait Visitor {
    /// What it yields.
    type Output;

    /// Does it with the messages of one API.
    fn visit<R: Request>(self) -> Self::Output;
}

macro_rules! apis {
    ($($api:ident = $key:literal, $min:literal..=$max:literal, $listeners:ident, $file:ident::$request:ident;)*) => {
        /// An API of Kafka's protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey {
            $(#[doc = concat!("Key ", $key, ".")] $api = $key,)*
        }

        impl ApiKey {
            /// Every API, by ascending key.
            pub const ALL: &'static [ApiKey] = &[$(ApiKey::$api,)*];

            /// The API of a number from the wire.
            pub fn from_key(key: i16) -> Option<ApiKey> {
                match key {
                    $($key => Some(ApiKey::$api),)*
                    _ => None,
                }
            }

            /// Kafka's name, such as `OffsetCommit`.
            pub fn name(self) -> &'static str {
                match self {
                    $(ApiKey::$api => stringify!($api),)*
                }
            }

            /// The lowest and the highest stable version.
            pub fn versions(self) -> (i16, i16) {
                match self {
                    $(ApiKey::$api => ($min, $max),)*
                }
            }

            /// The listeners Apache Kafka serves it on.
            pub fn listeners(self) -> Listeners {
                match self {
                    $(ApiKey::$api => Listeners::$listeners,)*
                }
            }

            /// The first version with compact lengths and tagged fields.
            pub fn flexible_from(self) -> Option<i16> {
                match self {
                    $(ApiKey::$api => messages::$file::$request::FLEXIBLE_FROM,)*
                }
            }

            /// Lets a visitor see the messages of this API.
            pub fn accept<V: Visitor>(self, visitor: V) -> V::Output {
                match self {
                    $(ApiKey::$api => visitor.visit::<messages::$file::$request>(),)*
                }
            }
        }
    };
}

impl ApiKey {
    /// The number on the wire.
    pub fn key(self) -> i16 {
        self as i16
    }

    /// Whether a version is a stable one.
    pub fn has_version(self, version: i16) -> bool {
        let (min, max) = self.versions();
        min <= version && version <= max
    }

    /// Whether a version has compact lengths and tagged fields.
    pub fn is_flexible(self, version: i16) -> bool {
        self.flexible_from().is_some_and(|from| version >= from)
    }
}

apis! {
    Produce = 0, 3..=13, Broker, produce::ProduceRequest;
    Fetch = 1, 4..=18, Both, fetch::FetchRequest;
    ListOffsets = 2, 1..=11, Broker, list_offsets::ListOffsetsRequest;
    Metadata = 3, 0..=13, Broker, metadata::MetadataRequest;
    OffsetCommit = 8, 2..=10, Broker, offset_commit::OffsetCommitRequest;
    OffsetFetch = 9, 1..=10, Broker, offset_fetch::OffsetFetchRequest;
    FindCoordinator = 10, 0..=6, Broker, find_coordinator::FindCoordinatorRequest;
    JoinGroup = 11, 0..=9, Broker, join_group::JoinGroupRequest;
    Heartbeat = 12, 0..=4, Broker, heartbeat::HeartbeatRequest;
    LeaveGroup = 13, 0..=5, Broker, leave_group::LeaveGroupRequest;
    SyncGroup = 14, 0..=5, Broker, sync_group::SyncGroupRequest;
    DescribeGroups = 15, 0..=6, Broker, describe_groups::DescribeGroupsRequest;
    ListGroups = 16, 0..=5, Broker, list_groups::ListGroupsRequest;
    SaslHandshake = 17, 0..=1, Both, sasl_handshake::SaslHandshakeRequest;
    ApiVersions = 18, 0..=4, Both, api_versions::ApiVersionsRequest;
    CreateTopics = 19, 2..=7, Both, create_topics::CreateTopicsRequest;
    DeleteTopics = 20, 1..=6, Both, delete_topics::DeleteTopicsRequest;
    DeleteRecords = 21, 0..=2, Broker, delete_records::DeleteRecordsRequest;
    InitProducerId = 22, 0..=5, Broker, init_producer_id::InitProducerIdRequest;
    OffsetForLeaderEpoch = 23, 2..=4, Broker, offset_for_leader_epoch::OffsetForLeaderEpochRequest;
    AddPartitionsToTxn = 24, 0..=5, Broker, add_partitions_to_txn::AddPartitionsToTxnRequest;
    AddOffsetsToTxn = 25, 0..=4, Broker, add_offsets_to_txn::AddOffsetsToTxnRequest;
    EndTxn = 26, 0..=5, Broker, end_txn::EndTxnRequest;
    WriteTxnMarkers = 27, 1..=2, Broker, write_txn_markers::WriteTxnMarkersRequest;
    TxnOffsetCommit = 28, 0..=5, Broker, txn_offset_commit::TxnOffsetCommitRequest;
    DescribeAcls = 29, 1..=3, Both, describe_acls::DescribeAclsRequest;
    CreateAcls = 30, 1..=3, Both, create_acls::CreateAclsRequest;
    DeleteAcls = 31, 1..=3, Both, delete_acls::DeleteAclsRequest;
    DescribeConfigs = 32, 1..=4, Both, describe_configs::DescribeConfigsRequest;
    AlterConfigs = 33, 0..=2, Both, alter_configs::AlterConfigsRequest;
    AlterReplicaLogDirs = 34, 1..=2, Broker, alter_replica_log_dirs::AlterReplicaLogDirsRequest;
    DescribeLogDirs = 35, 1..=5, Broker, describe_log_dirs::DescribeLogDirsRequest;
    SaslAuthenticate = 36, 0..=2, Both, sasl_authenticate::SaslAuthenticateRequest;
    CreatePartitions = 37, 0..=3, Both, create_partitions::CreatePartitionsRequest;
    CreateDelegationToken = 38, 1..=3, Both, create_delegation_token::CreateDelegationTokenRequest;
    RenewDelegationToken = 39, 1..=2, Both, renew_delegation_token::RenewDelegationTokenRequest;
    ExpireDelegationToken = 40, 1..=2, Both, expire_delegation_token::ExpireDelegationTokenRequest;
    DescribeDelegationToken = 41, 1..=3, Both, describe_delegation_token::DescribeDelegationTokenRequest;
    DeleteGroups = 42, 0..=2, Broker, delete_groups::DeleteGroupsRequest;
    ElectLeaders = 43, 0..=2, Both, elect_leaders::ElectLeadersRequest;
    IncrementalAlterConfigs = 44, 0..=1, Both, incremental_alter_configs::IncrementalAlterConfigsRequest;
    AlterPartitionReassignments = 45, 0..=1, Both, alter_partition_reassignments::AlterPartitionReassignmentsRequest;
    ListPartitionReassignments = 46, 0..=0, Both, list_partition_reassignments::ListPartitionReassignmentsRequest;
    OffsetDelete = 47, 0..=0, Broker, offset_delete::OffsetDeleteRequest;
    DescribeClientQuotas = 48, 0..=1, Broker, describe_client_quotas::DescribeClientQuotasRequest;
    AlterClientQuotas = 49, 0..=1, Both, alter_client_quotas::AlterClientQuotasRequest;
    DescribeUserScramCredentials = 50, 0..=0, Both, describe_user_scram_credentials::DescribeUserScramCredentialsRequest;
    AlterUserScramCredentials = 51, 0..=0, Both, alter_user_scram_credentials::AlterUserScramCredentialsRequest;
    Vote = 52, 0..=2, Controller, vote::VoteRequest;
    BeginQuorumEpoch = 53, 0..=1, Controller, begin_quorum_epoch::BeginQuorumEpochRequest;
    EndQuorumEpoch = 54, 0..=1, Controller, end_quorum_epoch::EndQuorumEpochRequest;
    DescribeQuorum = 55, 0..=2, Both, describe_quorum::DescribeQuorumRequest;
    AlterPartition = 56, 2..=3, Controller, alter_partition::AlterPartitionRequest;
    UpdateFeatures = 57, 0..=2, Both, update_features::UpdateFeaturesRequest;
    Envelope = 58, 0..=0, Controller, envelope::EnvelopeRequest;
    FetchSnapshot = 59, 0..=1, Controller, fetch_snapshot::FetchSnapshotRequest;
    DescribeCluster = 60, 0..=2, Both, describe_cluster::DescribeClusterRequest;
    DescribeProducers = 61, 0..=0, Broker, describe_producers::DescribeProducersRequest;
    BrokerRegistration = 62, 0..=4, Controller, broker_registration::BrokerRegistrationRequest;
    BrokerHeartbeat = 63, 0..=2, Controller, broker_heartbeat::BrokerHeartbeatRequest;
    UnregisterBroker = 64, 0..=0, Both, unregister_broker::UnregisterBrokerRequest;
    DescribeTransactions = 65, 0..=0, Broker, describe_transactions::DescribeTransactionsRequest;
    ListTransactions = 66, 0..=2, Broker, list_transactions::ListTransactionsRequest;
    AllocateProducerIds = 67, 0..=0, Controller, allocate_producer_ids::AllocateProducerIdsRequest;
    ConsumerGroupHeartbeat = 68, 0..=1, Broker, consumer_group_heartbeat::ConsumerGroupHeartbeatRequest;
    ConsumerGroupDescribe = 69, 0..=1, Broker, consumer_group_describe::ConsumerGroupDescribeRequest;
    ControllerRegistration = 70, 0..=0, Controller, controller_registration::ControllerRegistrationRequest;
    GetTelemetrySubscriptions = 71, 0..=0, Broker, get_telemetry_subscriptions::GetTelemetrySubscriptionsRequest;
    PushTelemetry = 72, 0..=0, Broker, push_telemetry::PushTelemetryRequest;
    AssignReplicasToDirs = 73, 0..=0, Controller, assign_replicas_to_dirs::AssignReplicasToDirsRequest;
    ListConfigResources = 74, 0..=1, Broker, list_config_resources::ListConfigResourcesRequest;
    DescribeTopicPartitions = 75, 0..=0, Broker, describe_topic_partitions::DescribeTopicPartitionsRequest;
    ShareGroupHeartbeat = 76, 1..=1, Broker, share_group_heartbeat::ShareGroupHeartbeatRequest;
    ShareGroupDescribe = 77, 1..=1, Broker, share_group_describe::ShareGroupDescribeRequest;
    ShareFetch = 78, 1..=2, Broker, share_fetch::ShareFetchRequest;
    ShareAcknowledge = 79, 1..=2, Broker, share_acknowledge::ShareAcknowledgeRequest;
    AddRaftVoter = 80, 0..=1, Both, add_raft_voter::AddRaftVoterRequest;
    RemoveRaftVoter = 81, 0..=0, Both, remove_raft_voter::RemoveRaftVoterRequest;
    UpdateRaftVoter = 82, 0..=0, Controller, update_raft_voter::UpdateRaftVoterRequest;
    InitializeShareGroupState = 83, 0..=0, Broker, initialize_share_group_state::InitializeShareGroupStateRequest;
    ReadShareGroupState = 84, 0..=0, Broker, read_share_group_state::ReadShareGroupStateRequest;
    WriteShareGroupState = 85, 0..=1, Broker, write_share_group_state::WriteShareGroupStateRequest;
    DeleteShareGroupState = 86, 0..=0, Broker, delete_share_group_state::DeleteShareGroupStateRequest;
    ReadShareGroupStateSummary = 87, 0..=1, Broker, read_share_group_state_summary::ReadShareGroupStateSummaryRequest;
    StreamsGroupHeartbeat = 88, 0..=0, Broker, streams_group_heartbeat::StreamsGroupHeartbeatRequest;
    StreamsGroupDescribe = 89, 0..=0, Broker, streams_group_describe::StreamsGroupDescribeRequest;
    DescribeShareGroupOffsets = 90, 0..=1, Broker, describe_share_group_offsets::DescribeShareGroupOffsetsRequest;
    AlterShareGroupOffsets = 91, 0..=0, Broker, alter_share_group_offsets::AlterShareGroupOffsetsRequest;
    DeleteShareGroupOffsets = 92, 0..=0, Broker, delete_share_group_offsets::DeleteShareGroupOffsetsRequest;
}

#[cfg(test)]
mod tests {
    use super::{ApiKey, Visitor};
    use crate::message::{Message, Request};

    struct Messages;

    impl Visitor for Messages {
        /// API, name of the request, versions of request and response.
        type Output = (ApiKey, &'static str, [(i16, i16); 2], [Option<i16>; 2]);

        fn visit<R: Request>(self) -> Self::Output {
            let versions = [
                (R::MIN_VERSION, R::MAX_VERSION),
                (R::Response::MIN_VERSION, R::Response::MAX_VERSION),
            ];
            (
                R::API_KEY,
                R::NAME,
                versions,
                [R::FLEXIBLE_FROM, R::Response::FLEXIBLE_FROM],
            )
        }
    }

    #[test]
    fn the_table_agrees_with_the_messages() {
        assert_eq!(ApiKey::ALL.len(), 89);
        for &api in ApiKey::ALL {
            let (key, name, [request, response], [flexible, flexible_response]) = api.accept(Messages);
            assert_eq!(ApiKey::from_key(api.key()), Some(api));
            assert_eq!(key, api);
            assert_eq!(name, format!("{}Request", api.name()));
            assert_eq!(request, response, "{name}");
            assert_eq!(flexible, flexible_response, "{name}");
            let (min, max) = api.versions();
            let unstable = i16::from(api == ApiKey::InitProducerId);
            assert_eq!((min, max + unstable), request, "{name}");
        }
    }

    #[test]
    fn removed_and_future_keys_are_unknown() {
        for key in [-1, 4, 5, 6, 7, 93, i16::MAX] {
            assert_eq!(ApiKey::from_key(key), None);
        }
    }
}

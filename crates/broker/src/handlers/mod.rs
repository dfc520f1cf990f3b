//! The one table of the APIs this broker serves. Each line is the whole registration of an API; its facts stand in the
//! file of its handler. What has no line is not served, and not advertised.

pub mod cluster;
pub mod configs;
pub mod data;
pub mod groups;
pub mod topics;

use crate::dispatch::{Api, api};

/// Every API, by ascending key.
pub static APIS: &[Api] = &[
    api::<data::produce::Produce>(),                                     // 0
    api::<data::fetch::Fetch>(),                                         // 1
    api::<data::list_offsets::ListOffsets>(),                            // 2
    api::<topics::metadata::Metadata>(),                                 // 3
    api::<groups::offset_commit::OffsetCommit>(),                        // 8
    api::<groups::offset_fetch::OffsetFetch>(),                          // 9
    api::<groups::find_coordinator::FindCoordinator>(),                  // 10
    api::<groups::join_group::JoinGroup>(),                              // 11
    api::<groups::heartbeat::Heartbeat>(),                               // 12
    api::<groups::leave_group::LeaveGroup>(),                            // 13
    api::<groups::sync_group::SyncGroup>(),                              // 14
    api::<groups::describe_groups::DescribeGroups>(),                    // 15
    api::<groups::list_groups::ListGroups>(),                            // 16
    api::<cluster::api_versions::ApiVersions>(),                         // 18
    api::<topics::create_topics::CreateTopics>(),                        // 19
    api::<topics::delete_topics::DeleteTopics>(),                        // 20
    api::<data::init_producer_id::InitProducerId>(),                     // 22
    api::<data::offset_for_leader_epoch::OffsetForLeaderEpoch>(),        // 23
    api::<configs::describe_configs::DescribeConfigs>(),                 // 32
    api::<topics::create_partitions::CreatePartitions>(),                // 37
    api::<cluster::describe_cluster::DescribeCluster>(),                 // 60
    api::<topics::describe_topic_partitions::DescribeTopicPartitions>(), // 75
];

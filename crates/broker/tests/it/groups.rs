//! The APIs of groups over sockets, at every version.

use std::time::Duration;

use bytes::Bytes;
use model::{ErrorCode, Uuid};
use wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use wire::messages::describe_groups::DescribeGroupsRequest;
use wire::messages::find_coordinator::FindCoordinatorRequest;
use wire::messages::heartbeat::HeartbeatRequest;
use wire::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use wire::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use wire::messages::list_groups::ListGroupsRequest;
use wire::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponse,
};
use wire::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use wire::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};

use crate::support::{Client, Node};

const NONE: i16 = 0;

fn start() -> Node {
    Node::start(&[
        ("group.initial.rebalance.delay.ms", "0"),
        ("offsets.topic.num.partitions", "4"),
        ("offsets.topic.replication.factor", "1"),
    ])
}

/// A broker whose groups serve.
fn serving() -> (Node, Client) {
    let node = start();
    let mut client = node.connect();
    let request = FindCoordinatorRequest {
        key: "g".into(),
        ..FindCoordinatorRequest::default()
    };
    let found = client.call(3, &request);
    assert_eq!((found.error_code, found.node_id), (NONE, 1));
    (node, client)
}

/// The same, and a topic to commit offsets of.
fn with_topic() -> (Node, Client, Uuid) {
    let (node, mut client) = serving();
    let topic = CreatableTopic {
        name: "t".into(),
        num_partitions: 2,
        replication_factor: 1,
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest {
        topics: vec![topic],
        timeout_ms: 10_000,
        ..CreateTopicsRequest::default()
    };
    let created = client.call(7, &request);
    assert_eq!(created.topics[0].error_code, NONE);
    (node, client, created.topics[0].topic_id)
}

fn join(group: &str, member: &str) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: group.into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        member_id: member.into(),
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: "range".into(),
            metadata: Bytes::from_static(b"?"),
        }],
        ..JoinGroupRequest::default()
    }
}

fn join_fully(client: &mut Client, version: i16, group: &str) -> JoinGroupResponse {
    let mut joined = client.call(version, &join(group, ""));
    if version >= 4 {
        assert_eq!(joined.error_code, ErrorCode::MemberIdRequired.code());
        joined = client.call(version, &join(group, &joined.member_id));
    }
    assert_eq!(joined.error_code, NONE, "{joined:?}");
    joined
}

fn commit(group: &str, topic_id: Uuid, places: &[(i32, i64)]) -> OffsetCommitRequest {
    let partitions = places.iter().map(
        |&(partition_index, committed_offset)| OffsetCommitRequestPartition {
            partition_index,
            committed_offset,
            committed_leader_epoch: 3,
            committed_metadata: Some("mine".into()),
        },
    );
    OffsetCommitRequest {
        group_id: group.into(),
        topics: vec![OffsetCommitRequestTopic {
            name: "t".into(),
            topic_id,
            partitions: partitions.collect(),
        }],
        ..OffsetCommitRequest::default()
    }
}

fn codes(response: &OffsetCommitResponse) -> Vec<i16> {
    response
        .topics
        .iter()
        .flat_map(|topic| &topic.partitions)
        .map(|partition| partition.error_code)
        .collect()
}

#[test]
fn the_first_question_for_a_coordinator_makes_the_offsets_topic_and_is_answered() {
    let node = start();
    for version in 0..=6 {
        let request = FindCoordinatorRequest {
            key: "g".into(),
            coordinator_keys: vec!["g".into(), "h".into()],
            ..FindCoordinatorRequest::default()
        };
        let found = node.connect().call(version, &request);
        let port = i32::from(node.address().port());
        if version < 4 {
            assert_eq!(
                (found.error_code, found.node_id, found.port),
                (NONE, 1, port),
                "v{version}"
            );
        } else {
            let all: Vec<_> = found
                .coordinators
                .iter()
                .map(|c| (&*c.key, c.error_code, c.node_id, c.port))
                .collect();
            assert_eq!(all, [("g", NONE, 1, port), ("h", NONE, 1, port)], "v{version}");
        }
    }
}

#[test]
fn keys_that_are_not_of_groups_are_refused_until_they_are_coordinated() {
    let node = start();
    let request = FindCoordinatorRequest {
        key: "t".into(),
        key_type: 1,
        ..FindCoordinatorRequest::default()
    };
    assert_eq!(
        node.connect().call(1, &request).error_code,
        ErrorCode::InvalidRequest.code()
    );
}

#[test]
fn a_member_lives_its_life_at_every_version() {
    let (_node, mut client) = serving();
    for version in 0..=9 {
        let group = format!("life-{version}");
        let joined = join_fully(&mut client, version, &group);
        assert_eq!((joined.generation_id, joined.members.len()), (1, 1), "v{version}");
        assert_eq!(joined.leader, joined.member_id);
        assert_eq!(joined.protocol_name.as_deref(), Some("range"));
        assert!(joined.member_id.starts_with("test"), "{}", joined.member_id);
        if version >= 7 {
            assert_eq!(joined.protocol_type.as_deref(), Some("consumer"));
        }
        let (sync_version, heartbeat_version) = (version.min(5), version.min(4));
        let sync = SyncGroupRequest {
            group_id: group.as_str().into(),
            generation_id: 1,
            member_id: joined.member_id.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: vec![SyncGroupRequestAssignment {
                member_id: joined.member_id.clone(),
                assignment: Bytes::from_static(b"all"),
            }],
            ..SyncGroupRequest::default()
        };
        let synced = client.call(sync_version, &sync);
        assert_eq!((synced.error_code, &*synced.assignment), (NONE, &b"all"[..]));
        let heartbeat = HeartbeatRequest {
            group_id: group.as_str().into(),
            generation_id: 1,
            member_id: joined.member_id.clone(),
            ..HeartbeatRequest::default()
        };
        assert_eq!(client.call(heartbeat_version, &heartbeat).error_code, NONE);
        let leave = LeaveGroupRequest {
            group_id: group.as_str().into(),
            member_id: joined.member_id.clone(),
            members: vec![
                MemberIdentity {
                    member_id: joined.member_id.clone(),
                    ..MemberIdentity::default()
                },
                MemberIdentity {
                    member_id: "stranger".into(),
                    ..MemberIdentity::default()
                },
            ],
        };
        let left = client.call(sync_version, &leave);
        let each: Vec<i16> = left.members.iter().map(|member| member.error_code).collect();
        let several = vec![NONE, ErrorCode::UnknownMemberId.code()];
        assert_eq!(
            (left.error_code, each),
            (NONE, if sync_version < 3 { vec![] } else { several })
        );
        let unknown = ErrorCode::UnknownMemberId.code();
        assert_eq!(client.call(heartbeat_version, &heartbeat).error_code, unknown);
    }
}

#[test]
fn a_sync_of_version_5_must_name_its_protocol() {
    let (_node, mut client) = serving();
    let joined = join_fully(&mut client, 5, "g");
    let sync = SyncGroupRequest {
        group_id: "g".into(),
        generation_id: 1,
        member_id: joined.member_id,
        ..SyncGroupRequest::default()
    };
    assert_eq!(
        client.call(5, &sync).error_code,
        ErrorCode::InconsistentGroupProtocol.code()
    );
    assert_eq!(client.call(4, &sync).error_code, NONE);
}

// Case 43: parked joins hold up neither each other nor other requests.
#[test]
fn a_parked_join_holds_up_nobody_else() {
    let (node, mut client) = serving();
    let first = join_fully(&mut client, 3, "g").member_id;
    let mut parked: Vec<(Client, i32)> = Vec::new();
    for _ in 0..50 {
        let mut other = node.connect();
        let id = other.send(3, &join("g", ""));
        parked.push((other, id));
    }
    let described = |client: &mut Client| {
        let request = DescribeGroupsRequest {
            groups: vec!["g".into()],
            ..DescribeGroupsRequest::default()
        };
        client.call(5, &request).groups.remove(0)
    };
    let mut members = 0;
    for _ in 0..200 {
        members = described(&mut client).members.len();
        if members == 51 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(members, 51);
    // The first member has not synced and is not heard of: it is the one whose join completes the rebalance.
    let joined = client.call(3, &join("g", &first));
    for (mut other, id) in parked {
        let response = other.receive::<JoinGroupRequest>(3, id);
        assert_eq!(
            (response.error_code, response.generation_id),
            (NONE, joined.generation_id)
        );
    }
}

/// A partition of an OffsetFetch response: index, offset, leader epoch, metadata, error.
type Shown = (i32, i64, i32, String, i16);

fn fetch_shown(client: &mut Client, version: i16, topic_id: Uuid) -> Vec<Shown> {
    let partition_indexes = vec![0, 1, 5];
    let by_group = OffsetFetchRequestGroup {
        group_id: "offsets-6".into(),
        topics: Some(vec![OffsetFetchRequestTopics {
            name: "t".into(),
            topic_id,
            partition_indexes: partition_indexes.clone(),
        }]),
        ..OffsetFetchRequestGroup::default()
    };
    let nobody = OffsetFetchRequestGroup {
        group_id: "nobody".into(),
        topics: None,
        ..by_group.clone()
    };
    let request = OffsetFetchRequest {
        group_id: "offsets-6".into(),
        topics: Some(vec![OffsetFetchRequestTopic {
            name: "t".into(),
            partition_indexes,
        }]),
        groups: vec![by_group, nobody],
        require_stable: true,
    };
    let fetched = client.call(version, &request);
    let words = |metadata: &Option<wire::Str>| metadata.as_deref().unwrap_or("null").to_owned();
    if version < 8 {
        let partitions = fetched.topics.iter().flat_map(|topic| &topic.partitions);
        let shown = partitions.map(|p| {
            let (epoch, metadata) = (p.committed_leader_epoch, words(&p.metadata));
            (
                p.partition_index,
                p.committed_offset,
                epoch,
                metadata,
                p.error_code,
            )
        });
        return shown.collect();
    }
    assert_eq!(fetched.groups.len(), 2);
    assert_eq!(
        (fetched.groups[1].error_code, fetched.groups[1].topics.len()),
        (NONE, 0)
    );
    let partitions = fetched.groups[0]
        .topics
        .iter()
        .flat_map(|topic| &topic.partitions);
    let shown = partitions.map(|p| {
        let (epoch, metadata) = (p.committed_leader_epoch, words(&p.metadata));
        (
            p.partition_index,
            p.committed_offset,
            epoch,
            metadata,
            p.error_code,
        )
    });
    shown.collect()
}

// Cases 9 and 46.
#[test]
fn offsets_are_committed_and_fetched_at_every_version() {
    let (_node, mut client, topic_id) = with_topic();
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    for version in 2..=10 {
        let group = format!("offsets-{version}");
        let committed = client.call(
            version,
            &commit(&group, topic_id, &[(0, 7), (1, -2), (2, 1), (-1, 1)]),
        );
        assert_eq!(codes(&committed), [NONE, NONE, unknown, unknown], "v{version}");
    }
    for version in 1..=10 {
        let epoch = if version >= 5 { 3 } else { -1 };
        let expected = [
            (0, 7, epoch, "mine".to_owned(), NONE),
            (1, -2, epoch, "mine".to_owned(), NONE),
            (5, -1, -1, String::new(), NONE),
        ];
        assert_eq!(
            fetch_shown(&mut client, version, topic_id),
            expected,
            "v{version}"
        );
    }
}

// Case 9.
#[test]
fn an_unknown_topic_id_fails_its_own_partitions() {
    let (_node, mut client, topic_id) = with_topic();
    let mut request = commit("g", topic_id, &[(0, 7)]);
    let stranger = Uuid([9; 16]);
    request
        .topics
        .extend(commit("g", stranger, &[(0, 8), (1, 8)]).topics);
    let unknown = ErrorCode::UnknownTopicId.code();
    assert_eq!(codes(&client.call(10, &request)), [NONE, unknown, unknown]);

    let ask = |topic_id| OffsetFetchRequestTopics {
        topic_id,
        partition_indexes: vec![0],
        ..OffsetFetchRequestTopics::default()
    };
    let group = OffsetFetchRequestGroup {
        group_id: "g".into(),
        topics: Some(vec![ask(stranger), ask(topic_id)]),
        ..OffsetFetchRequestGroup::default()
    };
    let fetched = client.call(
        10,
        &OffsetFetchRequest {
            groups: vec![group],
            ..OffsetFetchRequest::default()
        },
    );
    let mut topics: Vec<_> = fetched.groups[0]
        .topics
        .iter()
        .map(|topic| {
            (
                topic.topic_id,
                topic.partitions[0].committed_offset,
                topic.partitions[0].error_code,
            )
        })
        .collect();
    topics.sort_by_key(|topic| topic.2);
    assert_eq!(topics, [(topic_id, 7, NONE), (stranger, -1, unknown)]);
}

#[test]
fn an_unknown_group_of_a_generation_is_an_old_or_a_new_error_by_version() {
    let (_node, mut client, topic_id) = with_topic();
    let request = OffsetCommitRequest {
        generation_id_or_member_epoch: 1,
        member_id: "m".into(),
        ..commit("nobody", topic_id, &[(0, 1)])
    };
    for version in 2..=10 {
        let expected = if version < 9 {
            ErrorCode::IllegalGeneration
        } else {
            ErrorCode::GroupIdNotFound
        };
        assert_eq!(
            codes(&client.call(version, &request)),
            [expected.code()],
            "v{version}"
        );
    }
}

#[test]
fn row_44_metadata_that_is_too_large_fails_its_partition() {
    let (_node, mut client, topic_id) = with_topic();
    let mut request = commit("g", topic_id, &[(0, 1), (1, 1)]);
    request.topics[0].partitions[0].committed_metadata = Some("x".repeat(4_097).into());
    assert_eq!(
        codes(&client.call(9, &request)),
        [ErrorCode::OffsetMetadataTooLarge.code(), NONE]
    );
}

#[test]
fn groups_are_listed_and_described_at_every_version() {
    let (_node, mut client, topic_id) = with_topic();
    let joined = join_fully(&mut client, 9, "active");
    assert_eq!(
        codes(&client.call(9, &commit("simple", topic_id, &[(0, 1)]))),
        [NONE]
    );
    for version in 0..=5 {
        let request = ListGroupsRequest {
            states_filter: vec!["EMPTY".into()],
            ..ListGroupsRequest::default()
        };
        let listed = client.call(version, &request);
        let mut names: Vec<_> = listed
            .groups
            .iter()
            .map(|group| group.group_id.to_string())
            .collect();
        names.sort();
        // Before v4 there is no filter.
        assert_eq!(
            names,
            if version < 4 {
                vec!["active", "simple"]
            } else {
                vec!["simple"]
            },
            "v{version}"
        );
        if version >= 5 {
            assert_eq!(
                (&*listed.groups[0].group_state, &*listed.groups[0].group_type),
                ("Empty", "classic")
            );
        }
    }
    for version in 0..=6 {
        let groups = vec!["active".into(), "nobody".into()];
        let request = DescribeGroupsRequest {
            groups,
            include_authorized_operations: true,
        };
        let described = client.call(version, &request).groups;
        assert_eq!(&*described[0].group_state, "CompletingRebalance");
        assert_eq!(described[0].members[0].member_id, joined.member_id);
        assert_eq!(&*described[0].members[0].client_host, "/127.0.0.1");
        let not_found = if version >= 6 {
            ErrorCode::GroupIdNotFound.code()
        } else {
            NONE
        };
        assert_eq!(
            (described[1].error_code, &*described[1].group_state),
            (not_found, "Dead")
        );
        if version >= 3 {
            assert_eq!(described[0].authorized_operations, 3_400);
        }
    }
}

#[test]
fn groups_and_offsets_are_there_after_a_restart() {
    let (mut node, mut client, topic_id) = with_topic();
    let joined = join_fully(&mut client, 9, "g");
    let member = joined.member_id;
    let sync = SyncGroupRequest {
        group_id: "g".into(),
        generation_id: 1,
        member_id: member.clone(),
        protocol_type: Some("consumer".into()),
        protocol_name: Some("range".into()),
        assignments: vec![SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: Bytes::from_static(b"all"),
        }],
        ..SyncGroupRequest::default()
    };
    assert_eq!(client.call(5, &sync).error_code, NONE);
    let request = OffsetCommitRequest {
        generation_id_or_member_epoch: 1,
        member_id: member.clone(),
        ..commit("g", topic_id, &[(0, 5), (1, 6)])
    };
    assert_eq!(codes(&client.call(9, &request)), [NONE, NONE]);

    node.restart();
    let mut client = node.connect();
    let heartbeat = HeartbeatRequest {
        group_id: "g".into(),
        generation_id: 1,
        member_id: member,
        ..HeartbeatRequest::default()
    };
    // While the coordinator loads, a heartbeat is no error either.
    assert_eq!(client.call(4, &heartbeat).error_code, NONE);
    let group = OffsetFetchRequestGroup {
        group_id: "g".into(),
        topics: None,
        ..OffsetFetchRequestGroup::default()
    };
    let request = OffsetFetchRequest {
        groups: vec![group],
        ..OffsetFetchRequest::default()
    };
    let fetched = loop {
        let fetched = client.call(8, &request).groups.remove(0);
        if fetched.error_code != ErrorCode::CoordinatorLoadInProgress.code() {
            break fetched;
        }
    };
    let offsets: Vec<i64> = fetched.topics[0]
        .partitions
        .iter()
        .map(|partition| partition.committed_offset)
        .collect();
    assert_eq!(offsets, [5, 6]);
    let synced = client.call(5, &sync);
    assert_eq!((synced.error_code, &*synced.assignment), (NONE, &b"all"[..]));
}

//! What a group is doing: its state, its members, what each of them has.
//!
//! Groups of the protocol of KIP-848 are described by their own API, classic ones by the old one; which a group is, the
//! first API's refusal tells.

use std::sync::Arc;

use model::{ErrorCode, TopicPartition};
use wire::Message as _;
use wire::Reader;
use wire::internal::consumer_protocol::ConsumerProtocolAssignment;
use wire::messages::consumer_group_describe::{self, ConsumerGroupDescribeRequest};
use wire::messages::describe_groups::{self, DescribeGroupsRequest};

use crate::client::Client;
use crate::error::{BrokerError, ClientError};
use crate::metadata::Broker;

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its id.
    pub id: String,
    /// Its state, such as `Stable`; `Dead` for a classic group that does not exist.
    pub state: String,
    /// How it divides partitions; empty while it has no members.
    pub assignor: String,
    /// What its members are: `consumer` for consumers.
    pub protocol_type: String,
    /// The broker that coordinates it.
    pub coordinator: Broker,
    /// Its members, by id.
    pub members: Vec<GroupMember>,
    /// The group's epoch and that of its target assignment; `None` for a classic group.
    pub epochs: Option<(i32, i32)>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Its id.
    pub id: String,
    /// The name of a static member.
    pub instance_id: Option<String>,
    /// What it calls itself.
    pub client_id: String,
    /// Where it connects from, such as `/127.0.0.1`.
    pub host: String,
    /// What it has.
    pub assignment: MemberAssignment,
    /// What it shall have; `None` in a classic group.
    pub target: Option<MemberAssignment>,
}

/// The partitions of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberAssignment {
    /// The epoch they belong to; `None` in a classic group.
    pub epoch: Option<i32>,
    /// The partitions, in order.
    pub partitions: Vec<TopicPartition>,
}

impl Client {
    /// Describes a group of consumers.
    pub async fn describe_group(&self, group: &str) -> Result<GroupDescription, ClientError> {
        let what = format!("describing group `{group}`");
        self.retry(&what, || async {
            match self.describe_consumer_group(group, &what).await {
                Err(ClientError::UnsupportedApi { .. }) => {}
                Err(error) if error.code() == Some(ErrorCode::GroupIdNotFound) => {}
                described => return described,
            }
            self.describe_classic_group(group, &what).await
        })
        .await
    }

    async fn describe_consumer_group(
        &self,
        group: &str,
        what: &str,
    ) -> Result<GroupDescription, ClientError> {
        let request = ConsumerGroupDescribeRequest {
            group_ids: vec![group.into()],
            ..ConsumerGroupDescribeRequest::default()
        };
        let response = self
            .call_coordinator(group, &request, |response| {
                let refusal = response.groups.first().and_then(|group| {
                    BrokerError::from_code(group.error_code, group.error_message.as_deref())
                });
                refusal.map_or(Ok(()), |error| Err(ClientError::broker(what, error)))
            })
            .await?;
        let Some(described) = response.groups.into_iter().next() else {
            return Err(ClientError::broker(what, ErrorCode::GroupIdNotFound.into()));
        };
        let mut members: Vec<GroupMember> = described.members.into_iter().map(consumer_member).collect();
        for member in &mut members {
            if let Some(target) = &mut member.target {
                target.epoch = Some(described.assignment_epoch);
            }
        }
        members.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(GroupDescription {
            id: group.to_owned(),
            state: described.group_state.to_string(),
            assignor: described.assignor_name.to_string(),
            protocol_type: "consumer".to_owned(),
            coordinator: self.coordinator(group).await?,
            members,
            epochs: Some((described.group_epoch, described.assignment_epoch)),
        })
    }

    async fn describe_classic_group(&self, group: &str, what: &str) -> Result<GroupDescription, ClientError> {
        let request = DescribeGroupsRequest {
            groups: vec![group.into()],
            ..DescribeGroupsRequest::default()
        };
        let response = self
            .call_coordinator(group, &request, |response| {
                let refusal = response.groups.first().and_then(|group| {
                    BrokerError::from_code(group.error_code, group.error_message.as_deref())
                });
                refusal.map_or(Ok(()), |error| Err(ClientError::broker(what, error)))
            })
            .await?;
        let Some(described) = response.groups.into_iter().next() else {
            return Err(ClientError::broker(what, ErrorCode::GroupIdNotFound.into()));
        };
        let mut members: Vec<GroupMember> = described.members.into_iter().map(classic_member).collect();
        members.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(GroupDescription {
            id: group.to_owned(),
            state: described.group_state.to_string(),
            assignor: described.protocol_data.to_string(),
            protocol_type: described.protocol_type.to_string(),
            coordinator: self.coordinator(group).await?,
            members,
            epochs: None,
        })
    }
}

fn consumer_member(member: consumer_group_describe::Member) -> GroupMember {
    GroupMember {
        id: member.member_id.to_string(),
        instance_id: member.instance_id.map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        assignment: MemberAssignment {
            epoch: Some(member.member_epoch),
            partitions: consumer_partitions(&member.assignment),
        },
        target: Some(MemberAssignment {
            epoch: None,
            partitions: consumer_partitions(&member.target_assignment),
        }),
    }
}

fn consumer_partitions(assignment: &consumer_group_describe::Assignment) -> Vec<TopicPartition> {
    let topics = assignment.topic_partitions.iter();
    let mut partitions: Vec<TopicPartition> = topics
        .flat_map(|topic| {
            let name: Arc<str> = Arc::from(&*topic.topic_name);
            topic
                .partitions
                .iter()
                .map(move |index| TopicPartition::new(name.clone(), *index))
        })
        .collect();
    partitions.sort();
    partitions
}

fn classic_member(member: describe_groups::DescribedGroupMember) -> GroupMember {
    GroupMember {
        id: member.member_id.to_string(),
        instance_id: member.group_instance_id.map(|id| id.to_string()),
        client_id: member.client_id.to_string(),
        host: member.client_host.to_string(),
        assignment: MemberAssignment {
            epoch: None,
            partitions: classic_partitions(member.member_assignment),
        },
        target: None,
    }
}

/// The partitions in what a leader handed out; none where it is empty or of another kind of client.
fn classic_partitions(assignment: bytes::Bytes) -> Vec<TopicPartition> {
    let mut reader = Reader::new(assignment);
    let decoded = reader.read_i16().and_then(|version| {
        let known = version.clamp(0, ConsumerProtocolAssignment::MAX_VERSION);
        ConsumerProtocolAssignment::decode(&mut reader, known)
    });
    let mut partitions: Vec<TopicPartition> = decoded
        .unwrap_or_default()
        .assigned_partitions
        .iter()
        .flat_map(|topic| {
            let name: Arc<str> = Arc::from(&*topic.topic);
            topic
                .partitions
                .iter()
                .map(move |index| TopicPartition::new(name.clone(), *index))
        })
        .collect();
    partitions.sort();
    partitions
}

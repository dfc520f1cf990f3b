//! What consumers tell each other inside JoinGroup and SyncGroup: two bytes of version, then the message.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use model::TopicPartition;
use wire::internal::consumer_protocol::{
    self as wire_protocol, ConsumerProtocolAssignment, ConsumerProtocolSubscription,
};
use wire::messages::join_group::JoinGroupResponseMember;
use wire::{DecodeError, EncodeError, Message, Reader, Str};

use crate::consumer::assignor::Member;

fn encode<M: Message>(message: &M) -> Result<Bytes, EncodeError> {
    let body = message.to_bytes(M::MAX_VERSION)?;
    let mut bytes = BytesMut::with_capacity(2 + body.len());
    bytes.put_i16(M::MAX_VERSION);
    bytes.put(body);
    Ok(bytes.freeze())
}

/// Of a later version, what this one has: fields are only ever added at the end.
fn decode<M: Message>(bytes: Bytes) -> Result<M, DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = reader.read_i16()?;
    M::decode(&mut reader, version.min(M::MAX_VERSION))
}

fn grouped(partitions: &[TopicPartition]) -> Vec<wire_protocol::TopicPartition> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics
            .entry(&partition.topic)
            .or_default()
            .push(partition.partition);
    }
    let topic = |(topic, partitions): (&str, _)| wire_protocol::TopicPartition {
        topic: topic.into(),
        partitions,
    };
    topics.into_iter().map(topic).collect()
}

fn flat(topics: &[wire_protocol::TopicPartition]) -> Vec<TopicPartition> {
    let partitions = |topic: &wire_protocol::TopicPartition| -> Vec<TopicPartition> {
        let name: Arc<str> = Arc::from(&*topic.topic);
        let indexes = topic.partitions.iter();
        indexes
            .map(|index| TopicPartition::new(name.clone(), *index))
            .collect()
    };
    topics.iter().flat_map(partitions).collect()
}

/// What a member wants, and what it has since `generation`.
pub(crate) fn subscription(
    topics: &[Arc<str>],
    owned: &[TopicPartition],
    generation: i32,
) -> Result<Bytes, EncodeError> {
    encode(&ConsumerProtocolSubscription {
        topics: topics.iter().map(|topic| Str::from(&**topic)).collect(),
        // Where Java's cooperative assignor looked for the generation before there was a field for it.
        user_data: Some(Bytes::copy_from_slice(&generation.to_be_bytes())),
        owned_partitions: grouped(owned),
        generation_id: generation,
        rack_id: None,
    })
}

/// A member as its leader sees it.
pub(crate) fn member(joined: &JoinGroupResponseMember) -> Result<Member, DecodeError> {
    let subscription: ConsumerProtocolSubscription = decode(joined.metadata.clone())?;
    Ok(Member {
        id: joined.member_id.to_string(),
        instance_id: joined.group_instance_id.as_ref().map(ToString::to_string),
        topics: subscription
            .topics
            .iter()
            .map(|topic| Arc::from(&**topic))
            .collect(),
        owned: flat(&subscription.owned_partitions),
        generation: subscription.generation_id,
    })
}

/// What a leader hands to a member.
pub(crate) fn assignment(partitions: &[TopicPartition]) -> Result<Bytes, EncodeError> {
    encode(&ConsumerProtocolAssignment {
        assigned_partitions: grouped(partitions),
        user_data: None,
    })
}

/// What a member was handed; nothing where the bytes are empty.
pub(crate) fn assigned(bytes: Bytes) -> Result<Vec<TopicPartition>, DecodeError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let assignment: ConsumerProtocolAssignment = decode(bytes)?;
    Ok(flat(&assignment.assigned_partitions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_reaches_the_leader_whole() {
        let owned = [TopicPartition::new("a", 0), TopicPartition::new("a", 2)];
        let joined = JoinGroupResponseMember {
            member_id: "m".into(),
            group_instance_id: Some("i".into()),
            metadata: subscription(&["a".into(), "b".into()], &owned, 4).unwrap(),
        };
        let member = member(&joined).unwrap();
        assert_eq!(member.topics.len(), 2);
        assert_eq!((member.owned.as_slice(), member.generation), (&owned[..], 4));
        assert_eq!(member.instance_id.as_deref(), Some("i"));
    }

    #[test]
    fn an_assignment_of_a_later_version_is_read_as_far_as_it_is_known() {
        let partitions = [TopicPartition::new("a", 1), TopicPartition::new("b", 0)];
        let mut bytes = assignment(&partitions).unwrap().to_vec();
        bytes[..2].copy_from_slice(&9i16.to_be_bytes());
        bytes.extend_from_slice(b"what comes later");
        assert_eq!(assigned(bytes.into()).unwrap(), partitions);
        assert_eq!(assigned(Bytes::new()).unwrap(), []);
        assert!(assigned(Bytes::from_static(&[0, 0, 0, 0])).is_err());
    }
}

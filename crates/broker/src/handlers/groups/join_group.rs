//! `JoinGroup`: a member joins a classic group, or joins it again. The answer comes when the rebalance is over.
//!
//! - v1: a rebalance time-out of its own; before, the session time-out counts for both.
//! - v4 (KIP-394): a member without an id is given one with MEMBER_ID_REQUIRED, and joins again with it.
//! - v5 (KIP-345): static members. v7: the type of protocol in the answer. v8: a reason, for the log.
//! - v9 (KIP-814): a static leader that restarted may be told to skip assigning.
//!
//! Unlike in Kafka, a static member that restarts brings along its new client id and host, a group's metadata is
//! bounded, and a refused first member makes no group.

use std::sync::Arc;

use bytes::Bytes;
use coordinator::{Answer, Joined, Newcomers, Protocol, Rejoins};
use model::ErrorCode;
use wire::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};

use super::{MISMATCH, ask, code, own, own_some, text};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct JoinGroup;

impl Handler for JoinGroup {
    type Request = JoinGroupRequest;
    const SPEC: ApiSpec = ApiSpec::of::<JoinGroupRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: JoinGroupRequest,
    ) -> Reply<JoinGroupResponse> {
        let version = context.api_version;
        let Some(unique) = random_uuid() else {
            return Reply::Now(refused(
                version,
                ErrorCode::UnknownServerError,
                &request.member_id,
            ));
        };
        let join = to_domain(context, &request, &unique);
        tracing::debug!(
            group = &*join.group,
            member = &*join.member,
            reason = request.reason.as_deref(),
            "joins"
        );
        let member = request.member_id.clone();
        ask(
            node,
            &request.group_id,
            move |shard, now, waiter| shard.join(now, join, waiter),
            move |answer| match answer {
                Ok(Answer::Join(Ok(joined))) => accepted(joined),
                Ok(Answer::Join(Err(error))) => refused(version, code(error.error), &error.member),
                Ok(_) => refused(version, MISMATCH, &member),
                Err(error) => refused(version, error, &member),
            },
        )
    }
}

fn to_domain(context: &RequestContext, request: &JoinGroupRequest, unique: &str) -> coordinator::JoinGroup {
    let version = context.api_version;
    let client_id = context.client_id();
    let protocols = request.protocols.iter().map(|protocol| Protocol {
        name: own(&protocol.name),
        metadata: Bytes::copy_from_slice(&protocol.metadata),
    });
    let prefix = request.group_instance_id.as_deref().unwrap_or(client_id);
    coordinator::JoinGroup {
        group: own(&request.group_id),
        member: own(&request.member_id),
        new_member: format!("{prefix}-{unique}").into(),
        instance: own_some(&request.group_instance_id),
        client_id: client_id.into(),
        client_host: context.client_host().into(),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: if version == 0 {
            request.session_timeout_ms
        } else {
            request.rebalance_timeout_ms
        },
        protocol_type: own(&request.protocol_type),
        protocols: protocols.collect(),
        newcomers: if version >= 4 {
            Newcomers::MustComeBack
        } else {
            Newcomers::Admitted
        },
        rejoins: if version >= 9 {
            Rejoins::MaySkipAssignment
        } else {
            Rejoins::MustNotLead
        },
    }
}

fn accepted(joined: Joined) -> JoinGroupResponse {
    let members = joined.members.iter().map(|member| JoinGroupResponseMember {
        member_id: text(&member.member),
        group_instance_id: member.instance.as_ref().map(text),
        metadata: member.metadata.clone(),
    });
    JoinGroupResponse {
        generation_id: joined.generation,
        protocol_type: joined.protocol_type.as_ref().map(text),
        protocol_name: Some(joined.protocol.as_ref().map(text).unwrap_or_default()),
        leader: text(&joined.leader),
        skip_assignment: joined.skip_assignment,
        member_id: text(&joined.member),
        members: members.collect(),
        ..JoinGroupResponse::default()
    }
}

fn refused(version: i16, error: ErrorCode, member: &str) -> JoinGroupResponse {
    JoinGroupResponse {
        error_code: error.code(),
        member_id: member.into(),
        protocol_name: if version >= 7 {
            None
        } else {
            Some(wire::Str::new())
        },
        ..JoinGroupResponse::default()
    }
}

/// A random id in the usual hexadecimal form, as Kafka makes them for members. `None` where the system gives no
/// randomness.
fn random_uuid() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let number = u128::from_be_bytes(bytes);
    // Version 4, variant 1 (RFC 9562).
    let number = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::random_uuid;

    #[test]
    fn member_ids_end_in_a_version_4_uuid() {
        for _ in 0..100 {
            let id = random_uuid().unwrap();
            let parts: Vec<&str> = id.split('-').collect();
            assert_eq!(
                parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
                [8, 4, 4, 4, 12]
            );
            assert!(
                parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']),
                "{id}"
            );
        }
        assert_ne!(random_uuid(), random_uuid());
    }
}

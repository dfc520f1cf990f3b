//! `SyncGroup`: a member asks for its assignment; the leader brings everybody's. The answer comes when the leader's
//! assignment is committed.
//!
//! - v3 (KIP-345): static members. v5: the member says which type of protocol, and which protocol, it believes in; it
//!   must.

use std::sync::Arc;

use bytes::Bytes;
use coordinator::Answer;
use model::ErrorCode;
use wire::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::{MISMATCH, ask, code, own, own_some, text};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct SyncGroup;

impl Handler for SyncGroup {
    type Request = SyncGroupRequest;
    const SPEC: ApiSpec = ApiSpec::of::<SyncGroupRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: SyncGroupRequest,
    ) -> Reply<SyncGroupResponse> {
        let says_protocol = request.protocol_type.is_some() && request.protocol_name.is_some();
        if context.api_version >= 5 && !says_protocol {
            return Reply::Now(refused(ErrorCode::InconsistentGroupProtocol));
        }
        let assignments = request.assignments.iter().map(|assignment| {
            (
                own(&assignment.member_id),
                Bytes::copy_from_slice(&assignment.assignment),
            )
        });
        let sync = coordinator::SyncGroup {
            group: own(&request.group_id),
            generation: request.generation_id,
            member: own(&request.member_id),
            instance: own_some(&request.group_instance_id),
            protocol_type: own_some(&request.protocol_type),
            protocol: own_some(&request.protocol_name),
            assignments: assignments.collect(),
        };
        ask(
            node,
            &request.group_id,
            move |shard, now, waiter| shard.sync(now, sync, waiter),
            |answer| match answer {
                Ok(Answer::Sync(Ok(synced))) => SyncGroupResponse {
                    protocol_type: synced.protocol_type.as_ref().map(text),
                    protocol_name: synced.protocol.as_ref().map(text),
                    assignment: synced.assignment,
                    ..SyncGroupResponse::default()
                },
                Ok(Answer::Sync(Err(error))) => refused(code(error)),
                Ok(_) => refused(MISMATCH),
                Err(error) => refused(error),
            },
        )
    }
}

fn refused(error: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse {
        error_code: error.code(),
        ..SyncGroupResponse::default()
    }
}

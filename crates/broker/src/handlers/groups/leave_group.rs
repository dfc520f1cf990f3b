//! `LeaveGroup`: members leave, or an administrator removes them.
//!
//! - v0 to v2: one member, whose error is the answer's. v3 (KIP-345): several, each with its own; a static member can
//!   be named by its instance id alone. v5: a reason, for the log.

use std::sync::Arc;

use coordinator::{Answer, LeavingMember, LeftMember};
use model::ErrorCode;
use wire::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberResponse};

use super::{MISMATCH, ask, code, own, own_some, text};
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct LeaveGroup;

impl Handler for LeaveGroup {
    type Request = LeaveGroupRequest;
    const SPEC: ApiSpec = ApiSpec::of::<LeaveGroupRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: LeaveGroupRequest,
    ) -> Reply<LeaveGroupResponse> {
        let version = context.api_version;
        let members = if version <= 2 {
            vec![LeavingMember {
                member: own(&request.member_id),
                instance: None,
            }]
        } else {
            let members = request.members.iter().map(|member| LeavingMember {
                member: own(&member.member_id),
                instance: own_some(&member.group_instance_id),
            });
            members.collect()
        };
        for leaving in &request.members {
            let (member, reason) = (&*leaving.member_id, leaving.reason.as_deref());
            tracing::debug!(group = &*request.group_id, member, reason, "leaves");
        }
        let leave = coordinator::LeaveGroup {
            group: own(&request.group_id),
            members,
        };
        ask(
            node,
            &request.group_id,
            move |shard, now, waiter| shard.leave(now, leave, waiter),
            move |answer| match answer {
                Ok(Answer::Leave(Ok(left))) => answered(version, &left),
                Ok(Answer::Leave(Err(error))) => refused(code(error)),
                Ok(_) => refused(MISMATCH),
                Err(error) => refused(error),
            },
        )
    }
}

fn answered(version: i16, left: &[LeftMember]) -> LeaveGroupResponse {
    let error = |member: &LeftMember| member.result.err().map_or(ErrorCode::None, code);
    if version <= 2 {
        return refused(left.first().map_or(ErrorCode::None, error));
    }
    let members = left.iter().map(|member| MemberResponse {
        member_id: text(&member.member),
        group_instance_id: member.instance.as_ref().map(text),
        error_code: error(member).code(),
    });
    LeaveGroupResponse {
        members: members.collect(),
        ..LeaveGroupResponse::default()
    }
}

fn refused(error: ErrorCode) -> LeaveGroupResponse {
    LeaveGroupResponse {
        error_code: error.code(),
        ..LeaveGroupResponse::default()
    }
}

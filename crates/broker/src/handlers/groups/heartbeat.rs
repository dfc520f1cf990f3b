//! `Heartbeat`: a member is alive, and learns whether its group rebalances.
//!
//! - v3 (KIP-345): static members.
//!
//! As in Kafka, a coordinator that still loads answers without an error: the member has its whole session time-out
//! before it once the group is loaded.

use std::sync::Arc;

use model::ErrorCode;
use wire::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};

use super::{code, own, own_some};
use crate::coordinators::Unavailable;
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct Heartbeat;

impl Handler for Heartbeat {
    type Request = HeartbeatRequest;
    const SPEC: ApiSpec = ApiSpec::of::<HeartbeatRequest>();

    fn handle(node: &Arc<Node>, _: &RequestContext, request: HeartbeatRequest) -> Reply<HeartbeatResponse> {
        let heartbeat = coordinator::Heartbeat {
            group: own(&request.group_id),
            generation: request.generation_id,
            member: own(&request.member_id),
            instance: own_some(&request.group_instance_id),
        };
        let error = match node
            .groups
            .look(&request.group_id, |shard, now| shard.heartbeat(now, &heartbeat))
        {
            Ok(result) => result.err().map_or(ErrorCode::None, code),
            Err(Unavailable::Loading) => ErrorCode::None,
            Err(unavailable) => unavailable.code(),
        };
        Reply::Now(HeartbeatResponse {
            error_code: error.code(),
            ..HeartbeatResponse::default()
        })
    }
}

//! `DescribeGroups`: classic groups with their members.
//!
//! - v3: the operations that the client may do, if asked. v4 (KIP-345): static members.
//! - v6: an unknown group is GROUP_ID_NOT_FOUND; before, a group in state Dead without an error. Groups of other
//!   protocols are unknown here.

use std::sync::Arc;

use model::ErrorCode;
use wire::Str;
use wire::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};

use super::text;
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// Read, delete, describe, describe configs, alter configs: all there is to do with a group. Nobody is refused
/// anything yet.
const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

/// The handler.
pub struct DescribeGroups;

impl Handler for DescribeGroups {
    type Request = DescribeGroupsRequest;
    const SPEC: ApiSpec = ApiSpec::of::<DescribeGroupsRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: DescribeGroupsRequest,
    ) -> Reply<DescribeGroupsResponse> {
        let groups = request.groups.into_iter().map(|group_id| {
            let mut described = describe(node, context.api_version, group_id);
            if request.include_authorized_operations && described.error_code == ErrorCode::None.code() {
                described.authorized_operations = ALL_OPERATIONS;
            }
            described
        });
        Reply::Now(DescribeGroupsResponse {
            groups: groups.collect(),
            ..DescribeGroupsResponse::default()
        })
    }
}

fn describe(node: &Node, version: i16, group_id: Str) -> DescribedGroup {
    match node.groups.look(&group_id, |shard, _| shard.describe(&group_id)) {
        Ok(Some(group)) => DescribedGroup {
            group_state: group.state.into(),
            protocol_type: text(&group.protocol_type),
            protocol_data: text(&group.protocol),
            members: group.members.into_iter().map(described).collect(),
            group_id,
            ..DescribedGroup::default()
        },
        Ok(None) if version >= 6 => DescribedGroup {
            error_code: ErrorCode::GroupIdNotFound.code(),
            error_message: Some(format!("Group {group_id} not found.").into()),
            group_state: "Dead".into(),
            group_id,
            ..DescribedGroup::default()
        },
        Ok(None) => DescribedGroup {
            group_state: "Dead".into(),
            group_id,
            ..DescribedGroup::default()
        },
        Err(unavailable) => DescribedGroup {
            error_code: unavailable.code().code(),
            group_id,
            ..DescribedGroup::default()
        },
    }
}

fn described(member: coordinator::DescribedMember) -> DescribedGroupMember {
    DescribedGroupMember {
        member_id: text(&member.member),
        group_instance_id: member.instance.as_ref().map(text),
        client_id: text(&member.client_id),
        client_host: text(&member.client_host),
        member_metadata: member.metadata,
        member_assignment: member.assignment,
    }
}

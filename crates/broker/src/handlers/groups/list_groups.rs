//! `ListGroups`: the groups this broker coordinates.
//!
//! - v4 (KIP-518): states, and a filter by them. v5 (KIP-848): types, and a filter by them.

use std::sync::Arc;

use coordinator::GroupFilter;
use wire::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use super::text;
use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};

/// The handler.
pub struct ListGroups;

impl Handler for ListGroups {
    type Request = ListGroupsRequest;
    // There may be very many groups.
    const SPEC: ApiSpec = ApiSpec::of::<ListGroupsRequest>().on_request_handlers();

    fn handle(node: &Arc<Node>, _: &RequestContext, request: ListGroupsRequest) -> Reply<ListGroupsResponse> {
        let words = |filter: &[wire::Str]| filter.iter().map(ToString::to_string).collect();
        let filter = GroupFilter {
            states: words(&request.states_filter),
            types: words(&request.types_filter),
        };
        Reply::Now(match node.groups.look_everywhere(|shard| shard.list(&filter)) {
            Ok(shards) => ListGroupsResponse {
                groups: shards.into_iter().flatten().map(listed).collect(),
                ..ListGroupsResponse::default()
            },
            Err(unavailable) => ListGroupsResponse {
                error_code: unavailable.code().code(),
                ..ListGroupsResponse::default()
            },
        })
    }
}

fn listed(group: coordinator::ListedGroup) -> ListedGroup {
    ListedGroup {
        group_id: text(&group.group),
        protocol_type: text(&group.protocol_type),
        group_state: group.state.into(),
        group_type: group.group_type.name().into(),
    }
}

//! InitProducerId (key 22): gives an idempotent producer its id.
//!
//! Versions: 3 lets a producer name the id it has (KIP-360), which without transactions changes nothing: it gets a new
//! one. Transactions are not served yet: a transactional id is refused with an error that no client retries.

use std::sync::Arc;

use model::{ErrorCode, ProducerId};
use wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use crate::dispatch::{ApiSpec, Handler, Node, Reply, RequestContext};
use crate::network::LogLimit;

/// Clients ask for transactions again and again, some until they give up without a word.
static TRANSACTIONS: LogLimit = LogLimit::new();

/// See the module.
pub struct InitProducerId;

impl Handler for InitProducerId {
    type Request = InitProducerIdRequest;

    const SPEC: ApiSpec = ApiSpec::of::<InitProducerIdRequest>();

    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: InitProducerIdRequest,
    ) -> Reply<InitProducerIdResponse> {
        if let Some(id) = request.transactional_id.as_deref() {
            log_transactions(context, id);
        }
        if let Some(code) = refused(&request) {
            return Reply::Now(answer(Err(code)));
        }
        if let Some(id) = node.producer_ids.take() {
            return Reply::Now(answer(Ok(id)));
        }
        let node = node.clone();
        // Every client asks again after this error.
        Reply::blocking(move || {
            answer(
                node.producer_ids
                    .take_blocking()
                    .ok_or(ErrorCode::CoordinatorLoadInProgress),
            )
        })
    }
}

pub(super) fn refused(request: &InitProducerIdRequest) -> Option<ErrorCode> {
    // Both or neither: an epoch belongs to an id.
    if (request.producer_id == -1) != (request.producer_epoch == -1) {
        return Some(ErrorCode::InvalidRequest);
    }
    match request.transactional_id.as_deref() {
        None => None,
        Some("") => Some(ErrorCode::InvalidRequest),
        Some(_) => Some(ErrorCode::UnsupportedVersion),
    }
}

/// Tells the operator who asks for transactions: not every client says that they were refused.
pub(in crate::handlers) fn log_transactions(context: &RequestContext, transactional_id: &str) {
    if let Some(left_out) = TRANSACTIONS.permit() {
        let (client, peer) = (context.client_id(), context.connection.peer);
        tracing::warn!(
            transactional_id, client, %peer, left_out,
            "transactions are not served by this version: a client that sets transactional.id cannot go on"
        );
    }
}

fn answer(id: Result<ProducerId, ErrorCode>) -> InitProducerIdResponse {
    match id {
        Ok(id) => InitProducerIdResponse {
            producer_id: id.0,
            ..InitProducerIdResponse::default()
        },
        Err(code) => InitProducerIdResponse {
            error_code: code as i16,
            producer_epoch: -1,
            ..InitProducerIdResponse::default()
        },
    }
}

//! The table of APIs, looked up by key.

use std::sync::Arc;

use wire::api::ApiKey;

use super::api::{ApiSpec, Handler};
use super::context::RequestContext;
use super::node::Node;
use super::serve::{Outcome, serve};
use crate::config::ListenerUse;

/// An API's way from a request's body to its outcome.
pub(super) type ServeApi = fn(&Arc<Node>, RequestContext, wire::Reader) -> Outcome;

/// An API with its handler: one line of the table in `handlers/mod.rs`.
#[derive(Clone, Copy)]
pub struct Api {
    /// The facts.
    pub spec: ApiSpec,
    pub(super) serve: ServeApi,
}

/// A line of the table.
pub const fn api<H: Handler>() -> Api {
    Api {
        spec: H::SPEC,
        serve: serve::<H>,
    }
}

/// The APIs one kind of listener serves.
pub struct ApiTable {
    /// By key; keys are small and dense.
    by_key: Vec<Option<&'static Api>>,
}

impl ApiTable {
    /// Those of `apis` that listeners of this kind serve.
    pub fn new(apis: &'static [Api], role: ListenerUse) -> ApiTable {
        let mut by_key = Vec::new();
        for api in apis.iter().filter(|api| api.spec.is_on(role)) {
            let index = index(api.spec.key);
            if by_key.len() <= index {
                by_key.resize(index + 1, None);
            }
            if let Some(slot) = by_key.get_mut(index) {
                *slot = Some(api);
            }
        }
        ApiTable { by_key }
    }

    /// The API of a key, if it is served.
    pub fn get(&self, key: ApiKey) -> Option<&'static Api> {
        self.by_key.get(index(key)).copied().flatten()
    }
}

fn index(key: ApiKey) -> usize {
    usize::from(key.key().cast_unsigned())
}

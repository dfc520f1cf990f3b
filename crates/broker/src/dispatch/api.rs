//! What a handler is, and what it says about its API.

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use wire::Request;
use wire::api::{ApiKey, Listeners};

use super::context::RequestContext;
use super::node::Node;
use crate::config::ListenerUse;

/// The facts about one API, stated once, in the file of its handler. ApiVersions' answer, the page of the protocol and
/// the conformance matrix come from them. Versions and listeners are Apache Kafka 4.3.1's unless this says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct ApiSpec {
    /// Which API.
    pub key: ApiKey,
    /// The lowest version that ApiVersions shows, where it is not the lowest that is served.
    advertised_min: Option<i16>,
    /// Whether controllers' listeners serve it, where Apache Kafka's do.
    on_controller: bool,
    /// When a request may start.
    pub order: Order,
    /// Where the handler runs.
    pub place: Place,
}

/// When a request may start, seen from the other requests of its connection. Replies always leave in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// When every earlier request of the connection has its answer, and the next one waits likewise: what Apache Kafka
    /// does with every request (rule 150).
    Alone,
    /// While earlier requests of this kind still wait for their answers: appends happen in the order they came, but
    /// waiting for a disk does not hold up the next one.
    Pipelined,
}

/// Where a handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the network thread. It may write to the page cache but must not wait for a disk, a lock held by someone who
    /// does, or another thread.
    Inline,
    /// On the network thread as long as that is fast: when the kernel throttles writers, on a request handler thread.
    InlineWhileFast,
    /// On a request handler thread, where it may block.
    RequestHandler,
}

impl ApiSpec {
    /// An API at all its stable versions, on its listeners, one request at a time, inline.
    pub const fn of<R: Request>() -> ApiSpec {
        ApiSpec {
            key: R::API_KEY,
            advertised_min: None,
            on_controller: true,
            order: Order::Alone,
            place: Place::Inline,
        }
    }

    /// Controllers' listeners do not serve it yet.
    pub const fn not_on_controller(self) -> ApiSpec {
        ApiSpec {
            on_controller: false,
            ..self
        }
    }

    /// ApiVersions shows it from a version on that is not served.
    pub const fn advertised_from(self, version: i16) -> ApiSpec {
        ApiSpec {
            advertised_min: Some(version),
            ..self
        }
    }

    /// It may start while earlier pipelined requests still wait.
    pub const fn pipelined(self) -> ApiSpec {
        ApiSpec {
            order: Order::Pipelined,
            ..self
        }
    }

    /// It writes to the page cache, which is no wait until the kernel throttles writers.
    pub const fn inline_while_fast(self) -> ApiSpec {
        ApiSpec {
            place: Place::InlineWhileFast,
            ..self
        }
    }

    /// It may block, and runs on the request handler threads.
    pub const fn on_request_handlers(self) -> ApiSpec {
        ApiSpec {
            place: Place::RequestHandler,
            ..self
        }
    }

    /// Whether a listener of this kind serves it.
    pub fn is_on(&self, role: ListenerUse) -> bool {
        match (role, self.key.listeners()) {
            (ListenerUse::Broker, Listeners::Broker | Listeners::Both) => true,
            (ListenerUse::Controller, Listeners::Controller | Listeners::Both) => self.on_controller,
            (ListenerUse::Broker, Listeners::Controller) | (ListenerUse::Controller, Listeners::Broker) => {
                false
            }
        }
    }

    /// Whether a version is served.
    pub fn serves(&self, version: i16) -> bool {
        self.key.has_version(version)
    }

    /// The lowest and the highest version that ApiVersions shows.
    pub fn advertised(&self) -> (i16, i16) {
        let (min, max) = self.key.versions();
        (self.advertised_min.unwrap_or(min), max)
    }
}

/// The code of one API: translates a request to what the cores understand, and their answer back.
pub trait Handler: 'static {
    /// The request; its response goes with it.
    type Request: Request<Response: Send + 'static>;
    /// The facts.
    const SPEC: ApiSpec;

    /// Answers one request. `context.api_version` is one that [`ApiSpec`] serves.
    fn handle(
        node: &Arc<Node>,
        context: &RequestContext,
        request: Self::Request,
    ) -> Reply<<Self::Request as Request>::Response>;
}

/// A request that waits for others, on behalf of a connection.
pub trait Parked: Send + Sync {
    /// Nobody waits for the answer any more: lets go of what it holds. Called on a network thread or a request handler,
    /// at any time, perhaps while the request is being worked on; it must not block.
    fn abandon(&self);
}

/// What a handler gives back.
pub enum Reply<R> {
    /// The answer.
    Now(R),
    /// The answer comes through this channel. When its sender is dropped without one, the connection is closed.
    Later(oneshot::Receiver<R>),
    /// The same from something that holds much while it waits: it is told when its connection ends before the answer.
    Parked(oneshot::Receiver<R>, Weak<dyn Parked>),
    /// The rest may block: a request handler thread runs it.
    Blocking(Box<dyn FnOnce() -> Reply<R> + Send>),
    /// The client expects no answer (acks=0).
    None,
    /// The connection is to be closed, with why.
    Close(&'static str),
}

impl<R> Reply<R> {
    /// Hands `work`, which may block, to a request handler thread.
    pub fn blocking(work: impl FnOnce() -> R + Send + 'static) -> Reply<R> {
        Reply::Blocking(Box::new(move || Reply::Now(work())))
    }
}

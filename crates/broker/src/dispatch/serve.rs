//! One request's way: header, the API it is for, its body, the handler, the frame of the answer.
//!
//! Nothing here waits and nothing knows sockets: the connection drives the [`Outcome`].

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::sync::oneshot;
use wire::api::ApiKey;
use wire::header::{RequestHeader, ResponseHeader};
use wire::{DecodeError, EncodeError, Message, Reader, Segment, Writer};

use super::api::{Handler, Order, Parked, Place, Reply};
use super::context::{ConnectionInfo, RequestContext};
use super::node::Node;
use super::registry::{Api, ApiTable, ServeApi};
use crate::handlers::cluster::api_versions;
use crate::metrics;

/// What became of a request, for its connection to act on.
pub(crate) enum Outcome {
    /// The frame of the answer.
    Answer(Vec<Segment>),
    /// The answer will come.
    Pending(Box<dyn Pending>),
    /// A request handler thread has to go on.
    Blocking(Box<dyn FnOnce() -> Outcome + Send>),
    /// There is no answer to this request.
    Nothing,
    /// The connection is to be closed.
    Close(CloseReason),
}

/// An answer that will come.
pub(crate) trait Pending: Send {
    /// Ready with what became of it.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome>;
}

/// Why the broker closes a connection because of a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CloseReason {
    #[error("a request that cannot be read: {0}")]
    Malformed(DecodeError),
    #[error("a {api} request of version {version} that cannot be read: {error}")]
    MalformedBody {
        api: &'static str,
        version: i16,
        error: DecodeError,
    },
    #[error("a {0} request, which this listener does not serve")]
    UnservedApi(&'static str),
    #[error("a {api} request of version {version}, which is not served")]
    UnsupportedVersion { api: &'static str, version: i16 },
    #[error("{0}")]
    Handler(&'static str),
    #[error("the answer has no form on the wire: {0}")]
    Encode(EncodeError),
    #[error("the request was abandoned without an answer")]
    Abandoned,
}

/// A request whose header was read.
pub(crate) struct Request {
    api: &'static Api,
    header: RequestHeader,
    body: Reader,
}

/// Reads a frame's header. `Err` is what becomes of a frame that no handler sees: nearly always the end of its
/// connection.
pub(crate) fn parse(apis: &ApiTable, frame: Bytes) -> Result<Request, Outcome> {
    let mut body = Reader::new(frame);
    let (key, header) = match RequestHeader::read_any(&mut body) {
        Ok(read) => read,
        Err(error) => return Err(Outcome::Close(CloseReason::Malformed(error))),
    };
    let Some(api) = apis.get(key) else {
        return Err(Outcome::Close(CloseReason::UnservedApi(key.name())));
    };
    let version = header.request_api_version;
    if api.spec.serves(version) {
        return Ok(Request { api, header, body });
    }
    if key == ApiKey::ApiVersions {
        let answer = api_versions::unsupported_version();
        return Err(encode(Head::new(key, 0, header.correlation_id), &answer));
    }
    Err(Outcome::Close(CloseReason::UnsupportedVersion {
        api: key.name(),
        version,
    }))
}

impl Request {
    pub(crate) fn order(&self) -> Order {
        self.api.spec.order
    }

    pub(crate) fn place(&self) -> Place {
        self.api.spec.place
    }

    /// Runs the handler on this thread.
    pub(crate) fn run(self, node: &Arc<Node>, connection: &Arc<ConnectionInfo>) -> Outcome {
        let (serve, context, body) = self.parts(connection);
        serve(node, context, body)
    }

    /// Leaves the handler to a request handler thread.
    pub(crate) fn defer(self, node: &Arc<Node>, connection: &Arc<ConnectionInfo>) -> Outcome {
        let (serve, context, body) = self.parts(connection);
        let node = node.clone();
        Outcome::Blocking(Box::new(move || serve(&node, context, body)))
    }

    fn parts(self, connection: &Arc<ConnectionInfo>) -> (ServeApi, RequestContext, Reader) {
        let context = RequestContext {
            api_version: self.header.request_api_version,
            correlation_id: self.header.correlation_id,
            client_id: self.header.client_id,
            connection: connection.clone(),
        };
        (self.api.serve, context, self.body)
    }
}

/// One API's way from the body's bytes to the outcome.
pub(super) fn serve<H: Handler>(node: &Arc<Node>, context: RequestContext, mut body: Reader) -> Outcome {
    let head = Head::new(H::SPEC.key, context.api_version, context.correlation_id);
    let request = match H::Request::decode(&mut body, context.api_version) {
        Ok(request) => request,
        Err(error) => {
            return Outcome::Close(CloseReason::MalformedBody {
                api: H::SPEC.key.name(),
                version: context.api_version,
                error,
            });
        }
    };
    if body.remaining() > 0 {
        // Apache Kafka does not look; some clients depend on that (bad input 13).
        metrics::COUNTERS.trailing_bytes.fetch_add(1, Ordering::Relaxed);
    }
    drop(body);
    outcome(head, H::handle(node, &context, request))
}

fn outcome<R: Message + Send + 'static>(head: Head, reply: Reply<R>) -> Outcome {
    match reply {
        Reply::Now(response) => encode(head, &response),
        Reply::Later(receiver) => Outcome::Pending(Box::new(Later {
            head,
            receiver,
            parked: None,
        })),
        Reply::Parked(receiver, parked) => Outcome::Pending(Box::new(Later {
            head,
            receiver,
            parked: Some(parked),
        })),
        Reply::Blocking(work) => Outcome::Blocking(Box::new(move || outcome(head, work()))),
        Reply::None => Outcome::Nothing,
        Reply::Close(reason) => Outcome::Close(CloseReason::Handler(reason)),
    }
}

/// What an answer needs of its request.
#[derive(Clone, Copy)]
struct Head {
    key: ApiKey,
    version: i16,
    correlation_id: i32,
}

impl Head {
    fn new(key: ApiKey, version: i16, correlation_id: i32) -> Head {
        Head {
            key,
            version,
            correlation_id,
        }
    }
}

fn encode<R: Message>(head: Head, response: &R) -> Outcome {
    let frame = || {
        let mut writer = Writer::framed();
        let header = ResponseHeader {
            correlation_id: head.correlation_id,
        };
        header.encode(&mut writer, ResponseHeader::version(head.key, head.version))?;
        response.encode(&mut writer, head.version)?;
        writer.finish_frame()
    };
    match frame() {
        Ok(frame) => Outcome::Answer(frame),
        Err(error) => Outcome::Close(CloseReason::Encode(error)),
    }
}

struct Later<R> {
    head: Head,
    receiver: oneshot::Receiver<R>,
    /// Who is told when this is dropped without the answer. Weak: an answer that waits for its turn keeps only itself.
    parked: Option<Weak<dyn Parked>>,
}

impl<R> Drop for Later<R> {
    fn drop(&mut self) {
        if let Some(parked) = self.parked.take().and_then(|parked| parked.upgrade()) {
            parked.abandon();
        }
    }
}

impl<R: Message + Send> Pending for Later<R> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        let response = ready!(Pin::new(&mut self.receiver).poll(context));
        self.parked = None;
        Poll::Ready(match response {
            Ok(response) => encode(self.head, &response),
            Err(_) => Outcome::Close(CloseReason::Abandoned),
        })
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Answer(_) => f.write_str("Answer"),
            Outcome::Pending(_) => f.write_str("Pending"),
            Outcome::Blocking(_) => f.write_str("Blocking"),
            Outcome::Nothing => f.write_str("Nothing"),
            Outcome::Close(reason) => write!(f, "Close({reason})"),
        }
    }
}

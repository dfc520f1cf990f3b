//! One connection to one broker: requests go out as they come, answers come back in the same order, and each finds its
//! caller. A task owns the socket; it ends with the last handle, or with the connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use transport::{FramedConnection, TcpOptions};
use wire::header::{RequestHeader, ResponseHeader};
use wire::messages::api_versions::ApiVersionsRequest;
use wire::{ApiKey, EncodeError, Message, Reader, Request, Segment, Writer};

use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::versions::Versions;

/// Requests handed to the task and not yet on their way.
const QUEUE_LENGTH: usize = 64;
/// The largest answer taken: as much as an array in Java can hold, and so as any broker sends.
const FRAME_MAX: usize = i32::MAX as usize;

/// A handle to a connection. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    address: Arc<str>,
    client_id: String,
    versions: Versions,
    correlation_id: AtomicI32,
    outbox: mpsc::Sender<Outgoing>,
}

/// An answer to come.
type Answer = oneshot::Receiver<Result<Bytes, ClientError>>;

/// What the task is asked to do.
#[derive(Debug)]
enum Outgoing {
    /// Send a frame; its answer goes to `reply`.
    Call {
        frame: Vec<Segment>,
        correlation_id: i32,
        reply: oneshot::Sender<Result<Bytes, ClientError>>,
    },
    /// Send a frame that is not answered.
    Cast { frame: Vec<Segment> },
    /// Give up: an answer is overdue, and those behind it with it.
    Close { reason: &'static str },
}

impl Connection {
    /// Connects to `host:port` and asks which versions are served.
    pub(crate) async fn open(address: &str, config: &ClientConfig) -> Result<Connection, ClientError> {
        let address: Arc<str> = address.into();
        let failed = |reason: String| ClientError::Disconnected {
            address: address.clone(),
            reason: reason.into(),
        };
        let connecting = tokio::time::timeout(config.connection_setup_timeout, TcpStream::connect(&*address));
        let socket = match connecting.await {
            Ok(Ok(socket)) => socket,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed("it was not established in time".to_owned())),
        };
        TcpOptions::default()
            .apply(&socket)
            .map_err(|error| failed(error.to_string()))?;
        let (outbox, inbox) = mpsc::channel(QUEUE_LENGTH);
        let task = Task {
            address: address.clone(),
            connection: FramedConnection::new(socket, FRAME_MAX),
            waiting: VecDeque::new(),
        };
        tokio::spawn(task.run(inbox));
        let mut shared = Shared {
            address,
            client_id: config.client_id.clone(),
            versions: Versions::default(),
            correlation_id: AtomicI32::new(0),
            outbox,
        };
        shared.versions = shared.learn_versions(config.request_timeout).await?;
        Ok(Connection {
            shared: Arc::new(shared),
        })
    }

    /// Whether it can still be used.
    pub(crate) fn is_open(&self) -> bool {
        !self.shared.outbox.is_closed()
    }

    /// The version of an API that both sides speak; an error when there is none.
    pub(crate) fn version<R: Request>(&self) -> Result<i16, ClientError> {
        self.shared
            .versions
            .common(R::API_KEY)
            .ok_or_else(|| ClientError::UnsupportedApi {
                address: self.shared.address.clone(),
                api: R::API_KEY.name(),
            })
    }

    /// Sends a request at the best common version and waits for its answer.
    pub(crate) async fn call<R: Request>(
        &self,
        request: &R,
        timeout: Duration,
    ) -> Result<R::Response, ClientError> {
        self.call_at(request, self.version::<R>()?, timeout).await
    }

    /// Sends a request at a version that [`Connection::version`] gave, or a lower one.
    pub(crate) async fn call_at<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<R::Response, ClientError> {
        let frame = self.shared.call(request, version, timeout).await?;
        read_body::<R>(frame, version)
    }

    /// Sends a request; the future is its answer. Requests leave in the order of these calls.
    pub(crate) async fn start<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<impl Future<Output = Result<R::Response, ClientError>> + Send + use<R>, ClientError> {
        let deadline = Instant::now() + timeout;
        let answer = self.shared.hand_over(request, version).await?;
        let shared = self.shared.clone();
        Ok(async move {
            let frame = shared.answered::<R>(answer, deadline, timeout).await?;
            read_body::<R>(frame, version)
        })
    }

    /// Sends a request that the broker does not answer.
    pub(crate) async fn cast<R: Request>(&self, request: &R, version: i16) -> Result<(), ClientError> {
        let (frame, _) = self.shared.encode(request, version)?;
        let sent = self.shared.outbox.send(Outgoing::Cast { frame }).await;
        sent.map_err(|_| self.shared.ended())
    }
}

/// The message behind the header of an answer.
fn read_body<R: Request>(frame: Bytes, version: i16) -> Result<R::Response, ClientError> {
    let mut reader = Reader::new(frame);
    ResponseHeader::decode(&mut reader, ResponseHeader::version(R::API_KEY, version))
        .and_then(|_| R::Response::decode(&mut reader, version))
        .map_err(|error| ClientError::malformed(R::API_KEY.name(), &error))
}

impl Shared {
    /// The first question on every connection. A broker that does not know our version of it answers in version 0,
    /// naming those it does (KIP-511).
    async fn learn_versions(&self, timeout: Duration) -> Result<Versions, ClientError> {
        const UNSUPPORTED_VERSION: [u8; 2] = model::ErrorCode::UnsupportedVersion.code().to_be_bytes();
        const CORRELATION_ID: usize = 4;
        let request = ApiVersionsRequest {
            client_software_name: "gracchus".into(),
            client_software_version: env!("CARGO_PKG_VERSION").into(),
        };
        let newest = ApiKey::ApiVersions.versions().1;
        let frame = self.call(&request, newest, timeout).await?;
        if frame.get(CORRELATION_ID..CORRELATION_ID + 2) != Some(&UNSUPPORTED_VERSION) {
            return Ok(Versions::from(&read_body::<ApiVersionsRequest>(frame, newest)?));
        }
        let served = Versions::from(&read_body::<ApiVersionsRequest>(frame, 0)?);
        let version = served.common(ApiKey::ApiVersions).unwrap_or(0);
        let frame = self.call(&request, version, timeout).await?;
        Ok(Versions::from(&read_body::<ApiVersionsRequest>(frame, version)?))
    }

    async fn call<R: Request>(
        &self,
        request: &R,
        version: i16,
        timeout: Duration,
    ) -> Result<Bytes, ClientError> {
        let deadline = Instant::now() + timeout;
        match timeout_at(deadline, self.hand_over(request, version)).await {
            Ok(answer) => self.answered::<R>(answer?, deadline, timeout).await,
            Err(_) => Err(self.overdue::<R>(timeout)),
        }
    }

    /// Gives a request to the task; requests leave in the order of these calls.
    async fn hand_over<R: Request>(&self, request: &R, version: i16) -> Result<Answer, ClientError> {
        let (frame, correlation_id) = self.encode(request, version)?;
        let (reply, answer) = oneshot::channel();
        let call = Outgoing::Call {
            frame,
            correlation_id,
            reply,
        };
        self.outbox.send(call).await.map_err(|_| self.ended())?;
        Ok(answer)
    }

    async fn answered<R: Request>(
        &self,
        answer: Answer,
        deadline: Instant,
        timeout: Duration,
    ) -> Result<Bytes, ClientError> {
        match timeout_at(deadline, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(self.ended())),
            Err(_) => Err(self.overdue::<R>(timeout)),
        }
    }

    /// Gives the connection up: what comes behind an overdue answer is not to be waited for either.
    fn overdue<R: Request>(&self, timeout: Duration) -> ClientError {
        // A full queue is in the hands of a task that notices its own end.
        let _ = self.outbox.try_send(Outgoing::Close {
            reason: "a request was not answered in time",
        });
        ClientError::TimedOut {
            what: format!("{} at {}", R::API_KEY.name(), self.address).into(),
            after: timeout,
        }
    }

    fn encode<R: Request>(&self, request: &R, version: i16) -> Result<(Vec<Segment>, i32), ClientError> {
        let correlation_id = self.correlation_id.fetch_add(1, Ordering::Relaxed);
        let header = RequestHeader {
            request_api_key: R::API_KEY as i16,
            request_api_version: version,
            correlation_id,
            client_id: Some(self.client_id.as_str().into()),
        };
        let encoded = || -> Result<Vec<Segment>, EncodeError> {
            let mut writer = Writer::framed();
            header.encode(&mut writer, RequestHeader::version(R::API_KEY, version))?;
            request.encode(&mut writer, version)?;
            writer.finish_frame()
        };
        let frame = encoded().map_err(|error| ClientError::Unencodable {
            api: R::API_KEY.name(),
            error,
        })?;
        Ok((frame, correlation_id))
    }

    fn ended(&self) -> ClientError {
        ClientError::Disconnected {
            address: self.address.clone(),
            reason: "it was closed".into(),
        }
    }
}

/// The owner of the socket.
struct Task {
    address: Arc<str>,
    connection: FramedConnection,
    waiting: VecDeque<(i32, oneshot::Sender<Result<Bytes, ClientError>>)>,
}

impl Task {
    async fn run(mut self, mut inbox: mpsc::Receiver<Outgoing>) {
        let reason = self.exchange(&mut inbox).await;
        inbox.close();
        let error = ClientError::Disconnected {
            address: self.address.clone(),
            reason: reason.into(),
        };
        let queued = std::iter::from_fn(|| inbox.try_recv().ok()).filter_map(|outgoing| match outgoing {
            Outgoing::Call { reply, .. } => Some(reply),
            Outgoing::Cast { .. } | Outgoing::Close { .. } => None,
        });
        for reply in self.waiting.drain(..).map(|(_, reply)| reply).chain(queued) {
            let _ = reply.send(Err(error.clone()));
        }
    }

    /// Sends and receives until something ends it; returns what.
    async fn exchange(&mut self, inbox: &mut mpsc::Receiver<Outgoing>) -> String {
        loop {
            tokio::select! {
                outgoing = inbox.recv() => match outgoing {
                    Some(Outgoing::Call { frame, correlation_id, reply }) => {
                        self.connection.enqueue(frame);
                        self.waiting.push_back((correlation_id, reply));
                    }
                    Some(Outgoing::Cast { frame }) => self.connection.enqueue(frame),
                    Some(Outgoing::Close { reason }) => return reason.to_owned(),
                    None => {
                        // The last handle is gone: what was cast still leaves.
                        let _ = self.connection.flush().await;
                        return "it is not used any more".to_owned();
                    }
                },
                frame = self.connection.next_frame() => match frame {
                    Ok(frame) => if let Err(reason) = self.answer(frame) {
                        return reason;
                    },
                    Err(error) => return error.to_string(),
                },
            }
        }
    }

    fn answer(&mut self, frame: Bytes) -> Result<(), String> {
        let Some((expected, reply)) = self.waiting.pop_front() else {
            return Err("the broker sent an answer that was not asked for".to_owned());
        };
        let answered = frame.first_chunk().map(|id| i32::from_be_bytes(*id));
        if answered != Some(expected) {
            return Err(format!("answer {answered:?} came where {expected} was due"));
        }
        // A caller that gave up does not mind.
        let _ = reply.send(Ok(frame));
        Ok(())
    }
}

//! One connection: frames in, requests started in order, replies out in the same order.
//!
//! A single task does both directions. It never waits for a disk or a lock; what could is with a request handler, and
//! what waits for others is a reply that is not ready yet. Everything it holds is bounded: requests without an answer,
//! by number and bytes; answers that the client does not read; time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::sync::oneshot;
use transport::{ConnectionError, FramedConnection};
use wire::Segment;

use super::cold_read::{ColdReads, read_small};
use super::deadlines::{Activity, Deadlines};
use super::limits::{ByteShare, ConnectionPermit};
use super::processor::Shared;
use super::request_queue::{PermitWait, RequestQueue};
use crate::dispatch::{
    ApiTable, CloseReason, ConnectionInfo, Order, Outcome, Pending, Place, Request, parse,
};

/// Requests of one connection that may wait for their answers.
const AWAITED_MAX: usize = 1024;
/// Their bytes; one request alone may have more.
const AWAITED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Answers on their way out beyond which no request is started; one answer alone may have more.
const OUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Requests and reads of one connection before the others of its thread have their turn.
const TURNS_MAX: usize = 64;

/// A socket that was accepted, with all that belongs to it.
pub(super) struct Accepted {
    pub(super) socket: std::net::TcpStream,
    pub(super) info: Arc<ConnectionInfo>,
    pub(super) apis: Arc<ApiTable>,
    pub(super) permit: ConnectionPermit,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error(transparent)]
    Network(#[from] ConnectionError),
    #[error("the client sent {0}")]
    Request(CloseReason),
    #[error("no complete request came in time")]
    NoRequest,
    #[error("nothing happened for connections.max.idle.ms")]
    Idle,
    #[error("the client does not read its responses")]
    NotReading,
    #[error("there was no memory to receive the rest of a request")]
    NoMemory,
    #[error("the broker stops")]
    Stopping,
}

/// A request that was started.
struct Awaited {
    outcome: Outcome,
    bytes: usize,
    order: Order,
    /// A request handler works on it: its appends may be yet to come, so nothing behind it starts.
    with_handler: bool,
}

/// Whether something was done that may let something else be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Progress,
    Blocked,
}

impl Step {
    fn or(self, other: Step) -> Step {
        if self == Step::Progress { self } else { other }
    }
}

pub(super) struct Connection {
    framed: FramedConnection,
    info: Arc<ConnectionInfo>,
    apis: Arc<ApiTable>,
    shared: Rc<Shared>,
    /// Started requests whose answers have not left, in order.
    awaited: VecDeque<Awaited>,
    awaited_bytes: usize,
    /// A received request that has to wait for those before it.
    held_back: Option<(Request, usize)>,
    closing: Option<CloseReason>,
    share: ByteShare,
    permit_wait: PermitWait,
    cold_reads: ColdReads,
    deadlines: Deadlines,
    _permit: ConnectionPermit,
}

impl Connection {
    pub(super) fn new(accepted: Accepted, shared: Rc<Shared>) -> std::io::Result<Connection> {
        let socket = tokio::net::TcpStream::from_std(accepted.socket)?;
        Ok(Connection {
            framed: FramedConnection::new(socket, shared.settings.frame_max),
            info: accepted.info,
            apis: accepted.apis,
            awaited: VecDeque::new(),
            awaited_bytes: 0,
            held_back: None,
            closing: None,
            share: shared.budget.share(),
            permit_wait: PermitWait::default(),
            cold_reads: ColdReads::default(),
            deadlines: Deadlines::new(shared.settings.timeouts, Instant::now()),
            shared,
            _permit: accepted.permit,
        })
    }

    /// Serves the connection to its end.
    pub(super) async fn run(mut self) -> End {
        self.shared.enter(self.info.id).await;
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        let now = Instant::now();
        if let Err(end) = self.work(context, now) {
            return Poll::Ready(end);
        }
        if let Some(end) = self.finished() {
            return Poll::Ready(end);
        }
        if self.deadlines.has_rung() {
            self.framed.received_mut().release_if_empty();
        }
        let activity = self.activity();
        self.share.set(self.framed.received().held() + self.awaited_bytes);
        if let Some(end) = self.deadlines.overdue(now, activity) {
            return Poll::Ready(end);
        }
        self.deadlines.sleep(context, now, activity);
        Poll::Pending
    }

    fn activity(&self) -> Activity {
        let received = self.framed.received();
        let has_begun = received.partial() > 0;
        Activity {
            is_busy: self.held_back.is_some()
                || !self.awaited.is_empty()
                || !self.framed.sending().is_empty(),
            has_begun,
            holds_buffer: !has_begun && received.held() > 0,
        }
    }

    /// Does all that can be done now, or its turns of it.
    fn work(&mut self, context: &mut Context<'_>, now: Instant) -> Result<(), End> {
        for _ in 0..TURNS_MAX {
            let mut step = self.start_received(now)?;
            step = step.or(self.drive_blocking(context));
            step = step.or(self.settle(context));
            step = step.or(self.send(context, now)?);
            // Any of these can have made room for requests that are here already.
            if step == Step::Blocked && self.receive(context, now)? == Step::Blocked {
                return Ok(());
            }
        }
        context.waker().wake_by_ref();
        Ok(())
    }

    /// Starts received requests as far as they may start. Progress when it stopped only because it had its turns.
    fn start_received(&mut self, now: Instant) -> Result<Step, End> {
        for _ in 0..TURNS_MAX {
            if !self.may_start() {
                return Ok(Step::Blocked);
            }
            let (request, bytes) = match self.held_back.take() {
                Some(held_back) => held_back,
                None => {
                    let received = self.framed.received_mut();
                    let Some(frame) = received.next_frame().map_err(ConnectionError::from)? else {
                        return Ok(Step::Blocked);
                    };
                    self.deadlines.request_received(now);
                    let bytes = frame.len();
                    match parse(&self.apis, frame) {
                        Ok(request) => (request, bytes),
                        Err(outcome) => {
                            self.await_outcome(outcome, 0, Order::Alone);
                            continue;
                        }
                    }
                }
            };
            let order = request.order();
            if order == Order::Alone && !self.awaited.is_empty() {
                self.held_back = Some((request, bytes));
                return Ok(Step::Blocked);
            }
            let outcome = self.start(request, now);
            self.await_outcome(outcome, bytes, order);
        }
        Ok(Step::Progress)
    }

    fn may_start(&self) -> bool {
        let last = self.awaited.back();
        self.closing.is_none()
            && !self.shared.draining()
            && last.is_none_or(|last| {
                let may_block = last.with_handler || matches!(last.outcome, Outcome::Blocking(_));
                last.order == Order::Pipelined && !may_block
            })
            && self.awaited.len() < AWAITED_MAX
            && (self.awaited_bytes < AWAITED_BYTES_MAX || self.awaited.is_empty())
            && self.framed.sending().len() < OUT_BYTES_MAX
    }

    fn start(&self, request: Request, now: Instant) -> Outcome {
        let (node, info) = (&self.shared.node, &self.info);
        match request.place() {
            Place::Inline => request.run(node, info),
            Place::RequestHandler => request.defer(node, info),
            Place::InlineWhileFast if self.shared.writes_are_slow(now) => request.defer(node, info),
            Place::InlineWhileFast => {
                let start = Instant::now();
                let outcome = request.run(node, info);
                self.shared.write_took(start, start.elapsed());
                outcome
            }
        }
    }

    fn await_outcome(&mut self, outcome: Outcome, bytes: usize, order: Order) {
        if self.awaited.is_empty() {
            // The common case costs no place in the line.
            match outcome {
                Outcome::Answer(frame) => return self.enqueue(frame),
                Outcome::Nothing => return,
                Outcome::Close(reason) => {
                    self.closing = Some(reason);
                    return;
                }
                Outcome::Pending(_) | Outcome::Blocking(_) => {}
            }
        }
        // Nothing starts behind the end of a connection.
        let is_last = matches!(outcome, Outcome::Close(_));
        let order = if is_last { Order::Alone } else { order };
        self.awaited_bytes += bytes;
        self.awaited.push_back(Awaited {
            outcome,
            bytes,
            order,
            with_handler: false,
        });
    }

    fn enqueue(&mut self, mut frame: Vec<Segment>) {
        read_small(&mut frame);
        self.framed.enqueue(frame);
    }

    /// Hands the last request to a request handler when it may block, and sees whether that one is done with it. No
    /// later one has started: it had to wait.
    fn drive_blocking(&mut self, context: &mut Context<'_>) -> Step {
        let Some(last) = self.awaited.back_mut() else {
            return Step::Blocked;
        };
        if matches!(last.outcome, Outcome::Blocking(_)) {
            let Poll::Ready(permit) = self.permit_wait.poll(&self.shared.queue, context) else {
                return Step::Blocked;
            };
            let blocking = std::mem::replace(&mut last.outcome, Outcome::Close(CloseReason::Abandoned));
            if let (Outcome::Blocking(work), Some(permit)) = (blocking, permit) {
                last.outcome = submit(&self.shared.queue, permit, work);
                last.with_handler = true;
            }
        }
        if last.with_handler
            && let Outcome::Pending(submitted) = &mut last.outcome
            && let Poll::Ready(outcome) = submitted.poll(context)
        {
            last.outcome = outcome;
            last.with_handler = false;
            return Step::Progress;
        }
        Step::Blocked
    }

    /// Moves answers that are ready to the way out, in the order of the requests.
    fn settle(&mut self, context: &mut Context<'_>) -> Step {
        let mut step = Step::Blocked;
        while self.framed.sending().len() < OUT_BYTES_MAX
            && let Some(first) = self.awaited.front_mut()
        {
            if !first.with_handler
                && let Outcome::Pending(pending) = &mut first.outcome
                && let Poll::Ready(outcome) = pending.poll(context)
            {
                first.outcome = outcome;
            }
            if matches!(first.outcome, Outcome::Pending(_) | Outcome::Blocking(_)) {
                break;
            }
            let Some(first) = self.awaited.pop_front() else {
                break;
            };
            self.awaited_bytes -= first.bytes;
            step = Step::Progress;
            match first.outcome {
                Outcome::Answer(frame) => self.enqueue(frame),
                Outcome::Close(reason) => {
                    self.closing = Some(reason);
                    self.awaited.clear();
                    self.awaited_bytes = 0;
                }
                Outcome::Nothing | Outcome::Pending(_) | Outcome::Blocking(_) => {}
            }
        }
        step
    }

    /// Gives the socket what waits for it. Progress when that makes room for more answers.
    fn send(&mut self, context: &mut Context<'_>, now: Instant) -> Result<Step, End> {
        if self.framed.sending().is_empty() {
            return Ok(Step::Blocked);
        }
        let was_full = self.framed.sending().len() >= OUT_BYTES_MAX;
        let (cold_reads, queue) = (&mut self.cold_reads, &self.shared.queue);
        let sent = self.framed.poll_send(context, |range, context| {
            cold_reads.poll_resident(range, queue, context)
        });
        if let Poll::Ready(result) = sent {
            result?;
        }
        self.deadlines.sending(self.framed.sending(), now);
        if was_full && self.framed.sending().len() < OUT_BYTES_MAX {
            Ok(Step::Progress)
        } else {
            Ok(Step::Blocked)
        }
    }

    fn receive(&mut self, context: &mut Context<'_>, now: Instant) -> Result<Step, End> {
        if self.held_back.is_some() || !self.may_start() {
            return Ok(Step::Blocked);
        }
        let received = self.framed.received();
        let held = received.held() + self.awaited_bytes;
        let budget = self.share.budget();
        let room = match received.partial() {
            0 => budget.may_begin(),
            _ => received.growth() == 0 || budget.may_continue(),
        };
        if !room {
            self.deadlines.starved(now);
            return Ok(Step::Blocked);
        }
        self.deadlines.fed();
        self.share.set(held + received.growth());
        match self.framed.poll_receive(context) {
            Poll::Ready(count) => {
                self.deadlines.bytes_received(count?, now);
                Ok(Step::Progress)
            }
            Poll::Pending => Ok(Step::Blocked),
        }
    }

    /// Whether nothing is left to do for a connection that is to end.
    fn finished(&mut self) -> Option<End> {
        if !self.framed.sending().is_empty() || !self.awaited.is_empty() {
            return None;
        }
        match self.closing.take() {
            Some(reason) => Some(End::Request(reason)),
            None if self.shared.draining() => Some(End::Stopping),
            None => None,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.leave(self.info.id);
        if std::thread::panicking() {
            tracing::error!(peer = %self.info.peer, "a handler panicked; its connection is closed");
        }
    }
}

/// Queues work that may block. What it comes to is what the connection waits for.
fn submit(
    queue: &RequestQueue,
    permit: super::request_queue::QueuePermit,
    work: Box<dyn FnOnce() -> Outcome + Send>,
) -> Outcome {
    let (done, outcome) = oneshot::channel();
    queue.submit(permit, move || {
        let mut outcome = work();
        while let Outcome::Blocking(more) = outcome {
            outcome = more();
        }
        // Nobody waits any more when the connection has ended.
        let _ = done.send(outcome);
    });
    Outcome::Pending(Box::new(Submitted(outcome)))
}

struct Submitted(oneshot::Receiver<Outcome>);

impl Pending for Submitted {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(outcome.unwrap_or(Outcome::Close(CloseReason::Abandoned)))
    }
}

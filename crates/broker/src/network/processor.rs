//! A processor: one thread with a runtime of its own, and the connections it was given. Nothing of a connection is ever
//! touched by another thread, so nothing here is locked.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::connection::{Accepted, Connection};
use super::deadlines::Timeouts;
use super::end_log::EndLog;
use super::limits::ByteBudget;
use super::request_queue::RequestQueue;
use crate::dispatch::Node;

/// Accepted connections that wait for their processor to take them over.
const HANDOVER_MAX: usize = 128;

/// A write inline that takes longer was not a write to the page cache only.
const SLOW_WRITE: Duration = Duration::from_millis(50);
/// For how long request handlers have the writes then.
const SLOW_FOR: Duration = Duration::from_secs(1);

/// How far the end of the reactor has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Everything is served.
    Serving,
    /// Nothing new is accepted or started; what was started is answered.
    Draining,
    /// All connections are closed.
    Closed,
}

/// What all processors are given.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) node: Arc<Node>,
    pub(super) settings: Settings,
    pub(super) budget: Arc<ByteBudget>,
    pub(super) queue: RequestQueue,
    pub(super) end_log: Arc<EndLog>,
}

/// What is configured for every connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) frame_max: usize,
    pub(super) timeouts: Timeouts,
}

/// What the connections of one processor share.
pub(super) struct Shared {
    pub(super) node: Arc<Node>,
    pub(super) settings: Settings,
    pub(super) budget: Arc<ByteBudget>,
    pub(super) queue: RequestQueue,
    draining: Cell<bool>,
    /// Until when writes are left to request handlers, because the last one inline took long.
    slow_until: Cell<Option<Instant>>,
    /// By connection, to tell all of them that the broker stops.
    wakers: RefCell<BTreeMap<u64, Waker>>,
    load: Arc<AtomicUsize>,
}

impl Shared {
    /// Whether the broker stops: nothing is started any more.
    pub(super) fn draining(&self) -> bool {
        self.draining.get()
    }

    /// Whether writes are left to request handlers at present.
    pub(super) fn writes_are_slow(&self, now: Instant) -> bool {
        self.slow_until.get().is_some_and(|until| now < until)
    }

    /// Notes how long a write inline took: past its measure the kernel throttles writers, and every connection of this
    /// thread waited with that one.
    pub(super) fn write_took(&self, start: Instant, duration: Duration) {
        if duration > SLOW_WRITE {
            self.slow_until.set(Some(start + duration + SLOW_FOR));
        }
    }

    /// Counts the calling task as a connection's.
    pub(super) async fn enter(&self, connection: u64) {
        poll_fn(|context| {
            self.wakers
                .borrow_mut()
                .insert(connection, context.waker().clone());
            Poll::Ready(())
        })
        .await;
    }

    /// A connection's task ends.
    pub(super) fn leave(&self, connection: u64) {
        self.wakers.borrow_mut().remove(&connection);
        self.load.fetch_sub(1, Ordering::Relaxed);
    }

    fn drain(&self) {
        self.draining.set(true);
        for waker in self.wakers.borrow().values() {
            waker.wake_by_ref();
        }
    }
}

/// An acceptor's way to a processor.
#[derive(Clone)]
pub(super) struct ProcessorHandle {
    accepted: mpsc::Sender<Accepted>,
    load: Arc<AtomicUsize>,
}

impl ProcessorHandle {
    /// The number of its connections.
    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Hands a connection over; it is closed when the processor has ended.
    pub(super) async fn hand_over(&self, accepted: Accepted) {
        self.load.fetch_add(1, Ordering::Relaxed);
        if self.accepted.send(accepted).await.is_err() {
            self.load.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Starts a processor's thread.
pub(super) fn start(
    number: usize,
    parts: Parts,
    phase: watch::Receiver<Phase>,
) -> io::Result<(ProcessorHandle, JoinHandle<()>)> {
    let (sender, accepted) = mpsc::channel(HANDOVER_MAX);
    let load = Arc::new(AtomicUsize::new(0));
    let handle = ProcessorHandle {
        accepted: sender,
        load: load.clone(),
    };
    let runtime = || {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    };
    // Built once here only to report a failure to whoever starts the broker.
    drop(runtime()?);
    let thread = std::thread::Builder::new()
        .name(format!("network-{number}"))
        .spawn(move || match runtime() {
            Ok(runtime) => runtime.block_on(run(parts, load, accepted, phase)),
            Err(error) => tracing::error!(%error, "a network thread cannot start"),
        })?;
    Ok((handle, thread))
}

async fn run(
    parts: Parts,
    load: Arc<AtomicUsize>,
    mut accepted: mpsc::Receiver<Accepted>,
    mut phase: watch::Receiver<Phase>,
) {
    let end_log = parts.end_log;
    let shared = Rc::new(Shared {
        node: parts.node,
        settings: parts.settings,
        budget: parts.budget,
        queue: parts.queue,
        draining: Cell::new(false),
        slow_until: Cell::new(None),
        wakers: RefCell::default(),
        load,
    });
    let mut connections = JoinSet::new();
    loop {
        let phase_now = *phase.borrow_and_update();
        if phase_now >= Phase::Draining && !shared.draining() {
            shared.drain();
        }
        if phase_now == Phase::Closed || (shared.draining() && connections.is_empty()) {
            break;
        }
        tokio::select! {
            // The sender side lives as long as acceptors do.
            Some(accepted) = accepted.recv() => {
                let (shared, end_log) = (shared.clone(), end_log.clone());
                connections.spawn_local(serve(accepted, shared, end_log));
            }
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            changed = phase.changed() => {
                if changed.is_err() {
                    break;
                }
            }
        }
    }
    connections.shutdown().await;
}

async fn serve(accepted: Accepted, shared: Rc<Shared>, end_log: Arc<EndLog>) {
    let info = accepted.info.clone();
    match Connection::new(accepted, shared) {
        Ok(connection) => {
            let end = connection.run().await;
            end_log.ended(&info, &end);
        }
        Err(error) => tracing::warn!(peer = %info.peer, %error, "a connection cannot be served"),
    }
}

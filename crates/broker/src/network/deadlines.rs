//! How long a connection may take: for its first request, between requests, to read its answers.
//!
//! One timer a connection, set to the earliest time at which something can be overdue and not touched by each request:
//! when it rings, what happened since says how long it sleeps on. A connection on which nothing happens is not looked
//! at before its time is up.

use std::pin::Pin;
use std::task::Context;
use std::time::{Duration, Instant};

use tokio::time::Sleep;
use transport::SendQueue;

use super::connection::End;
use crate::config::NetworkConfig;

/// How long a connection keeps a buffer that has nothing in it.
const RELEASE_AFTER: Duration = Duration::from_secs(10);
/// Where nothing is ever overdue.
const FAR: Duration = Duration::from_secs(24 * 3600);
/// The time between two looks while there is no memory for what comes in.
const STARVED_TICK: Duration = Duration::from_millis(10);
/// How long a request that has begun may wait for memory. Its own part may be what others wait for.
const STARVED_MAX: Duration = Duration::from_secs(30);
/// Fewer bytes than this are no activity: a client that trickles is idle (bad input 7).
const TRICKLE_BYTES: usize = 4096;

/// What is configured; `None` is for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    pub(super) first_request: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) write: Option<Duration>,
}

impl Timeouts {
    pub(super) fn new(config: &NetworkConfig) -> Timeouts {
        Timeouts {
            first_request: positive(config.first_request_timeout_ms),
            idle: positive(config.connections_max_idle_ms),
            write: positive(config.write_timeout_ms),
        }
    }
}

fn positive(milliseconds: i64) -> Option<Duration> {
    u64::try_from(milliseconds)
        .ok()
        .filter(|milliseconds| *milliseconds > 0)
        .map(Duration::from_millis)
}

/// What a connection is about, as far as time matters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    /// A request was started, or its answer has not left: the client waits, and is not idle.
    pub(super) is_busy: bool,
    /// A part of a request is here.
    pub(super) has_begun: bool,
    /// There is a buffer with nothing in it.
    pub(super) holds_buffer: bool,
}

/// What happened when on one connection.
pub(super) struct Deadlines {
    timeouts: Timeouts,
    accepted: Instant,
    has_requested: bool,
    active: Instant,
    trickled: usize,
    /// Since when the client has read nothing of what waits for it, and how much had left by then.
    unread: Option<(u64, Instant)>,
    starved: Option<Instant>,
    tick: Pin<Box<Sleep>>,
}

impl Deadlines {
    pub(super) fn new(timeouts: Timeouts, now: Instant) -> Deadlines {
        Deadlines {
            timeouts,
            accepted: now,
            has_requested: false,
            active: now,
            trickled: 0,
            unread: None,
            starved: None,
            tick: Box::pin(tokio::time::sleep(timeouts.first_request.unwrap_or(FAR))),
        }
    }

    /// A whole request came.
    pub(super) fn request_received(&mut self, now: Instant) {
        self.has_requested = true;
        self.trickled = 0;
        self.active = now;
    }

    /// Bytes came.
    pub(super) fn bytes_received(&mut self, count: usize, now: Instant) {
        self.trickled += count;
        if self.trickled >= TRICKLE_BYTES {
            self.trickled = 0;
            self.active = now;
        }
    }

    /// There was no memory to receive into.
    pub(super) fn starved(&mut self, now: Instant) {
        self.starved.get_or_insert(now);
    }

    /// There is memory to receive into.
    pub(super) fn fed(&mut self) {
        self.starved = None;
    }

    /// The socket took what it could of the answers.
    pub(super) fn sending(&mut self, queue: &SendQueue, now: Instant) {
        if queue.is_empty() {
            self.unread = None;
            self.active = now;
        } else if self.unread.is_none_or(|(sent, _)| sent != queue.sent()) {
            self.unread = Some((queue.sent(), now));
            self.active = now;
        }
    }

    /// Why the connection has to end now, if it does.
    pub(super) fn overdue(&self, now: Instant, activity: Activity) -> Option<End> {
        self.ends(activity)
            .into_iter()
            .flatten()
            .find_map(|(at, end)| (at <= now).then_some(end))
    }

    /// When the connection would have to end if nothing happened, for each reason that counts at present.
    fn ends(&self, activity: Activity) -> [Option<(Instant, End)>; 4] {
        let end = |counts: bool, since: Option<Instant>, limit: Option<Duration>, end: End| {
            since
                .filter(|_| counts)
                .zip(limit)
                .map(|(since, limit)| (since + limit, end))
        };
        let (timeouts, unread) = (&self.timeouts, self.unread.map(|(_, since)| since));
        [
            end(
                !self.has_requested,
                Some(self.accepted),
                timeouts.first_request,
                End::NoRequest,
            ),
            end(true, unread, timeouts.write, End::NotReading),
            end(activity.has_begun, self.starved, Some(STARVED_MAX), End::NoMemory),
            end(!activity.is_busy, Some(self.active), timeouts.idle, End::Idle),
        ]
    }

    /// The next time at which something has to be done though nothing happens.
    fn next(&self, now: Instant, activity: Activity) -> Instant {
        let ends = self.ends(activity).into_iter().flatten().map(|(at, _)| at);
        let starved = self.starved.map(|_| now + STARVED_TICK);
        let release = activity.holds_buffer.then(|| now + RELEASE_AFTER);
        ends.chain(starved).chain(release).fold(now + FAR, Instant::min)
    }

    /// Whether the time has come that [`Deadlines::sleep`] was waiting for.
    pub(super) fn has_rung(&self) -> bool {
        self.tick.is_elapsed()
    }

    /// Has the connection polled again at the next time at which something is to be done.
    pub(super) fn sleep(&mut self, context: &mut Context<'_>, now: Instant, activity: Activity) {
        let next = self.next(now, activity).into();
        // What came later than the timer was set for is found out when it rings.
        if self.has_rung() || next < self.tick.deadline() {
            self.tick.as_mut().reset(next);
        }
        if self.tick.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn deadlines(start: Instant) -> Deadlines {
        let timeouts = Timeouts {
            first_request: Some(10 * SECOND),
            idle: Some(600 * SECOND),
            write: Some(60 * SECOND),
        };
        Deadlines::new(timeouts, start)
    }

    const IDLE: Activity = Activity {
        is_busy: false,
        has_begun: false,
        holds_buffer: false,
    };
    const BUSY: Activity = Activity {
        is_busy: true,
        ..IDLE
    };
    const BEGUN: Activity = Activity {
        has_begun: true,
        ..IDLE
    };

    #[tokio::test]
    async fn a_trickle_is_no_request_and_no_activity() {
        let start = Instant::now();
        let mut deadlines = deadlines(start);
        for second in 0..9 {
            deadlines.bytes_received(1, start + second * SECOND);
        }
        assert!(deadlines.overdue(start + 9 * SECOND, BEGUN).is_none());
        let end = deadlines.overdue(start + 10 * SECOND, BEGUN);
        assert!(matches!(end, Some(End::NoRequest)));

        deadlines.request_received(start + 5 * SECOND);
        deadlines.bytes_received(100, start + 300 * SECOND);
        assert!(deadlines.overdue(start + 604 * SECOND, BEGUN).is_none());
        let end = deadlines.overdue(start + 605 * SECOND, BEGUN);
        assert!(matches!(end, Some(End::Idle)));
        assert!(deadlines.overdue(start + 605 * SECOND, BUSY).is_none());
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_its_time_from_the_last_progress() {
        let start = Instant::now();
        let mut deadlines = deadlines(start);
        deadlines.request_received(start);
        let mut queue = SendQueue::default();
        queue.push(vec![wire::Segment::Bytes("answer".into())]);
        deadlines.sending(&queue, start + 5 * SECOND);
        deadlines.sending(&queue, start + 30 * SECOND);
        assert!(deadlines.overdue(start + 64 * SECOND, BUSY).is_none());
        let end = deadlines.overdue(start + 65 * SECOND, BUSY);
        assert!(matches!(end, Some(End::NotReading)));
        deadlines.sending(&SendQueue::default(), start + 66 * SECOND);
        assert!(deadlines.overdue(start + 200 * SECOND, IDLE).is_none());
    }

    #[tokio::test]
    async fn only_a_request_that_has_begun_gives_its_memory_back_by_ending() {
        let start = Instant::now();
        let mut deadlines = deadlines(start);
        deadlines.request_received(start);
        deadlines.starved(start);
        let late = start + STARVED_MAX;
        assert!(matches!(deadlines.overdue(late, BEGUN), Some(End::NoMemory)));
        assert!(deadlines.overdue(late, IDLE).is_none());
        deadlines.fed();
        assert!(deadlines.overdue(late, BEGUN).is_none());
    }

    #[tokio::test]
    async fn an_idle_connection_is_looked_at_only_when_its_time_is_up() {
        let start = Instant::now();
        let mut deadlines = deadlines(start);
        assert_eq!(deadlines.next(start, IDLE), start + 10 * SECOND);
        deadlines.request_received(start + SECOND);
        let now = start + SECOND;
        assert_eq!(deadlines.next(now, IDLE), now + 600 * SECOND);
        assert_eq!(
            deadlines.next(now, BUSY),
            now + FAR,
            "a parked fetch ends by itself"
        );
        let holding = Activity {
            holds_buffer: true,
            ..IDLE
        };
        assert_eq!(deadlines.next(now, holding), now + RELEASE_AFTER);
        let mut queue = SendQueue::default();
        queue.push(vec![wire::Segment::Bytes("answer".into())]);
        deadlines.sending(&queue, now);
        assert_eq!(deadlines.next(now, BUSY), now + 60 * SECOND);
        deadlines.starved(now);
        assert_eq!(deadlines.next(now, BUSY), now + STARVED_TICK);
    }

    #[tokio::test]
    async fn a_timer_that_is_early_enough_is_not_set_anew() {
        let start = Instant::now();
        let timeouts = Timeouts {
            first_request: Some(Duration::from_millis(20)),
            idle: Some(600 * SECOND),
            write: None,
        };
        let mut deadlines = Deadlines::new(timeouts, start);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let first = deadlines.tick.deadline();
        for second in 1..10 {
            let now = start + second * SECOND;
            deadlines.request_received(now);
            deadlines.sleep(&mut context, now, IDLE);
        }
        assert_eq!(deadlines.tick.deadline(), first);
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert!(deadlines.has_rung());
        let now = start + 10 * SECOND;
        deadlines.sleep(&mut context, now, IDLE);
        assert_eq!(deadlines.tick.deadline().into_std(), start + 609 * SECOND);
        assert!(!deadlines.has_rung());
    }
}

//! How long a connection may take: for its first request, between requests, to read its answers.
//!
//! One timer a connection: it looks at what happened since, and is not touched by each request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::time::Sleep;
use transport::SendQueue;

use super::connection::End;
use crate::config::NetworkConfig;

/// The longest time between two looks.
const TICK_MAX: Duration = Duration::from_secs(10);
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

    fn tick(&self) -> Duration {
        [self.first_request, self.idle, self.write]
            .into_iter()
            .flatten()
            .fold(TICK_MAX, Duration::min)
    }
}

fn positive(milliseconds: i64) -> Option<Duration> {
    u64::try_from(milliseconds)
        .ok()
        .filter(|milliseconds| *milliseconds > 0)
        .map(Duration::from_millis)
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
            tick: Box::pin(tokio::time::sleep(timeouts.tick())),
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
        self.starved = None;
        self.trickled += count;
        if self.trickled >= TRICKLE_BYTES {
            self.trickled = 0;
            self.active = now;
        }
    }

    /// There was no memory to receive into.
    pub(super) fn starved(&mut self, now: Instant) {
        if self.starved.is_none() {
            self.starved = Some(now);
            self.tick.as_mut().reset((now + STARVED_TICK).into());
        }
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

    /// Whether the connection has to end. A busy one, whose client waits for an answer, is not idle.
    pub(super) fn overdue(&self, now: Instant, is_busy: bool, has_begun: bool) -> Option<End> {
        let passed = |since: Instant, limit: Option<Duration>| {
            limit.is_some_and(|limit| now.saturating_duration_since(since) >= limit)
        };
        if !self.has_requested && passed(self.accepted, self.timeouts.first_request) {
            return Some(End::NoRequest);
        }
        if self
            .unread
            .is_some_and(|(_, since)| passed(since, self.timeouts.write))
        {
            return Some(End::NotReading);
        }
        if has_begun && self.starved.is_some_and(|since| passed(since, Some(STARVED_MAX))) {
            return Some(End::NoMemory);
        }
        if !is_busy && passed(self.active, self.timeouts.idle) {
            return Some(End::Idle);
        }
        None
    }

    /// Ready each time it is time to look again. A starved connection is polled whole then.
    pub(super) fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.tick.as_mut().poll(context));
        let next = if self.starved.is_some() {
            context.waker().wake_by_ref();
            STARVED_TICK
        } else {
            self.timeouts.tick()
        };
        self.tick.as_mut().reset(tokio::time::Instant::now() + next);
        Poll::Ready(())
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

    #[tokio::test]
    async fn a_trickle_is_no_request_and_no_activity() {
        let start = Instant::now();
        let mut deadlines = deadlines(start);
        for second in 0..9 {
            deadlines.bytes_received(1, start + second * SECOND);
        }
        assert!(deadlines.overdue(start + 9 * SECOND, false, true).is_none());
        let end = deadlines.overdue(start + 10 * SECOND, false, true);
        assert!(matches!(end, Some(End::NoRequest)));

        deadlines.request_received(start + 5 * SECOND);
        deadlines.bytes_received(100, start + 300 * SECOND);
        assert!(deadlines.overdue(start + 604 * SECOND, false, true).is_none());
        let end = deadlines.overdue(start + 605 * SECOND, false, true);
        assert!(matches!(end, Some(End::Idle)));
        assert!(deadlines.overdue(start + 605 * SECOND, true, true).is_none());
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
        assert!(deadlines.overdue(start + 64 * SECOND, true, false).is_none());
        let end = deadlines.overdue(start + 65 * SECOND, true, false);
        assert!(matches!(end, Some(End::NotReading)));
        deadlines.sending(&SendQueue::default(), start + 66 * SECOND);
        assert!(deadlines.overdue(start + 200 * SECOND, false, false).is_none());
    }

    #[tokio::test]
    async fn only_a_request_that_has_begun_gives_its_memory_back_by_ending() {
        let start = Instant::now();
        let mut deadlines = deadlines(start);
        deadlines.request_received(start);
        deadlines.starved(start);
        let late = start + STARVED_MAX;
        assert!(matches!(
            deadlines.overdue(late, false, true),
            Some(End::NoMemory)
        ));
        assert!(deadlines.overdue(late, false, false).is_none());
        deadlines.bytes_received(1, late);
        assert!(deadlines.overdue(late, false, true).is_none());
    }
}

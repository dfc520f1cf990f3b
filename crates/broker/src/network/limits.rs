//! What connections may take together: their number, all in all and for each address, how fast they come, and the bytes
//! of their requests.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit};
use tokio::sync::Notify;

use crate::config::NetworkConfig;

/// The share of the memory that requests may take together when nothing else is configured.
const MEMORY_SHARE: usize = 4;
/// Requests that have begun to arrive may be finished up to this many quarters of the limit, so that they do not wait
/// for each other.
const BEGUN_QUARTERS: usize = 5;
/// Descriptors kept for log files and the rest: at least this many, and no less than half of all (rule 111).
const DESCRIPTORS_RESERVED: usize = 256;
/// The rate of new connections is an average over this time, and none waits longer for it than a second more: what
/// Apache Kafka's quota windows come to.
const RATE_WINDOW: Duration = Duration::from_secs(10);
const RATE_WAIT_MAX: Duration = Duration::from_secs(11);

/// The bytes of requests that are in the broker: being received, or received and not answered.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    used: AtomicUsize,
    limit: usize,
}

impl ByteBudget {
    pub(crate) fn new(configured: Option<usize>) -> ByteBudget {
        ByteBudget {
            used: AtomicUsize::new(0),
            limit: configured.unwrap_or_else(|| memory_bytes() / MEMORY_SHARE),
        }
    }

    /// Whether a connection may begin to receive another request.
    pub(crate) fn may_begin(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.limit
    }

    /// Whether a connection may receive more of a request that has begun.
    pub(crate) fn may_continue(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.limit / 4 * BEGUN_QUARTERS
    }

    /// One connection's part, 0 bytes at first.
    pub(crate) fn share(self: &Arc<ByteBudget>) -> ByteShare {
        ByteShare {
            budget: self.clone(),
            bytes: 0,
        }
    }
}

/// What one connection has of the budget; given back when dropped.
#[derive(Debug)]
pub(crate) struct ByteShare {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ByteShare {
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.budget.used.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else if bytes < self.bytes {
            self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    pub(crate) fn budget(&self) -> &ByteBudget {
        &self.budget
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// The memory this process can have, in bytes: the machine's, or its control group's where that is less.
fn memory_bytes() -> usize {
    let info = rustix::system::sysinfo();
    let machine = (info.totalram as usize).saturating_mul(info.mem_unit as usize);
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(usize::MAX);
    machine.min(group)
}

/// How many connections there are, and may be.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    max: usize,
    max_per_ip: usize,
    overrides: HashMap<IpAddr, usize>,
    counts: Mutex<Counts>,
    freed: Notify,
    rate: CreationRate,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_ip: HashMap<IpAddr, usize>,
}

/// Why a connection is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Its address has as many as it may.
    AddressFull(usize),
}

impl ConnectionLimits {
    /// The configured limits, and never more connections than the process has descriptors for.
    pub(crate) fn new(config: &NetworkConfig) -> ConnectionLimits {
        let overrides = config
            .max_connections_per_ip_overrides
            .iter()
            .flat_map(|(host, limit)| resolve(host).into_iter().map(|ip| (ip, *limit)))
            .collect();
        ConnectionLimits {
            max: config.max_connections.min(descriptors_for_connections()),
            max_per_ip: config.max_connections_per_ip,
            overrides,
            counts: Mutex::default(),
            freed: Notify::new(),
            rate: CreationRate::new(config.max_connection_creation_rate, Instant::now()),
        }
    }

    /// How long the listener of a connection that came now has to wait until it takes it and the next.
    pub(crate) fn throttle(&self) -> Duration {
        self.rate.throttle(Instant::now())
    }

    /// Waits until there is room for one more connection.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let freed = self.freed.notified();
            if self.counts.lock().all < self.max {
                return;
            }
            freed.await;
        }
    }

    /// Counts a connection from `ip`, or says why it cannot stay.
    pub(crate) fn take(self: &Arc<ConnectionLimits>, ip: IpAddr) -> Result<ConnectionPermit, Refused> {
        let ip = ip.to_canonical();
        let max = self.overrides.get(&ip).copied().unwrap_or(self.max_per_ip);
        let mut counts = self.counts.lock();
        let count = counts.by_ip.entry(ip).or_default();
        if *count >= max {
            return Err(Refused::AddressFull(max));
        }
        *count += 1;
        counts.all += 1;
        Ok(ConnectionPermit {
            limits: self.clone(),
            ip,
        })
    }
}

/// How fast connections come, and may come.
#[derive(Debug)]
struct CreationRate {
    spacing: Duration,
    /// When the connections so far would all have come if each had kept its distance.
    paid: Mutex<Instant>,
}

impl CreationRate {
    fn new(per_second: u32, now: Instant) -> CreationRate {
        let spacing = Duration::from_secs(1).checked_div(per_second);
        CreationRate {
            spacing: spacing.unwrap_or(RATE_WAIT_MAX),
            paid: Mutex::new(now),
        }
    }

    fn throttle(&self, now: Instant) -> Duration {
        let mut paid = self.paid.lock();
        let latest = now + RATE_WINDOW + RATE_WAIT_MAX;
        *paid = ((*paid).max(now) + self.spacing).min(latest);
        paid.duration_since(now).saturating_sub(RATE_WINDOW)
    }
}

/// A counted connection; no longer counted when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limits: Arc<ConnectionLimits>,
    ip: IpAddr,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.limits.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        if let Some(count) = counts.by_ip.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                counts.by_ip.remove(&self.ip);
            }
        }
        drop(counts);
        self.limits.freed.notify_waiters();
    }
}

fn resolve(host: &str) -> Vec<IpAddr> {
    std::net::ToSocketAddrs::to_socket_addrs(&(host, 0))
        .map(|addresses| addresses.map(|address| address.ip().to_canonical()).collect())
        .unwrap_or_default()
}

/// Raises the soft limit of descriptors to the hard one, and says how many connections may have.
fn descriptors_for_connections() -> usize {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match rustix::process::setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let all = current.map_or(usize::MAX, |all| usize::try_from(all).unwrap_or(usize::MAX));
    (all / 2).min(all.saturating_sub(DESCRIPTORS_RESERVED)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(max: usize, max_per_ip: usize) -> Arc<ConnectionLimits> {
        Arc::new(ConnectionLimits {
            max,
            max_per_ip,
            overrides: HashMap::from([("127.0.0.9".parse().unwrap(), 3)]),
            counts: Mutex::default(),
            freed: Notify::new(),
            rate: CreationRate::new(1, Instant::now()),
        })
    }

    #[test]
    fn an_address_has_its_own_limit() {
        let limits = limits(100, 2);
        let ip: IpAddr = "127.0.0.1".parse().unwrap();
        let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
        let first = limits.take(ip).unwrap();
        let _second = limits.take(mapped).unwrap();
        assert_eq!(limits.take(ip).unwrap_err(), Refused::AddressFull(2));
        drop(first);
        assert!(limits.take(ip).is_ok());
        let more: Vec<_> = (0..4)
            .map(|_| limits.take("127.0.0.9".parse().unwrap()))
            .collect();
        assert_eq!(more.iter().filter(|taken| taken.is_ok()).count(), 3);
    }

    #[tokio::test]
    async fn a_closed_connection_makes_room_for_one_that_waits() {
        let limits = limits(1, 10);
        let permit = limits.take("127.0.0.1".parse().unwrap()).unwrap();
        let waiting = tokio::spawn({
            let limits = limits.clone();
            async move { limits.wait_for_room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(permit);
        waiting.await.unwrap();
    }

    #[test]
    fn connections_that_come_too_fast_wait_and_none_waits_for_ever() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let rate = CreationRate::new(5, start);
        for _ in 0..50 {
            assert_eq!(rate.throttle(start), Duration::ZERO, "the average is kept");
        }
        assert_eq!(rate.throttle(start), second / 5);
        assert_eq!(rate.throttle(start), second * 2 / 5);
        assert_eq!(rate.throttle(start + 2 * second), Duration::ZERO);
        let longest = (0..1000).map(|_| rate.throttle(start)).max();
        assert_eq!(longest, Some(RATE_WAIT_MAX));

        let unlimited = CreationRate::new(i32::MAX.unsigned_abs(), start);
        assert!((0..100_000).all(|_| unlimited.throttle(start) == Duration::ZERO));
        let none = CreationRate::new(0, start);
        none.throttle(start);
        assert_eq!(none.throttle(start), RATE_WAIT_MAX);
    }

    #[test]
    fn what_has_begun_may_be_finished_beyond_the_limit() {
        let budget = Arc::new(ByteBudget::new(Some(1000)));
        let mut share = budget.share();
        share.set(1000);
        assert!(!budget.may_begin());
        assert!(budget.may_continue());
        share.set(1250);
        assert!(!budget.may_continue());
        drop(share);
        assert!(budget.may_begin());
    }
}

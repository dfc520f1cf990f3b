//! How calls wait before they try again, and when they give up.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::ClientConfig;

/// The pauses between tries: each twice the last one up to a limit, a fifth shorter or longer at random, so that clients
/// that failed together do not come back together.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    tries: u32,
}

impl Backoff {
    pub(crate) fn new(config: &ClientConfig) -> Backoff {
        Backoff {
            first: config.retry_backoff,
            longest: config.retry_backoff_max.max(config.retry_backoff),
            tries: 0,
        }
    }

    /// The next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        let doubled = self.first.saturating_mul(1 << self.tries.min(16));
        self.tries = self.tries.saturating_add(1);
        let jitter = RandomState::new().hash_one(self.tries) % 400;
        doubled.min(self.longest).mul_f64(0.8 + jitter as f64 / 1000.0)
    }

    /// Sleeps the next pause, but not past the deadline; false when that has passed.
    pub(crate) async fn wait(&mut self, deadline: Instant) -> bool {
        let until = Instant::now() + self.pause();
        tokio::time::sleep_until(until.min(deadline)).await;
        Instant::now() < deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_limit() {
        let mut backoff = Backoff::new(&ClientConfig::default());
        let expected = [100, 200, 400, 800, 1000, 1000];
        for milliseconds in expected {
            let pause = backoff.pause().as_millis();
            let range = milliseconds * 8 / 10..=milliseconds * 12 / 10;
            assert!(range.contains(&pause), "{pause} is not about {milliseconds}");
        }
    }
}

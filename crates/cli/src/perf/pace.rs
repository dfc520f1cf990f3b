//! When each record is to be sent: the first at once, then one every so often, whatever became of those before.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A pace, kept by a timer of the kernel: that of the runtime only counts milliseconds.
#[derive(Debug)]
pub(crate) struct Pace {
    start: Instant,
    interval: Duration,
    timer: AsyncFd<OwnedFd>,
}

impl Pace {
    /// So many records a second, from now on.
    #[expect(
        deprecated,
        reason = "unsound only for what does not own its descriptor; an `OwnedFd` does, and its successor is unsafe"
    )]
    pub(crate) fn start(per_second: f64) -> anyhow::Result<Pace> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Pace {
            start: Instant::now(),
            interval: Duration::try_from_secs_f64(1.0 / per_second)?,
            timer: AsyncFd::new(timerfd_create(TimerfdClockId::Monotonic, flags)?)?,
        })
    }

    /// When the record of this number is due.
    pub(crate) fn due(&self, index: u64) -> Instant {
        let nanoseconds = self.interval.as_nanos().saturating_mul(u128::from(index));
        self.start + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Waits until then.
    pub(crate) async fn wait_until(&self, due: Instant) -> anyhow::Result<()> {
        loop {
            let wait = due.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return Ok(());
            }
            let once = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec::try_from(wait)?,
            };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
            // Setting it anew takes back what it told: nothing has to be read.
            self.timer.readable().await?.clear_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_record_is_early_and_a_late_one_does_not_move_the_others() {
        let pace = Pace::start(2000.0).unwrap();
        for index in [1, 2, 3] {
            let due = pace.due(index);
            assert_eq!(
                due - pace.due(0),
                Duration::from_micros(500) * u32::try_from(index).unwrap()
            );
            pace.wait_until(due).await.unwrap();
            assert!(Instant::now() >= due);
        }
        assert!(Pace::start(0.0).is_err());
    }
}

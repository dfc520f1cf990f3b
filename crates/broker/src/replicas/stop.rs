//! The end: what waits is answered, then every log is closed, so that the next start has nothing to repair.

use std::sync::atomic::Ordering;

use model::BrokerEpoch;
use parking_lot::Mutex;
use storage::{ClosingLog, Journal, Log};

use super::Replicas;
use super::dir::HostedDir;
use super::syncer::FEW;

/// At least so many logs are closed at a time: each waits for a few syncs, which the disk merges.
const CLOSING: usize = 8;

impl Replicas {
    /// The node begins to stop: parked fetches are answered at once, and new ones do not park. Produces are served on.
    pub(crate) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.timers.begin_stop();
    }

    /// Closes every log, writes the checkpoints, and last marks the directories as left in order whose logs were all
    /// closed (rule 93). Nothing else in them is open any more, the metadata log neither.
    pub(crate) fn close(&self, broker_epoch: BrokerEpoch) {
        self.join_threads();
        let threads = self.config.logs.recovery_threads_per_data_dir.max(CLOSING);
        for dir in self.dirs.iter().filter(|dir| !dir.is_failed()) {
            let closed =
                close_dir(dir, threads).and_then(|()| dir.log_dir().mark_clean_shutdown(broker_epoch));
            if let Err(error) = closed {
                let path = dir.log_dir().path().display();
                tracing::error!("{path} is not left in order, the next start repairs it: {error}");
            }
        }
        self.dirs.iter().for_each(|dir| dir.forget_members());
    }

    fn join_threads(&self) {
        self.stopping.store(true, Ordering::Release);
        self.upkeep.stop();
        self.dirs.iter().for_each(|dir| dir.stop_syncing());
        self.timers.stop();
        let threads: Vec<_> = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a thread of the replicas ended in a panic");
            }
        }
    }

    /// Ends the threads and leaves everything as a killed process does.
    #[cfg(test)]
    pub(super) fn abandon(&self) {
        self.join_threads();
        self.dirs.iter().for_each(|dir| dir.forget_members());
    }
}

fn close_dir(dir: &HostedDir, threads: usize) -> std::io::Result<()> {
    // While the logs are open: a watermark is never written above what is durable when the syncer has ended.
    dir.checkpoint_high_watermarks()?;
    dir.checkpoint_log_starts()?;
    let members = dir.members();
    let ends = members.iter().filter_map(|partition| {
        let end = partition.with(|replica, _| replica.log().log_end_offset())?;
        Some((partition.topic_partition().clone(), end))
    });
    let recovery_points = ends.collect();
    let closing = in_parallel(members, threads, |partition| {
        partition.take_log().map(Log::begin_close).transpose()
    })?;
    let closing: Vec<_> = closing.into_iter().flatten().collect();
    if closing.len() > FEW && dir.log_dir().can_sync_file_system() {
        // A few syncs a log take seconds where there are many.
        dir.log_dir().sync_file_system()?;
        in_parallel(closing, threads, ClosingLog::finish)?;
    } else {
        in_parallel(closing, threads, |log| log.sync().and_then(|()| log.finish()))?;
    }
    dir.log_dir().write_recovery_points(&recovery_points)?;
    // All that it has is durable in the segments.
    Journal::remove(&**dir.log_dir().disk(), dir.log_dir().path())
}

/// What `work` comes to for each of many. The others are done even when it fails for one.
fn in_parallel<T: Send, R: Send>(
    all: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> std::io::Result<R> + Sync,
) -> std::io::Result<Vec<R>> {
    let all = Mutex::new(all.into_iter());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(next) = all.lock().next() else { return };
                    let result = work(next);
                    results.lock().push(result);
                }
            });
        }
    });
    results.into_inner().into_iter().collect()
}

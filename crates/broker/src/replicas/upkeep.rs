//! What is done now and then, on one thread: room on the disks, checkpoints, retention, expiry, late removals.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Offset, TopicPartition};
use parking_lot::{Condvar, Mutex};
use storage::{Checkpoints, OffsetMap, ReadError};

use super::Replicas;
use super::dir::HostedDir;
use super::waiting::HostedReplica;
use crate::config::NodeConfig;
use crate::dispatch::{now_ms, steady_ms};
use crate::halt::Halt;

/// How often the thread looks at the clock.
const TICK: Duration = Duration::from_secs(1);

/// What is done, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    HighWatermarks,
    RecoveryPoints,
    LogStarts,
    Retention,
    ProducerExpiry,
}

/// The state of the thread.
pub(super) struct Upkeep {
    /// Each task with its interval and its next time by the steady clock: one that was set back would put off a flush.
    schedule: Mutex<Vec<(Task, i64, i64)>>,
    removals: Mutex<Vec<Removal>>,
    stopped: Mutex<bool>,
    stop: Condvar,
}

/// A folder out of use, and when, by the steady clock, it goes.
struct Removal {
    dir: Arc<HostedDir>,
    path: PathBuf,
    at_ms: i64,
}

impl Upkeep {
    pub(super) fn new(config: &NodeConfig) -> Upkeep {
        let logs = &config.logs;
        let tasks = [
            (Task::HighWatermarks, logs.high_watermark_checkpoint_interval_ms),
            (Task::RecoveryPoints, logs.flush_offset_checkpoint_interval_ms),
            (Task::LogStarts, logs.flush_start_offset_checkpoint_interval_ms),
            (Task::Retention, logs.retention_check_interval_ms),
            (
                Task::ProducerExpiry,
                config.producers.id_expiration_check_interval_ms,
            ),
        ];
        let now_ms = steady_ms();
        let first = |task, interval: i64| match task {
            Task::HighWatermarks | Task::ProducerExpiry => now_ms.saturating_add(interval),
            // As Apache Kafka: whoever starts a node on old data has this long before retention looks at it.
            _ => now_ms.saturating_add(logs.initial_task_delay_ms),
        };
        Upkeep {
            schedule: Mutex::new(
                tasks
                    .map(|(task, interval)| (task, interval, first(task, interval)))
                    .into(),
            ),
            removals: Mutex::default(),
            stopped: Mutex::new(false),
            stop: Condvar::new(),
        }
    }

    /// Has a folder removed after a time.
    pub(super) fn remove_later(&self, dir: Arc<HostedDir>, path: PathBuf, delay_ms: i64) {
        self.removals.lock().push(Removal {
            dir,
            path,
            at_ms: steady_ms().saturating_add(delay_ms),
        });
    }

    pub(super) fn stop(&self) {
        *self.stopped.lock() = true;
        self.stop.notify_all();
    }

    /// Waits for the next tick; `false` when it is over.
    fn tick(&self) -> bool {
        let mut stopped = self.stopped.lock();
        if !*stopped {
            self.stop.wait_for(&mut stopped, TICK);
        }
        !*stopped
    }

    fn due(&self, steady_ms: i64) -> Vec<Task> {
        let mut schedule = self.schedule.lock();
        let due = schedule.iter_mut().filter(|(_, _, next)| *next <= steady_ms);
        due.map(|(task, interval, next)| {
            *next = steady_ms.saturating_add(*interval);
            *task
        })
        .collect()
    }
}

/// Starts the thread; it ends after [`Upkeep::stop`].
pub(super) fn start(replicas: &Arc<Replicas>, halt: &Arc<Halt>) -> std::io::Result<JoinHandle<()>> {
    let replicas = replicas.clone();
    let guard = halt.on_panic("upkeep");
    std::thread::Builder::new()
        .name("upkeep".to_owned())
        .spawn(move || {
            let _guard = guard;
            while replicas.upkeep.tick() {
                let now = now_ms();
                replicas.each_tick(now);
                for task in replicas.upkeep.due(steady_ms()) {
                    replicas.run_task(task, now);
                }
            }
        })
}

impl Replicas {
    fn each_tick(&self, now_ms: i64) {
        for dir in self.dirs.iter().filter(|dir| !dir.is_failed()) {
            dir.check_space();
            for partition in dir.take_looked_after() {
                partition.upkeep(now_ms);
            }
        }
        self.remove_folders(steady_ms());
    }

    pub(super) fn remove_folders(&self, steady_ms: i64) {
        let due: Vec<Removal> = self
            .upkeep
            .removals
            .lock()
            .extract_if(.., |it| it.at_ms <= steady_ms)
            .collect();
        for Removal { dir, path, .. } in due {
            match dir.log_dir().remove_folder(&path) {
                // Somebody was faster who needed the room.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => dir.write_problem(&format!("removal of {}", path.display()), &error),
                Ok(()) => {}
            }
        }
    }

    fn run_task(&self, task: Task, now_ms: i64) {
        for dir in self.dirs.iter().filter(|dir| !dir.is_failed()) {
            let written = match task {
                Task::HighWatermarks => dir.checkpoint_high_watermarks(),
                Task::RecoveryPoints => dir.checkpoint_recovery_points(),
                Task::LogStarts => dir.checkpoint_log_starts(),
                Task::Retention => dir.delete_old_segments(now_ms),
                Task::ProducerExpiry => {
                    dir.members()
                        .iter()
                        .for_each(|partition| partition.expire_producers(now_ms));
                    Ok(())
                }
            };
            if let Err(error) = written {
                dir.upkeep_failed(&error);
            }
        }
    }
}

impl HostedDir {
    /// Writes the watermarks down, if one moved.
    pub(super) fn checkpoint_high_watermarks(&self) -> std::io::Result<()> {
        self.written.high_watermarks.write(
            || self.offsets(|replica| Some(replica.high_watermark())),
            |offsets| self.log_dir().write_high_watermarks(offsets),
        )
    }

    /// Writes down up to where everything is durable. In page-cache durability that moves only when something is
    /// synced: everything is, here, so that the next start has little to read.
    pub(super) fn checkpoint_recovery_points(&self) -> std::io::Result<()> {
        let mut dirty = self.members();
        dirty.retain(|it| it.with(|replica, _| replica.log().dirty().is_some()) == Some(true));
        self.flush_soon(dirty);
        self.write_recovery_points()
    }

    /// Writes down where recovered logs are durable. A log that had to be cut below its old recovery point would not be
    /// recovered up to there the next time.
    pub(super) fn note_recovered(&self) {
        if !self.is_failed()
            && let Err(error) = self.write_recovery_points()
        {
            self.upkeep_failed(&error);
        }
    }

    fn write_recovery_points(&self) -> std::io::Result<()> {
        self.written.recovery_points.write(
            || self.offsets(|replica| Some(replica.log().flushed_offset())),
            |offsets| self.log_dir().write_recovery_points(offsets),
        )
    }

    /// Writes down where logs start that start inside their first segment.
    pub(super) fn checkpoint_log_starts(&self) -> std::io::Result<()> {
        let start_of = |replica: &HostedReplica| {
            let start = replica.log().log_start_offset();
            (start > Offset::ZERO).then_some(start)
        };
        self.written.log_starts.write(
            || self.offsets(start_of),
            |offsets| self.log_dir().write_log_start_offsets(offsets),
        )
    }

    /// Before a partition is made: checkpoints go by names, and may still have this one from a partition that is gone.
    /// Believed of the new one, they would cost it its records after a crash. One write leaves out all that are gone.
    pub(super) fn forget_offsets(&self, partition: &TopicPartition) -> std::io::Result<()> {
        if self.written.high_watermarks.names(partition) {
            self.checkpoint_high_watermarks()?;
        }
        if self.written.recovery_points.names(partition) {
            self.write_recovery_points()?;
        }
        if self.written.log_starts.names(partition) {
            self.checkpoint_log_starts()?;
        }
        Ok(())
    }

    pub(super) fn delete_old_segments(&self, now_ms: i64) -> std::io::Result<()> {
        for partition in self.members() {
            let name = partition.topic_partition();
            match partition.with(|replica, woken| replica.delete_old_segments(now_ms, woken)) {
                Some(Ok(0)) | None => {}
                Some(Ok(count)) => {
                    tracing::info!("{name}: {count} old segments deleted");
                    // Their files go once what the log keeps is durable.
                    self.flush_soon([partition.clone()]);
                    partition.look_after();
                }
                Some(Err(ReadError::Disk(error))) => return Err(error),
                // The others are still looked after.
                Some(Err(error)) => tracing::error!("retention of {name}: {error}"),
            }
        }
        Ok(())
    }

    fn upkeep_failed(&self, error: &std::io::Error) {
        if !self.is_failed() {
            self.write_problem("upkeep", error);
        }
    }
}

/// A checkpoint file as it was written last: it is written again only when something changed.
#[derive(Default)]
pub(super) struct Written {
    last: Mutex<Option<OffsetMap>>,
}

impl Written {
    /// The offsets are looked at in turn, too: who writes later has seen more.
    fn write(
        &self,
        offsets: impl FnOnce() -> OffsetMap,
        write: impl FnOnce(&OffsetMap) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut last = self.last.lock();
        let offsets = offsets();
        if last.as_ref() == Some(&offsets) {
            return Ok(());
        }
        write(&offsets)?;
        *last = Some(offsets);
        Ok(())
    }

    fn names(&self, partition: &TopicPartition) -> bool {
        self.last
            .lock()
            .as_ref()
            .is_some_and(|offsets| offsets.contains_key(partition))
    }

    /// What the file had at the start.
    fn found(&self, offsets: &OffsetMap) {
        if !offsets.is_empty() {
            *self.last.lock() = Some(offsets.clone());
        }
    }
}

/// The checkpoint files of a directory.
#[derive(Default)]
pub(super) struct WrittenCheckpoints {
    high_watermarks: Written,
    recovery_points: Written,
    log_starts: Written,
}

impl WrittenCheckpoints {
    /// What the files had at the start.
    pub(super) fn found(&self, checkpoints: &Checkpoints) {
        self.high_watermarks.found(&checkpoints.high_watermarks);
        self.recovery_points.found(&checkpoints.recovery_points);
        self.log_starts.found(&checkpoints.log_start_offsets);
    }
}

//! The bounded queue to the request handler threads, for what may wait for a disk.
//!
//! Whoever submits first has a permit: a network thread never waits for room, its connection does, and is not read
//! meanwhile.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Job = Box<dyn FnOnce() + Send>;

/// The queue; cheap to clone.
#[derive(Clone)]
pub(crate) struct RequestQueue {
    shared: Arc<Shared>,
}

struct Shared {
    room: Arc<Semaphore>,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<(Job, QueuePermit)>,
    closed: bool,
}

/// The right to queue one job.
#[derive(Debug)]
pub(crate) struct QueuePermit {
    _room: OwnedSemaphorePermit,
}

impl RequestQueue {
    /// A queue of at most `queued_max` jobs.
    pub(crate) fn new(queued_max: usize) -> RequestQueue {
        RequestQueue {
            shared: Arc::new(Shared {
                room: Arc::new(Semaphore::new(queued_max.min(Semaphore::MAX_PERMITS))),
                state: Mutex::default(),
                work: Condvar::new(),
            }),
        }
    }

    /// A permit, when there is room.
    pub(crate) fn try_permit(&self) -> Option<QueuePermit> {
        let room = self.shared.room.clone().try_acquire_owned().ok()?;
        Some(QueuePermit { _room: room })
    }

    /// Queues a job. It is dropped unrun when the queue is closed.
    pub(crate) fn submit(&self, permit: QueuePermit, job: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state.lock();
        if !state.closed {
            state.jobs.push_back((Box::new(job), permit));
            drop(state);
            self.shared.work.notify_one();
        }
    }

    /// Takes no more jobs; those queued are still run.
    fn close(&self) {
        self.shared.room.close();
        self.shared.state.lock().closed = true;
        self.shared.work.notify_all();
    }

    fn run_jobs(&self) {
        while let Some(job) = self.next_job() {
            // The panic's message and place are printed by the panic hook; what the job owned is dropped, which closes
            // the connection that waits for it, and no other.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("a request handler panicked; the connection of its request is closed");
            }
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut state = self.shared.state.lock();
        loop {
            if let Some((job, permit)) = state.jobs.pop_front() {
                drop(state);
                drop(permit);
                return Some(job);
            }
            if state.closed {
                return None;
            }
            self.shared.work.wait(&mut state);
        }
    }
}

/// One waiter's place in the line for a permit.
#[derive(Default)]
pub(crate) struct PermitWait {
    waiting: Option<Pin<Box<dyn Future<Output = Option<QueuePermit>>>>>,
}

impl PermitWait {
    /// Ready with a permit, or with `None` once the queue is closed.
    pub(crate) fn poll(
        &mut self,
        queue: &RequestQueue,
        context: &mut Context<'_>,
    ) -> Poll<Option<QueuePermit>> {
        if self.waiting.is_none()
            && let Some(permit) = queue.try_permit()
        {
            return Poll::Ready(Some(permit));
        }
        let waiting = self.waiting.get_or_insert_with(|| {
            let room = queue.shared.room.clone();
            Box::pin(async move {
                let room = room.acquire_owned().await.ok()?;
                Some(QueuePermit { _room: room })
            })
        });
        let permit = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        Poll::Ready(permit)
    }
}

/// The threads behind a queue.
pub(crate) struct RequestHandlers {
    queue: RequestQueue,
    threads: Vec<JoinHandle<()>>,
}

impl RequestHandlers {
    /// Starts `threads` threads.
    pub(crate) fn start(queue: RequestQueue, threads: usize) -> io::Result<RequestHandlers> {
        let threads = (0..threads)
            .map(|number| {
                let queue = queue.clone();
                std::thread::Builder::new()
                    .name(format!("request-handler-{number}"))
                    .spawn(move || queue.run_jobs())
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(RequestHandlers { queue, threads })
    }

    /// Runs what is queued and ends the threads.
    pub(crate) fn stop(self) {
        self.queue.close();
        for thread in self.threads {
            // A thread ends only here, and panics of jobs are caught.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_queue_is_bounded_by_its_permits() {
        let queue = RequestQueue::new(2);
        let first = queue.try_permit().unwrap();
        let second = queue.try_permit().unwrap();
        assert!(queue.try_permit().is_none());
        queue.submit(first, || {});
        queue.submit(second, || {});
        assert!(queue.try_permit().is_none());
        let handlers = RequestHandlers::start(queue.clone(), 1).unwrap();
        handlers.stop();
        assert_eq!(queue.shared.room.available_permits(), 2);
        assert!(queue.try_permit().is_none(), "a closed queue takes nothing");
    }

    #[test]
    fn a_panic_ends_its_job_only_and_stopping_runs_what_is_queued() {
        let queue = RequestQueue::new(100);
        let done = Arc::new(AtomicUsize::new(0));
        for number in 0..50 {
            let done = done.clone();
            queue.submit(queue.try_permit().unwrap(), move || {
                assert!(number % 10 != 3, "planned panic");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        RequestHandlers::start(queue, 3).unwrap().stop();
        assert_eq!(done.load(Ordering::Relaxed), 45);
    }
}

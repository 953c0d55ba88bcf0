//! The one writer of a repository: what waits becomes one batch; while it works, the next gathers.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::batch::Waiting;
use crate::disk::Disk;
use crate::error::Result;
use crate::lru::lock;
use crate::room::Room;
use crate::stats::add;
use crate::{Answer, Submission};

/// Work for the writer.
pub(crate) enum Job {
    Submit(Box<Submission>, oneshot::Sender<Result<Answer>>),
    Fetch(oneshot::Sender<Result<()>>),
}

/// What waits for the writer.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Job>,
    busy: bool,
}

/// The writer's claim on the queue; given back even when the writer breaks.
struct Busy<D: Disk>(Arc<Room<D>>);

impl<D: Disk> Drop for Busy<D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
            let mut queue = lock(&self.0.queue);
            queue.busy = false;
            queue.waiting.clear();
        }
    }
}

impl<D: Disk> Room<D> {
    /// Hands a job to the writer and waits for its answer.
    pub(crate) async fn enqueue<T>(
        self: &Arc<Self>,
        job: impl FnOnce(oneshot::Sender<T>) -> Job,
    ) -> Result<T> {
        self.alive()?;
        let (answer, heard) = oneshot::channel();
        lock(&self.queue).waiting.push_back(job(answer));
        if D::INLINE {
            // Others that are ready now join the batch; on a thread of its own they do anyway.
            YieldOnce(false).await;
        }
        self.wake();
        heard.await.map_err(|_| self.gone())
    }

    fn wake(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        if queue.busy || queue.waiting.is_empty() {
            return;
        }
        queue.busy = true;
        drop(queue);
        let busy = Busy(Arc::clone(self));
        self.disk.run(Box::new(move || {
            while let Some((fetches, batch)) = busy.0.take() {
                busy.0.serve(fetches, batch);
            }
        }));
    }

    /// Takes everything that waits, up to the limit of a batch; `None` when there is nothing, and
    /// then the writer is idle.
    #[expect(clippy::type_complexity, reason = "two lists, used once")]
    fn take(&self) -> Option<(Vec<oneshot::Sender<Result<()>>>, Vec<Waiting>)> {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() {
            queue.busy = false;
            return None;
        }
        let (mut fetches, mut batch) = (Vec::new(), Vec::new());
        while batch.len() < self.limits.batch.max(1) {
            match queue.waiting.pop_front() {
                Some(Job::Fetch(answer)) => fetches.push(answer),
                Some(Job::Submit(submission, answer)) => {
                    batch.push(Waiting::new(*submission, answer));
                }
                None => break,
            }
        }
        Some((fetches, batch))
    }

    fn serve(&self, fetches: Vec<oneshot::Sender<Result<()>>>, batch: Vec<Waiting>) {
        if !fetches.is_empty() {
            let result = self.refetch();
            for answer in fetches {
                // Nobody waits any more: nothing is lost, the refs are on disk.
                drop(answer.send(result.clone()));
            }
        }
        if !batch.is_empty() {
            add(&self.counters.batches, 1);
            add(&self.counters.submissions, batch.len());
            self.publish(batch);
        }
    }
}

struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

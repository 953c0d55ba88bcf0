//! The one writer of a repository: what waits becomes one batch; while it works, the next gathers.
//!
//! A batch also waits for submissions that were announced before its first one came: they are being
//! built now. No clock is involved: whoever announces submits or gives up, and either lets it go.

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::disk::{Disk, Who};
use crate::error::Result;
use crate::lru::lock;
use crate::publisher::Publisher;
use crate::publisher::round::Waiting;
use crate::reader::RepoReader;
use crate::stats::add;
use crate::{Announced, Answer, Submission};

/// A batch of this many waits for nobody: by then what it shares costs little for each.
const GATHER: usize = 32;

/// Work for the writer.
pub(crate) enum Job {
    Submit(Box<Submission>, oneshot::Sender<Result<Answer>>, Who),
    Fetch(oneshot::Sender<Result<()>>, Who),
}

/// What waits for the writer.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<(u64, Job)>,
    busy: bool,
    /// Tickets of those who announced a submission, and have not come yet.
    coming: BTreeSet<u64>,
    tickets: u64,
}

impl Queue {
    fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    fn wait(&mut self, job: Job) {
        let ticket = self.ticket();
        self.waiting.push_back((ticket, job));
    }

    /// Whether somebody who was announced before the first that waits will join its batch.
    fn expects(&self, full: usize) -> bool {
        let Some((first, _)) = self.waiting.front() else {
            return false;
        };
        self.waiting.len() < full && self.coming.first().is_some_and(|coming| coming < first)
    }
}

/// The one writer of a repository.
pub(crate) struct RepoWriter<D> {
    pub(crate) publisher: Publisher<D>,
    queue: Mutex<Queue>,
}

/// The writer's claim on the queue; given back even when the writer breaks.
struct Busy<D: Disk>(Arc<RepoWriter<D>>);

impl<D: Disk> Drop for Busy<D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.reader().stop();
            let mut queue = lock(&self.0.queue);
            queue.busy = false;
            queue.waiting.clear();
        }
    }
}

impl<D: Disk> RepoWriter<D> {
    pub(crate) fn new(publisher: Publisher<D>) -> Self {
        Self {
            publisher,
            queue: Mutex::default(),
        }
    }

    /// What is read of the repository.
    pub(crate) fn reader(&self) -> &RepoReader<D> {
        &self.publisher.reader
    }

    /// Hands a job to the writer and waits for its answer.
    pub(crate) async fn enqueue<T>(
        self: &Arc<Self>,
        announced: Option<Announced>,
        job: impl FnOnce(oneshot::Sender<T>) -> Job,
    ) -> Result<T> {
        self.reader().alive()?;
        let (answer, heard) = oneshot::channel();
        lock(&self.queue).wait(job(answer));
        // First in line, then the announcement goes: the other way round the writer might begin without it.
        drop(announced);
        if D::INLINE {
            // Others that are ready now join the batch; on a thread of its own they do anyway.
            YieldOnce(false).await;
        }
        self.wake();
        heard.await.map_err(|_| self.reader().gone())
    }

    /// Says that a submission is being built. Where the writer works in its callers' own tasks,
    /// those that are ready join a batch anyway.
    pub(crate) fn expect(self: &Arc<Self>) -> Announced {
        if D::INLINE {
            return Announced::default();
        }
        let ticket = {
            let mut queue = lock(&self.queue);
            let ticket = queue.ticket();
            queue.coming.insert(ticket);
            ticket
        };
        let writer = Arc::clone(self);
        Announced::until(move || {
            lock(&writer.queue).coming.remove(&ticket);
            writer.wake();
        })
    }

    /// How many make a batch that waits for nobody.
    fn full(&self) -> usize {
        self.reader().limits.batch.clamp(1, GATHER)
    }

    fn wake(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        if queue.busy || queue.waiting.is_empty() || queue.expects(self.full()) {
            return;
        }
        queue.busy = true;
        drop(queue);
        let busy = Busy(Arc::clone(self));
        self.reader().disk.run(Box::new(move || {
            while let Some(batch) = busy.0.take() {
                busy.0.serve(batch);
            }
        }));
    }

    /// Takes everything that waits and carries the same credentials, up to the limit of a batch;
    /// `None` when there is nothing yet, and then the writer is idle.
    fn take(&self) -> Option<Batch> {
        // Without a remote nobody is asked who we are.
        let alike = self.reader().disk.upstream().is_none();
        let mut queue = lock(&self.queue);
        let first = queue.waiting.front().map(|(_, job)| job.who());
        let Some(who) = first.filter(|_| !queue.expects(self.full())) else {
            queue.busy = false;
            return None;
        };
        let mut batch = Batch {
            who,
            fetches: Vec::new(),
            submissions: Vec::new(),
        };
        while batch.submissions.len() < self.reader().limits.batch.max(1) {
            // One push carries one set of credentials: nobody's commits travel with somebody else's.
            let same = |job: &Job| alike || Arc::ptr_eq(&job.who(), &batch.who);
            if !queue.waiting.front().is_some_and(|(_, job)| same(job)) {
                break;
            }
            match queue.waiting.pop_front().map(|(_, job)| job) {
                Some(Job::Fetch(answer, _)) => batch.fetches.push(answer),
                Some(Job::Submit(submission, answer, _)) => {
                    batch.submissions.push(Waiting::new(*submission, answer));
                }
                None => break,
            }
        }
        Some(batch)
    }

    fn serve(&self, batch: Batch) {
        // Fetched first: what came with it in line is judged by what the remote shows now.
        if !batch.fetches.is_empty() {
            let result = self.publisher.refetch(&batch.who);
            for answer in batch.fetches {
                // Nobody waits any more: nothing is lost, the refs are on disk.
                drop(answer.send(result.clone()));
            }
        }
        if !batch.submissions.is_empty() {
            add(&self.reader().counters.batches, 1);
            add(&self.reader().counters.submissions, batch.submissions.len());
            self.publisher.publish(batch.submissions, &batch.who);
        }
    }
}

/// What is served together.
struct Batch {
    who: Who,
    fetches: Vec<oneshot::Sender<Result<()>>>,
    submissions: Vec<Waiting>,
}

impl Job {
    fn who(&self) -> Who {
        match self {
            Self::Submit(_, _, who) | Self::Fetch(_, who) => Arc::clone(who),
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

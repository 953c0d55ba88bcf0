//! Answers of the cluster to questions that come again: kept for a moment, and asked once where many wait for the same.
//!
//! A question is known by a digest, so that no secret in it is kept. What could not be asked is never kept. An answer counts
//! from the moment at which it was asked for, so that it is never older than it is said to be.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// What a question is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Question([u8; 32]);

impl Question {
    /// Of its parts, whose order and borders count.
    pub(super) fn new<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().into())
    }
}

/// How much is kept and asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// For how long an answer holds.
    pub(super) keep: Duration,
    /// How long a question may take, waiting for its turn included.
    pub(super) patience: Duration,
    /// How many answers are kept.
    pub(super) kept: usize,
    /// How many questions are under way at once.
    pub(super) asking: usize,
}

/// The cluster did not answer; with the reason, for whoever asked.
pub(super) type Unanswered = String;

type Pending<A> = Shared<BoxFuture<'static, Result<A, Unanswered>>>;

struct Kept<A> {
    answer: A,
    since: Instant,
}

struct Held<A> {
    kept: HashMap<Question, Kept<A>>,
    /// The questions of `kept`, oldest first; one that was asked again stands twice.
    order: VecDeque<(Question, Instant)>,
    pending: HashMap<Question, Pending<A>>,
}

/// Answers to questions of one kind.
pub(super) struct Answers<A> {
    held: Arc<Mutex<Held<A>>>,
    seats: Arc<Semaphore>,
    bounds: Bounds,
}

impl<A> std::fmt::Debug for Answers<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let held = lock(&self.held);
        f.debug_struct("Answers")
            .field("kept", &held.kept.len())
            .field("pending", &held.pending.len())
            .finish()
    }
}

impl<A: Clone + Send + Sync + 'static> Answers<A> {
    /// Nothing was asked yet.
    pub(super) fn new(bounds: Bounds) -> Self {
        let held = Held {
            kept: HashMap::new(),
            order: VecDeque::new(),
            pending: HashMap::new(),
        };
        Self {
            held: Arc::new(Mutex::new(held)),
            seats: Arc::new(Semaphore::new(bounds.asking)),
            bounds,
        }
    }

    /// The answer to a question: the one that is kept, the one that somebody waits for already, or what `ask` brings.
    ///
    /// # Errors
    /// The cluster did not answer in time, or with a failure.
    pub(super) async fn get<F>(
        &self,
        question: Question,
        ask: impl FnOnce() -> F,
    ) -> Result<A, Unanswered>
    where
        F: Future<Output = Result<A, Unanswered>> + Send + 'static,
    {
        let pending = {
            let mut held = lock(&self.held);
            if let Some(kept) = held.kept.get(&question)
                && kept.since.elapsed() < self.bounds.keep
            {
                return Ok(kept.answer.clone());
            }
            // One that has ended and is still here did not end well.
            let pending = held.pending.get(&question);
            match pending.filter(|pending| pending.peek().is_none()) {
                Some(pending) => pending.clone(),
                None => {
                    let pending = self.begin(question, ask());
                    held.pending.insert(question, pending.clone());
                    pending
                }
            }
        };
        pending.await
    }

    /// Asks in a task of its own: whoever began it may go away, and others still wait for it.
    fn begin<F>(&self, question: Question, asking: F) -> Pending<A>
    where
        F: Future<Output = Result<A, Unanswered>> + Send + 'static,
    {
        let (seats, held, bounds) = (Arc::clone(&self.seats), Arc::clone(&self.held), self.bounds);
        let task = tokio::spawn(async move {
            let asked = async {
                let _seat = seats.acquire().await.map_err(|e| e.to_string())?;
                let since = Instant::now();
                Ok((asking.await?, since))
            };
            let asked = tokio::time::timeout(bounds.patience, asked).await;
            let asked = asked.unwrap_or_else(|_| {
                let after = bounds.patience.as_secs();
                Err(format!("no answer within {after} s"))
            });
            let mut held = lock(&held);
            held.pending.remove(&question);
            let (answer, since) = asked?;
            held.keep(question, answer.clone(), since, &bounds);
            Ok(answer)
        });
        let ended = async { task.await.unwrap_or_else(|e| Err(e.to_string())) };
        ended.boxed().shared()
    }
}

impl<A> Held<A> {
    fn keep(&mut self, question: Question, answer: A, since: Instant, bounds: &Bounds) {
        self.kept.insert(question, Kept { answer, since });
        self.order.push_back((question, since));
        while let Some((oldest, at)) = self.order.front().copied() {
            if self.order.len() <= bounds.kept && at.elapsed() < bounds.keep {
                break;
            }
            self.order.pop_front();
            if self.kept.get(&oldest).is_some_and(|kept| kept.since == at) {
                self.kept.remove(&oldest);
            }
        }
    }
}

/// How long a first answer is waited for, where there is a second try.
const FIRST: Duration = Duration::from_secs(4);

/// Asks, and once more where no answer came: a review changes nothing, and one that is lost must not refuse anybody.
pub(super) async fn reviewed<T, F>(ask: impl Fn() -> F) -> Result<T, Unanswered>
where
    F: Future<Output = kube::Result<T>>,
{
    match tokio::time::timeout(FIRST, ask()).await {
        Ok(Ok(said)) => return Ok(said),
        Ok(Err(error)) if matches!(&error, kube::Error::Api(said) if said.code < 500) => {
            return Err(error.to_string());
        }
        Ok(Err(error)) => tracing::debug!(%error, "a review was not answered; asking again"),
        Err(_) => tracing::debug!("a review was not answered in time; asking again"),
    }
    ask().await.map_err(|e| e.to_string())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

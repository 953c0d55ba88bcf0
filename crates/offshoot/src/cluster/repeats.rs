//! Requests that another replica hands over again because their answer was lost: done once, answered as often as they come.
//!
//! A request is known by a number of the replica's own and by the certificate that it showed. What is begun is carried out
//! whether or not the connection stays.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

/// How large a request's body may be, in bytes; the holder has limits of its own.
pub(super) const LARGEST: usize = 64 << 20;

/// How long an answer is kept, how many are, and bytes of all of them.
const KEPT: (Duration, usize, usize) = (Duration::from_secs(90), 1_024, 32 << 20);

/// Which replica, by its certificate, and its number for the request.
pub(super) type Known = (String, String);

/// An answer, whole.
#[derive(Debug)]
struct Whole {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

type Said = Shared<BoxFuture<'static, Arc<Whole>>>;

/// What was answered lately.
#[derive(Debug, Default)]
pub(super) struct Repeats(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    said: HashMap<Known, Said>,
    /// What is answered, with the bytes of it, oldest first.
    order: VecDeque<(Instant, Known, usize)>,
    bytes: usize,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("said", &self.said.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Repeats {
    /// Does what is asked, unless it was begun before; answers what came of it.
    pub(super) async fn once<F>(&self, known: Known, doing: impl FnOnce() -> F) -> Response
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let said = {
            let mut held = lock(&self.0);
            match held.said.get(&known) {
                Some(said) => said.clone(),
                None => {
                    let said = self.begin(known.clone(), doing());
                    held.said.insert(known, said.clone());
                    said
                }
            }
        };
        let whole = said.await;
        let mut response = Response::new(Body::from(whole.body.clone()));
        *response.status_mut() = whole.status;
        *response.headers_mut() = whole.headers.clone();
        response
    }

    /// A task of its own: the connection may go, and what was begun is ended.
    fn begin<F>(&self, known: Known, doing: F) -> Said
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let held = Arc::clone(&self.0);
        let task = tokio::spawn(async move {
            let whole = Arc::new(whole(doing.await).await);
            lock(&held).keep(known, whole.body.len());
            whole
        });
        let broken = || Whole {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        async move { task.await.unwrap_or_else(|_| Arc::new(broken())) }
            .boxed()
            .shared()
    }
}

impl Held {
    /// One more is answered; the oldest are forgotten.
    fn keep(&mut self, known: Known, bytes: usize) {
        self.order.push_back((Instant::now(), known, bytes));
        self.bytes += bytes;
        let (longest, most, size) = KEPT;
        while let Some((since, ..)) = self.order.front() {
            if since.elapsed() < longest && self.order.len() <= most && self.bytes <= size {
                break;
            }
            if let Some((_, known, bytes)) = self.order.pop_front() {
                self.said.remove(&known);
                self.bytes -= bytes;
            }
        }
    }
}

async fn whole(response: Response) -> Whole {
    let (parts, body) = response.into_parts();
    match axum::body::to_bytes(body, LARGEST).await {
        Ok(body) => Whole {
            status: parts.status,
            headers: parts.headers,
            body,
        },
        Err(error) => {
            tracing::warn!(%error, "an answer to another replica is too large, or broke off");
            Whole {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                headers: HeaderMap::new(),
                body: Bytes::new(),
            }
        }
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn known(number: usize) -> Known {
        ("f".to_owned(), number.to_string())
    }

    async fn text(response: Response) -> String {
        let body = axum::body::to_bytes(response.into_body(), LARGEST).await;
        String::from_utf8(body.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn what_comes_again_is_done_once() {
        let (repeats, done) = (Repeats::default(), Arc::new(AtomicUsize::new(0)));
        let ask = |known: Known| {
            let done = Arc::clone(&done);
            let doing = async move {
                let count = done.fetch_add(1, Ordering::SeqCst);
                Response::new(Body::from(format!("done {count}")))
            };
            async { text(repeats.once(known, || doing).await).await }
        };
        assert_eq!(ask(known(1)).await, "done 0");
        assert_eq!(ask(known(1)).await, "done 0");
        assert_eq!(ask(known(2)).await, "done 1");
        let other = ("g".to_owned(), "1".to_owned());
        assert_eq!(ask(other).await, "done 2", "a number is one replica's own");
    }

    #[tokio::test]
    async fn what_was_begun_is_ended_though_nobody_waits() {
        let repeats = Repeats::default();
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let doing = async move {
            begun.await.unwrap();
            Response::new(Body::from("done"))
        };
        let asked = repeats.once(known(1), || doing);
        assert!(asked.now_or_never().is_none(), "it is under way");
        begin.send(()).unwrap();
        let again = repeats.once(known(1), || async { Response::new(Body::from("twice")) });
        assert_eq!(text(again.await).await, "done");
    }

    #[tokio::test]
    async fn few_answers_are_kept() {
        let repeats = Repeats::default();
        for number in 0..=KEPT.1 {
            let doing = async { Response::new(Body::from("x")) };
            repeats.once(known(number), || doing).await;
        }
        let held = lock(&repeats.0);
        assert_eq!(held.said.len(), KEPT.1);
        assert_eq!(held.bytes, KEPT.1);
        assert!(!held.said.contains_key(&known(0)));
    }
}

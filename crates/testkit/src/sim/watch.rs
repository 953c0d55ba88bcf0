//! Watches as a bad network tells them: late, twice, in the wrong order, from the past, with a gap
//! that a new list closes. Never a gap that nothing closes: no watch is that bad.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::ports::{Delta, Feed};
use futures::StreamExt as _;

use super::chaos::Chaos;
use super::faults::Fault;

/// What a watch listed last time; a stale list is that one again.
pub(super) type Past<T> = Arc<Mutex<Option<Vec<T>>>>;

struct Line<T> {
    feed: Feed<T>,
    ready: VecDeque<Delta<T>>,
    chaos: Arc<Chaos>,
    process: u64,
    name: String,
    past: Past<T>,
    first: bool,
}

/// A feed under these faults. It ends with its process.
pub(super) fn meddle<T: Clone + Send + 'static>(
    feed: Feed<T>,
    chaos: &Arc<Chaos>,
    process: u64,
    name: &str,
    past: Past<T>,
) -> Feed<T> {
    let line = Line {
        feed,
        ready: VecDeque::new(),
        chaos: Arc::clone(chaos),
        process,
        name: format!("watch: {name}"),
        past,
        first: true,
    };
    futures::stream::unfold(line, next).boxed()
}

async fn next<T: Clone + Send + 'static>(mut line: Line<T>) -> Option<(Delta<T>, Line<T>)> {
    if let Some(delta) = line.ready.pop_front() {
        if matches!(delta, Delta::Snapshot(_)) {
            late(&line.chaos, 400).await;
        }
        return Some((delta, line));
    }
    let delta = line.feed.next().await?;
    if !line.chaos.lives(line.process) || line.chaos.dies(&line.name) {
        return None;
    }
    if let Delta::Snapshot(all) = delta {
        return line.list(all);
    }
    let faults = [Fault::Lost, Fault::Doubled, Fault::Reordered, Fault::Late];
    match line.chaos.strike(&line.name, &faults) {
        Some(Fault::Lost) => None,
        Some(Fault::Doubled) => {
            line.ready.push_back(delta.clone());
            Some((delta, line))
        }
        Some(Fault::Reordered) => line.reorder(delta).await,
        Some(Fault::Late) => {
            late(&line.chaos, 1_500).await;
            Some((delta, line))
        }
        _ => Some((delta, line)),
    }
}

async fn late(chaos: &Chaos, most: u64) {
    let wait = 1 + chaos.roll(most);
    tokio::time::sleep(Duration::from_millis(wait)).await;
}

impl<T: Clone + Send + 'static> Line<T> {
    /// The list, or the one of the last time first.
    fn list(mut self, all: Vec<T>) -> Option<(Delta<T>, Self)> {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let old = past.replace(all.clone());
        drop(past);
        let first = std::mem::take(&mut self.first);
        let old = old.filter(|_| first);
        match old {
            Some(old) if self.chaos.strike(&self.name, &[Fault::Stale]).is_some() => {
                self.ready.push_back(Delta::Snapshot(all));
                Some((Delta::Snapshot(old), self))
            }
            _ => Some((Delta::Snapshot(all), self)),
        }
    }

    /// The event after the next one, if one comes soon; a list is never overtaken.
    async fn reorder(mut self, delta: Delta<T>) -> Option<(Delta<T>, Self)> {
        let wait = Duration::from_millis(300);
        match tokio::time::timeout(wait, self.feed.next()).await {
            Ok(Some(Delta::Snapshot(all))) => {
                self.ready.push_back(Delta::Snapshot(all));
                Some((delta, self))
            }
            Ok(Some(after)) => {
                self.ready.push_back(delta);
                Some((after, self))
            }
            Ok(None) | Err(_) => Some((delta, self)),
        }
    }
}

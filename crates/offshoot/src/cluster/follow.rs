//! A resource of the cluster, kept up to date: a list, then a watch from the list's version on.
//!
//! The client library's own watcher does not say of which version a list is, and keeps bookmarks to itself; both are what a
//! mirror in the order of versions stands on (C4).

use std::time::Duration;

use apiserver::ResourceName;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use objects::Failure;
use serde_json::Value;

use super::remote::{Remote, Told, is_unserved, version_of};

/// How long to wait after a first failure, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// One message.
#[derive(Debug)]
pub(super) enum FollowMessage {
    /// All there is at a version; what is not in it is gone.
    All(u64, Vec<Value>),
    /// An object is new or changed.
    Put(Value),
    /// An object is gone; its last state at the version of its deletion.
    Gone(Value),
    /// Nothing happened up to this version.
    Version(u64),
}

/// Where it stands.
enum State {
    List,
    /// A watch is to begin after this version.
    Begin(u64),
    Watch(u64, BoxStream<'static, Result<Told, Failure>>),
}

/// Follows a resource in all namespaces for as long as it is served.
pub(super) fn follow(remote: Remote, resource: ResourceName) -> BoxStream<'static, FollowMessage> {
    let start = (remote, resource, State::List, PAUSE.0);
    let steps = stream::unfold(start, |(remote, resource, state, pause)| async move {
        let (step, state, failed) = match state {
            State::List => list(&remote, &resource).await?,
            State::Begin(from) => begin(&remote, &resource, from).await,
            State::Watch(seen, told) => next(seen, told).await,
        };
        let pause = match failed {
            true => {
                tokio::time::sleep(pause).await;
                (pause * 2).min(PAUSE.1)
            }
            // A watch that begins is no news yet: only what is heard proves that the server is well.
            false if step.is_some() => PAUSE.0,
            false => pause,
        };
        Some((step, (remote, resource, state, pause)))
    });
    steps.filter_map(|step| async move { step }).boxed()
}

/// What is told, where it stands then, and whether the server is to be given time.
type Turn = (Option<FollowMessage>, State, bool);

/// Lists; `None` where the resource is not served.
async fn list(remote: &Remote, resource: &ResourceName) -> Option<Turn> {
    match remote.list(resource, "").await {
        Ok(listed) => {
            let state = State::Begin(listed.version);
            Some((
                Some(FollowMessage::All(listed.version, listed.items)),
                state,
                false,
            ))
        }
        Err(failure) if is_unserved(&failure) => None,
        Err(failure) => {
            tracing::warn!(resource = %resource.plural, %failure, "cannot list; trying again");
            Some((None, State::List, true))
        }
    }
}

async fn begin(remote: &Remote, resource: &ResourceName, from: u64) -> Turn {
    match remote.watch(resource, "", from, "").await {
        Ok(told) => (None, State::Watch(from, told), false),
        // Too old, or no longer served: a list tells which.
        Err(failure) if matches!(failure.code, 404 | 410) => (None, State::List, false),
        Err(failure) => {
            tracing::warn!(resource = %resource.plural, %failure, "cannot watch; trying again");
            (None, State::Begin(from), true)
        }
    }
}

async fn next(seen: u64, mut told: BoxStream<'static, Result<Told, Failure>>) -> Turn {
    match told.next().await {
        None => (None, State::Begin(seen), false),
        Some(Err(failure)) if failure.code == 410 => (None, State::List, false),
        Some(Err(failure)) => {
            tracing::debug!(%failure, "a watch ended");
            (None, State::Begin(seen), true)
        }
        Some(Ok(told_now)) => {
            let (version, step) = match told_now {
                Told::Put(object) => (version_of(&object), FollowMessage::Put(object)),
                Told::Gone(object) => (version_of(&object), FollowMessage::Gone(object)),
                Told::Version(version) => (version, FollowMessage::Version(version)),
            };
            (Some(step), State::Watch(seen.max(version), told), false)
        }
    }
}

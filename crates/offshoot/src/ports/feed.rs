//! A watch of the embedded server as the engine wants it: first everything, then what changes, and everything again
//! when the watch was too slow.

use std::time::Duration;

use apiserver::{ResourceName, ServerHandle, WatchEvent};
use engine::ports::{Delta, Feed, Known};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::{Namespace, ObjectKey, ObjectName};
use objectstore::{EventKind, Gone, Object};
use serde_json::Value;

/// How long to wait after the server could not list.
const PAUSE: Duration = Duration::from_secs(1);

type Events = BoxStream<'static, Result<WatchEvent, Gone>>;

/// Under which key the engine knows an object; `None` leaves its deletion out.
pub(super) type Key = fn(&Value) -> Option<ObjectKey>;

/// Where a feed stands.
enum State {
    /// Everything is to be listed.
    List,
    /// Changes are followed.
    Follow(Events),
}

/// A feed of one resource without what is known already.
pub(super) fn feed_of(
    handle: &ServerHandle,
    resource: &ResourceName,
    key: Key,
    known: Known,
) -> Feed<Value> {
    let start = (handle.clone(), resource.clone(), (key, known), State::List);
    let deltas = stream::unfold(start, |(handle, resource, reader, state)| async move {
        let (key, known) = &reader;
        let (delta, state) = match state {
            State::List => list(&handle, &resource).await?,
            State::Follow(events) => follow(events, *key, known).await,
        };
        Some((delta, (handle, resource, reader, state)))
    });
    deltas.filter_map(|delta| async move { delta }).boxed()
}

/// Lists until the server can; ends when the resource is no longer served.
async fn list(
    handle: &ServerHandle,
    resource: &ResourceName,
) -> Option<(Option<Delta<Value>>, State)> {
    let list = match handle.list(resource, "", "").await {
        Ok(list) => list,
        Err(failure) if failure.code == 404 => return None,
        Err(failure) => {
            tracing::warn!(resource = %resource.plural, %failure, "cannot list; trying again");
            tokio::time::sleep(PAUSE).await;
            return Some((None, State::List));
        }
    };
    match handle.watch(resource, "", list.rv) {
        Ok(events) => {
            let all = Delta::Snapshot(list.items);
            Some((Some(all), State::Follow(events.boxed())))
        }
        Err(_) => Some((None, State::List)),
    }
}

async fn follow(mut events: Events, key: Key, known: &Known) -> (Option<Delta<Value>>, State) {
    let Some(Ok(event)) = events.next().await else {
        return (None, State::List);
    };
    if event.kind != EventKind::Deleted {
        // What was written here is heard of before its writer has its answer and can say so.
        if !is_known(&event.object, known) {
            tokio::task::yield_now().await;
        }
        if is_known(&event.object, known) {
            return (None, State::Follow(events));
        }
    }
    let object = event.object.value();
    let delta = match event.kind {
        EventKind::Deleted => key(&object).map(|key| Delta::Deleted {
            key,
            version: event.object.rv.to_string(),
        }),
        EventKind::Added | EventKind::Modified => Some(Delta::Put(object)),
    };
    (delta, State::Follow(events))
}

fn is_known(object: &Object, known: &Known) -> bool {
    let key = Namespace::parse(&object.fields.namespace).ok();
    let key = key.zip(ObjectName::parse(&object.fields.name).ok());
    key.is_some_and(|(namespace, name)| {
        known.knows(&ObjectKey { namespace, name }, &object.rv.to_string())
    })
}

//! A watch as the engine wants it: first everything, then what changes, and everything again
//! when the watch was too slow.

use std::sync::Arc;
use std::time::Duration;

use apiserver::storage::{EventKind, Gone, Object};
use apiserver::verbs::handle::{ResourceName, ServerHandle, WatchEvent};
use engine::ports::{Delta, Feed, Known};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::{Namespace, ObjectKey, ObjectName};
use serde_json::Value;

/// How long to wait after the server could not list.
const PAUSE: Duration = Duration::from_secs(1);

type Events = BoxStream<'static, Result<WatchEvent, Gone>>;

/// Makes an object of the engine of one of the wire; `None` leaves it out.
type Read<T> = dyn Fn(&Value) -> Option<T> + Send + Sync;

/// Under which key the engine knows an object; `None` leaves its deletion out.
pub(super) type Key = fn(&Value) -> Option<ObjectKey>;

/// Where a feed stands.
enum State {
    /// Everything is to be listed.
    List,
    /// Changes are followed.
    Follow(Events),
}

/// A feed of one resource; objects that `read` cannot make sense of are left out.
pub(super) fn feed<T: Send + 'static>(
    handle: &ServerHandle,
    resource: &ResourceName,
    read: fn(&Value) -> Option<T>,
) -> Feed<T> {
    feed_of(
        handle,
        resource,
        Arc::new(read),
        api::read_key,
        Known::nothing(),
    )
}

/// The same, without what is known already.
pub(super) fn feed_of_unknown<T: Send + 'static>(
    handle: &ServerHandle,
    resource: &ResourceName,
    read: fn(&Value) -> Option<T>,
    known: Known,
) -> Feed<T> {
    feed_of(handle, resource, Arc::new(read), api::read_key, known)
}

/// The same of objects of any kind, known by a key of their own.
pub(super) fn feed_of<T: Send + 'static>(
    handle: &ServerHandle,
    resource: &ResourceName,
    read: Arc<Read<T>>,
    key: Key,
    known: Known,
) -> Feed<T> {
    let start = (
        handle.clone(),
        resource.clone(),
        (read, key, known),
        State::List,
    );
    let deltas = stream::unfold(start, |(handle, resource, reader, state)| async move {
        let (read, key, known) = &reader;
        let (delta, state) = match state {
            State::List => list(&handle, &resource, &**read).await?,
            State::Follow(events) => follow(events, &**read, *key, known).await,
        };
        Some((delta, (handle, resource, reader, state)))
    });
    deltas.filter_map(|delta| async move { delta }).boxed()
}

/// Lists until the server can; ends when the resource is no longer served.
async fn list<T>(
    handle: &ServerHandle,
    resource: &ResourceName,
    read: &Read<T>,
) -> Option<(Option<Delta<T>>, State)> {
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
            let items = list.items.iter().filter_map(read).collect();
            Some((Some(Delta::Snapshot(items)), State::Follow(events.boxed())))
        }
        Err(_) => Some((None, State::List)),
    }
}

async fn follow<T>(
    mut events: Events,
    read: &Read<T>,
    key: Key,
    known: &Known,
) -> (Option<Delta<T>>, State) {
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
        EventKind::Added | EventKind::Modified => read(&object).map(Delta::Put),
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

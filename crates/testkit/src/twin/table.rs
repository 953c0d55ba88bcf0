//! One kind of objects, with its watchers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Delta, Feed, ObjectSummary, Stored};
use futures::StreamExt as _;
use model::{ObjectKey, ObjectMeta, Problem, Revision, Uid};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Thing;

/// An object with a key and a version.
pub(super) trait Item: Clone + PartialEq + Send + 'static {
    fn version(&self) -> String;
    fn set_version(&mut self, version: u64);
}

impl<T: Clone + PartialEq + Send + 'static, S: Clone + PartialEq + Send + 'static> Item
    for Stored<T, S>
where
    T: HasMeta,
{
    fn version(&self) -> String {
        self.meta.resource_version.clone()
    }

    fn set_version(&mut self, version: u64) {
        Arc::make_mut(&mut self.meta).resource_version = version.to_string();
        if let Ok(parsed) = &mut self.parsed {
            parsed.set_meta(&self.meta);
        }
    }
}

/// An object of ours that carries its metadata twice.
pub(super) trait HasMeta {
    fn set_meta(&mut self, meta: &Arc<ObjectMeta>);
}

impl HasMeta for Arc<model::Variant> {
    fn set_meta(&mut self, meta: &Arc<ObjectMeta>) {
        Self::make_mut(self).meta = Arc::clone(meta);
    }
}

impl HasMeta for model::VariantSet {
    fn set_meta(&mut self, meta: &Arc<ObjectMeta>) {
        self.meta = ObjectMeta::clone(meta);
    }
}

impl HasMeta for model::Repository {
    fn set_meta(&mut self, meta: &Arc<ObjectMeta>) {
        self.meta = ObjectMeta::clone(meta);
    }
}

impl Item for Revision {
    fn version(&self) -> String {
        self.meta.resource_version.clone()
    }

    fn set_version(&mut self, version: u64) {
        self.meta.resource_version = version.to_string();
        if self.content_version.is_empty() {
            self.content_version = version.to_string();
        }
    }
}

impl Item for Thing {
    fn version(&self) -> String {
        self.summary.version.clone()
    }

    fn set_version(&mut self, version: u64) {
        self.summary.version = version.to_string();
        self.content.version = version.to_string();
    }
}

/// Objects of one kind.
#[derive(Debug)]
pub(super) struct Table<T> {
    items: BTreeMap<ObjectKey, T>,
    watches: Vec<UnboundedSender<Delta<T>>>,
    /// What the next watch lists first, as if it were the present.
    past: Option<Vec<T>>,
}

/// How long a watch that listed the past waits for the present.
const LATE: Duration = Duration::from_secs(1);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            watches: Vec::new(),
            past: None,
        }
    }
}

impl<T: Item> Table<T> {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&T> {
        self.items.get(key)
    }

    pub(super) fn all(&self) -> Vec<T> {
        self.items.values().cloned().collect()
    }

    pub(super) fn drop_watches(&mut self) {
        self.watches.clear();
    }

    pub(super) fn watch(&mut self) -> Feed<T> {
        let (sender, mut receiver) = unbounded_channel();
        let all = Delta::Snapshot(self.all());
        if sender.send(all).is_ok() {
            self.watches.push(sender);
        }
        let present = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        let Some(past) = self.past.take() else {
            return present.boxed();
        };
        let first = futures::stream::once(async { Delta::Snapshot(past) });
        let pause = futures::stream::once(tokio::time::sleep(LATE));
        let pause = pause.filter_map(|()| async { None });
        first.chain(pause).chain(present).boxed()
    }

    /// The next watch lists this first.
    pub(super) fn list_late(&mut self, past: Vec<T>) {
        self.past = Some(past);
    }

    fn tell(&mut self, delta: &Delta<T>) {
        self.watches.retain(|w| w.send(delta.clone()).is_ok());
    }

    /// Stores an item under the next version; an equal one keeps its version and tells nobody.
    pub(super) fn put(&mut self, key: ObjectKey, mut item: T, version: &mut u64) -> (T, bool) {
        if let Some(old) = self.items.get(&key) {
            let mut same = item.clone();
            same.set_version(old.version().parse().unwrap_or(0));
            if same == *old {
                return (same, false);
            }
        }
        *version += 1;
        item.set_version(*version);
        self.items.insert(key, item.clone());
        self.tell(&Delta::Put(item.clone()));
        (item, true)
    }

    pub(super) fn remove(&mut self, key: &ObjectKey, version: &mut u64) -> bool {
        if self.items.remove(key).is_none() {
            return false;
        }
        *version += 1;
        self.tell(&Delta::Deleted {
            key: key.clone(),
            version: version.to_string(),
        });
        true
    }
}

/// The summaries of a table's objects, as a feed.
pub(super) fn summaries(feed: Feed<Thing>) -> Feed<ObjectSummary> {
    feed.map(|delta| match delta {
        Delta::Snapshot(all) => Delta::Snapshot(all.into_iter().map(|t| t.summary).collect()),
        Delta::Put(thing) => Delta::Put(thing.summary),
        Delta::Deleted { key, version } => Delta::Deleted { key, version },
    })
    .boxed()
}

/// Changes one object.
pub(super) fn apply<T: Item>(
    table: &mut Table<T>,
    version: &mut u64,
    key: ObjectKey,
    change: impl FnOnce(Option<&T>) -> T,
) -> T {
    let new = change(table.get(&key));
    table.put(key, new, version).0
}

/// An object as its user writes it: the server keeps uid, creation, deletion and status.
#[expect(clippy::expect_used, reason = "a text with a name in it is not empty")]
pub(super) fn user_write<T, S: Clone + Default>(
    old: Option<&Stored<T, S>>,
    key: &ObjectKey,
    meta: &ObjectMeta,
    clock: i64,
    next: u64,
) -> Stored<T, S> {
    let mut new = meta.clone();
    match old {
        Some(old) => {
            new.uid.clone_from(&old.meta.uid);
            new.created.clone_from(&old.meta.created);
            new.deleted.clone_from(&old.meta.deleted);
            new.generation = old.meta.generation + 1;
            new.finalizers.clone_from(&old.meta.finalizers);
        }
        None => {
            new.uid = Some(Uid::parse(&format!("uid-{next}")).expect("not empty"));
            if new.created.is_empty() {
                new.created = model::utc(clock);
            }
            new.generation = 1;
        }
    }
    Stored {
        key: key.clone(),
        meta: Arc::new(new),
        parsed: Err(vec![Problem::new("", "not written yet")]),
        status: old.map(|o| o.status.clone()).unwrap_or_default(),
    }
}

/// Asks for an object's deletion: at once, or once its finalizers are gone.
pub(super) fn delete<T: HasMeta, S>(
    table: &mut Table<Stored<T, S>>,
    version: &mut u64,
    key: &ObjectKey,
    clock: i64,
) where
    Stored<T, S>: Item,
{
    let Some(old) = table.get(key) else { return };
    if old.meta.finalizers.is_empty() {
        table.remove(key, version);
        return;
    }
    let mut going = old.clone();
    if going.meta.deleted.is_none() {
        let meta = Arc::make_mut(&mut going.meta);
        meta.deleted = Some(model::utc(clock));
        meta.generation += 1;
    }
    table.put(key.clone(), going, version);
}

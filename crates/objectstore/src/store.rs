//! The store that the verbs use: reads from memory, writes through the one writer.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;

use tokio::sync::{Notify, mpsc, oneshot};

use crate::backend::{Backend, Faults, StorageError};
use crate::copy::Copy;
use crate::key::{Key, ObjectRef, ResourceKey};
use crate::lock;
use crate::memory::Memory;
use crate::object::Object;
use crate::redb_file::{Durability, RedbFile};
use crate::shared::Shared;
use crate::state::{State, Touched};
use crate::watch::{Gone, Watch};
use crate::writer::{Answer, CommitError, Op, Request, Writer};

/// How a store is opened.
#[derive(Clone, Default)]
pub struct Options {
    /// Bytes of all watch rings together; zero means the default of 16 MiB.
    pub ring_bytes: usize,
    /// Whether the writer is a thread of its own that groups batches. Without, every commit is done by its caller:
    /// deterministic, for simulations.
    pub threaded: bool,
    /// Fault points for tests.
    pub faults: Option<Arc<dyn Faults>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("ring_bytes", &self.ring_bytes)
            .field("threaded", &self.threaded)
            .finish()
    }
}

enum Path {
    Inline(Mutex<Writer>),
    Thread {
        requests: Mutex<Option<mpsc::Sender<Request>>>,
        thread: Mutex<Option<JoinHandle<()>>>,
    },
}

/// A part of a resource at one moment.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The newest version of the store at that moment.
    pub rv: u64,
    /// The objects in key order.
    pub objects: Vec<(Key, Arc<Object>)>,
}

/// Durable objects, their versions and their events. Clones are handles on the same store.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    path: Arc<Path>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("rv", &self.rv())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store in memory; whoever holds the medium can open it again.
    ///
    /// # Errors
    /// The medium refuses (see [`Memory::fail_writes`]).
    pub fn in_memory(medium: Memory, options: Options) -> Result<Self, StorageError> {
        Self::open(Box::new(medium), options)
    }

    /// Opens a store in a file; one that was `used` before must be there.
    ///
    /// # Errors
    /// The file cannot be read (see [`StorageError`]).
    pub fn in_file(
        path: &std::path::Path,
        used: bool,
        durability: Durability,
        options: Options,
    ) -> Result<Self, StorageError> {
        let file = match used {
            true => RedbFile::open_used(path, durability),
            false => RedbFile::open(path, durability),
        };
        Self::open(Box::new(file?), options)
    }

    /// Opens a store on a medium.
    pub(crate) fn open(
        mut backend: Box<dyn Backend>,
        options: Options,
    ) -> Result<Self, StorageError> {
        const RING_BYTES: usize = 16 << 20;
        let budget = if options.ring_bytes == 0 {
            RING_BYTES
        } else {
            options.ring_bytes
        };
        let state = State::load(backend.load()?, budget);
        let shared = Arc::new(Shared {
            state: RwLock::new(state),
            stopped: AtomicBool::new(false),
            faults: options.faults,
            work: Notify::new(),
        });
        shared.wake();
        let writer = Writer::new(backend, Arc::clone(&shared));
        let path = if options.threaded {
            let (sender, receiver) = mpsc::channel(4096);
            let thread = std::thread::Builder::new()
                .name("store-writer".to_owned())
                .spawn(move || writer.run(receiver))
                .map_err(|e| StorageError::Write(format!("start the writer: {e}")))?;
            Path::Thread {
                requests: Mutex::new(Some(sender)),
                thread: Mutex::new(Some(thread)),
            }
        } else {
            Path::Inline(Mutex::new(writer))
        };
        Ok(Self {
            shared,
            path: Arc::new(path),
        })
    }

    /// Writes a batch: all of it, durably, or nothing. Answers the new states, for deletions the last ones.
    ///
    /// # Errors
    /// An expectation failed, or the medium did.
    pub async fn commit(&self, ops: Vec<Op>) -> Result<Vec<Arc<Object>>, CommitError> {
        let (reply, answered) = oneshot::channel::<Answer>();
        let request = Request {
            ops,
            versions: None,
            reply,
        };
        self.hand_in(request, answered).await
    }

    /// Takes over changes that somebody else gave versions to, in their order, and that nothing happened besides up to
    /// `upto`. For a store that mirrors another one, and that nobody commits to.
    ///
    /// # Errors
    /// The medium failed.
    pub async fn ingest(&self, changes: Vec<(u64, Op)>, upto: u64) -> Result<(), CommitError> {
        let (reply, answered) = oneshot::channel::<Answer>();
        let (versions, ops) = changes.into_iter().unzip();
        let request = Request {
            ops,
            versions: Some(versions),
            reply,
        };
        self.hand_in(request, answered).await?;
        let mut state = self.shared.write();
        state.rv = state.rv.max(upto);
        Ok(())
    }

    async fn hand_in(&self, request: Request, answered: oneshot::Receiver<Answer>) -> Answer {
        let stopped = || CommitError::Storage(StorageError::Stopped);
        match self.path.as_ref() {
            Path::Inline(writer) => lock(writer).process(vec![request]),
            Path::Thread { requests, .. } => {
                let sender = lock(requests).clone().ok_or_else(stopped)?;
                sender.send(request).await.map_err(|_| stopped())?;
            }
        }
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// The newest version that readers can see.
    #[must_use]
    pub fn rv(&self) -> u64 {
        self.shared.read().rv
    }

    /// Reads one object.
    #[must_use]
    pub fn get(&self, resource: &str, key: &str) -> Option<Arc<Object>> {
        self.shared.read().get(resource, key).cloned()
    }

    /// How many objects a resource has.
    #[must_use]
    pub fn count(&self, resource: &str) -> usize {
        let state = self.shared.read();
        let table = state.tables.get(resource);
        table.map_or(0, |table| table.objects.len())
    }

    /// Lists the objects of a resource whose keys start with `prefix` (`""` for all, `ns/` for a namespace).
    #[must_use]
    pub fn list(&self, resource: &str, prefix: &str) -> Listing {
        let state = self.shared.read();
        let objects = state
            .tables
            .get(resource)
            .map_or_else(Vec::new, |table| under(&table.objects, prefix));
        Listing {
            rv: state.rv,
            objects,
        }
    }

    /// Lists as of an older version, by undoing the events since.
    ///
    /// # Errors
    /// The events since then are no longer kept.
    pub fn list_at(&self, resource: &str, prefix: &str, rv: u64) -> Result<Listing, Gone> {
        let state = self.shared.read();
        let Some(table) = state.tables.get(resource) else {
            return Ok(Listing {
                rv,
                objects: Vec::new(),
            });
        };
        if rv < table.floor {
            return Err(Gone {
                asked: rv,
                oldest: table.floor,
            });
        }
        let mut objects: BTreeMap<Key, Arc<Object>> =
            under(&table.objects, prefix).into_iter().collect();
        // From the newest back: of several changes of one object the oldest is undone last, and its old state stays.
        for event in table.ring.iter().rev().take_while(|event| event.rv > rv) {
            let fields = &event.object.fields;
            let key = key_of(&fields.namespace, &fields.name);
            if key.starts_with(prefix) {
                match &event.old {
                    Some(old) => objects.insert(key, Arc::clone(old)),
                    None => objects.remove(&key),
                };
            }
        }
        Ok(Listing {
            rv,
            objects: objects.into_iter().collect(),
        })
    }

    /// The objects of a resource as of a version, from behind the key `after` on: as many as fit into `bytes`, at least one.
    /// None are left behind them where the answer is empty. Whoever reads page by page holds no more than one.
    ///
    /// # Errors
    /// The events since that version are no longer kept.
    pub fn page_at(
        &self,
        resource: &str,
        (prefix, after): (&str, &str),
        rv: u64,
        bytes: usize,
    ) -> Result<Vec<(Key, Arc<Object>)>, Gone> {
        let state = self.shared.read();
        let Some(table) = state.tables.get(resource) else {
            return Ok(Vec::new());
        };
        if rv < table.floor {
            return Err(Gone {
                asked: rv,
                oldest: table.floor,
            });
        }
        let from = after.max(prefix);
        let wanted = |key: &str| key.starts_with(prefix) && (key > after || after.is_empty());
        // What was changed since is shown as it was before the first of its changes.
        let mut before: BTreeMap<Key, Option<Arc<Object>>> = BTreeMap::new();
        for event in table.ring.iter().rev().take_while(|event| event.rv > rv) {
            let fields = &event.object.fields;
            let key = key_of(&fields.namespace, &fields.name);
            if wanted(&key) {
                before.insert(key, event.old.clone());
            }
        }
        let now = table
            .objects
            .range::<str, _>((Bound::Included(from), Bound::Unbounded));
        let mut now = now
            .take_while(|(key, _)| key.starts_with(prefix))
            .filter(|(key, _)| wanted(key))
            .peekable();
        let mut before = before.into_iter().peekable();
        let (mut page, mut taken) = (Vec::new(), 0_usize);
        while taken < bytes {
            let changed_first = match (before.peek(), now.peek()) {
                (None, None) => break,
                (Some((changed, _)), Some((key, _))) => changed <= *key,
                (changed, _) => changed.is_some(),
            };
            let next = if changed_first {
                before.next().and_then(|(key, old)| {
                    // The present state of the same object, if it has one, counts no more.
                    let _ = now.next_if(|(present, _)| **present == key);
                    old.map(|old| (key, old))
                })
            } else {
                now.next()
                    .map(|(key, object)| (key.clone(), Arc::clone(object)))
            };
            if let Some((key, object)) = next {
                taken += object.text_len();
                page.push((key, object));
            }
        }
        Ok(page)
    }

    /// All objects of this moment.
    #[must_use]
    pub fn copy(&self) -> Copy {
        let state = self.shared.read();
        let objects = state.tables.iter().flat_map(|(resource, table)| {
            let place = |(key, object): (&Key, &Arc<Object>)| {
                (resource.clone(), key.clone(), Arc::clone(object))
            };
            table.objects.iter().map(place)
        });
        Copy {
            rv: state.rv,
            objects: objects.collect(),
        }
    }

    /// Follows a resource from a version on.
    ///
    /// # Errors
    /// The events since then are no longer kept.
    pub fn watch(&self, resource: &ResourceKey, from: u64) -> Result<Watch, Gone> {
        Watch::new(Arc::clone(&self.shared), resource.clone(), from)
    }

    /// The objects that name `uid` as an owner.
    #[must_use]
    pub fn dependents(&self, uid: &str) -> Vec<ObjectRef> {
        let state = self.shared.read();
        state
            .dependents
            .get(uid)
            .map_or_else(Vec::new, |set| set.iter().cloned().collect())
    }

    /// The resources that have had objects.
    #[must_use]
    pub fn resources(&self) -> Vec<ResourceKey> {
        self.shared.read().tables.keys().cloned().collect()
    }

    /// Takes what housekeeping may have to look at since the last call.
    #[must_use]
    pub fn take_touched(&self) -> BTreeSet<Touched> {
        std::mem::take(&mut self.shared.write().touched)
    }

    /// Gives back what could not be handled yet.
    pub fn touch(&self, what: impl IntoIterator<Item = Touched>) {
        self.shared.write().touched.extend(what);
    }

    /// Waits until something was written since the last call.
    pub async fn changed(&self) {
        self.shared.work.notified().await;
    }

    /// Forgets all events up to now, as a compaction does: older watches and continue tokens get a 410.
    pub fn compact(&self) {
        self.shared.write().forget_events();
    }

    /// Stops writing, and waits until what was accepted is durable. Reads go on.
    pub fn close(&self) {
        self.shared.stopped.store(
            matches!(self.path.as_ref(), Path::Inline(_)),
            Ordering::SeqCst,
        );
        if let Path::Thread { requests, thread } = self.path.as_ref() {
            drop(lock(requests).take());
            if let Some(handle) = lock(thread).take()
                && handle.join().is_err()
            {
                tracing::error!("the object store's writer ended by a panic");
            }
        }
    }
}

fn under(objects: &BTreeMap<Key, Arc<Object>>, prefix: &str) -> Vec<(Key, Arc<Object>)> {
    let pair = |(key, object): (&Key, &Arc<Object>)| (key.clone(), Arc::clone(object));
    if prefix.is_empty() {
        return objects.iter().map(pair).collect();
    }
    objects
        .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
        .take_while(|(key, _)| key.starts_with(prefix))
        .map(pair)
        .collect()
}

/// The key of an object: `namespace/name`, or `name` at cluster scope.
#[must_use]
pub fn key_of(namespace: &str, name: &str) -> Key {
    if namespace.is_empty() {
        name.into()
    } else {
        format!("{namespace}/{name}").into()
    }
}

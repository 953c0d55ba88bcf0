//! The engine's outside in memory: objects, records, clock and identities.
//!
//! One [`Twin`] is the object store of a small cluster. It survives the engines that run over it, so a
//! test "crashes" by dropping an engine and starting another. It counts every write that changed
//! something: rest is when the count stands still. Deterministic: no threads, no clock, no
//! randomness.

mod cluster;
mod kinds;
mod ours;
mod records;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::ports::{
    Clock, ClusterEvent, Gvk, Ids, ObjectContent, ObjectSummary, Ports, Secret, StoredRepository,
    StoredSet, StoredVariant,
};
use model::{
    Namespace, ObjectKey, ObjectMeta, ObjectName, Pairs, Repository, Revision, Uid, UpstreamSource,
    VariantSet,
};

use table::Table;
use tokio::sync::mpsc::UnboundedSender;

/// A small cluster in memory.
#[derive(Debug, Default)]
pub struct Twin {
    state: Mutex<State>,
    /// How many writes changed something.
    writes: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    version: u64,
    clock: i64,
    variants: Table<StoredVariant>,
    sets: Table<StoredSet>,
    repositories: Table<StoredRepository>,
    revisions: Table<Revision>,
    /// Names of records that were removed.
    retired: BTreeSet<ObjectKey>,
    objects: BTreeMap<Gvk, Table<Thing>>,
    /// The kinds of them that lie in no namespace.
    scoped: BTreeSet<Gvk>,
    /// The labels of namespaces.
    namespaces: BTreeMap<Namespace, Pairs>,
    secrets: BTreeMap<ObjectKey, Secret>,
    /// What package revision sets take; the objects themselves are among the others.
    revision_sets: BTreeMap<ObjectKey, Vec<UpstreamSource>>,
    events: Vec<ClusterEvent>,
    /// Variants and sets of which nobody knows who wrote them.
    unsigned: BTreeSet<ObjectKey>,
    /// Kinds of which whoever plans is told nothing.
    untold: BTreeSet<Gvk>,
    /// Namespaces that are on their way out.
    leaving: BTreeSet<Namespace>,
    /// Who is told of them.
    leaving_told: Vec<UnboundedSender<Namespace>>,
    /// Records that are refused, and those that are too large to be kept.
    refused: BTreeSet<ObjectKey>,
    /// What another server kept of revisions.
    inherited: BTreeMap<ObjectKey, ObjectMeta>,
    large: BTreeSet<ObjectKey>,
}

/// Any other object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    /// What selections see.
    pub summary: ObjectSummary,
    /// What injections see.
    pub content: ObjectContent,
}

impl Twin {
    /// An empty cluster.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The ports of an engine over this cluster.
    pub fn ports(self: &Arc<Self>, clock: &Arc<TestClock>) -> Ports {
        Ports {
            records: Arc::clone(self) as Arc<dyn engine::ports::Records>,
            variants: Arc::clone(self) as Arc<dyn engine::ports::Variants>,
            sets: Arc::clone(self) as Arc<dyn engine::ports::Objects<VariantSet>>,
            repositories: Arc::clone(self) as Arc<dyn engine::ports::Objects<Repository>>,
            secrets: Arc::clone(self) as Arc<dyn engine::ports::Secrets>,
            cluster: Arc::clone(self) as Arc<dyn engine::ports::Cluster>,
            events: Arc::clone(self) as Arc<dyn engine::ports::Events>,
            clock: Arc::clone(clock) as Arc<dyn Clock>,
            ids: Arc::new(TestIds::default()),
            functions: Arc::new(functions::BuiltIns),
            faults: Arc::new(engine::ports::NoFaults),
        }
    }

    /// How many writes changed something so far.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Whether a record is refused from now on, as by a rule of the cluster: nobody knows before it is written.
    pub fn refuse_record(&self, key: &ObjectKey, refused: bool) {
        let all = &mut self.state().refused;
        if refused {
            all.insert(key.clone());
        } else {
            all.remove(key);
        }
    }

    /// A record is too large to be kept, from now on.
    pub fn enlarge_record(&self, key: &ObjectKey) {
        self.state().large.insert(key.clone());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::SeqCst);
    }

    /// All events, oldest first.
    pub fn events(&self) -> Vec<ClusterEvent> {
        self.state().events.clone()
    }

    /// A record.
    pub fn revision(&self, namespace: &str, name: &str) -> Option<Revision> {
        self.state().revisions.get(&key(namespace, name)).cloned()
    }

    /// All records, in key order.
    pub fn revisions(&self) -> Vec<Revision> {
        self.state().revisions.all()
    }

    /// A variant.
    pub fn variant(&self, namespace: &str, name: &str) -> Option<StoredVariant> {
        self.state().variants.get(&key(namespace, name)).cloned()
    }

    /// All variants, in key order.
    pub fn variants(&self) -> Vec<StoredVariant> {
        self.state().variants.all()
    }

    /// A set.
    pub fn set(&self, namespace: &str, name: &str) -> Option<StoredSet> {
        self.state().sets.get(&key(namespace, name)).cloned()
    }

    /// A repository.
    pub fn repository(&self, namespace: &str, name: &str) -> Option<StoredRepository> {
        self.state()
            .repositories
            .get(&key(namespace, name))
            .cloned()
    }

    /// Makes or changes a variant, as its user.
    pub fn put_variant(&self, variant: model::Variant) -> StoredVariant {
        let state = &mut *self.state();
        self.wrote();
        let next = state.version + 1;
        table::apply(
            &mut state.variants,
            &mut state.version,
            variant.key.clone(),
            |old| {
                let mut stored =
                    table::user_write(old, &variant.key, &variant.meta, state.clock, next);
                let mut variant = variant.clone();
                variant.meta = Arc::clone(&stored.meta);
                stored.parsed = Ok(Arc::new(variant));
                stored
            },
        )
    }

    /// Makes or changes a set, as its user.
    pub fn put_set(&self, set: model::VariantSet) -> StoredSet {
        let state = &mut *self.state();
        self.wrote();
        let next = state.version + 1;
        table::apply(
            &mut state.sets,
            &mut state.version,
            set.key.clone(),
            |old| {
                let mut stored = table::user_write(old, &set.key, &set.meta, state.clock, next);
                let mut set = set.clone();
                set.meta = model::ObjectMeta::clone(&stored.meta);
                stored.parsed = Ok(set);
                stored
            },
        )
    }

    /// Makes or changes a repository, as its user.
    pub fn put_repository(&self, repository: model::Repository) -> StoredRepository {
        let state = &mut *self.state();
        self.wrote();
        let key = repository.key.clone();
        let next = state.version + 1;
        table::apply(
            &mut state.repositories,
            &mut state.version,
            key.clone(),
            |old| {
                let mut stored = table::user_write(old, &key, &repository.meta, state.clock, next);
                let mut repository = repository.clone();
                repository.meta = model::ObjectMeta::clone(&stored.meta);
                stored.parsed = Ok(repository);
                stored
            },
        )
    }

    /// Asks for a variant's deletion, as its user.
    pub fn delete_variant(&self, namespace: &str, name: &str) {
        let state = &mut *self.state();
        self.wrote();
        table::delete(
            &mut state.variants,
            &mut state.version,
            &key(namespace, name),
            state.clock,
        );
    }

    /// Takes a variant away as if it had no finalizers: whoever may edit it can do that.
    pub fn forget_variant(&self, namespace: &str, name: &str) {
        let state = &mut *self.state();
        self.wrote();
        let key = key(namespace, name);
        state.variants.remove(&key, &mut state.version);
    }

    /// Asks for a set's deletion; what it owns goes with it, as a garbage collector would see to.
    pub fn delete_set(&self, namespace: &str, name: &str) {
        let state = &mut *self.state();
        self.wrote();
        let key = key(namespace, name);
        let uid = state.sets.get(&key).and_then(|s| s.meta.uid.clone());
        table::delete(&mut state.sets, &mut state.version, &key, state.clock);
        let Some(uid) = uid else { return };
        let owned: Vec<ObjectKey> = state
            .variants
            .all()
            .into_iter()
            .filter(|v| v.meta.is_owned_by(&uid))
            .map(|v| v.key)
            .collect();
        for key in owned {
            table::delete(&mut state.variants, &mut state.version, &key, state.clock);
        }
    }

    /// Asks for a repository's deletion.
    pub fn delete_repository(&self, namespace: &str, name: &str) {
        let state = &mut *self.state();
        self.wrote();
        let key = key(namespace, name);
        table::delete(
            &mut state.repositories,
            &mut state.version,
            &key,
            state.clock,
        );
    }

    /// Puts a Secret in place.
    pub fn put_secret(&self, object: &ObjectKey, secret: Secret) {
        self.state().secrets.insert(object.clone(), secret);
    }

    /// Loses every record, as a lost object store does.
    pub fn lose_records(&self) {
        let state = &mut *self.state();
        for record in state.revisions.all() {
            state.revisions.remove(&record.key, &mut state.version);
        }
        state.retired.clear();
    }

    /// Another server kept this of a revision.
    pub fn inherit(&self, revision: ObjectKey, meta: ObjectMeta) {
        self.state().inherited.insert(revision, meta);
    }

    /// The next watch of records lists these first, as a server does that lags behind, and hears of
    /// the present a second later.
    pub fn list_late_records(&self, past: Vec<Revision>) {
        self.state().revisions.list_late(past);
    }

    /// As [`Twin::list_late_records`], of variants.
    pub fn list_late_variants(&self, past: Vec<StoredVariant>) {
        self.state().variants.list_late(past);
    }

    /// As [`Twin::list_late_records`], of repositories.
    pub fn list_late_repositories(&self, past: Vec<StoredRepository>) {
        self.state().repositories.list_late(past);
    }

    /// Whether it is known who wrote a variant or set, from now on.
    pub fn know_writer(&self, object: &ObjectKey, known: bool) {
        let state = &mut *self.state();
        self.wrote();
        if known {
            state.unsigned.remove(object);
        } else {
            state.unsigned.insert(object.clone());
        }
    }

    /// Whether nobody knows who wrote a variant or set.
    pub fn is_unsigned(&self, object: &ObjectKey) -> bool {
        self.state().unsigned.contains(object)
    }

    /// Whoever plans may not read objects of a kind, nor list them.
    pub fn tell_nobody(&self, kind: &Gvk) {
        self.state().untold.insert(kind.clone());
    }

    /// From now on a namespace is on its way out; what is in it is deleted by whoever asks.
    pub fn leave_namespace(&self, namespace: &Namespace) {
        let state = &mut *self.state();
        state.leaving.insert(namespace.clone());
        state
            .leaving_told
            .retain(|told| told.send(namespace.clone()).is_ok());
    }

    /// Another namespace of that name is there, and stays.
    pub fn make_namespace(&self, namespace: &Namespace) {
        self.state().leaving.remove(namespace);
    }

    /// Forgets who watches: the process that did is gone.
    pub fn drop_watches(&self) {
        let state = &mut *self.state();
        state.leaving_told.clear();
        state.variants.drop_watches();
        state.sets.drop_watches();
        state.repositories.drop_watches();
        state.revisions.drop_watches();
        for table in state.objects.values_mut() {
            table.drop_watches();
        }
    }
}

/// A key from two texts.
///
/// # Panics
/// On texts that are no names: this is for tests.
#[expect(clippy::expect_used, reason = "tests name what they make")]
pub fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(
        Namespace::parse(namespace).expect("a namespace"),
        ObjectName::parse(name).expect("a name"),
    )
}

/// A clock that a test sets.
#[derive(Debug, Default)]
pub struct TestClock {
    seconds: AtomicI64,
}

impl TestClock {
    /// A clock that stands at this time.
    pub fn at(seconds: i64) -> Arc<Self> {
        Arc::new(Self {
            seconds: AtomicI64::new(seconds),
        })
    }

    /// Moves it on.
    pub fn pass(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn unix_seconds(&self) -> i64 {
        self.seconds.load(Ordering::SeqCst)
    }
}

/// Counted identities.
#[derive(Debug, Default)]
pub struct TestIds {
    count: AtomicU64,
}

impl Ids for TestIds {
    #[expect(
        clippy::expect_used,
        reason = "a text with a number in it is not empty"
    )]
    fn fresh_uid(&self) -> Uid {
        let n = self.count.fetch_add(1, Ordering::SeqCst);
        Uid::parse(&format!("fresh-{n}")).expect("not empty")
    }

    #[expect(clippy::expect_used, reason = "a text with a name in it is not empty")]
    fn revision_uid(&self, namespace: &Namespace, name: &ObjectName) -> Uid {
        Uid::parse(&format!("first-{namespace}-{name}")).expect("not empty")
    }
}

//! A supposed world: what is known now, with objects that somebody would write or delete and upstream revisions that
//! somebody would publish.
//!
//! It is an engine of its own over the same contents, so that it is observed and decided on by the very code of the real
//! one. Nothing leaves it: its store and its ports refuse every write, it follows no watch, and what it counts, notes and
//! wakes is its own and goes with it (F2).

mod ports;
mod store;
mod upstream;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use model::{ObjectKey, ObjectMeta, Revision, Uid};
use package::changes::Recurring;
use plan::set::QuietTime;
use plan::variant::Observed;

use crate::collected::Collected;
use crate::index::{Wake, World};
use crate::ports::{
    Cluster, Gvk, ObjectSummary, OurKind, Ports, StoredRepository, StoredSet, StoredVariant,
};
use crate::queue::Key;
use crate::repos::OpenRepository;
use crate::{Engine, Options};

pub(crate) use ports::{NOTED, Noted};
pub use upstream::{SupposedContent, SupposedUpstream};

use ports::{OwnFunctions, ReadOnlyCluster};
use store::{ReadOnly, ReadOnlyStore};

/// What the uids of objects begin with that are only supposed.
const SUPPOSED: &str = "supposed-";

/// What is supposed to be otherwise than it is.
#[derive(Clone, Default)]
pub struct Suppositions {
    /// Variants as somebody would write them.
    pub variants: Vec<StoredVariant>,
    /// Sets as somebody would write them.
    pub sets: Vec<StoredSet>,
    /// Repositories as somebody would write them.
    pub repositories: Vec<StoredRepository>,
    /// Objects of ours that somebody would delete.
    pub deleted: Vec<(OurKind, ObjectKey)>,
    /// Kinds of which other objects would be written or deleted: the cluster that is given tells them so.
    pub kinds: BTreeSet<Gvk>,
    /// Upstream revisions that somebody would publish.
    pub upstreams: Vec<SupposedUpstream>,
    /// Whether functions of others are run.
    pub run_functions: bool,
}

impl Suppositions {
    /// Whether nothing is supposed: then everything is looked at as it is.
    pub fn is_empty(&self) -> bool {
        self.variants.is_empty()
            && self.sets.is_empty()
            && self.repositories.is_empty()
            && self.deleted.is_empty()
            && self.kinds.is_empty()
            && self.upstreams.is_empty()
    }
}

/// A supposed world.
pub(crate) struct Supposed {
    pub(crate) engine: Engine,
    cluster: Arc<ReadOnlyCluster>,
    /// Versions of what is supposed: later than any.
    version: Mutex<u128>,
    /// Commits that were built of supposed upstream packages, readable as long as they are held.
    held: Vec<::store::Written>,
    /// Supposed revisions whose commits do not exist.
    unreal: BTreeSet<ObjectKey>,
    /// How files of the targets that were planned so far change.
    pub(crate) recurring: Arc<Recurring>,
}

impl Supposed {
    /// The world as it is known to an engine now. `cluster` answers what objects hold that are injected or selected.
    pub(crate) fn of(engine: &Engine, cluster: Arc<dyn Cluster>, run_functions: bool) -> Self {
        let real = engine.ports();
        let cluster = Arc::new(ReadOnlyCluster {
            real: cluster,
            made: Mutex::default(),
        });
        let functions = OwnFunctions {
            real: Arc::clone(&real.functions),
            run_others: run_functions,
        };
        let outside = Ports {
            records: Arc::new(ports::ReadOnlyPort(Arc::clone(&real.records))),
            variants: Arc::new(ports::ReadOnlyPort(Arc::clone(&real.variants))),
            sets: Arc::new(ports::ReadOnlyPort(Arc::clone(&real.sets))),
            repositories: Arc::new(ports::ReadOnlyPort(Arc::clone(&real.repositories))),
            secrets: Arc::new(ports::NoSecrets),
            cluster: Arc::clone(&cluster) as Arc<dyn Cluster>,
            events: Arc::new(ports::NoEvents),
            clock: Arc::clone(&real.clock),
            ids: Arc::clone(&real.ids),
            functions: Arc::new(functions),
            faults: Arc::new(crate::ports::NoFaults),
        };
        // A plan tells what comes of it in the end: deletions are not waited for.
        let options = Options {
            quiet: QuietTime {
                quiet: 0,
                longest: 0,
            },
            ..engine.inner.options.clone()
        };
        let store = Arc::new(ReadOnlyStore(Arc::clone(&engine.inner.store)));
        let (world, trees) = (engine.world(World::clone), Arc::clone(&engine.inner.trees));
        let collected = Some(Collected::default());
        let supposed = Engine::of(outside, store, options, collected, (world, trees));
        for open in engine.inner.repos.all() {
            supposed.inner.repos.take(OpenRepository {
                repository: open.repository.clone(),
                layout: open.layout.clone(),
                repo: Arc::new(ReadOnly(Arc::clone(&open.repo))),
                seen: Mutex::default(),
                numbers: Mutex::default(),
            });
        }
        Self {
            engine: supposed,
            cluster,
            version: Mutex::new(u128::from(u64::MAX)),
            held: Vec::new(),
            unreal: BTreeSet::new(),
            recurring: Arc::default(),
        }
    }

    /// Whom the suppositions since the last question touch.
    pub(crate) fn touched(&self) -> BTreeSet<Key> {
        let collected = self.engine.inner.supposed.as_ref();
        collected.map(Collected::take).unwrap_or_default()
    }

    /// Whether a revision is supposed whose commit does not exist yet.
    pub(crate) fn is_unreal(&self, revision: &ObjectKey) -> bool {
        self.unreal.contains(revision)
    }

    /// A version later than that of anything known.
    fn next_version(&self) -> String {
        let mut version = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        *version += 1;
        version.to_string()
    }

    /// `is_new` says that nothing of this name is there.
    fn stored(&self, meta: &mut Arc<ObjectMeta>, is_new: bool) {
        let meta = Arc::make_mut(meta);
        meta.resource_version = self.next_version();
        if is_new {
            // In the order in which they are given: a plan that is made again says the same.
            let version = &meta.resource_version;
            meta.uid = Uid::parse(&format!("{SUPPOSED}{version:0>20}")).ok();
        }
        if meta.created.is_empty() {
            meta.created = model::utc(self.engine.now());
        }
    }

    /// A variant that claims the same package as this one, where it is not known which of both comes first: neither is there yet.
    pub(crate) fn tied(o: &Observed) -> Option<&ObjectKey> {
        let created = &o.variant.meta().created;
        let is_new = |uid: &Uid| uid.as_str().starts_with(SUPPOSED);
        let mut rivals = o.rivals.iter().filter(|r| !r.deleting && !r.holds);
        let tied = rivals.find(|r| r.created == *created && is_new(&r.uid));
        tied.map(|rival| &rival.key)
    }

    /// A variant is as given.
    pub(crate) fn put_variant(&self, mut variant: StoredVariant) {
        let is_new = self.engine.world(|w| w.variant(&variant.key).is_none());
        self.stored(&mut variant.meta, is_new);
        if let Ok(parsed) = &mut variant.parsed {
            Arc::make_mut(parsed).meta = Arc::clone(&variant.meta);
        }
        self.engine.learn_variant(variant);
    }

    /// A set makes a variant, or writes it.
    pub(crate) fn make_variant(&self, set: &ObjectKey, variant: &model::Variant) {
        self.cluster.makes(set, &variant.key);
        let known = self
            .engine
            .world(|w| w.variant(&variant.key).map(|v| (**v).clone()));
        let mut meta = variant.meta.clone();
        let mut status = model::VariantStatus::default();
        if let Some(known) = known {
            status = known.status;
            let old = &known.meta;
            let meta = Arc::make_mut(&mut meta);
            meta.uid.clone_from(&old.uid);
            meta.created.clone_from(&old.created);
            meta.finalizers.clone_from(&old.finalizers);
            meta.generation = old.generation + 1;
        }
        self.put_variant(StoredVariant {
            key: variant.key.clone(),
            parsed: Ok(Arc::new(variant.clone())),
            meta,
            status,
        });
    }

    /// A set is as given.
    pub(crate) fn put_set(&self, mut set: StoredSet) {
        let is_new = self.engine.world(|w| w.sets.get(&set.key).is_none());
        self.stored(&mut set.meta, is_new);
        if let Ok(parsed) = &mut set.parsed {
            parsed.meta = (*set.meta).clone();
        }
        self.engine.learn_set(set);
    }

    /// A repository is as given.
    pub(crate) fn put_repository(&self, mut repository: StoredRepository) {
        let is_new = self
            .engine
            .world(|w| w.repositories.get(&repository.key).is_none());
        self.stored(&mut repository.meta, is_new);
        if let Ok(parsed) = &mut repository.parsed {
            parsed.meta = (*repository.meta).clone();
        }
        self.engine.learn_repository(repository);
    }

    /// A record is as given.
    pub(crate) fn put_revision(&self, mut revision: Revision) {
        revision.meta.resource_version = self.next_version();
        self.engine.learn_revision(revision);
    }

    /// A record is gone.
    pub(crate) fn delete_revision(&self, key: &ObjectKey) {
        let version = self.next_version();
        self.engine.learn_revision_gone(key, &version);
    }

    /// A variant is asked to go.
    pub(crate) fn delete_variant(&self, key: &ObjectKey) {
        let known = self.engine.world(|w| w.variant(key).cloned());
        if let Some(known) = known {
            let mut variant = (*known).clone();
            let now = model::utc(self.engine.now());
            Arc::make_mut(&mut variant.meta).deleted = Some(now);
            self.put_variant(variant);
        }
    }

    /// A variant has gone, finalizers and all.
    pub(crate) fn variant_gone(&self, key: &ObjectKey) {
        let version = self.next_version();
        self.engine.learn_variant_gone(key, &version);
    }

    /// A set is deleted: its variants follow by garbage collection.
    pub(crate) fn delete_set(&self, key: &ObjectKey) -> Vec<ObjectKey> {
        let known = self.engine.world(|w| w.sets.get(key).cloned());
        let Some(known) = known else {
            return Vec::new();
        };
        let variants = self.engine.world(|w| w.variants_of(&known));
        let version = self.next_version();
        self.engine.learn_set_gone(key, &version);
        for variant in &variants {
            self.delete_variant(variant);
        }
        variants
    }

    /// A repository is unregistered: its records go, and git stays.
    pub(crate) fn delete_repository(&self, key: &ObjectKey) {
        let known = self.engine.world(|w| w.repositories.get(key).cloned());
        let version = self.next_version();
        self.engine.learn(|world| {
            let mut wake = Wake::default();
            if let Some(changed) = world.delete_repository(key, &version) {
                wake.repository(world, &changed);
            }
            wake
        });
        let name = known.and_then(|k| k.parsed.as_ref().ok().map(|r| r.name.clone()));
        let Some(name) = name else { return };
        let records = self
            .engine
            .world(|w| w.revisions.of_repository(&key.namespace, &name));
        for record in records {
            self.delete_revision(&record.key);
        }
    }

    /// The objects of a kind are as the cluster says now: a kind that nobody follows is known as well as one that is.
    pub(crate) fn take_objects(&self, kind: &Gvk, all: Vec<ObjectSummary>) {
        self.engine.learn(|world| {
            let mut wake = Wake::default();
            let changes = world.objects.kind_mut(kind).replace(all);
            for changed in &changes {
                wake.object(world, kind, changed);
            }
            wake
        });
    }
}

//! The engine as one value: the ports, the store, what is known, and what is under way.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use model::{Class, GitLock, ObjectKey, Revision, TreeId};
use package::clone::Marked;

use crate::cache::Cache;
use crate::collected::Collected;
use crate::cpu::Cpu;
use crate::facts::Facts;
use crate::failures::Failures;
use crate::index::{Changed, Wake, World};
use crate::locks::Locks;
use crate::ports::{ClusterEvent, EventType, Gvk, ObjectSummary, OurKind, Point, Ports};
use crate::queue::{Key, Queue};
use crate::repos::Repos;
use crate::stats::{Counters, count};
use crate::waits::Waits;
use crate::{Error, Result};

/// How long a variant waits for more changes of what it injects: a storm of them makes one draft, not thousands.
const SETTLE: Duration = Duration::from_millis(100);
/// How long a set waits for more news of each of its variants before it sums them up: summing up
/// takes as long as there are variants, so that a large set does it rarely and a small one at once.
const SUM_UP: Duration = Duration::from_micros(500);

/// The shortest and the longest such wait.
const SUM_UP_BOUNDS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// How the engine works; every field has a default.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where deriving runs.
    pub cpu: Cpu,
    /// How many keys are worked on at once: far more than CPU workers, since most of them wait for
    /// the store, which makes batches of them. One namespace gets at most three quarters of them.
    pub in_flight: usize,
    /// How often a local repository's refs are looked at.
    pub local_poll: Duration,
    /// How often a remote is asked for its refs, unless its schedule says otherwise.
    pub remote_poll: Duration,
    /// How often everything is looked at again, to repair lost events.
    pub resync: Duration,
    /// The user that controllers act as.
    pub service: String,
    /// Whether the object store was lost and is rebuilt from git (`offshoot up --rebuild`).
    pub rebuild: bool,
    /// Bytes of each cache.
    pub cache_bytes: usize,
    /// Whether the controller of variants works.
    pub variants: bool,
    /// Whether the controller of sets works.
    pub sets: bool,
    /// How long a selection must be quiet before deletions that follow from it are judged (S3).
    pub quiet: plan::set::QuietTime,
    /// How many bytes a package's resources may be after any step of its pipeline.
    pub package_bytes: u64,
    /// Whether our copies of remote repositories outlive the process. Where they do not, what is kept of people's commits is pushed
    /// to the remote (V23).
    pub lasting_copies: bool,
}

impl Default for Options {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            cpu: Cpu::threads(cpus),
            in_flight: 256,
            local_poll: Duration::from_secs(2),
            remote_poll: Duration::from_secs(60),
            resync: Duration::from_secs(600),
            service: "porch-controllers".to_owned(),
            rebuild: false,
            cache_bytes: 32 << 20,
            variants: true,
            sets: true,
            quiet: plan::set::QuietTime::default(),
            package_bytes: store::Limits::default().package_bytes,
            lasting_copies: true,
        }
    }
}

/// The engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("stats", &self.inner.stats.read())
            .finish_non_exhaustive()
    }
}

/// A set's compiled templates, or what is wrong with them.
pub(crate) type Templates = Arc<std::result::Result<plan::set::Compiled, Vec<model::Problem>>>;

/// What is known of trees by their ids: it holds of the same tree wherever it stands, so that supposed worlds share it.
pub(crate) struct Trees {
    pub(crate) facts: Cache<TreeId, Arc<Facts>>,
    /// Upstream packages with what is the same in all their clones, by what those name as their upstream.
    pub(crate) marked: Cache<(TreeId, GitLock), Arc<Marked>>,
}

impl Trees {
    fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            facts: Cache::new(bytes),
            marked: Cache::new(bytes / 2),
        })
    }
}

/// What the engine is made of.
pub(crate) struct Inner {
    pub(crate) ports: Ports,
    pub(crate) store: Arc<dyn store::Store>,
    pub(crate) options: Options,
    pub(crate) queue: Queue,
    pub(crate) locks: Locks,
    pub(crate) repos: Repos,
    pub(crate) waits: Waits,
    pub(crate) failures: Failures,
    pub(crate) set_failures: Failures,
    pub(crate) templates: Cache<(model::Uid, i64), Templates>,
    pub(crate) stats: Counters,
    pub(crate) turns: crate::stats::Turns,
    pub(crate) kinds: Mutex<BTreeMap<crate::ports::Gvk, tokio::task::AbortHandle>>,
    pub(crate) trees: Arc<Trees>,
    /// What is collected instead of done where the world is only supposed.
    pub(crate) supposed: Option<Collected>,
    world: RwLock<World>,
    stopped: AtomicBool,
}

impl Engine {
    /// An engine over these ports and this store; nothing runs until [`Engine::run`].
    pub fn new(ports: Ports, store: Arc<dyn store::Store>, options: Options) -> Self {
        let trees = Trees::new(options.cache_bytes);
        Self::of(ports, store, options, None, (World::default(), trees))
    }

    /// An engine that begins with what is known already; in a supposed world, whom news touch is collected.
    pub(crate) fn of(
        ports: Ports,
        store: Arc<dyn store::Store>,
        options: Options,
        supposed: Option<Collected>,
        (world, trees): (World, Arc<Trees>),
    ) -> Self {
        let queue = Queue::of(options.in_flight);
        Self {
            inner: Arc::new(Inner {
                ports,
                store,
                options,
                queue,
                locks: Locks::default(),
                repos: Repos::default(),
                waits: Waits::default(),
                failures: Failures::default(),
                set_failures: Failures::default(),
                templates: Cache::new(1_000),
                stats: Counters::default(),
                turns: crate::stats::Turns::default(),
                kinds: Mutex::default(),
                trees,
                supposed,
                world: RwLock::new(world),
                stopped: AtomicBool::new(false),
            }),
        }
    }

    pub(crate) fn ports(&self) -> &Ports {
        &self.inner.ports
    }

    pub(crate) fn now(&self) -> i64 {
        self.inner.ports.clock.unix_seconds()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.inner.stats
    }

    /// Looks at what is known.
    pub(crate) fn world<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(
            &self
                .inner
                .world
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Takes news into what is known, and wakes whom they touch.
    pub(crate) fn learn(&self, take: impl FnOnce(&mut World) -> Wake) {
        let wake = {
            let mut world = self
                .inner
                .world
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            take(&mut world)
        };
        self.wake(wake);
    }

    /// Takes a record that was written or heard of.
    pub(crate) fn learn_revision(&self, revision: impl Into<Arc<Revision>>) {
        self.learn(|world| {
            let changed = world.revisions.put(revision);
            revision_wake(world, changed)
        });
    }

    /// Takes the deletion of a record.
    pub(crate) fn learn_revision_gone(&self, key: &ObjectKey, version: &str) {
        self.learn(|world| {
            let changed = world.revisions.delete(key, version);
            revision_wake(world, changed)
        });
    }

    /// A repository by the store's word, known from then on: only one that is not there counts as gone (V10).
    ///
    /// # Errors
    /// It cannot be read now.
    pub(crate) async fn repository_now(
        &self,
        key: &model::ObjectKey,
    ) -> crate::Result<Option<Arc<crate::ports::StoredRepository>>> {
        let now = self.ports().repositories.get(key).await;
        let now = now.map_err(|source| crate::Error::Port { source })?;
        if let Some(now) = &now {
            self.learn_repository(now.clone());
        }
        Ok(now.map(Arc::new))
    }

    /// Takes a variant that was written.
    pub(crate) fn learn_variant(&self, variant: crate::ports::StoredVariant) {
        self.learn(|world| {
            let mut wake = Wake::default();
            if let Some(changed) = world.put_variant(variant) {
                wake.variant(world, &changed);
            }
            wake
        });
    }

    /// Takes a variant's deletion.
    pub(crate) fn learn_variant_gone(&self, key: &ObjectKey, version: &str) {
        self.learn(|world| {
            let mut wake = Wake::default();
            if let Some(changed) = world.delete_variant(key, version) {
                wake.variant(world, &changed);
            }
            wake
        });
    }

    /// Takes a repository that was read or written.
    pub(crate) fn learn_repository(&self, repository: crate::ports::StoredRepository) {
        self.learn(|world| {
            let mut wake = Wake::default();
            if let Some(changed) = world.put_repository(repository) {
                wake.repository(world, &changed);
            }
            wake
        });
    }

    /// Takes objects that were listed.
    pub(crate) fn learn_objects(&self, kind: &Gvk, all: Vec<ObjectSummary>) {
        self.learn(|world| {
            let mut wake = Wake::default();
            for one in all {
                if let Some(changed) = world.objects.kind_mut(kind).put(one) {
                    wake.object(world, kind, &changed);
                }
            }
            wake
        });
    }

    /// Takes a set's deletion.
    pub(crate) fn learn_set_gone(&self, key: &ObjectKey, version: &str) {
        self.learn(|world| {
            let mut wake = Wake::default();
            if let Some(changed) = world.sets.delete(key, version) {
                wake.set(world, &changed);
            }
            wake
        });
    }

    /// Takes a set that was written.
    pub(crate) fn learn_set(&self, set: crate::ports::StoredSet) {
        self.learn(|world| {
            let mut wake = Wake::default();
            if let Some(changed) = world.sets.put(set) {
                wake.set(world, &changed);
            }
            wake
        });
    }

    pub(crate) fn wake(&self, wake: Wake) {
        if let Some(supposed) = &self.inner.supposed {
            supposed.wake(wake);
            return;
        }
        let queue = &self.inner.queue;
        for key in wake.repositories {
            queue.add(Key::Repository(key));
        }
        for key in wake.sets {
            queue.add(Key::Set(key));
        }
        for key in wake.sets_later {
            let variants = self.world(|w| w.sets.get(&key).map_or(0, |set| set.status.variants));
            let wait = SUM_UP.saturating_mul(u32::try_from(variants).unwrap_or(u32::MAX));
            queue.add_after(Key::Set(key), wait.clamp(SUM_UP_BOUNDS.0, SUM_UP_BOUNDS.1));
        }
        for key in wake.variants_later {
            queue.add_after(Key::Variant(key), SETTLE);
        }
        for key in wake.variants {
            queue.add(Key::Variant(key));
        }
    }

    /// Dies here if a simulation says so, or the process is on its way out; begins nothing while nothing may begin.
    pub(crate) fn point(&self, point: Point) -> Result<()> {
        if point.begins() && self.holds_off() {
            let why = "nothing may be written at this moment: whether this process still may is being found out";
            return Err(Error::refused(Class::Unavailable, "", why));
        }
        if self.inner.ports.faults.dies_at(point) {
            self.stop();
        }
        self.alive()
    }

    /// Whether nothing may begin for the time being.
    pub(crate) fn holds_off(&self) -> bool {
        self.inner.ports.faults.holds_off()
    }

    /// Whether the engine may still write.
    pub(crate) fn alive(&self) -> Result<()> {
        if self.inner.stopped.load(Ordering::Acquire) {
            return Err(Error::Stopped);
        }
        Ok(())
    }

    /// Whether the engine has stopped.
    pub fn is_stopped(&self) -> bool {
        self.alive().is_err()
    }

    /// Stops everything; writes that are under way end by themselves.
    pub fn stop(&self) {
        self.inner.stopped.store(true, Ordering::Release);
        self.inner.queue.close();
    }

    /// Tells people the news of a status.
    pub(crate) async fn tell_news(&self, kind: OurKind, about: &ObjectKey, news: Vec<plan::News>) {
        for one in news {
            let event_type = if one.warning {
                EventType::Warning
            } else {
                EventType::Normal
            };
            self.tell(kind, about, event_type, &one.reason, one.message)
                .await;
        }
    }

    /// Tells people about something.
    pub(crate) async fn tell(
        &self,
        kind: OurKind,
        about: &ObjectKey,
        event_type: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        count(&self.inner.stats.events);
        let message = message.into();
        // What people are told is what the log tells: at rest, nothing.
        match event_type {
            EventType::Normal => tracing::info!(kind = kind.as_str(), %about, reason, "{message}"),
            EventType::Warning => tracing::warn!(kind = kind.as_str(), %about, reason, "{message}"),
        }
        let event = ClusterEvent {
            kind,
            about: about.clone(),
            event_type,
            reason: reason.to_owned(),
            message,
        };
        self.inner.ports.events.tell(event).await;
    }
}

/// Whom a change of a record wakes.
pub(crate) fn revision_wake(world: &World, changed: Option<Changed<Revision>>) -> Wake {
    let mut wake = Wake::default();
    if let Some(changed) = changed {
        wake.revision(world, &changed);
    }
    wake
}

//! The memory twin: the same repository over a disk that is a map, for tests and simulation.
//!
//! It is deterministic: no threads, no clock, no randomness; the writer runs inside the poll of a
//! caller. What is durable and what is merely written are kept apart, so that after
//! [`MemoryStore::crash`] only that is left which a real disk would have kept.

mod others;
mod site;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gix::ObjectId;
use gix::objs::Kind as ObjectKind;

pub use self::site::Copied;
use self::site::Site;
use self::wire::Remote;
use self::wire::Sound;
pub use self::wire::{Delivery, Wire};
use crate::disk::{Disk, Moved, RawEdit, RawRefs, Upstream, View};
use crate::error::{Error, Result};
use crate::fault::{Faults, NoFaults};
use crate::lru::{Share, lock};
use crate::reader::Setup;
use crate::remote::{RemoteSpec, UrlKind};
use crate::repository::{Repository, Shared};
use crate::staged::Packed;
use crate::stats::{Counters, add};
use crate::{Limits, NoCredentials, RefName, Repo, Store};

/// What a memory store is made with.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// Limits, as for git.
    pub limits: Limits,
    /// Told at every named point.
    pub faults: Arc<dyn Faults>,
    /// Carries pushes to other repositories.
    pub wire: Arc<dyn Wire>,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            faults: Arc::new(NoFaults),
            wire: Arc::new(Sound),
        }
    }
}

/// Repositories in memory.
pub struct MemoryStore {
    options: MemoryOptions,
    world: Mutex<World>,
}

#[derive(Default)]
struct World {
    /// What stands at each URL, ours or another's.
    sites: BTreeMap<String, Arc<Mutex<Site>>>,
    /// Our mirrors of remotes.
    mirrors: BTreeMap<String, Arc<Mutex<Site>>>,
    repositories: BTreeMap<String, Arc<Repository<MemoryDisk>>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(MemoryOptions::default())
    }
}

impl MemoryStore {
    /// A world without repositories.
    pub fn new(options: MemoryOptions) -> Self {
        Self {
            options,
            world: Mutex::default(),
        }
    }

    /// The same repositories for another process: what stands at a URL now is shared, mirrors and journals are its own.
    #[must_use]
    pub fn beside(&self, options: MemoryOptions) -> Self {
        let world = World {
            sites: lock(&self.world).sites.clone(),
            ..World::default()
        };
        Self {
            options,
            world: Mutex::new(world),
        }
    }

    /// Makes an empty repository exist at a URL.
    pub fn serve(&self, url: &str) {
        lock(&self.world).sites.entry(url.to_owned()).or_default();
    }

    /// Makes the remote at a URL decline pushes to refs with this prefix.
    pub fn decline(&self, url: &str, prefix: Option<&str>) {
        if let Some(site) = lock(&self.world).sites.get(url) {
            lock(site).declines = prefix.map(str::to_owned).into_iter().collect();
        }
    }

    /// Tidies the repository at a URL as `git gc --prune=now` does: what no ref reaches goes.
    pub fn prune(&self, url: &str) {
        if let Some(site) = lock(&self.world).sites.get(url) {
            lock(site).prune();
        }
    }

    /// Loses one object of the repository at a URL, as a broken disk does, or brings it back.
    pub fn lose(&self, url: &str, id: &str, lost: bool) {
        if let (Some(site), Ok(id)) = (
            lock(&self.world).sites.get(url),
            ObjectId::from_hex(id.as_bytes()),
        ) {
            lock(site).lose(id, lost);
        }
    }

    /// The repository as another writer sees it: a person who pushes, beside us.
    ///
    /// # Errors
    /// No repository at the URL.
    pub fn outside(&self, url: &str) -> Result<Arc<dyn Repo>> {
        let site = lock(&self.world).sites.get(url).cloned();
        let site = site.ok_or_else(|| Error::NoRepository {
            url: url.to_owned(),
        })?;
        let counters = Arc::new(Counters::default());
        let disk = MemoryDisk::new(site, None, &counters, false);
        // People with git know nothing of our limit.
        let limits = Limits {
            package_bytes: u64::MAX,
            ..self.options.limits
        };
        let setup = Setup {
            url: url.to_owned(),
            writable: true,
            limits,
            share: self.share(8),
            faults: Arc::new(NoFaults),
            counters,
        };
        Ok(Arc::new(Shared {
            repository: Arc::new(Repository::new(disk, setup)?),
            who: Arc::new(NoCredentials),
        }))
    }

    /// Kills the process: everything that is open stops, and only what was durable is left. A ref
    /// that moved and was not made durable yet survives where `keep` says so.
    pub fn crash(&self, mut keep: impl FnMut(&str, &RefName) -> bool) {
        let mut world = lock(&self.world);
        let ours: Vec<String> = world.repositories.keys().cloned().collect();
        for repository in std::mem::take(&mut world.repositories).into_values() {
            repository.reader.stop();
        }
        for url in ours {
            let site = world.mirrors.get(&url).or_else(|| world.sites.get(&url));
            let Some(site) = site else { continue };
            let mut site = lock(site);
            site.putting.clear();
            let durable = site.durable_journal;
            site.journal.truncate(durable);
            let (now, mut after) = (site.refs.clone(), site.durable_refs.clone());
            let names: Vec<RefName> = now.keys().chain(after.keys()).cloned().collect();
            for name in names {
                if now.get(&name) != after.get(&name) && keep(&url, &name) {
                    match now.get(&name) {
                        Some(id) => after.insert(name, *id),
                        None => after.remove(&name),
                    };
                }
            }
            site.refs = after.clone();
            site.durable_refs = after;
        }
    }

    /// Loses the journals, as an empty data directory would: they only save a look.
    pub fn lose_journals(&self) {
        let world = lock(&self.world);
        for site in world.sites.values().chain(world.mirrors.values()) {
            let mut site = lock(site);
            site.journal.clear();
            site.durable_journal = 0;
        }
    }

    fn share(&self, repositories: usize) -> Share {
        let share = Share::default();
        share.divide(self.options.limits.cache_bytes, repositories);
        share
    }

    fn repository(&self, spec: &RemoteSpec) -> Result<(Arc<Repository<MemoryDisk>>, bool)> {
        let (url, kind) = spec.kind()?;
        let mut world = lock(&self.world);
        if let Some(repository) = world
            .repositories
            .get(&url)
            .filter(|repository| repository.reader.alive().is_ok())
        {
            return Ok((Arc::clone(repository), false));
        }
        if spec.create_repository && kind != UrlKind::Remote {
            world.sites.entry(url.clone()).or_default();
        }
        let site = world.sites.get(&url).cloned();
        let site = site.ok_or_else(|| Error::NoRepository { url: url.clone() })?;
        let counters = Arc::new(Counters::default());
        let disk = match kind {
            UrlKind::Local(_) => MemoryDisk::new(site, None, &counters, true),
            UrlKind::Remote => {
                let mirror = world.mirrors.entry(url.clone()).or_default();
                let remote = Remote {
                    url: url.clone(),
                    site,
                    wire: Arc::clone(&self.options.wire),
                };
                MemoryDisk::new(Arc::clone(mirror), Some(remote), &counters, true)
            }
        };
        let setup = Setup {
            url: url.clone(),
            writable: true,
            limits: self.options.limits,
            share: self.share(8),
            faults: Arc::clone(&self.options.faults),
            counters,
        };
        let repository = Arc::new(Repository::new(disk, setup)?);
        world.repositories.insert(url, Arc::clone(&repository));
        Ok((repository, true))
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn open(&self, spec: RemoteSpec) -> Result<Arc<dyn Repo>> {
        let (repository, fresh) = self.repository(&spec)?;
        let ready = async {
            if fresh {
                let fetched = repository.reader.disk.list()?.is_empty()
                    && repository.reader.disk.remote.is_some();
                repository.put_right(fetched, &spec.credentials)?;
            }
            repository.ensure_branch(&spec).await
        };
        if let Err(error) = ready.await {
            if fresh {
                lock(&self.world)
                    .repositories
                    .remove(&repository.reader.url);
            }
            return Err(error);
        }
        Ok(Arc::new(Shared {
            repository,
            who: spec.credentials,
        }))
    }

    async fn here(&self, url: &str) -> Result<Option<Arc<dyn Repo>>> {
        let spec = RemoteSpec::new(url);
        let (url, kind) = spec.kind()?;
        let known = lock(&self.world).repositories.get(&url).cloned();
        let alive =
            known.filter(|repository| kind == UrlKind::Remote && repository.reader.alive().is_ok());
        let Some(repository) = alive else {
            return Ok(None);
        };
        if repository.reader.disk.list()?.is_empty() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Shared {
            repository,
            who: spec.credentials,
        })))
    }
}

/// A site as the repository's disk.
pub(crate) struct MemoryDisk {
    site: Arc<Mutex<Site>>,
    remote: Option<Remote>,
    counters: Arc<Counters>,
    /// Whether this is us: others' writes are durable at once, as far as we are concerned.
    ours: bool,
    /// Which of the repositories that stood here was looked at last.
    incarnation: AtomicU64,
}

impl MemoryDisk {
    fn new(
        site: Arc<Mutex<Site>>,
        remote: Option<Remote>,
        counters: &Arc<Counters>,
        ours: bool,
    ) -> Self {
        let incarnation = lock(&site).incarnation;
        Self {
            site,
            remote,
            counters: Arc::clone(counters),
            ours,
            incarnation: AtomicU64::new(incarnation),
        }
    }
}

struct MemoryView<'a>(&'a Mutex<Site>);

impl View for MemoryView<'_> {
    fn get(&self, name: &RefName) -> Result<Option<ObjectId>> {
        Ok(lock(self.0).refs.get(name).copied())
    }

    fn shadow(&self, name: &RefName) -> Result<Option<String>> {
        let site = lock(self.0);
        if let Some(above) = name
            .ancestors()
            .find(|above| site.refs.contains_key(*above))
        {
            return Ok(Some(above.to_owned()));
        }
        let first = site.below(name).next();
        Ok(first.map(|(n, _)| n.to_string()))
    }

    fn below(&self, dir: &RefName) -> Result<RawRefs> {
        let site = lock(self.0);
        Ok(site.below(dir).map(|(n, id)| (n.clone(), *id)).collect())
    }
}

impl Disk for MemoryDisk {
    const INLINE: bool = true;

    fn read(&self, id: &ObjectId) -> Result<Option<(ObjectKind, Arc<[u8]>)>> {
        Ok(lock(&self.site)
            .objects
            .get(id)
            .map(|(kind, raw)| (*kind, Arc::clone(raw))))
    }

    fn look(&self) -> Result<bool> {
        let incarnation = lock(&self.site).incarnation;
        Ok(self.incarnation.swap(incarnation, Ordering::Relaxed) != incarnation)
    }

    fn tidied(&self) -> u64 {
        lock(&self.site).tidied
    }

    fn has(&self, id: &ObjectId) -> Result<bool> {
        Ok(lock(&self.site).objects.contains_key(id))
    }

    fn header(&self, id: &ObjectId) -> Result<Option<(ObjectKind, u64)>> {
        let site = lock(&self.site);
        let found = site.objects.get(id);
        Ok(found.map(|(kind, raw)| (*kind, raw.len() as u64)))
    }

    fn list(&self) -> Result<RawRefs> {
        Ok(lock(&self.site).refs.clone())
    }

    fn broken_refs(&self) -> BTreeMap<RefName, String> {
        BTreeMap::new()
    }

    fn checked_out(&self) -> Result<BTreeMap<RefName, String>> {
        Ok(BTreeMap::new())
    }

    fn view(&self) -> Result<Box<dyn View + '_>> {
        Ok(Box::new(MemoryView(&self.site)))
    }

    fn put(&self, objects: &[Arc<Packed>]) -> Result<()> {
        add(&self.counters.packs, 1);
        add(&self.counters.objects, objects.len());
        lock(&self.site).putting = objects.to_vec();
        Ok(())
    }

    fn put_durable(&self) -> Result<()> {
        add(&self.counters.fsyncs, 1);
        let mut site = lock(&self.site);
        for object in std::mem::take(&mut site.putting) {
            site.objects
                .insert(object.id, (object.kind, Arc::clone(&object.raw)));
        }
        Ok(())
    }

    fn release(&self) {}

    fn move_refs(&self, edits: &[RawEdit], each: &mut dyn FnMut() -> Result<()>) -> Result<Moved> {
        let stale = lock(&self.site).stale(edits);
        if !stale.is_empty() {
            return Ok(Moved::Stale(stale));
        }
        let mut edits: Vec<&RawEdit> = edits.iter().collect();
        edits.sort_by_key(|e| e.turn());
        for (at, edit) in edits.iter().enumerate() {
            lock(&self.site).apply(edit);
            let Some(next) = edits.get(at + 1) else { break };
            if next.turn() > edit.turn() {
                self.refs_durable()?;
            }
            each()?;
        }
        if !self.ours {
            self.refs_durable()?;
        }
        Ok(Moved::All)
    }

    fn refs_durable(&self) -> Result<()> {
        add(&self.counters.fsyncs, 1);
        let mut site = lock(&self.site);
        site.durable_refs = site.refs.clone();
        Ok(())
    }

    fn journal_load(&self) -> Result<Vec<u8>> {
        Ok(if self.ours {
            lock(&self.site).journal.clone()
        } else {
            Vec::new()
        })
    }

    fn journal_append(&self, bytes: &[u8]) -> Result<()> {
        lock(&self.site).journal.extend_from_slice(bytes);
        Ok(())
    }

    fn journal_durable(&self) -> Result<()> {
        add(&self.counters.fsyncs, 1);
        let mut site = lock(&self.site);
        site.durable_journal = site.journal.len();
        Ok(())
    }

    fn journal_replace(&self, bytes: &[u8]) -> Result<()> {
        if self.ours {
            let mut site = lock(&self.site);
            site.journal = bytes.to_vec();
            site.durable_journal = bytes.len();
        }
        Ok(())
    }

    fn journal_path(&self) -> String {
        "in memory".to_owned()
    }

    fn upstream(&self) -> Option<&dyn Upstream> {
        self.remote.as_ref().map(|_| self as &dyn Upstream)
    }

    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}
